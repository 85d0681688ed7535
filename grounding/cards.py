"""Model cards: one YAML file says how one model is spoken to. Files in, frozen typed cards out.

A card with a wrong or missing field is refused with the file, the field and what is allowed there.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import types
import typing
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from grounding.coordinates import Space
from grounding.errors import UserError
from grounding.records import Record

CardT = TypeVar("CardT", bound="ChatCard")

JsonScalar = str | int | float | bool | None
Json = JsonScalar | list[typing.Any] | dict[str, typing.Any]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Dollars = Annotated[float, msgspec.Meta(ge=0)]

RESERVED_PARAMETERS = ("model", "messages", "stream", "n")
"""Fields of the request that are not a card's to set: one reply, whole, to the card's own prompt."""


class CardPart(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part of the user message: either a text template or the screenshot.

    Templates know ``{instruction}``, ``{history}``, ``{width}`` and ``{height}`` (of the image as the model sees it);
    all other braces are plain text.
    """

    text: str | None = None
    image: Literal["screenshot"] | None = None


class EndpointCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the model is served; ``base_url`` is what the ``openai`` package would be given."""

    base_url: str | None = None
    key_variable: str | None = None
    how_to_serve: str = ""


class ImageRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which size of the screenshot the model sees, and who makes it so.

    ``resize``: ``none`` sends the file as it is and the model's space is relative or in its pixels; ``client`` scales
    it here; ``server`` sends the file as it is and knows what the server's processor will make of it.
    ``send``: ``base64`` in the request, or ``file`` as a file:// URL for a server that reads the same disk.
    """

    resize: Literal["none", "client", "server"] = "none"
    factor: _Positive | None = None
    min_pixels: _Positive | None = None
    max_pixels: _Positive | None = None
    send: Literal["base64", "file"] = "base64"


class AnswerRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to read a reply: the shape of the answer, the space of its numbers, which match counts.

    ``pattern`` is a regular expression with two groups (point) or four (box); without one the usual bracketed forms
    are taken. ``refusal`` is a regular expression that marks a reply which declines to answer.
    """

    form: Literal["point", "box", "point_or_box"]
    space: Space
    match: Literal["first", "last"] = "first"
    pattern: str | None = None
    refusal: str | None = None


class Price(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens, and the day on which the price was read."""

    input_usd: _Dollars
    output_usd: _Dollars
    date: str
    cached_input_usd: _Dollars | None = None


class ChatCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model behind an OpenAI-compatible chat endpoint.

    ``parameters`` go into the request as they stand; ``takes`` names the command line's sampling options that the
    model accepts (others are refused with a message rather than sent and rejected).
    """

    name: str
    title: str
    model: str
    user: tuple[CardPart, ...]
    system: str | None = None
    aliases: tuple[str, ...] = ()
    endpoint: EndpointCard = EndpointCard()
    image: ImageRule = ImageRule()
    parameters: dict[str, Json] = msgspec.field(default_factory=dict)
    takes: tuple[Literal["temperature", "seed"], ...] = ()
    price: Price | None = None
    max_connections: _Positive = 10
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    source: str = ""
    notes: str = ""

    @property
    def uses_history(self) -> bool:
        """Whether the prompt has a place for the history."""
        return any("{history}" in text for text in (self.system, *(part.text for part in self.user)) if text)

    @property
    def prompt_hash(self) -> str:
        """Eight hex digits over the exact prompt: system text, user parts and their order."""
        return hashlib.sha256(msgspec.json.encode((self.system, self.user))).hexdigest()[:8]


class PlannerCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat model that rewrites the user's words; its whole reply is the plan."""


class GrounderCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat model that answers with a place on the screen."""

    answer: AnswerRule


def _allowed(card_type: type, path: list[str]) -> str:
    """What the schema allows at a field: the values of a choice, or the names of the fields."""
    found: object = card_type
    for name in path:
        if isinstance(found, type) and issubclass(found, msgspec.Struct):
            found = typing.get_type_hints(found).get(name, object)
        options = [a for a in typing.get_args(found) if a not in (type(None), Ellipsis)]
        if typing.get_origin(found) in (typing.Union, types.UnionType, tuple) and len(options) == 1:
            found = options[0]
    if typing.get_origin(found) is Literal:
        return " Allowed: " + ", ".join(str(value) for value in typing.get_args(found)) + "."
    if isinstance(found, type) and issubclass(found, msgspec.Struct):
        return " Known fields: " + ", ".join(found.__struct_fields__) + "."
    return ""


def read_card(path: Path, card_type: type[CardT]) -> CardT:
    """Read and check one card.

    Raises:
        UserError: the file can't be read, is not YAML, or a field is wrong; says which and what is allowed.
    """
    try:
        card = msgspec.yaml.decode(path.read_bytes(), type=card_type)
    except OSError as error:
        raise UserError(f"{path}: the card can't be read: {error.strerror}") from error
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `")
        fields = re.findall(r"[A-Za-z_]\w*", where.removeprefix("key` in `"))
        named = ".".join(fields) or "(top level)"
        raise UserError(f"{path}: field {named}: {text}.{_allowed(card_type, fields)}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from error
    problem = _problem(card)
    if problem:
        raise UserError(f"{path}: {problem}")
    return card


def _problem(card: ChatCard) -> str | None:
    for index, part in enumerate(card.user):
        if (part.text is None) == (part.image is None):
            return f"field user[{index}]: expected either `text` or `image: screenshot`, exactly one of them"
    if sum(part.image is not None for part in card.user) != 1:
        return "field user: expected exactly one part `image: screenshot`"
    rule = card.image
    if rule.resize != "none":
        missing = [name for name in ("factor", "min_pixels", "max_pixels") if getattr(rule, name) is None]
        if missing:
            return f"field image: resize {rule.resize} needs {', '.join(missing)}"
        if rule.min_pixels is not None and rule.max_pixels is not None and rule.min_pixels > rule.max_pixels:
            return f"field image: min_pixels {rule.min_pixels} is more than max_pixels {rule.max_pixels}"
    if rule.send == "file" and rule.resize == "client":
        return "field image.send: file:// sends the screenshot untouched, so image.resize must be none or server"
    taken = [name for name in RESERVED_PARAMETERS if name in card.parameters]
    if taken:
        return f"field parameters: {', '.join(taken)} can't be set here"
    if isinstance(card, GrounderCard):
        return _answer_problem(card.answer)
    return None


def _answer_problem(rule: AnswerRule) -> str | None:
    for name in ("pattern", "refusal"):
        value = getattr(rule, name)
        if value is None:
            continue
        try:
            groups = re.compile(value).groups
        except re.error as error:
            return f"field answer.{name}: not a regular expression: {error}"
        wanted = {"point": (2,), "box": (4,), "point_or_box": (2, 4)}[rule.form]
        if name == "pattern" and groups not in wanted:
            return f"field answer.pattern: has {groups} groups; form {rule.form} needs {' or '.join(map(str, wanted))}"
    return None


def read_cards(folder: Path, card_type: type[CardT]) -> tuple[CardT, ...]:
    """Read every card of a folder, in order of file names."""
    return tuple(read_card(path, card_type) for path in sorted(folder.glob("*.yaml")))


def find_card(name: str, folder: Path, card_type: type[CardT], *, builtin: tuple[str, ...], kind: str) -> CardT:
    """The card that a user means: a path to a file, or the name, alias or model id of a bundled card.

    Ids are compared whole, never by a part of them: several releases share parts of their names.

    Raises:
        UserError: nothing is called so; names what there is and the nearest.
    """
    if name.endswith((".yaml", ".yml")):
        return read_card(Path(name), card_type)
    cards = read_cards(folder, card_type)
    for card in cards:
        if name in (card.name, card.model, *card.aliases):
            return card
    known = [*builtin, *(card.name for card in cards)]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(
        f"no {kind} is called {name!r}.{hint} There are: {', '.join(known)}; or give the path of a card (.yaml). "
        f"`grounding list {kind}s` says more."
    )

"""Model cards: one YAML file says how one model is spoken to. Files in, frozen typed cards out.

A card with a wrong or missing field is refused with the file, the field and what is allowed there.
"""

import datetime
import difflib
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from grounding.cards.schema import (
    NOT_INHERITED,
    PREFILL_PARAMETERS,
    RESERVED_PARAMETERS,
    WRITTEN_NUMBER,
    ActionRule,
    AdapterRule,
    AnswerRule,
    CardPart,
    ChatCard,
    EndpointCard,
    Family,
    FitRule,
    GrounderCard,
    ImageRule,
    Json,
    JsonScalar,
    PlannerCard,
    PlanRule,
    Price,
    PromptCard,
    PublishedScore,
    ScaleRule,
    SearchCard,
    SearchFee,
    ServingCard,
    WeightsRule,
)  # fmt: skip
from grounding.cards.tuned import CARD_FILE, resolve
from grounding.errors import UserError

__all__ = [
    "PREFILL_PARAMETERS", "RESERVED_PARAMETERS", "WRITTEN_NUMBER", "ActionRule", "AdapterRule", "AnswerRule",
    "CardPart", "ChatCard", "EndpointCard", "Family", "FitRule", "GrounderCard", "ImageRule", "Json", "JsonScalar",
    "PlanRule", "PlannerCard", "Price", "PromptCard", "PublishedScore", "ScaleRule", "SearchCard", "SearchFee",
    "ServingCard", "WeightsRule", "find_card", "prompt_file", "read_card", "read_cards",
]  # fmt: skip

CardT = TypeVar("CardT", bound=ChatCard | PromptCard)
FoundT = TypeVar("FoundT", bound=ChatCard)


def allowed_at(card_type: type, path: list[str]) -> str:
    """What the schema allows at a field: the values of a choice, or the names of the fields."""
    found: object = card_type
    for name in path:
        if isinstance(found, type) and issubclass(found, msgspec.Struct):
            found = typing.get_type_hints(found).get(name, object)
        options = [a for a in typing.get_args(found) if a not in (type(None), Ellipsis)]
        if typing.get_origin(found) in (typing.Union, types.UnionType, tuple) and len(options) == 1:
            found = options[0]
        elif options and all(isinstance(option, type) and issubclass(option, msgspec.Struct) for option in options):
            # Several records that a field tells apart: whatever is wrong in one of them, all are shown.
            config = [option.__struct_config__ for option in options]
            shown = (
                f"{made.tag} ({', '.join(option.__struct_fields__)})"
                for made, option in zip(config, options, strict=True)
            )
            return f" Allowed, by {config[0].tag_field}: {'; '.join(shown)}."
    if typing.get_origin(found) is Literal:
        return " Allowed: " + ", ".join(str(value) for value in typing.get_args(found)) + "."
    if isinstance(found, type) and issubclass(found, msgspec.Struct):
        return " Known fields: " + ", ".join(found.__struct_fields__) + "."
    return ""


def read_card(path: Path, card_type: type[CardT]) -> CardT:
    """Read and check one card; of a file with several sizes the first."""
    return read_sizes(path, card_type)[0]


def read_sizes(path: Path, card_type: type[CardT]) -> tuple[CardT, ...]:
    """Read and check all cards of a file: one, or one for each of its sizes. Raises as :func:`read_card`."""
    try:
        cards = [
            msgspec.convert(fields, card_type, builtin_types=(datetime.datetime, datetime.date))
            for fields in _fields(path)
        ]
    except OSError as error:
        raise UserError(f"{path}: the card can't be read: {error.strerror}") from error
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `")
        at = re.findall(r"[A-Za-z_]\w*", where.removeprefix("key` in `"))
        named = ".".join(at) or "(top level)"
        raise UserError(f"{path}: field {named}: {text}.{allowed_at(card_type, at)}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from error
    for problem in (problem for card in cards for problem in _problems(card)):
        raise UserError(f"{path}: {problem}")
    return tuple(resolve(card, path) if isinstance(card, ChatCard) else card for card in cards)


def _fields(path: Path) -> list[typing.Any]:
    fields = msgspec.yaml.decode(path.read_bytes())
    sizes = fields.pop("sizes", None) if isinstance(fields, dict) else None
    if sizes is not None:
        if not isinstance(sizes, list) or not sizes or not all(isinstance(size, dict) for size in sizes):
            raise UserError(f"{path}: field sizes: expected a list of what each size has for itself, such as its name")
        return [fields | size for size in sizes]
    named = fields.get("extends") if isinstance(fields, dict) else None
    if not named or not isinstance(named, str):
        return [fields]
    base = path.parent / named
    if Path(named).name != named or not base.is_file():
        raise UserError(f"{path}: field extends: expected the name of a card's file in the same folder, not {named}")
    inherited = msgspec.yaml.decode(base.read_bytes())
    if not isinstance(inherited, dict) or inherited.get("extends"):
        raise UserError(f"{path}: field extends: {named} is no card, or extends another itself; name the first one")
    inherited = _fields(base)[0]
    return [{name: value for name, value in inherited.items() if name not in NOT_INHERITED} | fields]


def _problems(card: ChatCard | PromptCard) -> Iterator[str]:
    if isinstance(card, PromptCard):
        yield from (*_user_problems(card.user), *_plan_problems(card.plan))
        return
    if isinstance(card, PlannerCard):
        # A planner's card has a prompt of its own, or leaves all of it to a named one.
        if card.prompt:
            yield "field prompt: is put in when the planner is made; leave it out and choose with --planner-prompt"
        elif card.user:
            yield from (*_user_problems(card.user), *_plan_problems(card.plan))
        elif card.system is not None or card.plan != PlanRule():
            yield "field user: is missing; system and plan belong to a prompt of the card's own"
    elif not isinstance(card, SearchCard):
        yield from _user_problems(card.user)
    elif card.user or card.system is not None or card.prefill is not None:
        yield "field user: a search model has no prompt of its own (user, system, prefill)"
    replies = card.output_tokens
    if replies is not None and not replies.low <= replies.expected <= replies.high:
        yield "field output_tokens: expected low <= expected <= high"
    if refused := [name for name in card.refuses if name in card.parameters or name in card.takes]:
        yield f"field refuses: {', '.join(refused)} is also in parameters or takes"
    yield from _image_problems(card.image)
    reserved = RESERVED_PARAMETERS if card.prefill is None else (*RESERVED_PARAMETERS, *PREFILL_PARAMETERS)
    if taken := [name for name in reserved if name in card.parameters]:
        yield f"field parameters: {', '.join(taken)} can't be set here"
    if card.adapter is not None and card.weights is not None:
        yield "field adapter: belongs to another model's weights; leave it out, or leave out weights"
    if card.prefill == "":
        yield "field prefill: is empty; leave it out"
    if card.serving.how in ("in-process", "recorded") and not card.serving.reason:
        yield f"field serving.reason: how {card.serving.how} needs the reason"
    if card.serving.how == "vllm-flags" and not (card.serving.flags and card.serving.reason):
        yield "field serving: how vllm-flags needs the flags and the reason"
    if isinstance(card, GrounderCard):
        yield from _grounder_problems(card)


def _grounder_problems(card: GrounderCard) -> Iterator[str]:
    if card.image.resize == "auto" and "sent_px" in (card.answer.space, card.answer.whole_numbers):
        yield "field answer.space: sent_px is one size or another with image.resize auto; give resized_px"
    yield from _answer_problems(card.answer)
    rule = card.action
    if rule is not None:
        if rule.system is not None and not rule.user:
            yield "field action.system: belongs to a prompt of its own; give user as well, or leave it out"
        if taken := [name for name in RESERVED_PARAMETERS if name in (rule.parameters or {})]:
            yield f"field action.parameters: {', '.join(taken)} can't be set here"
        own = (*(_user_problems(rule.user) if rule.user else ()), *_image_problems(rule.image or card.image))
        yield from (f"{problem} (in action)" for problem in own)
    if card.writes is not None:
        names = sorted(match[1] for match in WRITTEN_NUMBER.finditer(card.writes))
        if names not in (["x", "y"], ["x1", "x2", "y1", "y2"]):
            yield "field writes: expected {x} and {y}, or {x1}, {y1}, {x2} and {y2}, each of them once"
        if not card.writes.startswith(card.prefill or ""):
            yield "field writes: must begin with the prefill"


def _image_problems(rule: ImageRule) -> Iterator[str]:
    if rule.first is not None:
        least, most = rule.first.min_pixels or 1, rule.first.max_pixels
        if rule.resize != "client":
            yield "field image.first: only this package scales so; image.resize must be client"
        if most is not None and least > most:
            yield f"field image.first: min_pixels {least} is more than max_pixels {most}"
    if alone := [name for name in ("fit", "canvas") if getattr(rule, name) is not None]:
        if rule.resize != "client" or rule.factor is not None or rule.first is not None:
            yield f"field image.{alone[0]}: needs image.resize client, and neither factor nor first"
    elif rule.resize != "none":
        if missing := [name for name in ("factor", "min_pixels", "max_pixels") if getattr(rule, name) is None]:
            yield f"field image: resize {rule.resize} needs {', '.join(missing)}"
        if rule.min_pixels is not None and rule.max_pixels is not None and rule.min_pixels > rule.max_pixels:
            yield f"field image: min_pixels {rule.min_pixels} is more than max_pixels {rule.max_pixels}"
    if rule.send == "file" and rule.resize in ("client", "auto"):
        yield "field image.send: file:// sends the screenshot untouched, so image.resize must be none or server"


def _user_problems(user: tuple[CardPart, ...]) -> Iterator[str]:
    for index, part in enumerate(user):
        if (part.text is None) == (part.image is None):
            yield f"field user[{index}]: expected either `text` or `image: screenshot`, exactly one of them"
    if sum(part.image is not None for part in user) != 1:
        yield "field user: expected exactly one part `image: screenshot`"


def _plan_problems(rule: PlanRule) -> Iterator[str]:
    if rule.within is None:
        return
    if rule.covers == "instruction":
        yield "field plan.within: a plan that covers the instruction is the last numbered list of the whole reply"
    yield from _pattern_problems("plan.within", rule.within, (1,), "the plan")


def _answer_problems(rule: AnswerRule) -> Iterator[str]:
    wanted = {"point": (2,), "box": (4,), "point_or_box": (2, 4)}[rule.form]
    for pattern in rule.patterns:
        yield from _pattern_problems("answer.pattern", pattern, wanted, f"form {rule.form}")
    if rule.within is not None:
        yield from _pattern_problems("answer.within", rule.within, (1,), "the part to be read")
    if rule.refusal is not None:
        yield from _pattern_problems("answer.refusal", rule.refusal, (), "")
    if rule.whole_numbers is not None and rule.space != "rel_1":
        yield f"field answer.whole_numbers: is for space rel_1, where a 2 is outside; space is {rule.space}"


def _pattern_problems(field: str, pattern: str, counts: tuple[int, ...], what: str) -> Iterator[str]:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        yield f"field {field}: not a regular expression: {error}"
        return
    if counts and groups not in counts:
        yield f"field {field}: has {groups} groups; {what} needs {' or '.join(map(str, counts))}"


def read_cards(folder: Path, card_type: type[CardT]) -> tuple[CardT, ...]:
    paths = sorted(folder.glob("*.yaml"), key=lambda path: path.stem)
    return tuple(card for path in paths for card in read_sizes(path, card_type))


def prompt_file(name: str, folder: Path, *, flag: str) -> Path:
    """The file of the prompt that a user means: the name of one in the folder, or the path of a file (.yaml)."""
    known = sorted(each.stem for each in folder.glob("*.yaml"))
    if name in known:
        return folder / f"{name}.yaml"
    if not name.endswith((".yaml", ".yml")):
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UserError(
            f"{flag} {name}: no prompt for {folder.name} is called so.{hint} There are: {', '.join(known)}; or give "
            "the path of a prompt (.yaml)"
        )
    return Path(name)


def find_card(
    name: str,
    folder: Path,
    card_type: type[FoundT],
    *,
    builtin: tuple[str, ...],
    kind: str,
    listed_by: str = "",
    otherwise: FoundT | None = None,
    more: str = "",
) -> FoundT:
    """The card that a user means: a path to a file or to a tuned model's folder, or a bundled card's name or id. A
    bundled card comes before a folder of its name. Ids are compared whole, never by a part of them: several releases
    share parts of their names. A model's id means the card that extends no other. ``listed_by`` is the command that
    lists the cards, where it is not named after the kind; ``otherwise`` is taken where nothing is called so, and
    ``more`` is said where there is no such card either.
    """
    if name.endswith((".yaml", ".yml")):
        return read_card(Path(name), card_type)
    cards = read_cards(folder, card_type)
    for card in cards:
        if name in (card.name, *card.aliases) or (name == card.model and not card.extends):
            return card
    if name and (Path(name) / CARD_FILE).is_file():
        return read_card(Path(name) / CARD_FILE, card_type)
    if "/" in name and Path(name).is_dir():
        below = next((each.parent for each in sorted(Path(name).glob(f"*/{CARD_FILE}"))), None)
        there = f"; there is one in {below}" if below else ""
        raise UserError(f"{name}: there is no {CARD_FILE} in this folder, so it is no {kind}{there}")
    if otherwise is not None:
        return otherwise
    known = [*builtin, *(card.name for card in cards)]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(
        f"no {kind} is called {name!r}.{hint} There are: {', '.join(known)}; or give the path of a card (.yaml). "
        f"`{listed_by or f'grounding list {kind}s'}` says more.{more}"
    )

"""Model cards: one YAML file says how one model is spoken to. Files in, frozen typed cards out.

A card with a wrong or missing field is refused with the file, the field and what is allowed there.
"""

from __future__ import annotations

import difflib
import re
import types
import typing
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from grounding.card_schema import (
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
    GrounderCard,
    ImageRule,
    Json,
    JsonScalar,
    Price,
    PublishedScore,
    ServingCard,
    WeightsRule,
)
from grounding.errors import UserError
from grounding.planner_card import PlannerCard, PlanRule, PromptCard
from grounding.search_card import SearchCard, SearchFee
from grounding.tuned import CARD_FILE, resolve

__all__ = [
    "PREFILL_PARAMETERS",
    "RESERVED_PARAMETERS",
    "WRITTEN_NUMBER",
    "ActionRule",
    "AdapterRule",
    "AnswerRule",
    "CardPart",
    "ChatCard",
    "EndpointCard",
    "Family",
    "GrounderCard",
    "ImageRule",
    "Json",
    "JsonScalar",
    "PlanRule",
    "PlannerCard",
    "Price",
    "PromptCard",
    "PublishedScore",
    "SearchCard",
    "SearchFee",
    "ServingCard",
    "WeightsRule",
    "find_card",
    "read_card",
    "read_cards",
]

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
    """Read and check one card.

    Raises:
        UserError: the file can't be read, is not YAML, or a field is wrong; says which and what is allowed. Or the
            weights of a tuned model are not where the card says.
    """
    try:
        card = msgspec.yaml.decode(path.read_bytes(), type=card_type)
    except OSError as error:
        raise UserError(f"{path}: the card can't be read: {error.strerror}") from error
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `")
        fields = re.findall(r"[A-Za-z_]\w*", where.removeprefix("key` in `"))
        named = ".".join(fields) or "(top level)"
        raise UserError(f"{path}: field {named}: {text}.{allowed_at(card_type, fields)}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from error
    problem = _problem(card)
    if problem:
        raise UserError(f"{path}: {problem}")
    return resolve(card, path) if isinstance(card, ChatCard) else card


def _problem(card: ChatCard | PromptCard) -> str | None:
    if isinstance(card, PromptCard):
        return _user_problem(card.user) or _plan_problem(card.plan)
    if isinstance(card, PlannerCard):
        problem = _planner_problem(card)
        if problem is not None:
            return problem
    elif isinstance(card, SearchCard):
        if card.user or card.system is not None or card.prefill is not None:
            return "field user: a search model has no prompt of its own (user, system, prefill)"
    else:
        problem = _user_problem(card.user)
        if problem is not None:
            return problem
    replies = card.output_tokens
    if replies is not None and not replies.low <= replies.expected <= replies.high:
        return "field output_tokens: expected low <= expected <= high"
    refused = [name for name in card.refuses if name in card.parameters or name in card.takes]
    if refused:
        return f"field refuses: {', '.join(refused)} is also in parameters or takes"
    problem = _image_problem(card.image)
    if problem is not None:
        return problem
    taken = [name for name in _reserved(card) if name in card.parameters]
    if taken:
        return f"field parameters: {', '.join(taken)} can't be set here"
    if card.adapter is not None and card.weights is not None:
        return "field adapter: belongs to another model's weights; leave it out, or leave out weights"
    if card.prefill == "":
        return "field prefill: is empty; leave it out"
    if card.serving.how in ("in-process", "recorded") and not card.serving.reason:
        return f"field serving.reason: how {card.serving.how} needs the reason"
    if card.serving.how == "vllm-flags" and not (card.serving.flags and card.serving.reason):
        return "field serving: how vllm-flags needs the flags and the reason"
    if isinstance(card, GrounderCard):
        return _answer_problem(card.answer) or _action_problem(card) or _writes_problem(card)
    return None


def _writes_problem(card: GrounderCard) -> str | None:
    if card.writes is None:
        return None
    names = sorted(match[1] for match in WRITTEN_NUMBER.finditer(card.writes))
    if names not in (["x", "y"], ["x1", "x2", "y1", "y2"]):
        return "field writes: expected {x} and {y}, or {x1}, {y1}, {x2} and {y2}, each of them once"
    if not card.writes.startswith(card.prefill or ""):
        return "field writes: must begin with the prefill"
    return None


def _action_problem(card: GrounderCard) -> str | None:
    rule = card.action
    if rule is None:
        return None
    if rule.system is not None and not rule.user:
        return "field action.system: belongs to a prompt of its own; give user as well, or leave it out"
    taken = [name for name in RESERVED_PARAMETERS if name in (rule.parameters or {})]
    if taken:
        return f"field action.parameters: {', '.join(taken)} can't be set here"
    problem = (_user_problem(rule.user) if rule.user else None) or _image_problem(rule.image or card.image)
    return problem and f"{problem} (in action)"


def _image_problem(rule: ImageRule) -> str | None:
    if rule.resize != "none":
        missing = [name for name in ("factor", "min_pixels", "max_pixels") if getattr(rule, name) is None]
        if missing:
            return f"field image: resize {rule.resize} needs {', '.join(missing)}"
        if rule.min_pixels is not None and rule.max_pixels is not None and rule.min_pixels > rule.max_pixels:
            return f"field image: min_pixels {rule.min_pixels} is more than max_pixels {rule.max_pixels}"
    if rule.send == "file" and rule.resize == "client":
        return "field image.send: file:// sends the screenshot untouched, so image.resize must be none or server"
    return None


def _user_problem(user: tuple[CardPart, ...]) -> str | None:
    for index, part in enumerate(user):
        if (part.text is None) == (part.image is None):
            return f"field user[{index}]: expected either `text` or `image: screenshot`, exactly one of them"
    if sum(part.image is not None for part in user) != 1:
        return "field user: expected exactly one part `image: screenshot`"
    return None


def _planner_problem(card: PlannerCard) -> str | None:
    """A planner's card has a prompt of its own, or leaves all of it to a named one."""
    if card.prompt:
        return "field prompt: is put in when the planner is made; leave it out and choose with --planner-prompt"
    if card.user:
        return _user_problem(card.user) or _plan_problem(card.plan)
    if card.system is not None or card.plan != PlanRule():
        return "field user: is missing; system and plan belong to a prompt of the card's own"
    return None


def _plan_problem(rule: PlanRule) -> str | None:
    if rule.within is None:
        return None
    if rule.covers == "instruction":
        return "field plan.within: a plan that covers the instruction is the last numbered list of the whole reply"
    try:
        groups = re.compile(rule.within).groups
    except re.error as error:
        return f"field plan.within: not a regular expression: {error}"
    return None if groups == 1 else f"field plan.within: has {groups} groups; the plan needs 1"


def _reserved(card: ChatCard) -> tuple[str, ...]:
    return RESERVED_PARAMETERS if card.prefill is None else (*RESERVED_PARAMETERS, *PREFILL_PARAMETERS)


def _answer_problem(rule: AnswerRule) -> str | None:
    wanted = {"point": (2,), "box": (4,), "point_or_box": (2, 4)}[rule.form]
    checks: list[tuple[str, str, tuple[int, ...], str]] = [
        ("pattern", pattern, wanted, f"form {rule.form}") for pattern in rule.patterns
    ]
    if rule.within is not None:
        checks.append(("within", rule.within, (1,), "the part to be read"))
    if rule.refusal is not None:
        checks.append(("refusal", rule.refusal, (), ""))
    for name, value, counts, what in checks:
        try:
            groups = re.compile(value).groups
        except re.error as error:
            return f"field answer.{name}: not a regular expression: {error}"
        if counts and groups not in counts:
            return f"field answer.{name}: has {groups} groups; {what} needs {' or '.join(map(str, counts))}"
    if rule.whole_numbers is not None and rule.space != "rel_1":
        return f"field answer.whole_numbers: is for space rel_1, where a 2 is outside; space is {rule.space}"
    return None


def read_cards(folder: Path, card_type: type[CardT]) -> tuple[CardT, ...]:
    """Read every card of a folder, in order of file names."""
    return tuple(read_card(path, card_type) for path in sorted(folder.glob("*.yaml")))


def find_card(
    name: str, folder: Path, card_type: type[FoundT], *, builtin: tuple[str, ...], kind: str, listed_by: str = ""
) -> FoundT:
    """The card that a user means: a path to a file or to a tuned model's folder, or a bundled card's name or id.

    A bundled card comes before a folder of its name. Ids are compared whole, never by a part of them: several releases
    share parts of their names. ``listed_by`` is the command that lists the cards, where it is not named after the kind.

    Raises:
        UserError: nothing is called so; names what there is and the nearest.
    """
    if name.endswith((".yaml", ".yml")):
        return read_card(Path(name), card_type)
    cards = read_cards(folder, card_type)
    for card in cards:
        if name in (card.name, card.model or card.name, *card.aliases):
            return card
    if name and (Path(name) / CARD_FILE).is_file():
        return read_card(Path(name) / CARD_FILE, card_type)
    if "/" in name and Path(name).is_dir():
        below = next((each.parent for each in sorted(Path(name).glob(f"*/{CARD_FILE}"))), None)
        there = f"; there is one in {below}" if below else ""
        raise UserError(f"{name}: there is no {CARD_FILE} in this folder, so it is no {kind}{there}")
    known = [*builtin, *(card.name for card in cards)]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(
        f"no {kind} is called {name!r}.{hint} There are: {', '.join(known)}; or give the path of a card (.yaml). "
        f"`{listed_by or f'grounding list {kind}s'}` says more."
    )

"""The twelve actions of PERCU (Figure 4 of the paper): one entry of ``actions.toml`` each.

A point keeps the numbers as they were written, with the space that they are meant in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from grounding.actions.keys import NotAnAction, key_names
from grounding.geometry import ModelPoint, Space
from grounding.records import Record

ActionKind = str  # The name of an action, as PERCU's prompt has it.

ScrollDirection = Literal["up", "down"]

MOST = 1e9  # No screen is that large in any space, and no page so long: a larger number names no place.

NO_ACTION = "begins with none of the twelve actions"
END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|end|>", "<|eot_id|>", "[EOS]", "</s>", "<eos>")
QUOTES = "\"'`\u201c\u201d\u2018\u2019"


class Action(Record, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One thing done on a desktop; which fields it has follows from its kind.

    ``amount`` of a scroll is above 0, in pixels in PERCU; None where only the direction is known. ``key`` is one key
    pressed, ``keys`` are those held together, in the order written.
    """

    kind: ActionKind
    at: ModelPoint | None = None
    start: ModelPoint | None = None
    end: ModelPoint | None = None
    direction: ScrollDirection | None = None
    amount: float | None = None
    key: str = ""
    keys: tuple[str, ...] = ()
    text: str = ""

    @property
    def points(self) -> tuple[ModelPoint, ...]:
        return tuple(point for point in (self.at, self.start, self.end) if point is not None)

    def moved(self, points: Sequence[ModelPoint]) -> Action:
        names = [name for name in ("at", "start", "end") if getattr(self, name) is not None]
        return replace(self, **dict(zip(names, points, strict=True)))

    @property
    def pressed(self) -> tuple[str, ...]:
        return self.keys or ((self.key,) if self.key else ())

    @property
    def offset(self) -> float | None:
        """How far it scrolls, as PERCU writes it: positive is up, negative is down."""
        return -self.amount if self.amount is not None and self.direction == "down" else self.amount


class Unparsed(Record, frozen=True, kw_only=True):
    """A text that names none of the actions: why, and the part of it that was read, 200 characters at most."""

    reason: str
    text: str


class ActionEntry(Record, frozen=True, forbid_unknown_fields=True):
    """An action, as it stands in ``actions.toml``, which says what each field means."""

    form: str
    says: Literal["point", "ends", "turn", "keys", "hotkey", "text", "nothing"] = "nothing"
    words: str = ""
    names: tuple[str, ...] = ()
    alone: bool = False


NUMBER = r"[-+]?(?:\d{1,40}(?:\.\d{0,400})?|\.\d{1,400})"
GAP, END = r"[\s_-]{0,3}", r"(?![A-Za-z0-9])"

ENTRIES = msgspec.toml.decode(Path(__file__).with_name("actions.toml").read_bytes(), type=dict[ActionKind, ActionEntry])

ACTION_KINDS = tuple(ENTRIES)
NAMES = {name: kind for kind, entry in ENTRIES.items() for name in entry.names}

HEADS = {
    kind: re.compile(entry.words.replace("_", GAP) + END, re.IGNORECASE | re.ASCII)
    for kind, entry in ENTRIES.items()
    if entry.words
}
"""What begins a line that means an action."""


def read_said(kind: ActionKind, said: Any) -> Action:
    match ENTRIES[kind].says:
        case "point":
            return Action(kind=kind, at=said.point())
        case "ends":
            start, end = said.ends()
            return Action(kind=kind, start=start, end=end)
        case "turn":
            return _scroll(*said.turn())
        case "keys" | "hotkey" as says:
            return pressing(said.keys(least=1 if says == "keys" else 2))
        case "text":
            return Action(kind=kind, text=said.typed())
    return Action(kind=kind)


def pressing(names: list[str]) -> Action:
    keys = key_names(names)
    return Action(kind="press key", key=keys[0]) if len(keys) == 1 else Action(kind=f"hotkey {len(keys)}", keys=keys)


def _scroll(direction: str, amount: float | None) -> Action:
    word, by = direction.strip().casefold(), amount or 0.0
    if word in ("left", "right"):
        raise NotAnAction(f"scrolls to the {word}, and scrolling is vertical among the twelve actions")
    if word not in ("up", "down", ""):
        raise NotAnAction("scrolls neither up nor down")
    if not (by or word):
        raise NotAnAction("scrolls by nothing")
    if not abs(by) <= MOST or (word == "up" and by < 0):
        raise NotAnAction("scrolls up by a negative amount" if by < 0 else "scrolls further than any page is long")
    up = word == "up" or (not word and by > 0)
    return Action(kind="scroll", direction="up" if up else "down", amount=abs(by) if by else None)


class Passage(Record, frozen=True, kw_only=True):
    """What may be an action: its first line without decoration, and that line with what follows it.

    ``space`` is what coordinates mean that do not say it themselves. ``announced``: a word before it says that an
    action follows.
    """

    line: str
    text: str
    space: Space
    announced: bool


Dialect = Callable[[Passage], Action | None]
"""None where a passage begins with no action; raises NotAnAction where one's form is there and it is none of ours."""

DIALECTS: list[Dialect] = []  # The languages that actions are written in, in the order in which they are tried.


def dialect(function: Dialect) -> Dialect:
    DIALECTS.append(function)
    return function


def print_action(action: Action) -> str:
    """The action as PERCU's prompt writes it (Figure 4 of the paper); reading it again gives the same action.

    A scroll without an amount is ``scroll (up)``. Typed text stands in quotes where blanks or quotes begin or end it,
    or it has several lines.
    """
    text, offset = action.text, action.offset
    is_bare = text and text.isprintable() and text == text.strip() and not text.endswith(END_TOKENS)
    named = {name: getattr(action, name) for name in ("at", "start", "end")}
    return ENTRIES[action.kind].form.format(
        **{name: f"({plain_number(one.x)}, {plain_number(one.y)})" for name, one in named.items() if one is not None},
        offset=action.direction if offset is None else plain_number(offset),
        key=action.key,
        keys=", ".join(action.keys),
        text=text if is_bare and not {text[0], text[-1]} & set(QUOTES) else f'"{text}"',
    )


def plain_number(value: float) -> str:
    """All digits that tell a number from its neighbours, without an exponent."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")


def make_point(x: float, y: float, space: Space) -> ModelPoint:
    if not all(math.isfinite(value) and abs(value) <= MOST for value in (x, y)):
        raise NotAnAction("names a place beyond any screen")
    return ModelPoint(space=space, x=x, y=y)

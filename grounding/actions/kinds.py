"""The twelve actions of PERCU (Figure 4 of the paper), one entry of ``actions.toml`` each, and names of keys."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from grounding.geometry import ModelPoint, Space
from grounding.records import Record

MOST_CHARS, MOST_KEYS = 24, 3


class NotAnAction(Exception):
    """The text has the form of an action and is none; the message says why."""


_LINES = [line.split() for line in Path(__file__).with_name("keys.txt").read_text(encoding="utf-8").splitlines()]

MODIFIERS = frozenset({"ctrl", "shift", "alt", "win"})  # Held while another is pressed, in any order.
# From the wide forms of brackets, digits and letters, which Chinese replies have, to the usual ones.
NARROW = str.maketrans({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)})
KEY_NAMES = frozenset({*(name for name, *_ in _LINES), *ascii_lowercase, *digits, *(f"f{at}" for at in range(1, 25))})

_SIDES = {f"{name}{side}": name for name in sorted(MODIFIERS) for side in ("left", "right")}
_ALIASES = {other: name for name, *others in _LINES for other in others}
for _base, _name in [*_ALIASES.items(), *((name, name) for name in MODIFIERS)]:
    for _side in ("left", "right") if _name in MODIFIERS else ():
        _spelt = (f"{_base}{_side}", f"{_side}{_base}", f"{_base}{_side[0]}", f"{_side[0]}{_base}")
        _ALIASES.update(dict.fromkeys(_spelt, f"{_name}{_side}"))
_ALIASES.update({spelt: way for way in ("up", "down", "left", "right") for spelt in (f"arrow{way}", f"{way}arrow")})
_BLANKS = {" ": "space", "\t": "tab", "\n": "enter", "\r": "enter"}


def key_name(written: str) -> str | None:
    """The one name of the key that a spelling means, None where it means none.

    Case, blanks, ``_`` and ``-`` inside a name do not count, nor does a word ``key`` behind it. The left and the right
    one of two equal keys keep names of their own.

    >>> key_name("Page_Down"), key_name("Escape"), key_name("Return key"), key_name("A"), key_name("save")
    ('pagedown', 'esc', 'enter', 'a', None)
    """
    if written in _BLANKS:
        return _BLANKS[written]
    name = written.translate(NARROW).strip().casefold()
    if len(name) == 1:
        # Any other single character is a key of some keyboard: umlauts, Cyrillic, Chinese input.
        return name if name.isprintable() else None
    bare = name[: MOST_CHARS + 1].removeprefix("key.").removeprefix("xk_").translate(dict.fromkeys(map(ord, " _-")))
    if len(name) > MOST_CHARS or len(bare) < 2 or not bare.isalnum():
        return None
    spelt = (_ALIASES.get(spelling, spelling) for spelling in (bare, bare.removesuffix("key")))
    return next((found for found in spelt if found in KEY_NAMES), None)


def same_keys(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Modifiers in any order and on either side, then the rest in order.

    >>> same_keys(("ctrl", "shift", "s"), ("shiftleft", "ctrl", "s")), same_keys(("a", "b"), ("b", "a"))
    (True, False)
    """
    ours, theirs = ([_SIDES.get(key, key) for key in keys] for keys in (one, other))
    if MODIFIERS & set(ours) != MODIFIERS & set(theirs):
        return False
    return [key for key in ours if key not in MODIFIERS] == [key for key in theirs if key not in MODIFIERS]


def key_names(written: list[str]) -> tuple[str, ...]:
    """The names of one to three keys that are pressed together; else raises NotAnAction."""
    keys = tuple(key_name(name) or "" for name in written[: MOST_KEYS + 1])
    if not all(keys):
        raise NotAnAction(f"names a key that there is not: {written[keys.index('')].strip()[:24]!r}")
    if len(keys) > MOST_KEYS:
        raise NotAnAction("is a hotkey of more than three keys, which is none of the twelve actions")
    if not keys:
        raise NotAnAction("names no key")
    return keys


def split_keys(written: str) -> list[str]:
    """The names in ``ctrl, c``, ``ctrl+c``, ``ctrl-c`` or ``ctrl c``; a separator where a name is due is the key.

    >>> split_keys("Ctrl, Shift, ,"), split_keys("ctrl++"), split_keys("ctrl c"), split_keys("page down")
    (['Ctrl', 'Shift', ','], ['ctrl', '+'], ['ctrl', 'c'], ['page down'])
    """
    written = written.strip()
    if key_name(written) is not None:
        return [written]
    for separator in (",", "+"):
        if separator in written:
            parts: list[str] = []
            # A separator where a name is due is the key of that name.
            for found in re.finditer(rf"\s*([{separator}]?[^{separator}]*)([{separator}]|$)", written):
                parts.append(found[1].strip())
                if not found[2] or len(parts) > MOST_KEYS:
                    break
            return [part for one in parts for part in (split_keys(one) if one != written else [one])]
    for separator in ("-", " "):
        names = [part for part in written.split(separator, MOST_KEYS + 1) if part]
        if len(names) > 1 and all(key_name(name) is not None for name in names):
            return names
    return [written]


ActionKind = str  # The name of an action, as PERCU's prompt has it.
ScrollDirection = Literal["up", "down"]
MOST = 1e9  # No screen is that large in any space, and no page so long: a larger number names no place.

NO_ACTION = "begins with none of the twelve actions"
END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|end|>", "<|eot_id|>", "[EOS]", "</s>", "<eos>")
QUOTES = "\"'`\u201c\u201d\u2018\u2019"


class Action(Record, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One thing done on a desktop. ``amount`` of a scroll is above 0, None where only the direction is known."""

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
}  # What begins a line that means an action.


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
    """What may be an action: its first line, and that line with what follows; ``announced`` by a word before it."""

    line: str
    text: str
    space: Space
    announced: bool


# None where a passage begins with no action; raises NotAnAction where one's form is there and it is none of ours.
Dialect = Callable[[Passage], Action | None]
DIALECTS: list[Dialect] = []  # The languages that actions are written in, in the order in which they are tried.


def dialect(function: Dialect) -> Dialect:
    DIALECTS.append(function)
    return function


def print_action(action: Action) -> str:
    """The action as PERCU's prompt writes it; reading it again gives the same. ``scroll (up)`` has no amount."""
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

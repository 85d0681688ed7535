"""Names of keys: every spelling that recorders and models use in, one name for each key out.

The names are those of PyAutoGUI, which the trajectories behind PERCU use (PC Tracker, PC-Agent-E).
"""

from __future__ import annotations

import re
from pathlib import Path
from string import ascii_lowercase, digits

MOST_CHARS, MOST_KEYS = 24, 3


class NotAnAction(Exception):
    """The text has the form of an action and is none; the message says why."""


_LINES = [line.split() for line in Path(__file__).with_name("keys.txt").read_text(encoding="utf-8").splitlines()]

MODIFIERS = frozenset({"ctrl", "shift", "alt", "win"})
"""The keys that are held while another is pressed: their order among themselves says nothing."""

NARROW = str.maketrans({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)})
"""From the wide forms of brackets, digits and letters, which Chinese replies have, to the usual ones."""

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
    both = [[_SIDES.get(key, key) for key in keys] for keys in (one, other)]
    held, rest = (
        {MODIFIERS & set(keys) for keys in both},
        {tuple(k for k in keys if k not in MODIFIERS) for keys in both},
    )
    return len(held) == len(rest) == 1


def key_names(written: list[str]) -> tuple[str, ...]:
    """The names of one to three keys that are pressed together; else raises NotAnAction."""
    keys = []
    for name in written[: MOST_KEYS + 1]:
        keys.append(key_name(name) or "")
        if not keys[-1]:
            raise NotAnAction(f"names a key that there is not: {name.strip()[:24]!r}")
    if not keys:
        raise NotAnAction("names no key")
    if len(keys) > MOST_KEYS:
        raise NotAnAction("is a hotkey of more than three keys, which is none of the twelve actions")
    return tuple(keys)


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

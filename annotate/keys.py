"""Which key does what: actions, keys as people write them, and a map of both without conflicts.

A key is written ``Mod+Shift+Z``: any of ``Mod`` (Command on a Mac, Ctrl elsewhere), ``Alt`` (Option on a Mac) and
``Shift``, then a letter, a sign or a name such as ``Right``, ``Delete`` or ``F1``. Nothing here knows of windows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from annotate.actions import ACTIONS, Action
from grounding.errors import UserError
from grounding.records import Record

MAC = sys.platform == "darwin"
_MODIFIERS = ("Mod", "Alt", "Shift")
_NAMED = {
    name.lower(): name
    for name in (
        "Left", "Right", "Up", "Down", "Home", "End", "PageUp", "PageDown", "Delete", "Backspace", "Insert", "Escape",
        "Return", "Tab", "Space", *(f"F{number}" for number in range(1, 13)),
    )
}  # fmt: skip
_ALSO = {
    "esc": "Escape", "del": "Delete", "enter": "Return", "ctrl": "Mod", "control": "Mod", "command": "Mod",
    "cmd": "Mod", "meta": "Mod", "option": "Alt", "opt": "Alt", "plus": "+", "minus": "-", "period": ".", "comma": ",",
    "slash": "/", "question": "?", "equal": "=", "bracketleft": "[", "bracketright": "]",
}  # fmt: skip


class Chord(Record, frozen=True, kw_only=True):
    """One key with its modifiers. A sign says what is typed, so Shift is not counted for it."""

    key: str
    mod: bool = False
    alt: bool = False
    shift: bool = False

    @property
    def types_text(self) -> bool:
        """True for a key that a text field needs: signs, and all that moves or deletes in it."""
        if self.key.startswith("F") and len(self.key) > 1:
            return False
        return not (self.mod and len(self.key) == 1) and self.key not in ("Escape", "PageUp", "PageDown")


def parse_chord(text: str) -> Chord:
    """Read a key as people write it.

    Raises:
        ValueError: It is not one; the message says what is wrong.

    >>> parse_chord("ctrl+shift+z") == Chord(key="Z", mod=True, shift=True)
    True
    """
    parts = [part.strip() for part in text.strip().split("+")]
    if text.strip().endswith("+"):
        parts = [*[part for part in parts if part], "+"]
    key = parts[-1]
    key = _ALSO.get(key.lower(), key)
    modifiers = [_ALSO.get(part.lower(), part.capitalize()) for part in parts[:-1]]
    for modifier in modifiers:
        if modifier not in _MODIFIERS:
            raise ValueError(f"{modifier!r} is no modifier; there are Mod, Alt and Shift")
    if key.lower() in _NAMED:
        key = _NAMED[key.lower()]
    elif len(key) == 1 and key.isprintable() and not key.isspace():
        key = key.upper()
    else:
        raise ValueError(f"{key!r} is no key; write a letter, a sign, or one of {', '.join(_NAMED.values())}")
    counts_shift = len(key) > 1 or key.isalpha()
    return Chord(key=key, mod="Mod" in modifiers, alt="Alt" in modifiers, shift="Shift" in modifiers and counts_shift)


def written(chord: Chord, *, mac: bool = MAC) -> str:
    """A key as it is shown: ``Ctrl+Shift+Z``, or ``⇧⌘Z`` on a Mac."""
    if mac:
        signs = ("⌥" if chord.alt else "") + ("⇧" if chord.shift else "") + ("⌘" if chord.mod else "")
        return signs + chord.key
    names = [name for name, on in (("Ctrl", chord.mod), ("Alt", chord.alt), ("Shift", chord.shift)) if on]
    return "+".join([*names, chord.key])


class Keymap:
    """Every action with its keys; no key has two actions.

    Args:
        actions: What can be done.
        overrides: Action names with the keys that replace the action's own; none of them for an action without a key.
        source: Where the overrides come from, for messages.

    Raises:
        UserError: An unknown action, something that is no key, or two actions for one key.
    """

    def __init__(
        self,
        actions: Iterable[Action] = ACTIONS,
        overrides: Mapping[str, Sequence[str]] | None = None,
        *,
        source: str = "the keys",
    ) -> None:
        self.actions = tuple(actions)
        names = {action.name for action in self.actions}
        overrides = overrides or {}
        for name in overrides:
            if name not in names:
                raise UserError(f"{source}: there is no action {name!r}; there are: {', '.join(sorted(names))}")
        self._by_chord: dict[Chord, Action] = {}
        self._chords: dict[str, tuple[Chord, ...]] = {}
        for action in self.actions:
            chords = []
            for text in overrides.get(action.name, action.keys):
                try:
                    chord = parse_chord(text)
                except ValueError as error:
                    raise UserError(f"{source}: {action.name}: {text!r} can't be read as a key: {error}") from error
                other = self._by_chord.setdefault(chord, action)
                if other is not action:
                    raise UserError(
                        f"{source}: {written(chord)} stands for both {other.name} ({other.words}) and "
                        f"{action.name} ({action.words}); give one of them another key, or none with []"
                    )
                chords.append(chord)
            self._chords[action.name] = tuple(dict.fromkeys(chords))

    def action_for(self, chord: Chord) -> Action | None:
        """What a key does; None for nothing."""
        return self._by_chord.get(chord)

    def chords(self, name: str) -> tuple[Chord, ...]:
        """The keys of an action."""
        return self._chords[name]

    def shown(self, name: str, *, mac: bool = MAC) -> str:
        """The keys of an action as one text, for lists and tips; empty for an action without a key."""
        return "  ".join(written(chord, mac=mac) for chord in self._chords[name])


def read_overrides(path: Path) -> dict[str, list[str]]:
    """Read a file of keys: YAML, or TOML where the name ends so.

    It maps action names to a key or a list of keys, such as ``next-step: [D, Right]``.

    Raises:
        UserError: The file can't be read, or is not such a map.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the file of keys {path} can't be read: {error}") from error
    loaded = _parse_toml(text, path) if path.suffix.lower() == ".toml" else _parse_yaml(text, path)
    if loaded is None:
        return {}
    expected = 'expected action names with a key or a list of keys, such as next-step: ["D", "Right"]'
    if not isinstance(loaded, dict):
        raise UserError(f"{path}: {expected}; got {type(loaded).__name__}")
    overrides: dict[str, list[str]] = {}
    for name, value in loaded.items():
        keys = value if isinstance(value, list) else [value]
        # YAML reads y and n as words for yes and no where they are not quoted, and 0 as a number.
        if not isinstance(name, str) or not all(isinstance(key, str) for key in keys):
            raise UserError(f"{path}: {name}: {expected}, each in quotes; got {value!r}")
        overrides[name] = keys
    return overrides


def _parse_toml(text: str, path: Path) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error


def _parse_yaml(text: str, path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error

"""What can be done by keys: actions with the keys that people know for them, and a map of both without conflicts.

A key is written ``Mod+Shift+Z``: any of ``Mod`` (the Ctrl key), ``Alt`` and ``Shift``, in this order, then a letter, a
sign or a name such as ``Right``. A sign says what is typed, so Shift is not counted for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from grounding.errors import UserError
from grounding.records import Record


class KeyAction(Record, frozen=True, kw_only=True):
    """Something that a key does; ``while_typing`` also in a text field, as far as its keys are not for typing."""

    name: str
    words: str
    keys: tuple[str, ...] = ()
    group: str = "Steps"
    while_typing: bool = False


def actions(group: str, *rows: tuple[str, str, str], while_typing: bool = False) -> tuple[KeyAction, ...]:
    """Actions of one group: name, words, and keys with blanks between them."""
    return tuple(
        KeyAction(name=name, words=words, keys=tuple(keys.split()), group=group, while_typing=while_typing)
        for name, words, keys in rows
    )


def read_actions(path: Path) -> tuple[KeyAction, ...]:
    blocks = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(
        action
        for block in blocks
        for action in actions(
            block["group"],
            *((name, *row) for name, row in block["actions"].items()),
            while_typing=block.get("while_typing", False),
        )
    )


# What the window can do by itself; panels bring further actions.
ACTIONS = read_actions(Path(__file__).with_name("keys.yaml"))
_MODIFIERS = ("Mod", "Alt", "Shift")
NAMED = {
    name.lower(): name
    for name in (
        "Left", "Right", "Up", "Down", "Home", "End", "PageUp", "PageDown", "Delete", "Backspace", "Insert", "Escape",
        "Return", "Tab", "Space", *(f"F{number}" for number in range(1, 13)),
    )
}  # fmt: skip


def chord(key: str, modifiers: Iterable[str] = ()) -> str:
    """A key with its modifiers, written the one way that it is compared in.

    >>> chord("z", ["Shift", "Mod"]), chord("?", ["Shift"])
    ('Mod+Shift+Z', '?')
    """
    held = set(modifiers)
    if len(key) == 1 and not key.isalpha():
        held.discard("Shift")
    return "+".join([*(name for name in _MODIFIERS if name in held), NAMED.get(key.lower(), key.upper())])


def parse_chord(text: str) -> str:
    """Read a key as people write it: in any case, ``Ctrl`` for ``Mod``. Raises ValueError: it is not one.

    >>> parse_chord("ctrl+shift+z"), parse_chord("Mod++")
    ('Mod+Shift+Z', 'Mod++')
    """
    head, key = text.strip()[:-1], text.strip()[-1:]
    if not head.endswith("+") and head:
        head, _, key = text.strip().rpartition("+")
    modifiers = [part.strip().capitalize().replace("Ctrl", "Mod") for part in head.rstrip("+").split("+") if part]
    for modifier in modifiers:
        if modifier not in _MODIFIERS:
            raise ValueError(f"{modifier!r} is no modifier; there are Mod, Alt and Shift")
    if key.lower() not in NAMED and not (len(key) == 1 and key.isprintable() and not key.isspace()):
        raise ValueError(f"{key!r} is no key; write a letter, a sign, or one of {', '.join(NAMED.values())}")
    return chord(key, modifiers)


def types_text(chord: str) -> bool:
    """Whether a text field needs this key: letters and signs, and all that moves or deletes in it."""
    key = chord[chord.rfind("+", 0, -1) + 1 :]
    if key[0] == "F" and len(key) > 1:
        return False
    return not (chord.startswith("Mod+") and len(key) == 1) and key not in ("Escape", "PageUp", "PageDown")


class Keymap:
    """Every action with its keys. Raises UserError: an unknown action, something that is no key, or one key for two."""

    def __init__(
        self, actions: Iterable[KeyAction] = ACTIONS, overrides: Mapping[str, Sequence[str]] | None = None, *,
        source: str = "the keys",
    ) -> None:  # fmt: skip
        self.actions = tuple(actions)
        self._by_chord: dict[str, KeyAction] = {}
        self._chords: dict[str, list[str]] = {action.name: [] for action in self.actions}
        overrides = overrides or {}
        for name in overrides:
            if name not in self._chords:
                known = ", ".join(sorted(self._chords))
                raise UserError(f"{source}: there is no action {name!r}; there are: {known}")
        for action in self.actions:
            for text in overrides.get(action.name, action.keys):
                try:
                    found = parse_chord(text)
                except ValueError as error:
                    raise UserError(f"{source}: {action.name}: {text!r} can't be read as a key: {error}") from error
                other = self._by_chord.setdefault(found, action)
                if other is not action:
                    raise UserError(
                        f"{source}: {found} stands for both {other.name} ({other.words}) and {action.name} "
                        f"({action.words}); give one of them another key, or none with []"
                    )
                self._chords[action.name].append(found)

    def action_for(self, chord: str) -> KeyAction | None:
        return self._by_chord.get(chord)

    def shown(self, name: str) -> str:
        """The keys of an action as one text, for lists and tips; empty for an action without a key."""
        return "  ".join(chord.replace("Mod", "Ctrl") for chord in self._chords[name])

    def first(self, name: str) -> str:
        return self.shown(name).split("  ")[0]

    def tip(self, name: str) -> str:
        words = next(action.words for action in self.actions if action.name == name)
        return f"{words}   {self.shown(name)}".strip()


def read_overrides(path: Path) -> dict[str, list[str]]:
    """Read a file of keys, YAML: action names with a key or a list of keys. Raises UserError: it is no such file."""
    try:
        loaded: Any = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"the file of keys {path} can't be read: {' '.join(str(error).split())}") from error
    pairs: Any = loaded.items() if isinstance(loaded, dict) else [("", None)]
    overrides: dict[str, list[str]] = {name: keys if isinstance(keys, list) else [keys] for name, keys in pairs}
    for name, keys in overrides.items():
        # YAML reads 0 as a number where it is not quoted.
        if not all(isinstance(one, str) for one in (name, *keys)):
            expected = 'expected action names with a key or a list of keys in quotes, such as next-step: ["D", "Right"]'
            raise UserError(f"{path}: {name}: {expected}; got {keys}")
    return overrides

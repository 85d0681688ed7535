"""Keys: what people write, what Tk tells on the layouts and with the locks that people have, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tkinter", reason="this Python has no tkinter")

from annotate.core.keys import ACTIONS, Keymap, parse_chord, read_overrides
from annotate.window.chrome import chord_of
from grounding.errors import UserError

SHIFT, LOCK, CONTROL, ALT, NUM_LOCK = 0x1, 0x2, 0x4, 0x8, 0x10


@pytest.mark.parametrize(
    ("text", "chord"),
    [
        ("ctrl+shift+z", "Mod+Shift+Z"),
        ("ctrl+?", "Mod+?"), ("Shift+?", "?"), ("Mod++", "Mod++"), ("+", "+"),
        ("alt+pageup", "Alt+PageUp"), ("d", "D"), ("f12", "F12"),
    ],
)  # fmt: skip
def test_keys_are_read_as_people_write_them(text: str, chord: str) -> None:
    assert parse_chord(text) == chord
    assert parse_chord(chord) == chord


def test_keys_are_exchanged_taken_away_and_shown() -> None:
    keymap = Keymap(ACTIONS, {"next-step": ["A"], "previous-step": ["D"], "fit": []})
    assert keymap.shown("next-step") == "A"
    assert keymap.action_for("Mod+F") is None
    assert keymap.shown("fit") == ""
    assert keymap.shown("redo") == "Ctrl+Shift+Z  Ctrl+Y"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("keys.yaml", 'next-step: ["D", "Right"]\nno-click: "0"\n', {"next-step": ["D", "Right"], "no-click": ["0"]}),
        ("keys.yaml", "", {}),
        ("keys.yaml", "next-step: n\nno-click: [1]", "in quotes"),
        ("keys.yaml", "- D", "expected action names"),
        ("keys.yaml", "a: [", "can't be read"),
        ("keys.yaml", "next: D", "there is no action 'next'"),
        ("keys.yaml", 'next-step: "Hyper+D"', "'Hyper' is no modifier"),
        ("keys.yaml", "no-click: Dd", "is no key"),
        ("keys.yaml", "no-click: D", "D stands for both next-step .* and no-click"),
    ],
)
def test_a_file_of_keys_is_read_or_says_what_is_wrong(
    tmp_path: Path, name: str, text: str, said: str | dict[str, list[str]]
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    if isinstance(said, dict):
        assert read_overrides(path) == said
        return
    with pytest.raises(UserError, match=said) as caught:
        Keymap(ACTIONS, read_overrides(path), source=str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("keysym", "char", "state", "chord"),
    [
        ("D", "D", LOCK, "D"),
        ("D", "D", SHIFT, "Shift+D"),
        ("z", "\x1a", CONTROL | NUM_LOCK, "Mod+Z"),
        ("question", "?", SHIFT, "?"),
        ("plus", "+", CONTROL | SHIFT, "Mod++"),
        ("KP_Add", "+", CONTROL, "Mod++"),
        ("period", ".", ALT, "Alt+."),
        ("ISO_Left_Tab", "", SHIFT, "Shift+Tab"),
        ("Prior", "", 0, "PageUp"),
        ("Left", "", SHIFT | CONTROL, "Mod+Shift+Left"),
        ("F1", "", 0, "F1"),
        ("Shift_L", "", 0, None),
        ("XF86AudioMute", "", 0, None),
    ],
)
def test_keys_of_events(keysym: str, char: str, state: int, chord: str | None) -> None:
    assert chord_of(keysym, char, state) == chord

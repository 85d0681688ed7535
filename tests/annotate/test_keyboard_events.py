"""From Tk's events to keys, on the layouts and with the locks that people have."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("tkinter", reason="this Python has no tkinter")

from annotate.keys import Chord
from annotate.window.keyboard import chord_of

SHIFT, LOCK, CONTROL, ALT, NUM_LOCK = 0x1, 0x2, 0x4, 0x8, 0x10

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="these numbers are those of X")


@pytest.mark.parametrize(
    ("keysym", "char", "state", "chord"),
    [
        ("d", "d", 0, Chord(key="D")),
        ("D", "D", LOCK, Chord(key="D")),
        ("D", "D", SHIFT, Chord(key="D", shift=True)),
        ("z", "\x1a", CONTROL | NUM_LOCK, Chord(key="Z", mod=True)),
        ("Z", "\x1a", CONTROL | SHIFT, Chord(key="Z", mod=True, shift=True)),
        ("question", "?", SHIFT, Chord(key="?")),
        ("plus", "+", CONTROL | SHIFT, Chord(key="+", mod=True)),
        ("KP_Add", "+", CONTROL, Chord(key="+", mod=True)),
        ("KP_0", "0", CONTROL, Chord(key="0", mod=True)),
        ("0", "0", CONTROL, Chord(key="0", mod=True)),
        ("period", ".", ALT, Chord(key=".", alt=True)),
        ("ISO_Left_Tab", "", SHIFT, Chord(key="Tab", shift=True)),
        ("Prior", "", 0, Chord(key="PageUp")),
        ("Left", "", SHIFT | CONTROL, Chord(key="Left", mod=True, shift=True)),
        ("space", " ", 0, Chord(key="Space")),
        ("BackSpace", "\x08", 0, Chord(key="Backspace")),
        ("F1", "", 0, Chord(key="F1")),
        ("Escape", "\x1b", 0, Chord(key="Escape")),
        ("Shift_L", "", 0, None),
        ("Control_L", "", CONTROL, None),
        ("Caps_Lock", "", 0, None),
        ("XF86AudioMute", "", 0, None),
    ],
)
def test_keys_of_events(keysym: str, char: str, state: int, chord: Chord | None) -> None:
    assert chord_of(keysym, char, state) == chord


@pytest.mark.parametrize(
    ("keysym", "char", "keycode", "key"),
    [
        ("Cyrillic_ve", "\N{CYRILLIC SMALL LETTER VE}", 40, "D"),
        ("Cyrillic_VE", "\N{CYRILLIC CAPITAL LETTER VE}", 40, "D"),
        ("Greek_alpha", "\N{GREEK SMALL LETTER ALPHA}", 38, "A"),
        ("hebrew_zain", "\N{HEBREW LETTER ZAYIN}", 52, "Z"),
    ],
)
def test_a_layout_without_latin_letters_has_the_same_keys(keysym: str, char: str, keycode: int, key: str) -> None:
    assert chord_of(keysym, char, 0, keycode) == Chord(key=key)
    assert chord_of(keysym, "", CONTROL, keycode) == Chord(key=key, mod=True)


def test_letters_of_latin_layouts_stay_where_they_are() -> None:
    # The key that has Q on an American keyboard has A on a French one.
    assert chord_of("a", "a", 0, 24) == Chord(key="A")

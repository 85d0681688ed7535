"""The keymap: what people write, what is refused, and that the window's own keys are what users know."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate.actions import ACTIONS, Action
from annotate.keys import Chord, Keymap, parse_chord, read_overrides, written
from grounding.errors import UserError

KNOWN = {
    "W": "new-box", "D": "next-step", "A": "previous-step", "Ctrl+Right": "next-step", "Delete": "delete-box",
    "Backspace": "delete-box", "Ctrl+S": "save", "Ctrl+D": "duplicate-box", "Ctrl+C": "copy-box",
    "Ctrl+V": "paste-box", "Ctrl+Z": "undo", "Ctrl+Shift+Z": "redo", "Ctrl+Y": "redo", "Esc": "cancel",
    "Space": "verify", "Ctrl+U": "open", "T": "toggle-boxes", "Ctrl+E": "box-kind", "Tab": "next-box",
    "Alt+.": "next-box", "?": "help", "F1": "help", "Left": "move-left", "Shift+Left": "move-left-10",
    "Ctrl++": "zoom-in", "Ctrl+-": "zoom-out", "Ctrl+0": "zoom-100", "Ctrl+F": "fit",
}  # fmt: skip


@pytest.mark.parametrize("text", KNOWN)
def test_the_keys_that_people_know(text: str) -> None:
    action = Keymap().action_for(parse_chord(text))
    assert action is not None
    assert action.name == KNOWN[text]


def test_every_action_has_words_and_a_name_of_its_own() -> None:
    assert len({action.name for action in ACTIONS}) == len(ACTIONS)
    assert all(action.words and action.keys for action in ACTIONS)


@pytest.mark.parametrize(
    ("text", "chord"),
    [
        ("ctrl+shift+z", Chord(key="Z", mod=True, shift=True)),
        ("Command+Z", Chord(key="Z", mod=True)),
        ("Shift+?", Chord(key="?")),
        ("Mod++", Chord(key="+", mod=True)),
        ("+", Chord(key="+")),
        ("option+pageup", Chord(key="PageUp", alt=True)),
        ("d", Chord(key="D")),
        ("f12", Chord(key="F12")),
    ],
)
def test_keys_are_read_as_people_write_them(text: str, chord: Chord) -> None:
    assert parse_chord(text) == chord
    assert parse_chord(written(chord, mac=False)) == chord


@pytest.mark.parametrize("text", ["", "Hyper+D", "Ctrl+", "Dd", "F13", " ", "Ctrl+Shift"])
def test_what_is_no_key_is_refused(text: str) -> None:
    if text == "Ctrl+":
        assert parse_chord(text) == Chord(key="+", mod=True)
        return
    with pytest.raises(ValueError, match="is no"):
        parse_chord(text)


def test_on_a_mac_keys_have_their_signs() -> None:
    assert written(Chord(key="Z", mod=True, shift=True), mac=True) == "⇧⌘Z"
    assert Keymap().shown("save", mac=True) == "⌘S"


def test_a_conflict_names_both_actions() -> None:
    with pytest.raises(UserError) as caught:
        Keymap(ACTIONS, {"no-click": ["D"]}, source="keys.yaml")
    message = str(caught.value)
    for part in ("keys.yaml", "D", "next-step", "no-click"):
        assert part in message


def test_a_conflict_with_a_panels_action_is_refused_as_well() -> None:
    with pytest.raises(UserError, match="review-accept"):
        Keymap((*ACTIONS, Action(name="review-accept", words="Accept", keys=("W",))))


def test_two_keys_can_be_exchanged_and_one_taken_away() -> None:
    keymap = Keymap(ACTIONS, {"next-step": ["A"], "previous-step": ["D"], "crosshair": []})
    assert keymap.shown("next-step") == "A"
    assert keymap.action_for(Chord(key="X")) is None
    assert keymap.shown("crosshair") == ""


def test_unknown_actions_and_keys_are_refused() -> None:
    with pytest.raises(UserError, match="there is no action 'next'"):
        Keymap(ACTIONS, {"next": ["D"]})
    with pytest.raises(UserError, match="'Hyper' is no modifier"):
        Keymap(ACTIONS, {"next-step": ["Hyper+D"]})


def test_the_same_key_twice_for_one_action_is_no_conflict() -> None:
    assert Keymap(ACTIONS, {"next-step": ["D", "d"]}).shown("next-step") == "D"


@pytest.mark.parametrize("name", ["keys.yaml", "keys.toml"])
def test_files_of_keys(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = (
        'next-step: ["D", "Right"]\nno-click: "0"\n'
        if name.endswith("yaml")
        else 'next-step = ["D", "Right"]\nno-click = "0"\n'
    )
    path.write_text(text, encoding="utf-8")
    assert read_overrides(path) == {"next-step": ["D", "Right"], "no-click": ["0"]}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("keys.yaml", "next-step: n\nno-click: [1]", "in quotes"),
        ("keys.yaml", "crosshair: y", None),
        ("keys.yaml", "verify: no", "in quotes"),
        ("keys.yaml", "- D", "expected action names"),
        ("keys.yaml", "a: [", "not valid YAML"),
        ("keys.toml", "a = [", "not valid TOML"),
        ("keys.yaml", "", None),
    ],
)
def test_a_broken_file_of_keys_says_what_is_wrong(tmp_path: Path, name: str, text: str, said: str | None) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    if said is None:
        read_overrides(path)
        return
    with pytest.raises(UserError, match=said) as caught:
        read_overrides(path)
    assert str(path) in str(caught.value)
    with pytest.raises(UserError, match="can't be read"):
        read_overrides(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "typing"),
    [("D", True), ("Space", True), ("Left", True), ("Mod+Left", True), ("Delete", True), ("?", True), ("Tab", True),
     ("Mod+Z", False), ("F1", False), ("Escape", False), ("PageDown", False)],
)  # fmt: skip
def test_which_keys_a_text_field_needs(text: str, typing: bool) -> None:
    assert parse_chord(text).types_text is typing

"""The offline agent: what words ask for, and what on a screen they mention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.desktop.ocr import Intent, intend, on_the_screen
from grounding.grounders.ocr.screen import Screen, TextLine, TextWord
from grounding.records import Box, Size


@pytest.mark.parametrize(
    ("words", "kind", "what"),
    [
        ("I save it with Ctrl+S.", "keys", ("ctrl", "s")),
        ("Robin saves with Ctrl and S.", "keys", ("ctrl", "s")),
        ("Ctrl, Shift and N makes the folder.", "keys", ("ctrl", "shift", "n")),
        ("Press Ctrl-Alt-Delete now", "keys", ("ctrl", "alt", "delete")),
        ("One size larger: Ctrl and plus.", "keys", ("ctrl", "+")),
        ("I press the Enter key to confirm.", "keys", ("enter",)),
        ("Enter opens the file that was typed.", "keys", ("enter",)),
        ("I press Page Down once.", "keys", ("pagedown",)),
        ("The right arrow key goes on; the right arrow key again.", "keys", ("right",)),
        ("F2 lets me change the name.", "keys", ("f2",)),
        ('I type "coffee" into the list.', "type text", "coffee"),
        ("Next I'll enter 'Dear Mr Okoro,' in the field", "type text", "Dear Mr Okoro,"),
        ("The place is always the same. I type it: /home/robin/list.txt", "type text", "/home/robin/list.txt"),
        ('Type "finish the report" and go on.', "type text", "finish the report"),
        ("I need to scroll up to the top of the page.", "scroll", "up"),
        ("I turn the wheel to see the rest.", "scroll", "down"),
        ("Right-click the folder.", "right click", None),
        ("A double click on the title makes it large.", "double click", None),
        ("Click the Save button.", "click", None),
        ("The list shows Type; a second click on Type turns it round.", "click", None),
        ("The page is still loading.", "wait", None),
        ("The task is now complete.", "finish", None),
        ("This cannot be done: there is no such place.", "fail", None),
        ("Open in New Tab keeps the folder beside it.", "click", None),
        ("Robin's colour is Blue.", "any", None),
        ('What has to be done is "call Mo".', "any", None),
        ('Drag "notes.txt" to "Archive".', "drag", ("notes.txt", "Archive")),
        ("I drag notes.txt onto Archive", "drag", ("notes.txt", "Archive")),
        ("Robin moves an invoice by dragging it onto Archive.", "drag", ("Robin moves an invoice by", "Archive.")),
    ],
)
def test_what_words_ask_for(words: str, kind: str, what: object) -> None:
    found = intend(words)
    ends = (found.words.strip(), found.end_words.strip())
    done = found.action
    told = {} if done is None else {"keys": done.pressed, "type text": done.text, "scroll": done.direction}
    pressed = found.kind.startswith(("press key", "hotkey"))
    assert ("keys" if pressed else found.kind, {**told, "drag": ends}.get(kind)) == (kind, what)


@given(st.text(max_size=400))
def test_any_words_are_understood_somehow(words: str) -> None:
    intend(words)


def screen(*texts: str) -> Screen:
    """Lines one under the other, 20 pixels high, ten pixels a letter."""
    lines = []
    for number, text in enumerate(texts):
        words, at = [], 100.0
        for word in text.split():
            words.append(TextWord(text=word, left_px=at, right_px=at + 10 * len(word)))
            at += 10 * (len(word) + 1)
        top = 100.0 + 40 * number
        box = Box(left_px=100, top_px=top, right_px=at - 10, bottom_px=top + 20)
        lines.append(TextLine(text=text, box=box, confidence=1.0, words=tuple(words)))
    size = Size(width=1280, height=720)
    return Screen(size=size, model_size=size, lines=tuple(lines))


@pytest.mark.parametrize(
    ("intent", "shown", "kind"),
    [
        (Intent(kind="any", words='The name is "march".', quoted=("march",)), ("april", "name"), "type text"),
        (Intent(kind="any", words='The name is "march".', quoted=("march",)), ("april", "march"), "click"),
        (Intent(kind="any", words='It is "[x] water".', quoted=("[x] water",)), ("[ ] water",), "type text"),
        (Intent(kind="click", words="Now I open diary.txt."), ("diary.txt", "letter.txt"), "double click"),
        (Intent(kind="click", words="Click Save."), (), ""),
    ],
)
def test_what_is_done_on_the_screen(intent: Intent, shown: tuple[str, ...], kind: str) -> None:
    found = on_the_screen(intent, screen(*shown))
    assert ("" if found is None else found[0].kind) == kind

"""What a judge is told: the wordings, the fence around what others wrote, and quotes that are looked up in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.asking import bounded, fence_mark, reply_objects
from grounding.benchmarks.agenticshop.judge.model import is_quoted, judge_prompt
from grounding.errors import UserError


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: mine", "missing required field"),
        ("[", "mine.yaml"),
        ("name: m\nversion: 1\nsource: s\nstyle: evidence\nsystem: s\nfull: f\n", "needs"),
        (None, "can't be read"),
    ],
)
def test_a_wording_that_can_t_be_used(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "mine.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=says):
        judge_prompt(str(path))
    with pytest.raises(UserError, match="evidence, official"):
        judge_prompt("../agenticshop/judge-evidence")


@given(st.lists(st.text(max_size=40), max_size=4))
def test_a_mark_stands_in_none_of_the_texts_and_is_always_the_same(texts: list[str]) -> None:
    mark = fence_mark(*texts)
    assert mark == fence_mark(*texts)
    assert len(mark) == 16
    assert not any(mark in text for text in texts)


def test_cut_texts_say_so_and_hold_no_control_characters() -> None:
    assert bounded("abcd", 3) == "abc\n[cut off here: 3 of 4 characters are shown]"
    assert bounded("a\x00b\u202ec\td\n\ud800", 99) == "a b c\td\n "


PIECES = (
    "The \u201cKettle\u201d \u2014 it\u2019s  4.6 out of\n5, $1,048.00 incl. VAT",
    '{"name":"Kettle","brand":{"name":"Brewster"}}',
    "当サイトではクッキーを使用しています",
    "Rated 4.5 stars, costs 12,500 won",
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ('the "kettle" - it\'s 4.6 out of 5', True),
        ("'4.6 OUT OF 5.'", True),
        ('"brand":{"name":"Brewster"}', True),
        ("kettle ... 4.6", True),
        ("Kettle' \u200b\u2014 it's", True),
        ("the \u2026 out of", True),
        ("1,048", True),
        ("", False),
        ("...", False),
        ("it", False),
        ("5", False),
        ("ettle", False),
        ("4.6 of 5", False),
        ("048.0", False),
        ("out of ... kettle", False),
        ("the ... Brewster", False),
        ("クッキー", True),
        ("5 stars", False),
        ("4.5 stars", True),
        ("costs 12", False),
    ],
)
def test_a_quote_is_looked_up_by_whole_words(quote: str, found: bool) -> None:
    assert is_quoted(quote, PIECES) is found


def test_a_quote_of_many_parts_is_looked_up_at_once() -> None:
    began = time.monotonic()
    assert is_quoted("the ... the ... the ... cat", ["the cat and " * 2_000])
    assert not is_quoted(" ... ".join(["the"] * 150 + ["dog"]), ["the cat and " * 2_000])
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('<think>a 5" pan {"n": 1}</think>{"n": 2}', [2]),
        ('so {"n": 1} </thinking> {"n": 2}', [2]),
        ('{"n": 2} <reasoning>{"n": 1}</reasoning>', [2]),
        ('<think>{"n": 1}', []),
        # Words of a page that a reply quotes end no thinking and begin none.
        ('{"n": 2, "quote": "</think> {}"}', [2]),
        ('{"n": 2, "quote": "<think>", "more": 3} {"n": 4}', [2, 4]),
    ],
)
def test_thinking_is_no_answer(reply: str, found: list[int]) -> None:
    assert [one["n"] for one in reply_objects(reply)] == found


def test_a_reply_of_nothing_but_tags_is_read_at_once() -> None:
    began = time.monotonic()
    assert reply_objects("<think>" * 57_000) == reply_objects("</think>" * 50_000) == []
    assert time.monotonic() - began < 5

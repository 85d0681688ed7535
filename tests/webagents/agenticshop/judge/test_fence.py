from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.judge.fence import bounded, fence_for


@given(st.lists(st.text(max_size=40), max_size=4))
def test_a_mark_stands_in_none_of_the_texts_and_is_always_the_same(texts: list[str]) -> None:
    fence = fence_for(*texts)
    assert fence == fence_for(*texts)
    assert len(fence.mark) == 16
    assert not any(fence.mark in text for text in texts)


def test_other_texts_have_another_mark() -> None:
    assert fence_for("a", "b") != fence_for("ab")
    assert fence_for("a").around("TEXT", "a\nb").splitlines()[1:3] == ["a", "b"]


def test_cut_texts_say_so_and_hold_no_control_characters() -> None:
    assert bounded("abc", 3) == "abc"
    assert bounded("abcd", 3) == "abc\n[cut off here: 3 of 4 characters are shown]"
    assert bounded("a\x00b\u202ec\td\n\ud800", 99) == "a b c\td\n "

"""Numbered messages over a channel that loses, repeats and delays calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.executors.ray import sequence
from grounding.executors.ray.sequence import Inbox, Numbered, Outbox


@given(
    contents=st.lists(st.binary(max_size=3), max_size=20),
    fates=st.lists(st.sampled_from(["fine", "lost on the way", "answer lost", "comes again later"]), max_size=60),
    added=st.lists(st.integers(0, 3), max_size=60),
)
def test_everything_arrives_once_and_in_order(contents: list[bytes], fates: list[str], added: list[int]) -> None:
    outbox, inbox = Outbox(), Inbox()
    left, got, late = list(contents), list[bytes](), list[Numbered]()
    for turn, fate in enumerate([*fates, "fine"]):
        count = added[turn] if turn < min(len(added), len(fates)) else len(left)
        for content in left[:count]:
            outbox.add(content)
        del left[:count]
        batch = outbox.batch()
        if fate == "comes again later":
            late.append(batch)
        if fate != "lost on the way":
            got += inbox.take(batch.first, batch.contents)
        if fate == "fine":
            outbox.acknowledged(inbox.taken)
            got += [content for old in late for content in inbox.take(old.first, old.contents)]
    assert got == contents
    assert not outbox


def test_a_batch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "MOST_BYTES", 5)
    outbox = Outbox()
    for content in (b"aaa", b"bbb", b"c", b"dddddddddd", b"e"):
        outbox.add(content)
    sizes = []
    while outbox:
        batch = outbox.batch()
        sizes.append(len(batch.contents))
        outbox.acknowledged(batch.first + len(batch.contents) - 1)
    assert sizes == [2, 2, 1]


def test_what_can_not_be_is_an_error() -> None:
    outbox = Outbox()
    outbox.add(b"a")
    with pytest.raises(ValueError, match="acknowledgement of 2"):
        outbox.acknowledged(2)
    with pytest.raises(ValueError, match="expected message 1, got 2"):
        Inbox().take(2, [b"b"])

from __future__ import annotations

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.scoring.words import Errors, word_errors


def test_the_kinds_of_error_are_counted() -> None:
    found = word_errors([("click on the red button", "um click the bread button now")])
    assert found.normaliser == "whisper-en"
    assert found.errors == Errors(hits=3, substitutions=1, deletions=1, insertions=1)
    assert found.errors.reference_words == 5
    assert found.errors.rate_percent == pytest.approx(60)
    assert word_errors([("I do not like 21 colors", "Um, I don't like twenty one colours.")]).rate_percent == 0


_WORDS = st.lists(st.sampled_from(["red", "green", "blue", "grey", "pink"]), max_size=8).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=12))
def test_counts_are_jiwers(texts: list[tuple[str, str]]) -> None:
    found = word_errors(texts)
    theirs = jiwer.process_words([said for said, _ in texts], [heard for _, heard in texts])
    assert found.errors == Errors(
        hits=theirs.hits,
        substitutions=theirs.substitutions,
        deletions=theirs.deletions,
        insertions=theirs.insertions,
    )
    assert found.errors.reference_words == sum(len(said.split()) for said, _ in texts)
    if found.errors.rate_percent is not None:
        assert found.errors.rate_percent == pytest.approx(100 * theirs.wer)
        between = found.interval
        assert between is None or between.low <= found.errors.rate_percent <= between.high

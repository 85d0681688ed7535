from __future__ import annotations

import jiwer
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.asr.normaliser import Normaliser
from grounding.asr.word_errors import Errors, Pair, WordErrors, word_errors

PLAIN = Normaliser(name="plain", version=3, words=lambda text: tuple(text.split()))


def pair(reference: str, heard: str, participant: str = "1", clip: str = "1/1") -> Pair:
    return Pair(clip_id=clip, participant=participant, reference=reference, heard=heard)


def test_the_kinds_of_error_are_counted() -> None:
    found = word_errors([pair("click on the red button", "um click the bread button now")])
    assert found.normaliser == "grounding-en-1"
    assert found.total == Errors(hits=3, substitutions=1, deletions=1, insertions=1)
    assert found.total.reference_words == 5
    assert found.total.rate_percent == pytest.approx(60)
    assert {(one.kind, one.reference, one.heard, one.count) for one in found.confusions} == {
        ("deletion", "on", "", 1),
        ("substitution", "red", "bread", 1),
        ("insertion", "", "now", 1),
    }


def test_the_rate_is_of_the_corpus_not_the_mean_of_the_clips() -> None:
    found = word_errors([pair("yes", "no"), pair("a b c d e f g h i", "a b c d e f g h i")], normaliser=PLAIN)
    assert found.total.rate_percent == pytest.approx(10)


def test_a_clip_without_words_adds_only_what_was_heard_in_it() -> None:
    found = word_errors([pair("", "the the"), pair("go back", "go back")], normaliser=PLAIN)
    assert found.total == Errors(hits=2, insertions=2)
    assert found.total.rate_percent == pytest.approx(100)
    assert found.clips[0].errors.rate_percent is None
    assert [(one.kind, one.count) for one in found.confusions] == [("insertion", 2)]


@pytest.mark.parametrize("pairs", [[], [pair("", "")], [pair("um", "uh")]])
def test_nothing_said_has_no_rate(pairs: list[Pair]) -> None:
    found = word_errors(pairs)
    assert found.total == Errors()
    assert found.total.rate_percent is None
    assert found.by_clip is None
    assert found.by_participant is None


def test_a_clip_that_nobody_heard_counts_all_its_words() -> None:
    assert word_errors([pair("go back now", "")]).total == Errors(deletions=3)


def test_participants_and_their_intervals() -> None:
    pairs = [pair("a b c d", "a b c d", "1", f"1/{number}") for number in range(30)]
    pairs += [pair("a b c d", "a x y d", "2", f"2/{number}") for number in range(10)]
    found = word_errors(pairs, normaliser=PLAIN)
    assert [(one.participant, one.clips) for one in found.participants] == [("1", 30), ("2", 10)]
    assert [one.errors.rate_percent for one in found.participants] == [0, 50]
    first, second = (one.interval for one in found.participants)
    assert first is not None
    assert (first.low, first.high) == (0, 0)
    assert second is not None
    assert (second.low, second.high) == (50, 50)
    assert found.by_clip is not None
    assert found.by_clip.low < 12.5 < found.by_clip.high
    # Whole people are drawn: with two of them the rate may well be that of one alone.
    assert found.by_participant is not None
    assert (found.by_participant.low, found.by_participant.high) == (0, 50)
    assert word_errors(pairs, normaliser=PLAIN) == found


def test_one_participant_says_nothing_of_others() -> None:
    assert word_errors([pair("a b", "a c"), pair("a", "a")]).by_participant is None


def test_the_most_confused_come_first() -> None:
    pairs = [pair("cart", "card")] * 3 + [pair("brunch", "branch")] + [pair("to the list", "the list")] * 2
    found = word_errors(pairs, normaliser=PLAIN)
    assert [(one.reference, one.heard, one.count) for one in found.confusions] == [
        ("cart", "card", 3),
        ("to", "", 2),
        ("brunch", "branch", 1),
    ]


def test_it_goes_to_json_and_back() -> None:
    found = word_errors([pair("go back", "go pack"), pair("yes", "yes", "2", "2/1")])
    assert msgspec.json.decode(msgspec.json.encode(found), type=WordErrors) == found


_WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=8).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=12))
def test_counts_are_jiwers(texts: list[tuple[str, str]]) -> None:
    found = word_errors([pair(said, heard) for said, heard in texts], normaliser=PLAIN)
    theirs = jiwer.process_words([said for said, _ in texts], [heard for _, heard in texts])
    assert found.total == Errors(
        hits=theirs.hits,
        substitutions=theirs.substitutions,
        deletions=theirs.deletions,
        insertions=theirs.insertions,
    )
    assert found.total.reference_words == sum(len(said.split()) for said, _ in texts)
    assert sum(one.count for one in found.confusions) == found.total.errors
    if found.total.rate_percent is not None:
        assert found.total.rate_percent == pytest.approx(100 * theirs.wer)
        assert found.by_clip is not None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=9))
def test_the_order_of_the_clips_does_not_matter_for_the_counts(texts: list[tuple[str, str]]) -> None:
    pairs = [pair(said, heard) for said, heard in texts]
    one, other = word_errors(pairs, normaliser=PLAIN), word_errors(pairs[::-1], normaliser=PLAIN)
    assert (one.total, one.confusions) == (other.total, other.confusions)

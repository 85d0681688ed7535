"""The terms of the search against terms that Lucene 9.5's English analyser gave for the same texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("nltk")
pytest.importorskip("regex")

from grounding.webagents.personalwab.functions.analysis import MAX_TOKEN_CHARS, STOP_WORDS, terms, words

RECORDED = json.loads(Path(__file__).with_name("lucene_terms.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["text"][:20])
def test_terms_are_lucenes(recorded: dict[str, object]) -> None:
    assert terms(str(recorded["text"])) == recorded["terms"]


def test_there_are_lucenes_stop_words() -> None:
    assert len(STOP_WORDS) == 33
    assert terms(" ".join(sorted(STOP_WORDS)).upper()) == []


@given(st.text())
def test_any_text_has_terms_without_blanks(text: str) -> None:
    for term in terms(text):
        assert term
        assert not term.isspace()


@given(st.lists(st.text(alphabet=st.characters(categories=["Lu", "Ll", "Nd", "Po", "So"])), max_size=5))
def test_blanks_part_texts(chunks: list[str]) -> None:
    assert terms(" ".join(chunks)) == [term for chunk in chunks for term in terms(chunk)]


def test_long_words_are_cut() -> None:
    assert [len(word) for word in words("x" * 600)] == [MAX_TOKEN_CHARS, MAX_TOKEN_CHARS, 600 - 2 * MAX_TOKEN_CHARS]

"""The rule for texts against counts of real vocabularies.

``counted.json`` holds texts of the kinds that planners are sent and send back, with the number of tokens that OpenAI's
``o200k_base`` and ``cl100k_base`` make of them, counted with bpe-openai 0.1.4. None of them was used to find the rule.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.llm.tokens import text_tokens


class Counted(msgspec.Struct):
    kind: str
    text: str
    o200k_base: int
    cl100k_base: int


COUNTED = msgspec.json.decode((Path(__file__).parent / "counted.json").read_bytes(), type=list[Counted])
KINDS = {kind: list(group) for kind, group in groupby(COUNTED, key=lambda each: each.kind)}


@pytest.mark.parametrize(("kind", "within"), [("history", 0.05), ("instruction", 0.05), ("plan", 0.05)])
def test_the_sum_over_texts_of_a_kind(kind: str, within: float) -> None:
    texts = KINDS[kind]
    assert len(texts) >= 6
    estimated = sum(text_tokens(each.text) for each in texts)
    assert estimated == pytest.approx(sum(each.o200k_base for each in texts), rel=within)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("language")])
def test_other_languages_lie_between_the_vocabularies_or_near(kind: str) -> None:
    (counted,) = KINDS[kind]
    assert 0.8 * counted.o200k_base <= text_tokens(counted.text) <= 1.1 * max(counted.cl100k_base, counted.o200k_base)


@given(st.text())
def test_any_text_has_a_count_within_its_bytes(text: str) -> None:
    found = text_tokens(text)
    assert (found > 0) == bool(text)
    assert found <= 2 * len(text.encode("utf-8", "replace")) + 1


def test_a_long_text_takes_no_time() -> None:
    assert text_tokens("a" * 1_000_000) > 100_000
    assert text_tokens(" " * 1_000_000) >= 1
    assert text_tokens("\n" * 100_000) >= 1
    assert text_tokens("'" * 100_000) >= 1

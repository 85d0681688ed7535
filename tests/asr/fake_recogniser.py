"""A recogniser that says how loud and how long a clip is, and misbehaves where it is told to."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grounding.asr.audio import Audio
from grounding.asr.recogniser import Recognition, RecognitionFailed, Workers
from grounding.asr.records import Word
from grounding.errors import UserError


class FakeRecogniser:
    """Clips at -6 dBFS and louder make it fail as ``fails`` says: raise, value, exit, user or never."""

    def __init__(
        self,
        workers: Workers,
        log: Path,
        *,
        at_once: int = 2,
        fails: str = "raise",
        longest_s: float | None = None,
        slow_s: float = 0.0,
        version: int = 1,
    ) -> None:
        self.workers: Workers = workers
        self.log = log
        self.at_once = at_once
        self.fails = fails
        self.longest_s = longest_s
        self.slow_s = slow_s
        self.name = "fake/one"
        self.identity = f"fake {version}"
        self.closed = False

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        with self.log.open("a") as log:
            log.write(f"{os.getpid()} {len(batch)}\n")
        time.sleep(self.slow_s)
        return [self._one(audio) for audio in batch]

    def _one(self, audio: Audio) -> Recognition:
        if self.fails != "never" and np.abs(audio.samples).max() > 0.5:
            if self.fails == "exit":
                os._exit(9)
            if self.fails == "value":
                raise ValueError("no\nsense")
            if self.fails == "user":
                raise UserError("the model is missing")
            raise RecognitionFailed("too loud")
        level = f"{float(np.abs(audio.samples).max()):.2f}"
        word = Word(text=level, start_s=0.1, end_s=0.2)
        return Recognition(text=f"{level} for {audio.seconds:.1f}", words=(word,), language="en", compute_s=0.25)

    def close(self) -> None:
        self.closed = True

    @property
    def calls(self) -> list[int]:
        """The size of every batch."""
        return [int(line.split()[1]) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @property
    def pids(self) -> set[int]:
        return {int(line.split()[0]) for line in self.log.read_text().splitlines()}

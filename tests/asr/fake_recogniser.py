"""A recogniser that says how loud and how long a clip is, and misbehaves where it is told to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from grounding.asr.audio import Audio
from grounding.asr.recogniser import Answers, Recognition, attempt
from grounding.data.speech import Word
from grounding.errors import UserError


class FakeRecogniser:
    """Clips at -6 dBFS and louder make it fail as ``fails`` says; ``log`` has a line for every piece."""

    name, device = "fake/one", "thin air"

    def __init__(
        self,
        log: Path,
        *,
        fails: Literal["value", "user", "never"] = "value",
        longest_s: float | None = None,
        slow_s: float = 0.0,
        version: int = 1,
    ) -> None:
        self.log, self.fails, self.slow_s = log, fails, slow_s
        self.longest_s: float | None = longest_s
        self.identity = f"fake {version}"

    def hear(self, pieces: Iterator[Audio]) -> Answers:
        for audio in pieces:
            with self.log.open("a") as log:
                log.write("piece\n")
            time.sleep(self.slow_s)
            yield audio, attempt(self._hear, audio)

    def _hear(self, audio: Audio) -> Recognition:
        level = f"{float(np.abs(audio.samples).max()):.2f}"
        if self.fails != "never" and float(level) > 0.5:
            raise ValueError("no\nsense") if self.fails == "value" else UserError("the model is missing")
        word = Word(text=level, start_s=0.1, end_s=0.2)
        return Recognition(text=f"{level} for {audio.seconds:.1f}", words=(word,), compute_s=0.25)

    @property
    def calls(self) -> int:
        """How many pieces were heard."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

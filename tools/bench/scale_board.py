"""What the scale benchmark's server knows, in memory that the measuring process sees too, without asking it.

One mapped file: totals, the moment at which each percent of the steps had been asked about, and for every step how
often it was asked (up to 255). Moments are seconds of CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

PERCENTS = 101
_TOTALS = struct.Struct("<QQdd")
_MOMENT = struct.Struct("<d")
_COUNTS_AT = _TOTALS.size + PERCENTS * _MOMENT.size


class Board:
    """The shared figures. One process writes.

    Args:
        path: The mapped file.
        steps: How many steps there are; given by whoever makes the file anew, None to open one that is there.
    """

    def __init__(self, path: Path, steps: int | None = None) -> None:
        if steps is not None:
            with path.open("wb") as file:
                file.truncate(_COUNTS_AT + steps)
        self.steps = path.stat().st_size - _COUNTS_AT
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._next_at = self._threshold(0)
        self._percent = 0

    def _threshold(self, percent: int) -> int:
        """How many steps have to be asked about for this percentage; one for 0 %."""
        return max(1, -(-self.steps * percent // 100))

    def asked(self, number: int, at_s: float) -> None:
        """Note a request about a step; a number that is none counts as a request alone."""
        requests, distinct, first_s, _ = _TOTALS.unpack_from(self._map)
        if 0 <= number < self.steps:
            place = _COUNTS_AT + number
            before = self._map[place]
            self._map[place] = min(255, before + 1)
            if before == 0:
                distinct += 1
                while distinct >= self._next_at and self._percent < PERCENTS:
                    _MOMENT.pack_into(self._map, _TOTALS.size + self._percent * _MOMENT.size, at_s)
                    self._percent += 1
                    self._next_at = self._threshold(self._percent)
        _TOTALS.pack_into(self._map, 0, requests + 1, distinct, first_s or at_s, at_s)

    def forget_first(self) -> None:
        """Let the next request be the first again: for telling when a resumed run asks."""
        requests, distinct, _, last_s = _TOTALS.unpack_from(self._map)
        _TOTALS.pack_into(self._map, 0, requests, distinct, 0.0, last_s)

    @property
    def requests(self) -> int:
        """All requests so far."""
        return int(_TOTALS.unpack_from(self._map)[0])

    @property
    def distinct(self) -> int:
        """How many steps were asked about."""
        return int(_TOTALS.unpack_from(self._map)[1])

    @property
    def first_s(self) -> float:
        """When the first request came; 0 before."""
        return float(_TOTALS.unpack_from(self._map)[2])

    @property
    def last_s(self) -> float:
        """When the last one came."""
        return float(_TOTALS.unpack_from(self._map)[3])

    def moments(self) -> tuple[float, ...]:
        """When 0 %, 1 %, ... 100 % of the steps had been asked about; 0 where that is still to come."""
        return tuple(_MOMENT.unpack_from(self._map, _TOTALS.size + n * _MOMENT.size)[0] for n in range(PERCENTS))

    def asked_twice(self) -> int:
        """How many steps were asked about more than once."""
        counts = self._map[_COUNTS_AT:]
        return len(counts) - counts.count(0) - counts.count(1)

    def close(self) -> None:
        """Let go of the memory."""
        self._map.close()

"""Which parts of the screen move all the time, such as a video, a spinner or a banner: they say nothing of actions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from annotate.recording.masks import grown

if TYPE_CHECKING:
    from annotate.recording.masks import Grey

TILE_PX = 8
"""Side of a tile of the small picture; on a recording of 1920 pixels that is 32 of them."""
SLOT_S = 0.1
MEMORY_S = 2.0
BUSY_SLOTS = 8.0
"""A tile is busy while it changed in about eight of the last twenty tenths of a second, the latest counting most. A
page that takes a second to appear stays below; a picture that changes five times a second gets there in three."""
CALM_SLOTS = 2.0
QUIET_SLOTS = 0.7
"""A tile that changed no more than this lately, about once in the last two seconds, begins anew when it changes."""


class BusyTiles:
    """A count of recent changes for every tile of a small picture of the given width and height."""

    def __init__(self, width: int, height: int) -> None:
        import numpy as np

        self._columns, self._rows = max(1, math.ceil(width / TILE_PX)), max(1, math.ceil(height / TILE_PX))
        self._size = (width, height)
        self._recent = np.zeros((self._rows, self._columns), np.float32)
        self._in_slot = np.zeros((self._rows, self._columns), bool)
        self._busy = np.zeros((self._rows, self._columns), bool)
        self._slot = 0
        self._since_s = np.zeros((self._rows, self._columns))
        self._begun = np.zeros((self._rows, self._columns), bool)

    def add(self, time_s: float, changed: Grey | None) -> tuple[bool, bool]:
        """Count a frame: ``changed`` has 255 where a pixel differs from the frame before, None where none does.

        Returns:
            Whether any tile has become busy, and whether any is no longer.
        """
        import cv2

        slot = int(time_s / SLOT_S)
        if slot != self._slot:
            self._recent *= math.exp(-(slot - self._slot) * SLOT_S / MEMORY_S)
            self._in_slot[:] = False
            self._slot = slot
        if changed is not None:
            # Each tile's largest value: shrinking by averages would lose single pixels.
            grid = cv2.dilate(changed, cv2.getStructuringElement(cv2.MORPH_RECT, (TILE_PX, TILE_PX)), anchor=(0, 0))
            tiles = grid[::TILE_PX, ::TILE_PX][: self._rows, : self._columns] > 0
            fresh = tiles & ~self._in_slot
            self._since_s[fresh & (self._recent < QUIET_SLOTS)] = time_s
            self._recent[fresh] += 1
            self._in_slot |= fresh
        begun = (self._recent > BUSY_SLOTS) & ~self._busy
        over = (self._recent < CALM_SLOTS) & self._busy
        self._begun = begun
        self._busy |= begun
        self._busy &= ~over
        return bool(begun.any()), bool(over.any())

    def any(self) -> bool:
        """Whether some tile is busy."""
        return bool(self._busy.any())

    def begun_s(self) -> list[float]:
        """When each of the tiles that the last frame made busy began to change."""
        return [float(time_s) for time_s in self._since_s[self._begun]]

    def mask(self) -> Grey:
        """255 on busy tiles and on their neighbours, as large as the small picture: a moving edge is in both."""
        import numpy as np

        tiles = grown(self._busy.astype(np.uint8) * 255, 1)
        width, height = self._size
        return tiles.repeat(TILE_PX, axis=0).repeat(TILE_PX, axis=1)[:height, :width]

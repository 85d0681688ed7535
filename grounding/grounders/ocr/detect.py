"""Where is text? A screenshot in, boxes around its lines out.

The screenshot is cut into tiles that overlap. A tile of one colour holds no text; a tile that was seen before, in this
screenshot or an earlier one, keeps what was found in it: browsers and pages repeat themselves pixel for pixel.
"""

from __future__ import annotations

import hashlib
import itertools
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from grounding.grounders.ocr.cache import BoundedCache
from grounding.records import Box, Record, Size

if TYPE_CHECKING:
    from grounding.grounders.ocr.engine import Engine, Pixels

_FULL_SCALE_PIXELS = 1_100_000
"""Up to this many pixels the detector sees the screenshot as it is."""
_REDUCED_SCALE = 0.8
"""Beyond that it sees it smaller: at 0.8 the small print of a 1440-line screen is still found, at 0.5 it is not."""
_TILE_PX = 448
_HALO_PX = 32
"""Context around each tile, in detector pixels, so that lines look the same on both sides of a seam."""
_GRID_PX = 32
"""The detector halves its input five times."""

_CORE_PROBABILITY = 0.3
_MEAN_PROBABILITY = 0.5
_UNCLIP = 1.6
"""The detector marks the core of a line; these are the published rules of Differentiable Binarization to widen it."""
_LEAST_CORE_PX = 3


class _Span(Record, frozen=True, kw_only=True):
    """One tile along one axis, in detector pixels: what it sees, and the part that it answers for."""

    seen_start: int
    seen_end: int
    start: int
    end: int


def find_lines(pixels: Pixels, engine: Engine, workers: Executor, tiles: BoundedCache[Pixels]) -> tuple[Box, ...]:
    """Find the text lines of a screenshot.

    Args:
        pixels: The screenshot, height x width x blue-green-red.
        engine: The networks.
        workers: Where tiles are looked at, several at a time.
        tiles: What was found in earlier tiles: probabilities from 0 to 255.

    Returns:
        Boxes in pixels of the screenshot, in no particular order.
    """
    import cv2
    import numpy as np

    shown = detector_size(Size(width=pixels.shape[1], height=pixels.shape[0]))
    image: Pixels = pixels
    if (shown.height, shown.width) != pixels.shape[:2]:
        scaled = cv2.resize(pixels, (shown.width, shown.height), interpolation=cv2.INTER_AREA)
        image = scaled.astype(np.uint8, copy=False)

    def look(rows: _Span, columns: _Span) -> Pixels | None:
        part = image[rows.seen_start : rows.seen_end, columns.seen_start : columns.seen_end]
        if (part == part[0, 0]).all():
            return None
        part = np.ascontiguousarray(part)
        key = hashlib.blake2b(part.tobytes(), digest_size=16, key=repr(part.shape).encode()).digest()
        return tiles.get_or_make(key, lambda: (engine.text_probability(part) * 255).astype(np.uint8))

    places = [(rows, columns) for rows in _spans(shown.height) for columns in _spans(shown.width)]
    heat = np.zeros((shown.height, shown.width), dtype=np.uint8)
    answers = [workers.submit(look, rows, columns) for rows, columns in places]
    for (rows, columns), answer in zip(places, answers, strict=True):
        found = answer.result()
        if found is not None:
            heat[rows.start : rows.end, columns.start : columns.end] = found[
                rows.start - rows.seen_start : rows.end - rows.seen_start,
                columns.start - columns.seen_start : columns.end - columns.seen_start,
            ]
    return _boxes(heat, pixels.shape[1] / shown.width, pixels.shape[0] / shown.height)


def detector_size(size: Size) -> Size:
    """The size at which the detector sees a screenshot: sides are multiples of 32."""
    scale = 1.0 if size.width * size.height <= _FULL_SCALE_PIXELS else _REDUCED_SCALE
    return Size(
        width=max(_GRID_PX, round(size.width * scale / _GRID_PX) * _GRID_PX),
        height=max(_GRID_PX, round(size.height * scale / _GRID_PX) * _GRID_PX),
    )


def _spans(length_px: int) -> list[_Span]:
    """Cut a side into tiles of about equal size, each on the detector's grid."""
    count = max(1, round(length_px / _TILE_PX))
    cuts = [round(length_px * part / count / _GRID_PX) * _GRID_PX for part in range(count + 1)]
    return [
        _Span(seen_start=max(0, start - _HALO_PX), seen_end=min(length_px, end + _HALO_PX), start=start, end=end)
        for start, end in itertools.pairwise(cuts)
    ]


def _boxes(heat: Pixels, x_scale: float, y_scale: float) -> tuple[Box, ...]:
    """Every connected spot of probable text becomes an upright box, widened from the core to the whole line."""
    import cv2
    import numpy as np

    height, width = heat.shape
    core = (heat > _CORE_PROBABILITY * 255).astype(np.uint8)
    _, _, spots, _ = cv2.connectedComponentsWithStats(core)
    found = []
    for left, top, spot_width, spot_height, _ in spots[1:].tolist():
        if min(spot_width, spot_height) < _LEAST_CORE_PX:
            continue
        if heat[top : top + spot_height, left : left + spot_width].mean() < _MEAN_PROBABILITY * 255:
            continue
        grow = spot_width * spot_height * _UNCLIP / (2 * (spot_width + spot_height))
        found.append(
            Box(
                left_px=max(0.0, left - grow) * x_scale,
                top_px=max(0.0, top - grow) * y_scale,
                right_px=min(float(width), left + spot_width + grow) * x_scale,
                bottom_px=min(float(height), top + spot_height + grow) * y_scale,
            )
        )
    return tuple(found)

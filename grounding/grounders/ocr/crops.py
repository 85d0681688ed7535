"""From a detected box to the crops that are recognised: trimmed to the ink, so that equal text gives equal pixels.

A detector's box lies a pixel or two to the left today and to the right tomorrow. Where the background is flat, the crop
is cut to its ink and given a fixed margin of the background's colour: then the same text in the same style is the same
picture wherever it stands, and is recognised once.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from grounding.grounders.ocr.engine import RECOGNISER_HEIGHT_PX
from grounding.records import Box, Record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grounding.grounders.ocr.engine import Pixels

_INK_CONTRAST = 32
"""How far, of 255 in any channel, a pixel must be from the background to be ink."""
_REACH_SHARE = 0.1
"""How far beyond the detector's box to look, as a share of its height: a letter must not be cut."""
_FLAT_SHARE = 0.35
"""A background is flat if this share of the box has one colour."""
_MARGIN_SHARE = 0.1
"""Margin around the ink, as a share of its height. More makes letters smaller, and doubled ones are read as one."""
_LEAST_HEIGHT_PX = 12
"""A lone dot or dash is not blown up to the height of a letter."""
_GAP_SHARE = 1.25
"""A gap wider than this share of the line's height separates two texts: a space between words is a third of it."""
_LEAST_GAP_PX = 10
_FRAME_REACH = 2
"""How many heights of the text away an edge still belongs to its button or field."""
_EDGE_CONTRAST = 10
_EDGE_SHARE = 0.9
_LONGEST_RATIO = 40.0
"""A crop longer than this many heights is squeezed rather than read at any cost."""


class Crop(Record, frozen=True, kw_only=True):
    """A piece of the screenshot that holds one text.

    ``box`` is the ink in pixels of the screenshot; ``left_px`` is where the crop's first column lies there.
    """

    pixels: Pixels
    key: bytes
    box: Box
    left_px: float


def cut(pixels: Pixels, box: Box) -> tuple[Crop, ...]:
    """Cut the texts out of a detected box.

    Args:
        pixels: The screenshot, height x width x blue-green-red.
        box: Where text was found, in its pixels.

    Returns:
        No crop where there is no ink; several where wide gaps part the line.
    """
    import numpy as np

    reach = max(2, round(_REACH_SHARE * (box.bottom_px - box.top_px)))
    left, top = max(0, math.floor(box.left_px) - reach), max(0, math.floor(box.top_px) - reach)
    region = pixels[top : math.ceil(box.bottom_px) + reach, left : math.ceil(box.right_px) + reach]
    if region.size == 0:
        return ()
    background = _flat_background(region)
    if background is None:
        return (_crop(np.ascontiguousarray(region), region, left, top, margin_px=0),)
    ink = _whole_marks(np.abs(region.astype(np.int16) - background.astype(np.int16)).max(axis=2) > _INK_CONTRAST)
    rows = np.flatnonzero(ink.any(axis=1))
    if rows.size == 0:
        return ()
    height = int(rows[-1] - rows[0]) + 1
    crops = []
    for start, end in _runs(np.any(ink, axis=0), max(_LEAST_GAP_PX, round(height * _GAP_SHARE))):
        rows = np.flatnonzero(ink[:, start:end].any(axis=1))
        tight = region[rows[0] : rows[-1] + 1, start:end]
        margin = round(tight.shape[0] * _MARGIN_SHARE) + 1
        upright = max(margin, math.ceil((_LEAST_HEIGHT_PX - tight.shape[0]) / 2))
        framed = np.empty((tight.shape[0] + 2 * upright, tight.shape[1] + 2 * margin, 3), dtype=np.uint8)
        framed[:] = background
        framed[upright : upright + tight.shape[0], margin : margin + tight.shape[1]] = tight
        crops.append(_crop(framed, tight, left + start, top + int(rows[0]), margin_px=margin))
    return tuple(crops)


def is_framed(pixels: Pixels, box: Box) -> bool:
    """Whether an edge runs above and below a text, over its whole width and at about the same distance."""
    import numpy as np

    left, right = int(box.left_px), int(box.right_px)
    top, bottom = int(box.top_px), int(box.bottom_px)
    reach = max(8, _FRAME_REACH * (bottom - top))
    around = pixels[max(0, top - 2) : max(0, top - 2) + 1, left:right]
    if around.size == 0:
        return False
    background = np.median(around.reshape(-1, 3), axis=0)

    def edge_px(rows: Pixels) -> int | None:
        other = np.abs(rows.astype(np.int16) - background).max(axis=2) > _EDGE_CONTRAST
        places = np.flatnonzero(other.mean(axis=1) >= _EDGE_SHARE)
        return int(places[0]) if places.size else None

    above = edge_px(pixels[max(0, top - reach) : max(0, top - 2), left:right][::-1])
    below = edge_px(pixels[bottom + 2 : bottom + 2 + reach, left:right])
    return above is not None and below is not None and abs(above - below) <= 3 + 0.5 * max(above, below)


def at_recogniser_height(pixels: Pixels) -> Pixels:
    """Scale a crop to the height that the recogniser reads."""
    import cv2
    import numpy as np

    height, width = pixels.shape[:2]
    ratio = min(width / height, _LONGEST_RATIO)
    scaled = cv2.resize(pixels, (max(8, math.ceil(RECOGNISER_HEIGHT_PX * ratio)), RECOGNISER_HEIGHT_PX))
    return scaled.astype(np.uint8, copy=False)


def _crop(framed: Pixels, tight: Pixels, left_px: int, top_px: int, margin_px: int) -> Crop:
    key = hashlib.blake2b(framed.tobytes(), digest_size=16, key=repr(framed.shape).encode()).digest()
    box = Box(
        left_px=float(left_px),
        top_px=float(top_px),
        right_px=float(left_px + tight.shape[1]),
        bottom_px=float(top_px + tight.shape[0]),
    )
    return Crop(pixels=framed, key=key, box=box, left_px=float(left_px - margin_px))


def _flat_background(region: Pixels) -> Pixels | None:
    """The most frequent colour, if there is enough of it to be a background."""
    import numpy as np

    packed = (
        (region[..., 0].astype(np.uint32) << 16) | (region[..., 1].astype(np.uint32) << 8) | region[..., 2]
    ).ravel()
    colours, counts = np.unique(packed, return_counts=True)
    most = int(counts.argmax())
    if counts[most] < _FLAT_SHARE * packed.size:
        return None
    colour = int(colours[most])
    return np.array([colour >> 16, (colour >> 8) & 255, colour & 255], dtype=np.uint8)


def _whole_marks(ink: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Drop what the edge of the region cuts: the outline of a button, the line above, never a whole letter."""
    import cv2
    import numpy as np

    count, labels = cv2.connectedComponents(ink.astype(np.uint8), connectivity=8)
    whole = np.ones(count, dtype=np.bool_)
    for edge in (labels[0], labels[-1], labels[:, 0], labels[:, -1]):
        whole[edge] = False
    kept: npt.NDArray[np.bool_] = whole[labels] & ink
    return kept if kept.any() else ink


def _runs(columns: npt.NDArray[np.bool_] | np.bool_, gap_px: int) -> list[tuple[int, int]]:
    """Start and end of the stretches of ink that no gap of this many empty columns interrupts."""
    import numpy as np

    places = np.flatnonzero(columns)
    breaks = np.flatnonzero(np.diff(places) > gap_px)
    starts = [int(places[0]), *(int(places[i + 1]) for i in breaks)]
    ends = [*(int(places[i]) + 1 for i in breaks), int(places[-1]) + 1]
    return list(zip(starts, ends, strict=True))

"""Masks of small grey pictures: uint8, height x width, 255 where something holds and 0 elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Grey: TypeAlias = NDArray[np.uint8]

DIFFERENT = 14
"""Grey levels (of 256) by which a pixel of the small picture must differ; lossy video stays below."""


def different(one: Grey, other: Grey) -> Grey:
    """255 where two grey pictures differ by more than lossy video does."""
    import cv2
    import numpy as np

    _, mask = cv2.threshold(cv2.absdiff(one, other), DIFFERENT, 255, cv2.THRESH_BINARY)
    return np.asarray(mask, np.uint8)


def both(one: Grey, other: Grey) -> Grey:
    """255 where both masks have it."""
    import cv2
    import numpy as np

    return np.asarray(cv2.bitwise_and(one, other), np.uint8)


def grown(mask: Grey, by_px: int) -> Grey:
    """The mask with all that is no farther than so many pixels from it, on either axis."""
    import cv2
    import numpy as np

    side = 2 * by_px + 1
    return np.asarray(cv2.dilate(mask, cv2.getStructuringElement(cv2.MORPH_RECT, (side, side))), np.uint8)

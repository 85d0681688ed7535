"""What is read of a crop must not depend on what else is read at the same time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from grounding.grounders.ocr.engine import RECOGNISER_HEIGHT_PX, Engine, padded_width


@given(st.integers(1, 5000))
def test_a_crop_always_has_empty_columns_behind_it(width_px: int) -> None:
    padded = padded_width(width_px)
    assert padded % 32 == 0
    assert width_px + 32 <= padded <= max(width_px + 64 + 32, 1.3 * (width_px + 32))
    assert padded_width(padded - 32) == padded


def _word(text: str) -> np.ndarray:
    font = ImageFont.load_default(36)
    width = int(font.getlength(text)) + 8
    image = Image.new("RGB", (width, RECOGNISER_HEIGHT_PX), "white")
    ImageDraw.Draw(image).text((4, 0), text, "black", font)
    return np.asarray(image)


@pytest.mark.slow
def test_a_crop_is_read_alike_alone_and_in_company() -> None:
    engine = Engine()
    short, long = _word("Add to cart"), _word("Add to wishlist")
    if padded_width(short.shape[1]) != padded_width(long.shape[1]):
        long = np.concatenate([short, np.full((RECOGNISER_HEIGHT_PX, 3, 3), 255, np.uint8)], axis=1)
    assert padded_width(short.shape[1]) == padded_width(long.shape[1])
    assert engine.recognise([short])[0].words == engine.recognise([long, short])[1].words

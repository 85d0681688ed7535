"""Pictures by every vendor's rule: their own examples, and what must hold for any size."""

from __future__ import annotations

import pytest
from fakes.vendor_rules import google_tiles, patches_of_28, patches_of_32, qwen_squares, tiles_of_512
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.cards.schema import (
    AnthropicPatches,
    FixedTokens,
    GeminiTiles,
    ImageTokens,
    OpenAiPatches,
    OpenAiTiles,
    QwenGrid,
)
from grounding.llm.tokens import billed_image_tokens
from grounding.records import Size

GPT_4O, O_SERIES = OpenAiTiles(base=85, per_tile=170), OpenAiTiles(base=75, per_tile=150)
GPT_4_1, O4_MINI = OpenAiPatches(max_patches=1536), OpenAiPatches(max_patches=1536, multiplier=1.72)
CLAUDE = AnthropicPatches(max_side_px=1568, max_tokens=1568)
GEMINI = GeminiTiles()
QWEN2_5 = QwenGrid(factor=28, min_pixels=3136, max_pixels=12845056, extra=0)
QWEN3 = QwenGrid(factor=32, min_pixels=65536, max_pixels=16777216, extra=0)


@pytest.mark.parametrize(
    ("rule", "size", "tokens"),
    [
        # OpenAI's guide to images: tiles.
        (GPT_4O, (1024, 1024), 765),
        (GPT_4O, (2048, 4096), 1105),
        (GPT_4O, (1920, 1080), 1105),
        (GPT_4O, (512, 512), 255),
        (GPT_4O, (513, 512), 425),
        (GPT_4O, (100, 100), 255),  # never scaled up
        (O_SERIES, (1920, 1080), 975),
        # The same guide: patches.
        (GPT_4_1, (1024, 1024), 1024),
        (GPT_4_1, (1800, 2400), 1452),
        (GPT_4_1, (1920, 1080), 1508),
        (O4_MINI, (1024, 1024), 1762),  # 1024 x 1.72, and a begun token is one
        (O4_MINI, (1920, 1080), 2594),
        (OpenAiPatches(multiplier=1.2), (1920, 1080), 2448),  # no limit: 60 x 34 patches
        (OpenAiPatches(max_side_px=1024), (2048, 1024), 512),
        # Anthropic: 1456 x 819 is the largest 16:9 within both limits; 1000 x 1000 needs no scaling.
        (CLAUDE, (1920, 1080), 52 * 30),
        (CLAUDE, (1000, 1000), 36 * 36),
        (CLAUDE, (200, 200), 64),
        # Google: both sides up to 384, else tiles of two thirds of the shorter side.
        (GEMINI, (384, 384), 258),
        (GEMINI, (385, 200), 258 * 2),
        (GEMINI, (960, 540), 258 * 6),
        (GEMINI, (1920, 1080), 258 * 6),
        (GEMINI, (3840, 2160), 258 * 15),  # a tile is 768 at most
        # Qwen-VL's processors.
        (QWEN2_5, (1920, 1080), 2691),
        (QWEN3, (1920, 1088), 2040),
        (QwenGrid(factor=28, min_pixels=3136, max_pixels=12845056), (1920, 1080), 2693),
        (FixedTokens(tokens=1120), (1, 9999), 1120),
    ],
)
def test_worked_examples(rule: ImageTokens, size: tuple[int, int], tokens: int) -> None:
    assert billed_image_tokens(rule, Size(width=size[0], height=size[1])) == tokens


sizes = st.builds(Size, width=st.integers(50, 6000), height=st.integers(50, 6000))


@settings(max_examples=40)
@given(sizes)
def test_tiles_agree_with_plain_arithmetic(size: Size) -> None:
    assert billed_image_tokens(GPT_4O, size) == tiles_of_512(85, 170)(size.width, size.height)
    assert billed_image_tokens(GEMINI, size) == google_tiles(size.width, size.height)


@settings(max_examples=40)
@given(sizes.filter(lambda size: max(size.width, size.height) < 100 * min(size.width, size.height)))
def test_squares_agree_with_plain_arithmetic(size: Size) -> None:
    grid = QwenGrid(factor=28, min_pixels=3136, max_pixels=1003520)
    assert billed_image_tokens(grid, size) == qwen_squares(28, 3136, 1003520)(size.width, size.height)


@settings(max_examples=40)
@given(sizes)
def test_patches_keep_their_limits_and_come_near_what_a_search_finds(size: Size) -> None:
    for rule, searched, most in (
        (GPT_4_1, patches_of_32(1.0, 1536), 1536),
        (CLAUDE, patches_of_28(1568, 1568), 1568),
    ):
        found = billed_image_tokens(rule, size)
        assert 1 <= found <= most
        # The search goes down pixel by pixel in whole pixels; long thin pictures lose a whole row by that.
        if max(size.width, size.height) < 3 * min(size.width, size.height):
            assert found == pytest.approx(searched(size.width, size.height), rel=0.08)


def test_a_shape_that_the_model_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="200 times"):
        billed_image_tokens(QWEN2_5, Size(width=3000, height=10))

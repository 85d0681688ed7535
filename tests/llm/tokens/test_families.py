"""Pictures to tokens and back."""

from __future__ import annotations

import pytest

from grounding.cards import Family
from grounding.llm.tokens import image_tokens
from grounding.records import Size


@pytest.mark.parametrize(
    ("family", "size", "tokens"),
    [
        ("qwen2_vl", (1932, 1092), 69 * 39),
        ("qwen2_5_vl", (1932, 1092), 69 * 39),
        ("qwen2_5_vl", (28, 28), 1),
        ("qwen3_vl", (1920, 1088), 60 * 34),
        ("qwen3_vl", (1932, 1092), None),  # no multiple of 32
        ("qwen2_5_vl", (1920, 1080), None),
        ("qwen2_5_vl", (1932, 1080), None),
        ("qwen_vl", (448, 448), None),
        ("aria", (980, 980), None),
        ("opencua", (1932, 1092), None),
        ("hosted", (1932, 1092), None),
        ("other", (1932, 1092), None),
        (None, (1932, 1092), None),
    ],
)
def test_tokens_of_a_picture(family: Family | None, size: tuple[int, int], tokens: int | None) -> None:
    assert image_tokens(family, Size(width=size[0], height=size[1])) == tokens

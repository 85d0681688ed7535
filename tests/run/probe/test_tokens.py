"""Tokens: what the server saw, from counts that cover text and picture together."""

from __future__ import annotations

import pytest

from grounding.cards.schema import Family
from grounding.geometry import smart_resize
from grounding.records import Box, ImageSizes, Region, Size
from grounding.run.probe.replies import ProbedReply, TokenLine, token_findings, token_lines

HERE = Region(boxes=(Box(left_px=0, top_px=0, right_px=9, bottom_px=9),))
SIZES = ((320, 240), (1280, 720), (1920, 1080), (2560, 1440))
FACTORS: dict[Family, int] = {"qwen2_vl": 28, "qwen2_5_vl": 28, "qwen3_vl": 32}


def request(
    width: int,
    height: int,
    *,
    most: int = 10**7,
    card_most: int = 10**7,
    text_tokens: int = 60,
    chars: int = 160,
    factor: int = 28,
) -> ProbedReply:
    """One request of which the server sees ``most`` pixels at most and the card says ``card_most``."""
    original = Size(width=width, height=height)
    says = smart_resize(original, factor=factor, min_pixels=3136, max_pixels=card_most)
    saw = smart_resize(original, factor=factor, min_pixels=3136, max_pixels=most)
    return ProbedReply(
        place=None,
        sizes=ImageSizes(original=original, sent=original, model=says),
        region=HERE,
        input_tokens=(saw.width // factor) * (saw.height // factor) + text_tokens,
        text_chars=chars,
    )


def wrong(lines: tuple[TokenLine, ...]) -> list[tuple[int, int]]:
    return [(line.original.width, line.original.height) for line in lines if not line.agrees]


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
@pytest.mark.parametrize(("text_tokens", "chars"), [(60, 160), (300, 1200), (700, 2600), (25, 20)])
def test_whatever_the_text_takes_it_cancels(family: Family, text_tokens: int, chars: int) -> None:
    factor = FACTORS[family]
    seen = [request(*size, text_tokens=text_tokens, chars=chars, factor=factor) for size in SIZES]
    lines = token_lines(seen, family, tolerance=8)
    assert [line.seen == line.expected for line in lines] == [True] * 4
    assert token_findings(lines) == ()


def test_a_digit_more_in_the_prompt_is_no_difference() -> None:
    seen = [request(*size, text_tokens=60 + more) for size, more in zip(SIZES, (0, 1, 2, 2), strict=True)]
    assert wrong(token_lines(seen, "qwen2_5_vl", tolerance=8)) == []


def test_the_sizes_that_were_shrunk_are_named_and_the_others_are_not() -> None:
    seen = [request(*size, most=1_300_000) for size in SIZES]
    lines = token_lines(seen, "qwen2_5_vl", tolerance=8)
    assert wrong(lines) == [(1920, 1080), (2560, 1440)]
    assert lines[2].seen == Size(width=1512, height=840)
    assert lines[2].seen_tokens == 54 * 30
    (found,) = token_findings(lines)
    assert "at 1920x1080 the server saw about 1512x840 (1,620 image tokens), the card says 1932x1092" in found.text


def test_with_one_size_alone_the_length_of_the_text_decides() -> None:
    same = [request(1920, 1080) for _ in range(3)]
    assert wrong(token_lines(same, "qwen2_5_vl", tolerance=24)) == []
    shrunk = [request(1920, 1080, most=600_000) for _ in range(3)]
    (line,) = token_lines(shrunk, "qwen2_5_vl", tolerance=24)
    assert not line.agrees
    assert abs(line.seen.width - 1008) <= 28
    assert line.replies == 3


def test_without_a_formula_or_a_count_there_is_nothing_to_say() -> None:
    assert token_lines([request(1920, 1080)], None, tolerance=8) == ()
    assert token_lines([request(1920, 1080)], "hosted", tolerance=8) == ()
    uncounted = ProbedReply(place=None, sizes=request(1920, 1080).sizes, region=HERE)
    assert token_lines([uncounted], "qwen2_5_vl", tolerance=8) == ()

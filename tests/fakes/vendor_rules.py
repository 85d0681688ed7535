"""How each vendor counts pictures and what it charges, written down a second time and independently of the package.

Plain arithmetic by search and rounding, where the package has exact formulas: a mistake in one shows against the other.
Figures are those of the vendors' public pages as the cards state them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Vendor = Literal["openai", "anthropic", "gemini", "dashscope", "vllm"]
Count = Callable[[int, int], int]  # Width and height of a picture in pixels to its tokens.


def tiles_of_512(base: int, each: int) -> Count:
    """OpenAI's older models: at most 2048 a side, at most 768 the shorter one, then squares of 512."""

    def count(width: int, height: int) -> int:
        w, h = float(width), float(height)
        for limit, side in ((2048.0, max(w, h)), (768.0, 0.0)):
            side = side or min(w, h)
            if side > limit:
                w, h = w * limit / side, h * limit / side
        return base + each * math.ceil(round(w, 6) / 512) * math.ceil(round(h, 6) / 512)

    return count


def patches_of_32(times: float, most: int | None = None) -> Count:
    """OpenAI's newer models: squares of 32, the picture made smaller a pixel at a time until they are few enough."""

    def count(width: int, height: int) -> int:
        w = width
        while True:
            h = max(1, round(height * w / width))
            found = -(-w // 32) * -(-h // 32)
            if most is None or found <= most:
                return math.ceil(round(found * times, 6))
            w -= 1

    return count


def patches_of_28(longest: int, most: int) -> Count:
    """Anthropic: squares of 28, the picture made smaller until both limits are kept."""

    def count(width: int, height: int) -> int:
        w = width
        while True:
            h = max(1, round(height * w / width))
            found = -(-w // 28) * -(-h // 28)
            if max(w, h) <= longest and found <= most:
                return found
            w -= 1

    return count


def google_tiles(width: int, height: int) -> int:
    """Gemini 2: 258 for a small picture, else 258 for each square of two thirds of the shorter side, 256 to 768."""
    if width <= 384 and height <= 384:
        return 258
    unit = sorted((256, int(min(width, height) / 1.5), 768))[1]
    return 258 * math.ceil(width / unit) * math.ceil(height / unit)


def qwen_squares(side: int, least: int, most: int) -> Count:
    """Qwen-VL: whole squares within a number of pixels, and the two marks around a picture."""

    def count(width: int, height: int) -> int:
        across, down = max(1, round(width / side)), max(1, round(height / side))
        if across * down * side * side > most:
            shrink = math.sqrt(width * height / most)
            across, down = max(1, int(width / shrink / side)), max(1, int(height / shrink / side))
        elif across * down * side * side < least:
            grow = math.sqrt(least / (width * height))
            across, down = math.ceil(width * grow / side), math.ceil(height * grow / side)
        return across * down + 2

    return count


def always(tokens: int) -> Count:
    """Every picture the same."""
    return lambda _width, _height: tokens


@dataclass(frozen=True)
class Model:
    """One model of a vendor: what it charges per million tokens, how it counts, what it thinks and refuses.

    ``thinks`` is the mean of its hidden reasoning in tokens, 0 for none. ``window`` is in tokens.
    """

    name: str
    vendor: Vendor
    image: Count
    input_usd: float = 0.0
    output_usd: float = 0.0
    thinks: int = 0
    refuses: frozenset[str] = frozenset()
    window: int = 200_000


_REASONING = frozenset(
    {"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"}
) | {"max_tokens"}

MODELS: tuple[Model, ...] = (
    Model("gpt-4o", "openai", tiles_of_512(85, 170), 2.5, 10, refuses=frozenset({"reasoning_effort"})),
    Model("o1-2024-12-17", "openai", tiles_of_512(75, 150), 15, 60, thinks=1530, refuses=_REASONING),
    Model("o3", "openai", tiles_of_512(75, 150), 2, 8, thinks=1530, refuses=_REASONING),
    Model("o4-mini", "openai", patches_of_32(1.72, 1536), 1.1, 4.4, thinks=1530, refuses=_REASONING),
    Model("gpt-4o-mini", "openai", tiles_of_512(2833, 5667), 0.15, 0.6, refuses=frozenset({"reasoning_effort"})),
    Model("gpt-4.1-mini", "openai", patches_of_32(1.62, 1536), 0.4, 1.6, refuses=frozenset({"reasoning_effort"})),
    Model("gpt-5-mini", "openai", patches_of_32(1.2, 1536), 0.25, 2, thinks=1530, refuses=_REASONING),
    Model("gpt-6.1-sol", "openai", patches_of_32(1.2), 2, 10, thinks=1530, refuses=_REASONING),
    Model("claude-3-7-sonnet-20250219", "anthropic", patches_of_28(1568, 1568), 3, 15),
    Model(
        "claude-sonnet-5-5",
        "anthropic",
        patches_of_28(2576, 4784),
        2,
        10,
        thinks=1530,
        refuses=frozenset({"temperature", "top_p", "top_k"}),
    ),
    Model("gemini-2.5-flash", "gemini", google_tiles, 0.3, 2.5, thinks=1530),
    Model("gemini-2.5-pro", "gemini", google_tiles, 1.25, 10, thinks=1530),
    Model("gemini-3.8-flash", "gemini", always(1120), 0.75, 3.75, thinks=1530),
    Model("qwen3-vl-235b-a22b-instruct", "dashscope", qwen_squares(32, 65_536, 16_777_216), 0.4, 1.6),
    Model("qwen3.8-max", "dashscope", qwen_squares(32, 65_536, 16_777_216), 2, 6, thinks=1530),
    Model("Qwen/Qwen2.5-VL-72B-Instruct", "vllm", qwen_squares(28, 3_136, 12_845_056), window=32_768),
)

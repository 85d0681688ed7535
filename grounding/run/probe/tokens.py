"""What a server made of the pictures, by its own count of tokens. Pure functions.

The count covers text and picture together. The text is the same for every size of screenshot, apart from the words of
the instruction, so that the sizes can be held against one another.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from grounding.cards.schema import Family
from grounding.geometry import smart_resize
from grounding.llm.tokens import PIXELS_PER_SIDE, image_tokens
from grounding.records import Record, Size
from grounding.run.probe.replies import ProbedReply, ProbeFinding

CHARS_PER_TOKEN, FEWEST_CHARS_PER_TOKEN, MOST_CHARS_PER_TOKEN = 4.0, 1.5, 8.0
USUAL_TEMPLATE_TOKENS, MOST_TEMPLATE_TOKENS = 25, 150
"""What a chat template puts around the text, its own system prompt included."""


class TokenLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Screenshots of one size: what the card expects of the picture and what the server counted.

    ``expected`` and ``expected_tokens`` are None where the card leaves the size to the server. ``prompt_min``,
    ``prompt_median`` and ``prompt_max`` are the whole requests; ``seen_tokens`` is what is left for the picture without
    the text, and ``seen`` a picture of so many tokens. ``agrees`` is within the tolerance: of the card's size, or where
    it states none, of the screenshot's own.
    """

    original: Size
    expected: Size | None
    expected_tokens: int | None
    replies: int
    prompt_min: int
    prompt_median: float
    prompt_max: int
    seen_tokens: int
    seen: Size
    agrees: bool


def text_chars(templates: Iterable[str | None], instruction: str) -> int:
    """The length of all text in a request, from the card's templates."""
    return len("".join(text for text in templates if text).replace("{instruction}", instruction))


def token_lines(
    observations: Sequence[ProbedReply], family: Family | None, *, tolerance: int, declared: bool = True
) -> tuple[TokenLine, ...]:
    """One line for each size of screenshot; none where the family's formula or the server's count isn't known.

    ``tolerance``: so many tokens of text more or fewer are no difference. ``declared``: whether the card states the
    size that the model sees; otherwise the server may do as it likes.
    """
    factor = None if family is None else PIXELS_PER_SIDE.get(family)
    if factor is None:
        return ()
    groups: dict[tuple[Size, Size, int], list[ProbedReply]] = defaultdict(list)
    for seen in observations:
        original = seen.sizes.original
        most = original.width * original.height * 4
        # A picture that is neither shrunk nor enlarged: the processors round its sides to whole tokens.
        size = seen.sizes.model if declared else smart_resize(original, factor=factor, min_pixels=1, max_pixels=most)
        expected = image_tokens(family, size)
        if expected is not None and seen.input_tokens:
            groups[original, size, expected].append(seen)
    if not groups:
        return ()
    left = {
        group: statistics.median((seen.input_tokens or 0) - seen.text_chars / CHARS_PER_TOKEN for seen in found)
        for group, found in groups.items()
    }
    chars = statistics.median(seen.text_chars for found in groups.values() for seen in found)
    template = _template_tokens([left[group] - group[2] for group in groups], chars, tolerance)
    lines = []
    for (original, expected_size, expected), found in groups.items():
        prompts = [seen.input_tokens or 0 for seen in found]
        tokens = max(1, round(left[original, expected_size, expected] - template))
        agrees = abs(tokens - expected) <= tolerance
        lines.append(
            TokenLine(
                original=original,
                expected=expected_size if declared else None,
                expected_tokens=expected if declared else None,
                replies=len(found),
                prompt_min=min(prompts),
                prompt_median=statistics.median(prompts),
                prompt_max=max(prompts),
                seen_tokens=expected if agrees else tokens,
                seen=expected_size if agrees else _size_of(tokens, original, factor),
                agrees=agrees,
            )
        )
    return tuple(sorted(lines, key=lambda line: line.original.width * line.original.height))


def _template_tokens(differences: Sequence[float], chars: float, tolerance: int) -> float:
    """What the text takes beyond its characters: the figure that most sizes agree on, if it is one that text can have.

    Where the server shrinks only large pictures, the small ones show it; where none is possible, a usual one is taken.
    """
    usual = chars / CHARS_PER_TOKEN
    low = chars / MOST_CHARS_PER_TOKEN - usual - tolerance
    high = chars / FEWEST_CHARS_PER_TOKEN - usual + MOST_TEMPLATE_TOKENS
    possible = [value for value in differences if low <= value <= high]
    if not possible:
        return USUAL_TEMPLATE_TOKENS

    def support(value: float) -> tuple[int, float]:
        return sum(abs(other - value) <= tolerance for other in possible), -abs(value - USUAL_TEMPLATE_TOKENS)

    best = max(possible, key=support)
    return statistics.median(value for value in possible if abs(value - best) <= tolerance)


def _size_of(tokens: int, original: Size, factor: int) -> Size:
    """The screenshot's shape at so many tokens, in whole ones."""
    scale = math.sqrt(tokens * factor**2 / (original.width * original.height))
    width, height = (max(1, round(side * scale / factor)) * factor for side in (original.width, original.height))
    return Size(width=width, height=height)


def token_findings(lines: Sequence[TokenLine]) -> tuple[ProbeFinding, ...]:
    """What names the sizes at which the server saw another picture than the card says: a warning.

    Where the card leaves the size to the server, a note of those that it saw smaller or larger than they are.
    """
    others = [line for line in lines if not line.agrees]
    if not others:
        return ()
    named = "; ".join(
        f"at {_words(line.original)} the server saw about {_words(line.seen)} ({line.seen_tokens:,} image tokens)"
        + ("" if line.expected is None else f", the card says {_words(line.expected)} ({line.expected_tokens:,})")
        for line in others[-3:]
    )
    if all(line.expected is None for line in others):
        return (ProbeFinding(kind="tokens", level="ok", text=f"{named}; the card leaves the size to the server"),)
    return (ProbeFinding(kind="tokens", level="warning", text=named),)


def _words(size: Size) -> str:
    return f"{size.width}x{size.height}"

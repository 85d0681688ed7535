"""What the places of texts tell: reading order, the browser's frame, prices, the items of a list. Pure.

Nothing here knows a site. What is used of a browser is that its address stands in a row at the top, tab titles above
it, the back arrow at the row's left end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grounding.grounders.ocr.screen import Screen, TextLine
from grounding.records import Box, Record

_ADDRESS = re.compile(
    r"(?:^|\s)(?:[a-z-]+://|www\.|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,10}(?:[:/?]|$)|localhost\b|\d+(?:\.\d+){3}|about:)"
    r"|type a url|enter (?:a |web )?address",
    re.IGNORECASE,
)
_FRAME_SHARE = 0.2
"""The browser's own rows lie within this share of the screen's height."""
_PRICE = re.compile(r"(?<![\w.])(?:US|CA|AU)?[$€£]\s?(\d{1,3}(?:,\d{3})+|\d+)(?:[.,](\d\d))?(?!\d)")
_RANGE = re.compile(
    r"\b(?:under|over|above|below|up to|less than|more than|from|min|max|save|off)\b"
    r"|[$€£][\d.,]+ ?(?:to|-|\u2013|\+|&)",
    re.IGNORECASE,
)
"""Filters and offers name amounts that nothing costs."""
_RATING = re.compile(r"(?<![\d.$€£:])(10[.,]0|\d[.,]\d)(?!\d)")
_STARS = re.compile(
    r"[★☆⭐*]|stars?|rating|/ ?(?:5|10)\b|out of (?:5|10)\b|score|\(\d[\d,.k]*\)|reviews?", re.IGNORECASE
)
_COUNT = re.compile(r"\((\d[\d,.]*)\s*(k?)\)|(\d[\d,.]*)\s*(k?)\+? (?:reviews?|ratings?)", re.IGNORECASE)


class Valued(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A line that shows an amount."""

    line: TextLine
    value: float


class Frame(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The browser's own part of the screenshot: the address if it is seen, the titles of the tabs, left to right.

    ``bottom_px`` is where the page begins: 0 where no browser is seen.
    """

    address: TextLine | None
    tabs: tuple[TextLine, ...]
    bottom_px: float


def frame_of(screen: Screen) -> Frame:
    """Find the browser's address row by what is written there."""
    limit_px = screen.size.height * _FRAME_SHARE
    rows = [
        line
        for line in screen.lines
        if line.box.bottom_px < limit_px and (_ADDRESS.search(line.text) or _ADDRESS.search(line.text.replace(" ", "")))
    ]
    if not rows:
        return Frame(address=None, tabs=(), bottom_px=0.0)
    address = min(rows, key=lambda line: (line.box.top_px, line.box.left_px))
    above = [
        line
        for line in screen.lines
        if line.box.bottom_px <= address.box.top_px and sum(map(str.isalnum, line.text)) >= 2
    ]
    return Frame(
        address=address,
        tabs=tuple(sorted(above, key=lambda line: (line.box.left_px, line.box.top_px, line.text))),
        bottom_px=address.box.bottom_px + height(address),
    )


def height(line: TextLine) -> float:
    """The height of a line's ink, in pixels."""
    return line.box.bottom_px - line.box.top_px


def letter_px(line: TextLine) -> float:
    """The width of a line's average character: tells sizes of type apart better than the ink's height.

    The ink is as high as its highest letter, or higher where a neighbour reaches in.
    """
    return (line.box.right_px - line.box.left_px) / max(1, len(line.text))


def gap_px(one: Box, other: Box) -> tuple[float, float]:
    """How far two boxes are apart, sideways and upright; 0 where they overlap."""
    return (
        max(0.0, one.left_px - other.right_px, other.left_px - one.right_px),
        max(0.0, one.top_px - other.bottom_px, other.top_px - one.bottom_px),
    )


def in_reading_order(boxes: Sequence[Box]) -> list[int]:
    """Indices of boxes row by row, each row from left to right; a row is what overlaps its first box upright."""
    order = sorted(range(len(boxes)), key=lambda i: (boxes[i].center.y_px, boxes[i].left_px))
    rows: list[list[int]] = []
    for index in order:
        box = boxes[index]
        if rows and box.center.y_px <= boxes[rows[-1][0]].bottom_px:
            rows[-1].append(index)
        else:
            rows.append([index])
    return [index for row in rows for index in sorted(row, key=lambda i: (boxes[i].left_px, boxes[i].top_px))]


def prices(lines: Sequence[TextLine]) -> tuple[Valued, ...]:
    """Lines that show a price. Shops set cents small and high: "$1795" beside others with a point is not guessed at."""
    found = []
    for line in lines:
        match = _PRICE.search(line.text)
        if match is not None and len(line.text) <= 40 and not _RANGE.search(line.text):
            value = float(match[1].replace(",", "")) + (float(match[2]) / 100 if match[2] else 0.0)
            found.append(Valued(line=line, value=value))
    return tuple(found)


def ratings(lines: Sequence[TextLine]) -> tuple[Valued, ...]:
    """Lines that show an average of 0.0 to 10.0, with stars or a number of votes, or alone."""
    found = []
    for line in lines:
        match = _RATING.search(line.text)
        if match is not None and (_STARS.search(line.text) or len(line.text) <= 5):
            found.append(Valued(line=line, value=float(match[1].replace(",", "."))))
    return tuple(found)


def vote_counts(lines: Sequence[TextLine]) -> tuple[Valued, ...]:
    """Lines that show how many people rated."""
    found = []
    for line in lines:
        match = _COUNT.search(line.text)
        if match is not None:
            digits, thousand = (match[1], match[2]) if match[1] else (match[3], match[4])
            number = float(digits.replace(",", "").rstrip(".")) if digits.count(".") <= 1 else 0.0
            found.append(Valued(line=line, value=number * (1000 if thousand else 1)))
    return tuple(found)

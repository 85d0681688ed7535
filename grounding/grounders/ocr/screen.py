"""What was read from a screenshot, and what the places of texts tell: the browser's frame, prices, items. Pure.

Nothing here knows a site. What is used of a browser is that its address stands in a row at the top, tab titles above
it, the back arrow at the row's left end.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from grounding.records import Box, Record, Size


class TextWord(Record, frozen=True, kw_only=True, omit_defaults=False):
    text: str
    left_px: float
    right_px: float


class TextLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run of text on one line without a wide gap, its box around the ink, and how sure the reader is (0 to 1).
    ``framed`` tells that an edge runs above and below it at about the same distance: a button, or a field's content.
    """

    text: str
    box: Box
    confidence: float
    words: tuple[TextWord, ...]
    framed: bool = False

    @property
    def height_px(self) -> float:
        return self.box.bottom_px - self.box.top_px

    @property
    def letter_px(self) -> float:
        """The width of its average character: tells sizes of type apart better than the ink's height. The ink is as
        high as its highest letter, or higher where a neighbour reaches in.
        """
        return (self.box.right_px - self.box.left_px) / max(1, len(self.text))


class Screen(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that was read from one screenshot. ``size`` is the image's own, ``model_size`` what the text detector
    was shown of it.
    """

    size: Size
    model_size: Size
    lines: tuple[TextLine, ...]


# --- the browser's frame, amounts --------------------------------------------------------------------------------

_ADDRESS = re.compile(
    r"(?:^|\s)(?:[a-z-]+://|www\.|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,10}(?:[:/?]|$)|localhost\b|\d+(?:\.\d+){3}|about:)"
    r"|type a url|enter (?:a |web )?address",
    re.IGNORECASE,
)
_FRAME_SHARE = 0.2  # The browser's own rows lie within this share of the screen's height.
_PRICE = re.compile(r"(?<![\w.])(?:US|CA|AU)?[$€£]\s?(\d{1,3}(?:,\d{3})+|\d+)(?:[.,](\d\d))?(?!\d)")
_RANGE = re.compile(
    r"\b(?:under|over|above|below|up to|less than|more than|from|min|max|save|off)\b"
    r"|[$€£][\d.,]+ ?(?:to|-|\u2013|\+|&)",
    re.IGNORECASE,
)  # Filters and offers name amounts that nothing costs.
_RATING = re.compile(r"(?<![\d.$€£:])(10[.,]0|\d[.,]\d)(?!\d)")
_STARS = re.compile(
    r"[★☆⭐*]|stars?|rating|/ ?(?:5|10)\b|out of (?:5|10)\b|score|\(\d[\d,.k]*\)|reviews?", re.IGNORECASE
)
_COUNT = re.compile(r"\((\d[\d,.]*)\s*(k?)\)|(\d[\d,.]*)\s*(k?)\+? (?:reviews?|ratings?)", re.IGNORECASE)


class Valued(Record, frozen=True, kw_only=True, omit_defaults=False):
    line: TextLine
    value: float


class BrowserFrame(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The browser's own part of the screenshot: the address if it is seen, the titles of the tabs, left to right.
    ``bottom_px`` is where the page begins: 0 where no browser is seen.
    """

    address: TextLine | None
    tabs: tuple[TextLine, ...]
    bottom_px: float


def frame_of(screen: Screen) -> BrowserFrame:
    """Find the browser's address row by what is written there."""
    limit_px = screen.size.height * _FRAME_SHARE
    rows = [
        line
        for line in screen.lines
        if line.box.bottom_px < limit_px and (_ADDRESS.search(line.text) or _ADDRESS.search(line.text.replace(" ", "")))
    ]
    if not rows:
        return BrowserFrame(address=None, tabs=(), bottom_px=0.0)
    address = min(rows, key=lambda line: (line.box.top_px, line.box.left_px))
    above = [
        line
        for line in screen.lines
        if line.box.bottom_px <= address.box.top_px and sum(map(str.isalnum, line.text)) >= 2
    ]
    return BrowserFrame(
        address=address,
        tabs=tuple(sorted(above, key=lambda line: (line.box.left_px, line.box.top_px, line.text))),
        bottom_px=address.box.bottom_px + address.height_px,
    )


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


# --- items -------------------------------------------------------------------------------------------------------

_TITLE_LETTERS = 4
_ALIGNED_PX = 6.0
_LARGER = 1.2  # A title's letters are at least this much wider than those of most lines.
_NEARLY = 0.85  # Of a card's lines with letters of nearly the largest size the topmost names it.


class ListItem(Record, frozen=True, kw_only=True, omit_defaults=False):
    title: TextLine
    anchor: TextLine


def items(lines: Sequence[TextLine]) -> tuple[ListItem, ...]:
    """The items of a page in reading order: what shows a price, a rating or the same button again and again."""
    for anchors in _anchor_groups(lines):
        found = _items_around(anchors, lines)
        if len(found) >= 2:
            order = in_reading_order([item.title.box for item in found])
            return tuple(found[index] for index in order)
    return _titles_alone(lines)


def title_near(anchor: TextLine, lines: Sequence[TextLine], rivals: Sequence[TextLine]) -> TextLine:
    """The line that names the card which an anchor (a price, a rating) belongs to; the anchor itself if none does.
    ``rivals`` are the same lines of the other cards: what is nearer to one of them belongs there.
    """
    counts = Counter(line.text for line in lines)
    reach_px = _reach_px(anchor, rivals)
    card = []
    for line in lines:
        if line == anchor or counts[line.text] > 1 or sum(map(str.isalpha, line.text)) < _TITLE_LETTERS:
            continue
        if prices([line]) or ratings([line]):
            continue
        distance = _card_distance(line, anchor)
        if distance <= reach_px and all(_card_distance(line, other) >= distance for other in rivals):
            card.append(line)
    if not card:
        return anchor
    largest = max(line.letter_px for line in card)
    return min(
        (line for line in card if line.letter_px >= _NEARLY * largest),
        key=lambda line: (line.box.top_px, line.box.left_px),
    )


def _anchor_groups(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines that occur once per item, the surest sort first."""
    again = Counter(line.text for line in lines if sum(map(str.isalpha, line.text)) >= _TITLE_LETTERS)
    groups = [[valued.line for valued in prices(lines)], [valued.line for valued in ratings(lines)]]
    groups += [[line for line in lines if line.text == text] for text, count in again.most_common(2) if count >= 2]
    sized = [_of_one_size(group) for group in groups]
    return sorted((group for group in sized if len(group) >= 2), key=len, reverse=True)


def _of_one_size(group: list[TextLine]) -> list[TextLine]:
    """The anchors set in the usual size of their sort: a crossed-out price or a total is smaller or larger."""
    if not group:
        return []
    usual = sorted(line.height_px for line in group)[len(group) // 2]
    return [line for line in group if 0.75 * usual <= line.height_px <= 1.35 * usual]


def _items_around(anchors: list[TextLine], lines: Sequence[TextLine]) -> list[ListItem]:
    found: dict[TextLine, ListItem] = {}
    for anchor in anchors:
        title = title_near(anchor, lines, [other for other in anchors if other != anchor])
        if title != anchor:
            found.setdefault(title, ListItem(title=title, anchor=anchor))
    return list(found.values())


def _card_distance(line: TextLine, anchor: TextLine) -> float:
    """How far a line is from an anchor; names stand above their price more often than below, and in its column."""
    across, upright = gap_px(line.box, anchor.box)
    return across * 1.5 + upright * (1.0 if line.box.top_px <= anchor.box.top_px else 2.0)


def _reach_px(anchor: TextLine, rivals: Sequence[TextLine]) -> float:
    """Half the way to the farther of an item's nearest neighbours, at most: beyond that another thing begins."""
    apart = [sum(gap_px(anchor.box, other.box)) for other in rivals if other.box != anchor.box]
    return min([14 * anchor.height_px, *(0.9 * way for way in sorted(apart)[:1])])


def _titles_alone(lines: Sequence[TextLine]) -> tuple[ListItem, ...]:
    """Lines of one left edge: search results (the larger ones among them), suggestions, menus."""
    columns: dict[int, list[TextLine]] = defaultdict(list)
    for line in lines:
        if sum(map(str.isalpha, line.text)) >= 2:
            columns[round(line.box.left_px / _ALIGNED_PX)].append(line)
    best: list[TextLine] = []
    best_size = 0.0
    for place in columns:
        column = columns[place] + columns.get(place + 1, [])
        usual = sorted(line.letter_px for line in column)[len(column) // 2]
        large = [line for line in column if line.letter_px >= usual * _LARGER]
        chosen = large if 2 <= len(large) <= len(column) / 2 else column
        size = sum(line.height_px * min(line.box.right_px - line.box.left_px, 600.0) for line in chosen)
        if len(chosen) >= 2 and size > best_size:
            best, best_size = chosen, size
    best = sorted(best, key=lambda line: (line.box.top_px, line.box.left_px))
    return tuple(ListItem(title=line, anchor=line) for line in best)

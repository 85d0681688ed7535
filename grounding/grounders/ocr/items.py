"""The items of a list or a grid: cards, search results, suggestions. Lines in, one title per item out. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from grounding.grounders.ocr import layout
from grounding.grounders.ocr.screen import TextLine
from grounding.records import Record

_TITLE_LETTERS = 4
_ALIGNED_PX = 6.0
_LARGER = 1.2
"""A title's letters are at least this much wider than those of most lines."""
_NEARLY = 0.85
"""Of a card's lines with letters of nearly the largest size the topmost names it."""


class Item(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One item: the line that names it and the line by which it was recognised as one of several."""

    title: TextLine
    anchor: TextLine


def items(lines: Sequence[TextLine]) -> tuple[Item, ...]:
    """The items of the screen in reading order: what shows a price, a rating or the same button again and again.

    Args:
        lines: The lines of the page, without the browser's frame.
    """
    for anchors in _anchor_groups(lines):
        found = _items_around(anchors, lines)
        if len(found) >= 2:
            order = layout.in_reading_order([item.title.box for item in found])
            return tuple(found[index] for index in order)
    return _titles_alone(lines)


def title_near(anchor: TextLine, lines: Sequence[TextLine], rivals: Sequence[TextLine]) -> TextLine:
    """The line that names the card which an anchor (a price, a rating) belongs to; the anchor itself if none does.

    Args:
        anchor: A line of the card.
        lines: All lines of the page.
        rivals: The same lines of the other cards: what is nearer to one of them belongs there.
    """
    counts = Counter(line.text for line in lines)
    reach_px = _reach_px(anchor, rivals)
    card = []
    for line in lines:
        if line == anchor or counts[line.text] > 1 or sum(map(str.isalpha, line.text)) < _TITLE_LETTERS:
            continue
        if layout.prices([line]) or layout.ratings([line]):
            continue
        distance = _card_distance(line, anchor)
        if distance <= reach_px and all(_card_distance(line, other) >= distance for other in rivals):
            card.append(line)
    if not card:
        return anchor
    largest = max(map(layout.letter_px, card))
    return min(
        (line for line in card if layout.letter_px(line) >= _NEARLY * largest),
        key=lambda line: (line.box.top_px, line.box.left_px),
    )


def _anchor_groups(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines that occur once per item, the surest sort first."""
    again = Counter(line.text for line in lines if sum(map(str.isalpha, line.text)) >= _TITLE_LETTERS)
    groups = [[valued.line for valued in layout.prices(lines)], [valued.line for valued in layout.ratings(lines)]]
    groups += [[line for line in lines if line.text == text] for text, count in again.most_common(2) if count >= 2]
    sized = [_of_one_size(group) for group in groups]
    return sorted((group for group in sized if len(group) >= 2), key=len, reverse=True)


def _of_one_size(group: list[TextLine]) -> list[TextLine]:
    """The anchors set in the usual size of their sort: a crossed-out price or a total is smaller or larger."""
    if not group:
        return []
    usual = sorted(map(layout.height, group))[len(group) // 2]
    return [line for line in group if 0.75 * usual <= layout.height(line) <= 1.35 * usual]


def _items_around(anchors: list[TextLine], lines: Sequence[TextLine]) -> list[Item]:
    found: dict[TextLine, Item] = {}
    for anchor in anchors:
        title = title_near(anchor, lines, [other for other in anchors if other != anchor])
        if title != anchor:
            found.setdefault(title, Item(title=title, anchor=anchor))
    return list(found.values())


def _card_distance(line: TextLine, anchor: TextLine) -> float:
    """How far a line is from an anchor; names stand above their price more often than below, and in its column."""
    across, upright = layout.gap_px(line.box, anchor.box)
    return across * 1.5 + upright * (1.0 if line.box.top_px <= anchor.box.top_px else 2.0)


def _reach_px(anchor: TextLine, rivals: Sequence[TextLine]) -> float:
    """Half the way to the farther of an item's nearest neighbours, at most: beyond that another thing begins."""
    apart = [sum(layout.gap_px(anchor.box, other.box)) for other in rivals if other.box != anchor.box]
    return min([14 * layout.height(anchor), *(0.9 * way for way in sorted(apart)[:1])])


def _titles_alone(lines: Sequence[TextLine]) -> tuple[Item, ...]:
    """Lines of one left edge: search results (the larger ones among them), suggestions, menus."""
    columns: dict[int, list[TextLine]] = defaultdict(list)
    for line in lines:
        if sum(map(str.isalpha, line.text)) >= 2:
            columns[round(line.box.left_px / _ALIGNED_PX)].append(line)
    best: list[TextLine] = []
    best_size = 0.0
    for place in columns:
        column = columns[place] + columns.get(place + 1, [])
        usual = sorted(map(layout.letter_px, column))[len(column) // 2]
        large = [line for line in column if layout.letter_px(line) >= usual * _LARGER]
        chosen = large if 2 <= len(large) <= len(column) / 2 else column
        size = sum(layout.height(line) * min(line.box.right_px - line.box.left_px, 600.0) for line in chosen)
        if len(chosen) >= 2 and size > best_size:
            best, best_size = chosen, size
    best = sorted(best, key=lambda line: (line.box.top_px, line.box.left_px))
    return tuple(Item(title=line, anchor=line) for line in best)

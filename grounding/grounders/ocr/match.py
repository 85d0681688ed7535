"""Which text does a query mean? A query and a screen in, the choice and the runner-up out. Pure.

The rules, in the order in which they are tried, are named in :data:`Rule`; every choice carries the name of its rule.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Literal, TypeVar

from grounding.grounders.ocr.candidates import TextCandidate, candidates, whole
from grounding.grounders.ocr.instruction import Context, Parsed, Phrase, Place, Relation
from grounding.grounders.ocr.screen import (
    BrowserFrame,
    Screen,
    TextLine,
    frame_of,
    gap_px,
    in_reading_order,
    items,
    prices,
    ratings,
    title_near,
    vote_counts,
)
from grounding.records import Box, Record, Size

_T = TypeVar("_T")

GOOD = 0.55  # From this fit on a text counts as what was meant.
EQUAL = 0.08  # Texts whose fit differs by less are equally good: misread letters make that much.


def lines_of(context: Context, page: Sequence[TextLine]) -> list[TextCandidate]:
    """Where a context stands on the screen: all places that fit it equally well."""
    fits = candidates([Phrase(text=context.text, weight=1.0)], page)
    return [c for c in fits if c.score >= max(GOOD, fits[0].score - EQUAL)]


def cost_px(candidate: TextCandidate, relation: Relation, others: Sequence[TextCandidate]) -> float:
    """How badly a candidate's place agrees with a relation to the nearest of some places, in pixels."""
    costs = []
    for other in others:
        if other.line == candidate.line and other.box == candidate.box:
            continue
        across, upright = gap_px(candidate.box, other.box)
        here, there = candidate.box.center, other.box.center
        wrong = {
            "near": False,
            "below": here.y_px <= there.y_px,
            "above": here.y_px >= there.y_px,
            "left": here.x_px >= there.x_px,
            "right": here.x_px <= there.x_px,
        }[relation]
        sideways, along = (across, upright) if relation not in ("left", "right") else (upright, across)
        cost = along + 2 * sideways
        if relation == "near":
            # Buttons stand below the name of what they are for, or beside it.
            cost = across + upright * (1.6 if here.y_px < there.y_px and upright > 0 else 1.0)
        costs.append(cost + (1e4 if wrong else 0.0))
    return min(costs, default=0.0)


def beside(context: Context, page: Sequence[TextLine]) -> TextCandidate | None:
    """The thing at a context that has no text of its own: a checkbox goes with its label, a field with its caption."""
    there = lines_of(context, page)
    if not there:
        return None
    if context.relation == "near":
        return there[0]
    lines = [whole(line) for line in page if line != there[0].line]
    ranked = sorted(lines, key=lambda c: cost_px(c, context.relation, there))
    if ranked and cost_px(ranked[0], context.relation, there) < 12 * there[0].line.height_px:
        return ranked[0]
    return there[0]


def apart_px(candidate: TextCandidate, line: TextLine) -> float:
    """Distance between a text and a line of its card; what stands above a name seldom belongs to it."""
    across, upright = gap_px(candidate.box, line.box)
    return across + upright


Rule = Literal[
    "browser", "search field", "text", "ordinal", "context", "place", "preference", "item", "price", "guess", "stepper",
    "field",
]  # fmt: skip

_SURE = 0.8

_FIELD_BELOW = 2.2  # The middle of a field is about this many heights of its caption below the caption.
_FRAME_FACTOR = 0.85  # Tab titles repeat what pages say; they are meant less often.


class TextChoice(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What to click and why; ``runner_up`` is what would have been clicked next."""

    chosen: TextCandidate
    rule: Rule
    runner_up: TextCandidate | None


def choose(query: Parsed, screen: Screen) -> TextChoice | None:
    """Choose what a query means on a screen.

    Returns:
        None only if nothing was read on the screen.
    """
    lines = sorted(screen.lines, key=lambda line: (line.box.top_px, line.box.left_px, line.text, line.box.right_px))
    if not lines:
        return None
    frame = frame_of(screen)
    page = [line for line in lines if line.box.center.y_px > frame.bottom_px] or lines
    found = _weighed(query, lines, page)
    best = found[0].score if found else 0.0
    if not query.exact or best < _SURE:
        part = _browser_part(query, frame, screen, page, found)
        if part is not None:
            rule: Rule = "search field" if query.widget == "search field" else "browser"
            return TextChoice(chosen=part, rule=rule, runner_up=found[0] if found else None)
    if query.preference:
        preferred = _preferred(query, page, found)
        if preferred is not None:
            return TextChoice(chosen=preferred, rule="preference", runner_up=_other(found, preferred))
    step = _counter_button(query, page) if best < _SURE else None
    if step is not None:
        return TextChoice(chosen=step, rule="stepper", runner_up=found[0] if found else None)
    if best >= GOOD:
        return _at_field(query, _among_equals(query, found, page, screen.size), page)
    return _at_field(query, _without_text(query, found, page, screen.size), page)


def _weighed(query: Parsed, lines: Sequence[TextLine], page: Sequence[TextLine]) -> list[TextCandidate]:
    """All candidates, those in the browser's frame at less unless the browser is spoken of."""
    found = list(candidates(query.phrases, lines))
    if query.widget in ("tab", "address bar", "close", "back"):
        return found
    on_page = set(page)
    weighed = [
        c if c.line in on_page else TextCandidate(text=c.text, box=c.box, line=c.line, score=c.score * _FRAME_FACTOR)
        for c in found
        # A lone sign up there is the browser's own.
        if c.line in on_page or len(c.line.text) > 1
    ]
    return sorted(weighed, key=lambda c: -c.score)


def _among_equals(query: Parsed, found: list[TextCandidate], page: Sequence[TextLine], size: Size) -> TextChoice:
    """Several texts fit: what else was said decides, and reading order if nothing was."""
    # What was quoted is on the screen letter by letter, give or take a misread one.
    margin = EQUAL / 2 if query.exact else EQUAL
    equal = [c for c in found if c.score >= found[0].score - margin]
    order = in_reading_order([c.box for c in equal])
    pool = [equal[index] for index in order]
    if len(pool) == 1 and (query.exact or query.ordinal in (0, 1, -1)):
        return TextChoice(chosen=pool[0], rule="text", runner_up=_other(found, pool[0]))
    places = {context: lines_of(context, page) for context in query.contexts}
    seen = [context for context in query.contexts if places[context]]
    # Quoted neighbours decide before a number does, and a number before words that may mean anything.
    numbered = _nth(query.ordinal, pool)
    near = [context for context in seen if context.sure] or ([] if numbered is not None else seen)
    if near and len(pool) > 1:
        ranked = sorted(pool, key=lambda c: sum(cost_px(c, context.relation, places[context]) for context in near))
        return TextChoice(chosen=ranked[0], rule="context", runner_up=ranked[1])
    if query.price is not None and len(pool) > 1:
        fitting = {c.line for c in pool}
        priced = [v.line for v in prices(page) if v.value == query.price and v.line not in fitting]
        if priced:
            ranked = sorted(pool, key=lambda c: min(apart_px(c, line) for line in priced))
            return TextChoice(chosen=ranked[0], rule="price", runner_up=ranked[1])
    if numbered is not None:
        return TextChoice(chosen=numbered, rule="ordinal", runner_up=_other(pool, numbered))
    if (item := _nth_item(query.ordinal, page)) is not None:
        return TextChoice(chosen=item, rule="item", runner_up=pool[0])
    if query.places:
        ranked = sorted(pool, key=lambda c: _off(c, query.places, size))
        return TextChoice(chosen=ranked[0], rule="place", runner_up=_other(ranked, ranked[0]))
    # Nothing else was said: the best fit; of equals, a line that is the words before one that contains them.
    best = max(pool, key=lambda c: round(c.score, 2))
    return TextChoice(chosen=best, rule="text", runner_up=_other(found, best))


def _at_field(query: Parsed, choice: TextChoice, page: Sequence[TextLine]) -> TextChoice:
    """A caption stands above its field: where a field is meant, the click goes below a text without a frame."""
    caption = choice.chosen.line
    if not query.wants_field or caption.framed or choice.rule == "guess":
        return choice
    size = min(caption.height_px, 2.2 * caption.letter_px)
    # The field's placeholder or value, if it is not empty: framed, and set in a little.
    inside = [
        line
        for line in page
        if 0 < line.box.top_px - caption.box.bottom_px < 3 * size
        and -0.5 * size <= line.box.left_px - caption.box.left_px < 4 * size
    ]
    if inside:
        nearest = min(inside, key=lambda line: (line.box.top_px, line.box.left_px))
        return TextChoice(chosen=whole(nearest), rule="field", runner_up=choice.chosen)
    box = caption.box
    down_px = _FIELD_BELOW * size
    below = Box(
        left_px=box.left_px, top_px=box.top_px + down_px, right_px=box.right_px, bottom_px=box.bottom_px + down_px
    )
    field = TextCandidate(text=choice.chosen.text, box=below, line=caption, score=choice.chosen.score)
    return TextChoice(chosen=field, rule="field", runner_up=choice.chosen)


def _without_text(query: Parsed, found: list[TextCandidate], page: Sequence[TextLine], size: Size) -> TextChoice:
    """No text fits well: items, prices, neighbours and places must do, then the best poor fit, then anything."""
    spare = found[0] if found else None
    if (item := _nth_item(query.ordinal, page)) is not None:
        return TextChoice(chosen=item, rule="item", runner_up=spare)
    if query.price is not None:
        exact = [v.line for v in prices(page) if v.value == query.price]
        if exact:
            return TextChoice(chosen=_titled(exact[0], page), rule="price", runner_up=spare)
    for context in query.contexts:
        neighbour = beside(context, page)
        if neighbour is not None:
            return TextChoice(chosen=neighbour, rule="context", runner_up=spare)
    if query.places:
        shown = [whole(item.title) for item in items(page)] or [whole(line) for line in page]
        ranked = sorted(found[:1] or shown, key=lambda c: _off(c, query.places, size))
        return TextChoice(chosen=ranked[0], rule="place", runner_up=_other(ranked, ranked[0]))
    if spare is not None:
        return TextChoice(chosen=spare, rule="guess", runner_up=_other(found, spare))
    shown = [whole(item.title) for item in items(page)]
    return TextChoice(chosen=shown[0] if shown else whole(page[0]), rule="guess", runner_up=None)


def _preferred(query: Parsed, page: Sequence[TextLine], found: list[TextCandidate]) -> TextCandidate | None:
    """The item with the least price or the best rating; of what was named, if something was."""
    values = {
        "cheapest": prices,
        "dearest": prices,
        "best rated": ratings,
        "most reviewed": vote_counts,
    }[query.preference](page)
    if not values:
        return None
    sign = 1.0 if query.preference == "cheapest" else -1.0
    named = [c for c in found if c.score >= max(GOOD, found[0].score - EQUAL)]
    if named:
        # Each of the things named has the value nearest to it.
        def value(candidate: TextCandidate) -> float:
            return min(values, key=lambda v: apart_px(candidate, v.line)).value

        return min(named, key=lambda c: (sign * value(c), c.box.top_px, c.box.left_px))
    usual = sorted(v.line.height_px for v in values)[len(values) // 2]
    # A crossed-out price is set smaller than the one that holds.
    held = [v for v in values if v.line.height_px >= 0.75 * usual]
    best = min(held, key=lambda v: (sign * v.value, v.line.box.top_px, v.line.box.left_px))
    return _titled(best.line, page, [v.line for v in held])


def _titled(anchor: TextLine, page: Sequence[TextLine], rivals: Sequence[TextLine] | None = None) -> TextCandidate:
    others = [v.line for v in prices(page)] if rivals is None else rivals
    return whole(title_near(anchor, page, [line for line in others if line != anchor]))


def _nth_item(ordinal: int, page: Sequence[TextLine]) -> TextCandidate | None:
    item = _nth(ordinal, items(page)) if ordinal else None
    return None if item is None else whole(item.title)


def _nth(ordinal: int, of: Sequence[_T]) -> _T | None:
    """The first for 1, the last for -1; None for 0 and beyond the ends."""
    return of[ordinal - 1 if ordinal > 0 else ordinal] if 0 < abs(ordinal) <= len(of) else None


def _off(candidate: TextCandidate, places: Sequence[Place], size: Size) -> float:
    """How far a candidate is from the named part of the screen, as shares of its sides."""
    x, y = candidate.box.center.x_px / size.width, candidate.box.center.y_px / size.height
    far = {"top": y, "bottom": 1 - y, "left": x, "right": 1 - x, "middle": abs(x - 0.5) + abs(y - 0.5)}
    return sum(far[place] for place in places)


def _other(found: Sequence[TextCandidate], chosen: TextCandidate) -> TextCandidate | None:
    return next((c for c in found if c != chosen), None)


# --- what every browser has ---------------------------------------------------------------------------------------
#
# All places are taken from what was read: the address row gives the toolbar, what stands above it are tab titles. Where
# an arrow was not read as a character, it is expected left of the address, as far off as its row's height suggests.

_CROSS = re.compile(r"^[x\u00d7\u2715\u2716\u2a2f\u2573]$", re.IGNORECASE)
_ARROW = re.compile(r"^[\u2190<\u2039\u3008\u27f5\u21a9\u2b05]$")
_SEARCH_FIELD = re.compile(
    r"^\W*(?:search\b|find\b|(?:what are you )?looking for|where to|type to search"
    r"|enter (?:a )?(?:keyword|search))",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"^(?:close|dismiss|no,? thanks|not now|maybe later|got it)\W*$", re.IGNORECASE)


def _browser_part(
    query: Parsed, frame: BrowserFrame, screen: Screen, page: Sequence[TextLine], found: Sequence[TextCandidate]
) -> TextCandidate | None:
    """The part of the browser, or the search field, that a query speaks of; None if of none, or it is not seen."""
    named = found[0] if found and found[0].score >= (_SURE if query.widget != "close" else GOOD) else None
    match query.widget:
        case "tab":
            return _tab(query, frame, found)
        case "back":
            # "Back to the results" is a link if it is written somewhere.
            written = (line for line in page if line.text.lower().strip(" <\u2190\u2039") in ("back", "go back"))
            return named or _back(frame, screen) or next(map(whole, written), None)
        case "close":
            return _cross(query, frame, screen, page, named)
        case "address bar":
            return whole(frame.address) if frame.address is not None else None
        case "new tab" if frame.address is not None:
            above_px = frame.address.box.top_px
            plus = [line for line in screen.lines if line.text.strip() == "+" and line.box.bottom_px <= above_px]
            return whole(max(plus, key=lambda line: line.box.left_px)) if plus else None
        case "search field" if named is None:
            return _search_field(page)
    return None


def _tab(query: Parsed, frame: BrowserFrame, found: Sequence[TextCandidate]) -> TextCandidate | None:
    in_strip = [c for c in found if c.line in frame.tabs]
    if in_strip and in_strip[0].score >= GOOD and in_strip[0].score >= found[0].score - 0.25:
        return in_strip[0]
    tab = None if query.exact else _nth(query.ordinal, frame.tabs)
    return None if tab is None else whole(tab)


def _back(frame: BrowserFrame, screen: Screen) -> TextCandidate | None:
    """The leftmost sign of the address row: an arrow, or whatever it was read as."""
    if frame.address is None:
        return None
    row, size = frame.address.box, frame.address.height_px
    signs = sorted(
        (
            line
            for line in screen.lines
            if line.box.right_px < row.left_px
            and abs(line.box.center.y_px - row.center.y_px) < size
            and len(line.text) <= 2
        ),
        key=lambda line: line.box.left_px,
    )
    # A toolbar is about three lines of its text high, and its buttons are square.
    button = 3.0 * size
    for line in (*(line for line in signs if _ARROW.match(line.text)), *signs[:1]):
        if _ARROW.match(line.text) or line.box.left_px < button:
            return whole(line)
    return _square(min(button / 2, row.left_px / 2), row.center.y_px, size, frame.address)


def _square(x: float, y: float, size: float, line: TextLine, text: str = "") -> TextCandidate:
    half = size / 2
    box = Box(left_px=max(0.0, x - half), top_px=y - half, right_px=x + half, bottom_px=y + half)
    return TextCandidate(text=text, box=box, line=line, score=0.0)


def _cross(
    query: Parsed, frame: BrowserFrame, screen: Screen, page: Sequence[TextLine], named: TextCandidate | None
) -> TextCandidate | None:
    """The cross of a dialogue, or of the tab that was named; a word such as "Close" if no cross was read."""
    crosses = [line for line in screen.lines if _CROSS.match(line.text.strip())]
    if query.speaks_of_tab or (named is not None and named.line in frame.tabs):
        tab = _tab_to_close(query, frame, page, named)
        return _cross_of_tab(tab, frame, crosses) if tab is not None else None
    on_page = [line for line in crosses if line in page]
    if on_page:
        return whole(min(on_page, key=lambda line: (line.box.top_px, -line.box.right_px)))
    words = [line for line in page if _CLOSING.match(line.text)]
    if words:
        return whole(words[0])
    return None if query.phrases or not crosses else whole(crosses[0])


def _tab_to_close(
    query: Parsed, frame: BrowserFrame, page: Sequence[TextLine], named: TextCandidate | None
) -> TextLine | None:
    """The tab that is named, numbered, or shown: then its title says what the page says in large letters."""
    if named is not None and named.line in frame.tabs:
        return named.line
    titles = [Phrase(text=context.text, weight=1.0) for context in query.contexts if context.relation == "near"]
    titled = candidates(titles, frame.tabs)
    if titled and titled[0].score >= _SURE:
        return titled[0].line

    def shown(tab: TextLine) -> float:
        name = re.split(r" [-|\u2013\u2014\u00b7] ", tab.text)[0]
        return max((c.score for c in candidates([Phrase(text=name, weight=1.0)], page)), default=0.0)

    # A new tab opens at the end of the strip and is shown.
    return _nth(query.ordinal, frame.tabs) or max(reversed(frame.tabs), key=shown, default=None)


def _cross_of_tab(tab: TextLine, frame: BrowserFrame, crosses: Sequence[TextLine]) -> TextCandidate:
    """The cross at a tab's right end. Where it was not read, it stands where that of another tab does, so many tabs
    further on; where none was read, a little before the next tab's title.
    """
    size = tab.height_px
    lefts = [line.box.left_px for line in frame.tabs]
    pitch_px = min((b - a for a, b in itertools.pairwise(lefts)), default=16 * size)
    place = frame.tabs.index(tab)
    # Between a cross and the next title stand the end of the tab and the next page's picture.
    x = max(tab.box.right_px + size, tab.box.left_px + pitch_px - 4 * size)
    for cross in crosses:
        if gap_px(cross.box, tab.box)[1] < size and cross.box.left_px > lefts[0]:
            its_place = sum(left < cross.box.left_px for left in lefts) - 1
            if its_place == place:
                return whole(cross)
            x = cross.box.center.x_px + (place - its_place) * pitch_px
    return _square(x, tab.box.center.y_px, size, tab)


def _search_field(page: Sequence[TextLine]) -> TextCandidate | None:
    """A placeholder that begins with "Search" and says more is a field; "Search" alone is its button."""
    hints = [line for line in page if _SEARCH_FIELD.match(line.text)]
    fields = [line for line in hints if line.text.lower().strip(" .…:") not in ("search", "find")]
    if not hints:
        return None
    first = min(fields or hints, key=lambda line: (line.box.top_px, line.box.left_px))
    # The placeholder is gone once something was typed: the field is what stands left of the button, in its row.
    typed = [
        line
        for line in page
        if line.box.right_px < first.box.left_px
        and abs(line.box.center.y_px - first.box.center.y_px) < first.height_px / 2
    ]
    return whole(max(typed, key=lambda line: line.box.right_px)) if typed and not fields else whole(first)


# --- counters -----------------------------------------------------------------------------------------------------
#
# A number between a minus and a plus, in the row of what is counted. The two signs are often drawn in circles that no
# reader takes for text; the number between them is read.

_SIGNS = {"plus": 1.0, "+": 1.0, "minus": -1.0, "-": -1.0}
_AWAY = 2.9
"""From the number's middle to the sign's middle, in heights of the number: half a finger-sized button and a gap."""
_LEAST_CAPTION = 0.6


def _counter_button(query: Parsed, page: Sequence[TextLine]) -> TextCandidate | None:
    """Where the plus or minus of a counter is, if a query asks for one and the counter's number was read."""
    sign = next((_SIGNS[word] for phrase in query.phrases for word in phrase.text.split()[:1] if word in _SIGNS), None)
    if sign is None:
        return None
    numbers = [line for line in page if line.text.strip().isdigit() and len(line.text.strip()) <= 3]
    number = numbers[0] if len(numbers) == 1 else None
    captions = candidates([Phrase(text=context.text, weight=1.0) for context in query.contexts], page)
    for caption in captions:
        if caption.score < _LEAST_CAPTION or caption.line in numbers:
            continue
        in_row = [
            line
            for line in numbers
            if line.box.left_px > caption.box.right_px
            and abs(line.box.center.y_px - caption.box.center.y_px) < 1.5 * caption.line.height_px
        ]
        if in_row:
            number = min(in_row, key=lambda line: line.box.left_px)
            break
    if number is None:
        return None
    size, middle = number.height_px, number.box.center
    half, x = size / 2, middle.x_px + sign * _AWAY * size
    box = Box(left_px=x - half, top_px=middle.y_px - half, right_px=x + half, bottom_px=middle.y_px + half)
    return TextCandidate(text=number.text, box=box, line=number, score=0.0)

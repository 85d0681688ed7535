"""Finding an element that is described in words: a grounder over the picture, or the words of the list itself.

What a grounder is stands in ``grounding.grounders.base``; this room only needs its shape, so that whoever knows the
grounders can hand one in.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import msgspec

from grounding.records import Call, Point, Prediction, Query, Record
from grounding.webagents.agenticshop.agents.browsing.elements import Element
from grounding.webagents.agenticshop.agents.browsing.grammar import Mistake
from grounding.webagents.agenticshop.agents.browsing.observation import Observation

MAX_NAMED = 8


class PointFinder(Protocol):
    """A grounder: an instruction over a screenshot in, a point on it out."""

    @property
    def name(self) -> str:
        """The short name."""
        ...

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change an answer."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many queries are worked on at once."""
        ...

    async def ground(self, query: Query) -> Prediction:
        """Answer one query. Failures are recorded in the prediction, not raised."""
        ...

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and workers."""
        ...


class Found(Record, frozen=True, kw_only=True):
    """What a grounder said: a point in pixels of the viewport, or why there is none; and what it took."""

    point: Point | None = None
    problem: str = ""
    call: Call | None = None


async def find_point(finder: PointFinder, words: str, seen: Observation, step_id: str) -> Found:
    """Ask a grounder where the described element is.

    Raises:
        BudgetReached: the cost limit leaves no room; nothing was sent.
    """
    key = hashlib.sha256(msgspec.json.encode((finder.identity, words, seen.screenshot.sha256))).hexdigest()[:32]
    query = Query(step_id=step_id, key=key, screenshot=seen.screenshot, instruction=words)
    said = await finder.ground(query)
    if said.point is None:
        why = said.failure.message if said.failure else "it gave no point"
        return Found(problem=f"{finder.name} found nothing for these words: {why[:200]}", call=said.call)
    return Found(point=said.point, call=said.call)


def element_at(point: Point, elements: tuple[Element, ...]) -> Element | None:
    """The smallest of the elements that has a point in its box; None where there is none."""
    inside = [
        one
        for one in elements
        if one.box.left_px <= point.x_px <= one.box.right_px and one.box.top_px <= point.y_px <= one.box.bottom_px
    ]
    return min(inside, key=_area, default=None)


def element_named(words: str, elements: tuple[Element, ...]) -> Element:
    """The one element of the list that words mean: those whose name they are, else those whose name has them all.

    Raises:
        Mistake: none is meant, or several are.
    """
    wanted = _words(words)
    exact = [one for one in elements if _words(one.name) == wanted or _words(f"{one.kind} {one.name}") == wanted]
    found = exact or [one for one in elements if wanted and set(wanted) <= set(_words(f"{one.kind} {one.name}"))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Mistake(f'no element in view is called "{words}": give the number of one that is in the list')
    numbers = ", ".join(f"[{one.number}]" for one in found[:MAX_NAMED])
    raise Mistake(f'several elements are called "{words}": {numbers}; give the number of the one that is meant')


def _words(text: str) -> tuple[str, ...]:
    return tuple("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())


def _area(element: Element) -> float:
    return (element.box.right_px - element.box.left_px) * (element.box.bottom_px - element.box.top_px)

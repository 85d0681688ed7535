"""Doing one action on a page. What comes of it is told in words; only a lost page is an exception.

An element is taken by itself, not by its place: one that has moved since the picture is followed, one that is gone or
covered is not clicked. Links that would open a window of their own, which the browser closes, open in this one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from grounding.records import Call, Point, Record
from grounding.webagents.agenticshop.agents.browsing.elements import Element, describe, quoted
from grounding.webagents.agenticshop.agents.browsing.grammar import (
    Action,
    Back,
    Click,
    Finish,
    Goto,
    Mistake,
    Note,
    Scroll,
    Target,
    Type,
)
from grounding.webagents.agenticshop.agents.browsing.observation import Look, PageLost, settle
from grounding.webagents.agenticshop.agents.browsing.pointing import (
    PointFinder,
    element_at,
    element_named,
    find_point,
)
from grounding.webagents.agenticshop.agents.browsing.refusals import why_not_click, why_not_send, why_not_type
from grounding.webagents.agenticshop.web.visits import Refused

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Page

    from grounding.webagents.agenticshop.web.session import BrowsingSession

ACT_MS = 5_000
SCROLL_SHARE = 0.8
_NO_PAGE = "chrome-error:"

_IN_THIS_WINDOW = """(node) => {
  const link = node.closest('a[target], area[target]');
  if (link) link.removeAttribute('target');
  const form = node.form || node.closest('form');
  if (form) form.removeAttribute('target');
}"""


class Aim(Record, frozen=True, kw_only=True):
    """The element that an action is for, and where in it; ``call`` is what finding it took.

    ``element`` is None where a grounder's point lies on nothing that is listed: ``problem`` says so.
    """

    element: Element | None = None
    point: Point | None = None
    problem: str = ""
    call: Call | None = None


class Outcome(Record, frozen=True, kw_only=True):
    """What came of an action, in a few words, and the element that it was done to, described."""

    text: str
    described: str = ""


async def aim(action: Action, seen: Look, finder: PointFinder | None, step_id: str) -> Aim:
    """The element that an action means.

    Raises:
        Mistake: there is no such element, or nothing must be done to it.
        BudgetReached: the cost limit leaves no room for a grounder.
    """
    if not isinstance(action, Click | Type):
        return Aim()
    observation = seen.observation
    target: Target = action.target
    if finder is None:
        element = _listed(target, observation.elements) if isinstance(target, int) else None
        element = element or element_named(str(target), observation.elements)
        _may(action, element)
        return Aim(element=element)
    if isinstance(target, int):
        raise Mistake("the picture has no numbers: describe the element in words, in quotes")
    found = await find_point(finder, target, observation, step_id)
    if found.point is None:
        return Aim(problem=found.problem, call=found.call)
    element = element_at(found.point, (*observation.elements, *observation.withheld))
    if element is None:
        place = f"({found.point.x_px:.0f}, {found.point.y_px:.0f})"
        return Aim(problem=f"{finder.name} points to {place}, where nothing can be clicked", call=found.call)
    why = _why_not(action, element)
    if why:
        return Aim(problem=f"refused: {describe(element)}: {why}", call=found.call)
    return Aim(element=element, point=found.point, call=found.call)


def _listed(number: int, elements: tuple[Element, ...]) -> Element:
    if not 1 <= number <= len(elements):
        have = f"they go from 1 to {len(elements)}" if elements else "there is none in view"
        raise Mistake(f"no element has the number {number}: {have}")
    return elements[number - 1]


def _may(action: Click | Type, element: Element) -> None:
    why = _why_not(action, element)
    if why:
        raise Mistake(f"{describe(element)}: {why}")


def _why_not(action: Click | Type, element: Element) -> str:
    if isinstance(action, Click):
        return why_not_click(element)
    if element.kind == "choice":
        return why_not_type(element)
    if not element.takes_text:
        return "nothing can be typed into it"
    return why_not_type(element) or (why_not_send(element) if action.enter else "")


async def act(action: Action, session: BrowsingSession, seen: Look, aimed: Aim, *, within_s: float) -> Outcome:
    """Do an action and wait until the page is still; a page on which it takes longer than this hangs.

    Raises:
        PageLost: the page has crashed or hangs.
    """
    from playwright.async_api import Error

    described = describe(aimed.element) if aimed.element else ""
    if aimed.problem:
        return Outcome(text=aimed.problem)
    page = session.page
    before, refusals = page.url, len(session.refusals)
    if isinstance(action, Goto):
        return Outcome(text=_joined(await open_address(session, action.url), _moved(before, page.url)))
    try:
        async with asyncio.timeout(within_s):
            text = await _do(action, page, seen, aimed)
    except Error as error:
        if _is_lost(error, page):
            raise PageLost(_first_line(error)) from None
        text = f"it could not be done: {_reason(error)}"
    except TimeoutError:
        raise PageLost(f"nothing within {within_s:g} s") from None
    if not isinstance(action, Note | Finish):
        await settle(session)
        text = _joined(text, await _follow(session), await _turn_back(session, before, refusals))
    return Outcome(text=_joined(text, _moved(before, page.url)), described=described)


async def open_address(session: BrowsingSession, url: str) -> str:
    """Go to an address; what came of it, "" where all is well.

    Raises:
        PageLost: the page crashed, or the browser did.
    """
    visit = await session.goto(url)
    if isinstance(visit, Refused):
        if visit.trouble in ("page-crashed", "browser-crashed"):
            raise PageLost(f"{url[:200]}: {visit.message[:200]}")
        return f"the address can't be opened: {visit.message[:300]}"
    await settle(session, loading=False)
    return f"the server answers with status {visit.status}" if (visit.status or 200) >= 400 else ""


async def _follow(session: BrowsingSession) -> str:
    """A window that an action opened is closed by the browser; its page is opened in the one window there is."""
    popups = session.take_popups()
    return await open_address(session, popups[-1]) if popups else ""


async def _turn_back(session: BrowsingSession, before: str, refusals: int) -> str:
    """Back from an address that was refused, or from the browser's own page for one that can't be had."""
    from playwright.async_api import Error

    page = session.page
    refused = next((one for one in session.refusals[refusals:] if one.url == page.url and page.url != before), None)
    if refused is None and not page.url.startswith(_NO_PAGE):
        return ""
    why = refused.message if refused else "nothing came"
    try:
        await page.go_back(wait_until="commit", timeout=2 * ACT_MS)
    except Error as error:
        if _is_lost(error, page):
            raise PageLost(_first_line(error)) from None
    await settle(session)
    return f"the address that this led to can't be opened: {why[:200]}"


async def _do(action: Action, page: Page, seen: Look, aimed: Aim) -> str:
    match action:
        case Click():
            node = await _node(seen, aimed)
            await node.evaluate(_IN_THIS_WINDOW)
            if aimed.point is not None:
                await page.mouse.click(aimed.point.x_px, aimed.point.y_px)
            else:
                await node.click(timeout=ACT_MS)
        case Type():
            return await _type(action, await _node(seen, aimed), aimed)
        case Scroll():
            away = page.viewport_size["height"] if page.viewport_size else 720
            await page.mouse.wheel(0, (1 if action.down else -1) * away * SCROLL_SHARE)
        case Back():
            if await page.go_back(wait_until="commit", timeout=2 * ACT_MS) is None:
                return "there is no page before this one, or it is the same document"
    return ""


async def _type(action: Type, node: ElementHandle, aimed: Aim) -> str:
    if aimed.element is not None and aimed.element.kind == "choice":
        await node.select_option(label=_option(action.text, aimed.element), timeout=ACT_MS)
        return ""
    await node.evaluate(_IN_THIS_WINDOW)
    await node.fill(action.text, timeout=ACT_MS)
    if action.enter:
        await node.press("Enter", timeout=ACT_MS)
    return ""


def _option(text: str, element: Element) -> str:
    """The line of a choice that a text means, as the page writes it."""
    wanted = text.casefold().strip()
    same = [option for option in element.options if option.casefold() == wanted]
    near = [option for option in element.options if wanted and wanted in option.casefold()]
    return (same or near or [text])[0]


async def _node(seen: Look, aimed: Aim) -> ElementHandle:
    """The element itself, taken from where the script put it."""
    if aimed.element is None:
        raise ValueError("an action without an element")
    place = seen.place_of(aimed.element)
    handle = await seen.nodes.evaluate_handle("(found, place) => found.nodes[place]", place)
    node = handle.as_element()
    if node is None:
        raise PageLost("the page has taken its elements away")
    return node


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _moved(before: str, now: str) -> str:
    return f"now at {now}" if now != before else ""


def _is_lost(error: Exception, page: Page) -> bool:
    text = str(error).lower()
    return page.is_closed() or any(word in text for word in ("crashed", "has been closed", "target closed"))


def _reason(error: Exception) -> str:
    """Why an action failed, in words for the model: a page's own markup is left out."""
    text = str(error)
    for sign, words in (
        ("intercepts pointer events", "something covers the element"),
        ("not attached", "the element is no longer there"),
        ("detached", "the element is no longer there"),
        ("not visible", "the element can't be seen any more"),
        ("not enabled", "the element can't be used now"),
        ("did not find some options", "the choice has no such line"),
        ("Timeout", f"nothing happened within {ACT_MS / 1000:g} s"),
    ):
        if sign in text:
            return words
    return quoted(_first_line(error), 150)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200]

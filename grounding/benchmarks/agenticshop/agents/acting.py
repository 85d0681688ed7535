"""What a browsing model is shown of a page, what it may answer, and doing it.

It is shown a picture and an outline: Playwright's accessibility snapshot, as far as it is in view. What buys, signs in
or asks for personal data is refused. What a page says of itself stays on its own line and is cut off.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from grounding.benchmarks.calls import json_values
from grounding.records import Point, Record

from ..asking import one_line
from ..records import BehaviourKind, Segment
from ..web.evidence import EvidenceFolder
from ..web.guard import VIEWPORT, PageLost, PageTrouble
from ..web.render import BrowserTab
from .base import MAX_URL_CHARS, WORDS, products_of

if TYPE_CHECKING:
    from playwright.async_api import Page

VERSION = 7  # Goes up with every change of what is shown, read, refused or done: a model may answer differently.
MAX_OUTLINE_CHARS, MAX_LINE_CHARS, MAX_REPLY_CHARS, MAX_TYPED_CHARS = 30_000, 300, 40_000, 200
ACT_MS, SETTLE_S, PAGE_S = 5_000, 4.0, 20.0
"""A page that does not let itself be looked at or used within ``PAGE_S`` hangs."""
_SCRIPT = Path(__file__).with_name("acting.js").read_text(encoding="utf-8")
_PLACE, _AT_POINT, _DETAIL = (f"(given) => ({_SCRIPT}).{name}(given)" for name in ("place", "atPoint", "detail"))


def quoted(text: str, most: int) -> str:
    """A page's text as a JSON string on one line, cut off: what stands in it can't leave the quotes."""
    return msgspec.json.encode(one_line(text, most)).decode()


def first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200]


# --- looking ----------------------------------------------------------------------------------------------------------

# A page's words stand in quotes before the marks, or behind them: only what stands between is Playwright's.
_LINE = re.compile(r""" *- (?:/|'?(?P<role>[a-z]+)(?: "(?:[^"\\]|\\.)*")?(?P<marks>(?: \[[^\]]*\])*))""")
_BOX = re.compile(r" \[box=([-\d.]+),([-\d.]+),([-\d.]+),([-\d.]+)\]")
_MARK = re.compile(r" \[(?:box=[^\]]*|cursor=pointer|active)\]")


class PageSeen(Record, frozen=True, kw_only=True):
    """What is in view, with a picture that is kept; ``place`` says where it is in the page."""

    url: str
    picture: Segment
    title: str = ""
    place: str = ""
    outline: str = ""


def outline_of(snapshot: str) -> str:
    """The lines of a snapshot that are in view and say something; only what may be used keeps its reference."""
    lines: list[str] = []
    in_view, left = True, MAX_OUTLINE_CHARS
    for line in snapshot.splitlines():
        found = _LINE.match(line)
        marks = found["marks"] or "" if found else ""
        box = _BOX.search(marks)
        if box is not None and box[0] != " [box=0,0,0,0]":  # As options of a closed choice have.
            x, y, wide, high = map(float, box.groups())
            in_view = min(x + wide, VIEWPORT.width) - max(x, 0) >= 4 and min(y + high, VIEWPORT.height) - max(y, 0) >= 4
        if not in_view or found is None:
            continue
        kept = _MARK.sub("", marks)
        used = found["role"] in WORDS["used"] or "[cursor=pointer]" in marks
        kept = kept if used else re.sub(r" \[ref=\w+\]", "", kept)
        said = line[: found.end() - len(marks)] + kept + line[found.end() :]
        if not used and re.fullmatch(r" *- [a-z]+(?: \[[^\]]*\])*:?", said):
            continue  # A box without words.
        said = " " * (len(said) - len(said.lstrip())) + one_line(said, MAX_LINE_CHARS)
        left -= len(said) + 1
        if left < 0:
            return "\n".join([*lines, "- text: (more is in view than is listed)"])
        lines.append(said)
    return "\n".join(lines)


async def look(page: Page, evidence: EvidenceFolder) -> PageSeen:
    try:
        async with _patience(page):
            url, snapshot = page.url[:MAX_URL_CHARS], ""
            if url != "about:blank":
                snapshot = await page.aria_snapshot(mode="ai", boxes=True)
            top, high, whole = (int(one) for one in await page.evaluate(_PLACE))
            title = one_line(await page.title(), 200)
            png = await page.screenshot(type="png", scale="css", animations="disabled", caret="hide")
    except (Mistake, ValueError, TypeError) as error:
        raise PageLost(first_line(error)) from None
    picture = Segment(file=evidence.put(png, ".png"), size=VIEWPORT, top_px=top)
    place = f"{top}-{min(top + high, whole)} of {whole} px"
    return PageSeen(url=url, picture=picture, title=title, place=place, outline=outline_of(snapshot))


# --- what a model answers ---------------------------------------------------------------------------------------------


class BrowserAction(Record, frozen=True, kw_only=True):
    """One answer. ``element`` is a reference of the outline, or words for it where a grounder finds it."""

    action: Literal["click", "type", "scroll_down", "scroll_up", "back", "goto", "finish"]
    element: str = ""
    text: str = ""
    enter: bool = False
    url: str = ""
    products: tuple[Any, ...] = ()
    thought: str = ""
    kind: BehaviourKind | Literal[""] = ""

    def told(self, element: str = "") -> str:
        """``element`` is what the page calls the element, "" where only the model's words for it are known."""
        which = f"({element})" if element else quoted(self.element, MAX_TYPED_CHARS)
        match self.action:
            case "click":
                return f"click {which}"
            case "type":
                return f"type {quoted(self.text, MAX_TYPED_CHARS)} into {which}{' and enter' if self.enter else ''}"
            case "finish":
                return f"finish with {len(self.products)} products"
        return f"{self.action} {self.url}".strip()


class Mistake(Exception):
    """An answer that can't be read or done; the message is for the model that gave it."""


def read_reply(text: str) -> BrowserAction:
    """The last JSON object of an answer with an action in it. A Mistake says what is wrong with it."""
    found = [one for one in json_values(text[:MAX_REPLY_CHARS]) if isinstance(one, dict) and "action" in one]
    if not found:
        raise Mistake("the answer holds no JSON object with an action")
    try:
        read = msgspec.convert(found[-1], BrowserAction, strict=False)
    except msgspec.ValidationError as error:
        raise Mistake(f"the answer is not as it should be: {error}") from None
    if read.action in ("click", "type") and not read.element.strip():
        raise Mistake(f"{read.action} needs an element")
    if (length := max(len(read.text), len(read.element))) > MAX_TYPED_CHARS:
        raise Mistake(f"a text of {length} characters: at most {MAX_TYPED_CHARS} can be given")
    products = products_of(list(read.products))
    if read.action == "finish" and not products:
        raise Mistake("finish names no product with a product_url")
    for url in [read.url] if read.action == "goto" else [one.url for one in products]:
        if not re.match(r"https?://[^/\s]", url, re.IGNORECASE) or len(url) > MAX_URL_CHARS:
            raise Mistake(f"{url[:120]!r} is no address: it must begin with http:// or https:// and name a host")
    return read


# --- the element that is meant, and what must not be done to it -------------------------------------------------------

_PERSONAL, _COMMANDS = (
    re.compile("".join(WORDS[name].splitlines()), re.IGNORECASE) for name in ("personal", "commands")
)


class PageElement(Record, frozen=True, kw_only=True):
    """What the document says of an element that is about to be used.

    ``kind`` is "" for all that is clicked, ``label`` what a person reads on it, ``marks`` its type, names and what a
    browser would fill in, ``form`` those of the fields that it sends off, ``scheme`` that of where it leads. ``node``
    is Playwright's, ``point`` where a grounder saw it; a ``problem`` is why there is none to use.
    """

    kind: Literal["", "field", "choice"] = ""
    tag: str = ""
    label: str = ""
    marks: str = ""
    form: str = ""
    scheme: str = ""
    disabled: bool = False
    node: Any = None
    point: Point | None = None
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.kind or self.tag} {quoted(self.label, 100)}"


def why_not(action: BrowserAction, element: PageElement) -> str:
    """Why an action must not be done to an element, whatever a model or a page says; "" where it may."""
    types = action.action == "type"
    asks, commands = f"{element.marks} {element.label}".replace("_", " "), _COMMANDS.match(element.label)
    rules = (
        (element.disabled, "it can't be used now"),
        (types and not element.kind, "nothing can be typed into it"),
        (types and _PERSONAL.search(asks), "it asks for personal data or a password, and none is given"),
        ((action.enter or not types) and _PERSONAL.search(element.form), "its form asks for personal data"),
        ("type=file" in element.marks, "no files are handed out"),
        (element.scheme not in ("", "http:", "https:", "javascript:"), "it leads out of the browser"),
        (
            not element.kind and commands,
            "buying, ordering, subscribing and signing in are not offered: only look for products",
        ),
    )
    return next((why for holds, why in rules if holds), "")


def reference_of(action: BrowserAction, outline: str) -> str:
    """The reference that an action names. Raises a Mistake where the outline has none like it."""
    reference = action.element.strip().removeprefix("[").removesuffix("]").removeprefix("ref=")
    if not re.fullmatch(r"\w+", reference) or f"[ref={reference}]" not in outline:
        raise Mistake(f"no element in the list has the reference {quoted(action.element, 40)}")
    return reference


async def find(action: BrowserAction, page: Page, place: str | Point) -> PageElement:
    """The element of a reference, or the one at a grounder's point, or why there is none to use. Raises PageLost."""
    point = place if isinstance(place, Point) else None
    try:
        async with _patience(page):
            if point is not None:
                node = (await page.evaluate_handle(_AT_POINT, [point.x_px, point.y_px])).as_element()
            else:
                node = await page.locator(f"aria-ref={place}").element_handle(timeout=ACT_MS)
            if node is None:
                return PageElement(problem="where nothing can be clicked")
            found = msgspec.convert(await node.evaluate(_DETAIL), type=PageElement, strict=False)
    except (Mistake, msgspec.ValidationError):
        return PageElement(problem="it is no longer there, or its page has meddled with it")
    if why := why_not(action, found):
        return PageElement(problem=f"refused: {found}: {why}")
    return msgspec.structs.replace(found, node=node, point=point, problem="")


# --- doing it ---------------------------------------------------------------------------------------------------------


async def act(action: BrowserAction, tab: BrowserTab, element: PageElement) -> str:
    """Do an action and wait until the page is still; what came of it, in a few words. Raises PageLost."""
    if element.problem or action.action == "finish":
        return element.problem
    page = tab.page
    before, refusals = page.url, len(tab.proxy.refusals)
    if action.action == "goto":
        said = [await open_address(tab, action.url)]
    else:
        said = [await _do(action, tab, element)]
        # A window that an action opened is closed by the browser; its page is opened in the one window there is.
        popup, tab.popup = tab.popup, ""
        if popup:
            said.append(await open_address(tab, popup))
        if page.url.startswith("chrome-error:"):
            refused = [one.message for one in tab.proxy.refusals[refusals:]] or ["nothing came"]
            said.append(f"what this led to can't be opened: {refused[-1][:200]}")
            await _do(BrowserAction(action="back"), tab, PageElement())
    said.append(f"now at {page.url}" if page.url != before else "")
    return "; ".join(part for part in said if part)


async def _do(action: BrowserAction, tab: BrowserTab, element: PageElement) -> str:
    """Why it could not be done, "" where it was."""
    page, node, why = tab.page, element.node, ""
    try:
        async with _patience(page):
            match action.action:
                case "scroll_down" | "scroll_up":
                    away = VIEWPORT.height * 0.8
                    await page.mouse.wheel(0, away if action.action == "scroll_down" else -away)
                case "back":
                    await page.go_back(wait_until="commit", timeout=2 * ACT_MS)
                case "type" if element.kind == "choice":
                    await node.select_option(label=action.text, timeout=ACT_MS)
                case "type":
                    await node.fill(action.text, timeout=ACT_MS)
                    if action.enter:
                        await node.press("Enter", timeout=ACT_MS)
                case "click" if element.point is not None:
                    await page.mouse.click(element.point.x_px, element.point.y_px)
                case "click":
                    await node.click(timeout=ACT_MS)
    except Mistake as mistake:
        why = f"it could not be done: {mistake}"
    await tab.still(SETTLE_S)
    return why


async def open_address(tab: BrowserTab, url: str) -> str:
    """Go to an address; what came of it, "" where all is well. Raises PageLost."""
    try:
        status = await tab.visit(url)
    except PageTrouble as trouble:
        return f"the address can't be opened: {trouble.message[:300]}"
    return f"the server answers with status {status}" if (status or 200) >= 400 else ""


@asynccontextmanager
async def _patience(page: Page) -> AsyncIterator[None]:
    """For whatever is done with a page. Raises PageLost where it is gone or hangs, else a Mistake with the reason."""
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(PAGE_S):
            yield
    except TimeoutError:
        raise PageLost(f"nothing within {PAGE_S:g} s") from None
    except Error as error:
        said = str(error)
        if page.is_closed() or re.search("crashed|has been closed|target closed", said, re.IGNORECASE):
            raise PageLost(first_line(error)) from None
        covered = "intercepts pointer events" in said
        raise Mistake("something covers the element" if covered else first_line(error)) from None

"""One look at a page: what can be clicked, and a picture of what is in view, with numbers on it where they are wanted.

A page that has crashed or hangs can't be looked at: that is :class:`PageLost`, and only a new browser helps.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grounding.marks import drawing
from grounding.records import Record, Screenshot, Size
from grounding.webagents.agenticshop.agents.browsing.elements import (
    MAX_ELEMENTS,
    SCRIPT,
    Element,
    element_line,
    read_elements,
)
from grounding.webagents.agenticshop.agents.browsing.refusals import why_not_click, why_not_type

if TYPE_CHECKING:
    from playwright.async_api import JSHandle, Page

    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
    from grounding.webagents.agenticshop.web.session import BrowsingSession

SETTLE_S, QUIET_MS = 4.0, 150
"""After an action a page is waited for until nothing in it has changed for a while, at most so long."""

_SETTLED = """(quiet) => new Promise((done) => {
  let last = performance.now();
  const watch = new MutationObserver(() => { last = performance.now(); });
  watch.observe(document, { childList: true, subtree: true, characterData: true });
  const timer = setInterval(() => {
    if (document.readyState === 'loading' || performance.now() - last < quiet) return;
    clearInterval(timer); watch.disconnect(); done(true);
  }, 50);
})"""


class PageLost(Exception):
    """The page has crashed, hangs or is gone."""


class Observation(Record, frozen=True, kw_only=True):
    """What is in view. ``elements`` are those that are offered, numbered from 1; ``withheld`` those that are not.

    ``screenshot`` is the picture as the model is shown it, ``evidence`` its name in the folder of evidence. ``state``
    is a hash of address, place and elements.
    """

    url: str
    title: str
    place: str
    elements: tuple[Element, ...]
    withheld: tuple[Element, ...]
    screenshot: Screenshot
    evidence: str
    state: str


class Look(NamedTuple):
    """An observation, and what stands behind it in the browser: ``nodes`` holds the elements in the script's order."""

    observation: Observation
    nodes: JSHandle
    places: dict[int, int]

    def place_of(self, element: Element) -> int:
        """Where an element of the observation stands among the nodes; one that is withheld kept its own number."""
        return self.places[element.number] if element in self.observation.elements else element.number - 1


@cache
def _script() -> str:
    return SCRIPT.read_text(encoding="utf-8")


async def look(page: Page, evidence: EvidenceFolder, *, numbered: bool, within_s: float) -> Look:
    """Look at what is in view; a page that can't be looked at in this time hangs.

    Raises:
        PageLost: it can't be looked at.
        OSError: the picture can't be kept.
    """
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(within_s):
            handle = await page.evaluate_handle(_script(), MAX_ELEMENTS)
            told = read_elements(await handle.evaluate("found => found.told"))
            png = await page.screenshot(type="png", scale="css", animations="disabled", caret="hide")
    except (Error, TimeoutError, ValueError) as error:
        raise PageLost(_first_line(error) or f"nothing within {within_s:g} s") from None
    offered = [one for one in told.elements if not (why_not_click(one) or (one.takes_text and why_not_type(one)))]
    numbers = [msgspec.structs.replace(one, number=number) for number, one in enumerate(offered, start=1)]
    shown = await asyncio.to_thread(marked, png, tuple(numbers) if numbered else ())
    name = await asyncio.to_thread(evidence.put, shown.png, ".png")
    url = page.url
    top, bottom = told.top_px, min(told.top_px + told.view_px, told.whole_px)
    more = f", {told.left_out} more elements not listed" if told.left_out else ""
    observation = Observation(
        url=url,
        title=told.title,
        place=f"{top}-{bottom} of {told.whole_px} px{more}",
        elements=tuple(numbers),
        withheld=tuple(one for one in told.elements if one not in offered),
        screenshot=Screenshot(path=str(evidence.path / name), size=shown.size, sha256=name.partition(".")[0]),
        evidence=name,
        state=_state(url, told.top_px, numbers),
    )
    places = {new.number: old.number - 1 for new, old in zip(numbers, offered, strict=True)}
    return Look(observation, handle, places)


async def settle(session: BrowsingSession, *, loading: bool = True) -> None:
    """Wait until a page is still. One that never is, or is just being replaced, is looked at as it is.

    Args:
        session: The browser.
        loading: Whether what is being loaded is waited for; not where somebody has just done so.
    """
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(SETTLE_S):
            if loading:
                await session.settle(SETTLE_S)
            await session.page.wait_for_load_state("domcontentloaded")
            await session.page.evaluate(_SETTLED, QUIET_MS)
    except (Error, TimeoutError):
        # A hanging page is found out by the next look, a navigation in between by its new address.
        return


class Marked(NamedTuple):
    """A picture as PNG, and its size."""

    png: bytes
    size: Size


def marked(png: bytes, elements: tuple[Element, ...]) -> Marked:
    """The picture with the number of each element at its box; without elements as it came."""
    import numpy as np
    from PIL import Image

    from grounding.marks.drawing import draw_marks
    from grounding.marks.regions import box_region

    with Image.open(io.BytesIO(png)) as opened:
        size = Size(width=opened.width, height=opened.height)
        if not elements:
            return Marked(png, size)
        pixels = np.asarray(opened.convert("RGB"), dtype=np.uint8)
    boxes = [one.box for one in elements]
    regions = [box_region(box.left_px, box.top_px, box.right_px, box.bottom_px) for box in boxes]
    drawn = Image.fromarray(draw_marks(pixels, regions, alpha=0.0, outline=True))
    buffer = io.BytesIO()
    drawn.save(buffer, "PNG", compress_level=6)
    return Marked(buffer.getvalue(), size)


def look_identity() -> str:
    """What of this module can change an answer: the script, and how marks look."""
    digest = hashlib.sha256(_script().encode()).hexdigest()[:8]
    return f"look:1 script {digest} marks {drawing.VERSION}"


def _state(url: str, top_px: int, elements: list[Element]) -> str:
    lines = [element_line(element, url) for element in elements]
    return hashlib.sha256(msgspec.json.encode((url, top_px, lines))).hexdigest()[:16]


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200]

"""A browser for an agent: it goes where the rules let it, and what pages want of it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grounding.webagents.agenticshop.web.banners import dismiss_banners
from grounding.webagents.agenticshop.web.going import go
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.tabs import Tab
from grounding.webagents.agenticshop.web.troubles import PageTrouble, Refusal
from grounding.webagents.agenticshop.web.visits import Arrived, Refused, Visit

if TYPE_CHECKING:
    from playwright.async_api import Page

_QUIET_S = 0.3


class BrowsingSession:
    """One context with one page, made by ``WebBrowser.session``.

    ``page`` is Playwright's own, for clicks and typing. Whatever it leads to goes through the guard.
    """

    def __init__(self, tab: Tab, policy: WebPolicy) -> None:
        self.page: Page = tab.page
        self._tab = tab
        self._policy = policy
        tab.bounded = False

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What did not pass so far, in order."""
        return tuple(self._tab.lane.refusals)

    @property
    def received_bytes(self) -> int:
        """All that was loaded so far."""
        return self._tab.lane.received_bytes

    def take_popups(self) -> tuple[str, ...]:
        """The addresses of windows that pages opened and that were closed at once; each is told once."""
        popups = tuple(self._tab.popups)
        self._tab.popups.clear()
        return popups

    async def goto(self, url: str) -> Visit:
        """Go to an address and wait until it is quiet. Nothing is raised for a bad address or page."""
        from playwright.async_api import Error

        self._tab.bounded = True
        try:
            response = await go(self._tab, url, self._policy)
        except PageTrouble as trouble:
            return Refused(url=url, trouble=trouble.trouble, message=trouble.message)
        except Error as error:
            return Refused(url=url, trouble="browser-crashed", message=str(error)[:300])
        finally:
            self._tab.bounded = False
        await self.settle()
        return Arrived(url=self.page.url, status=None if response is None else response.status)

    async def settle(self, at_most_s: float | None = None) -> bool:
        """Wait until nothing is loading any more; False where that took longer than the limit."""
        self._tab.traffic.stirred()
        return await self._tab.traffic.quiet(_QUIET_S, self._policy.quiet_s if at_most_s is None else at_most_s)

    async def dismiss_banners(self) -> tuple[str, ...]:
        """Take away what stands before the page, and say what it was."""
        return await dismiss_banners(self._tab)

    async def screenshot(self) -> bytes:
        """A PNG of what is in view now."""
        return await self.page.screenshot(type="png", animations="disabled", caret="hide", scale="css")

    async def text(self) -> str:
        """What can be read on the page, within the limits of the rules."""
        found = await self._tab.run("text", self._policy.max_text_chars)
        return str(found["text"]).encode("utf-8", "replace").decode("utf-8")

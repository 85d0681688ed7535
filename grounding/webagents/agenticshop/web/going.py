"""Sending a tab to an address, and what came of it."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from grounding.webagents.agenticshop.web.addresses import read_url
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.tabs import Tab
from grounding.webagents.agenticshop.web.troubles import PageTrouble, Trouble

if TYPE_CHECKING:
    from playwright.async_api import Response

_NET_ERROR = re.compile(r"net::(ERR_[A-Z0-9_]+)")
_TOLD_LATER_S = 0.4
_TROUBLE_OF: dict[str, Trouble] = {
    "ERR_TOO_MANY_REDIRECTS": "too-many-redirects",
    "ERR_UNSAFE_PORT": "refused",
    "ERR_UNSAFE_REDIRECT": "refused",
    "ERR_UNKNOWN_URL_SCHEME": "refused",
    "ERR_DISALLOWED_URL_SCHEME": "refused",
    "ERR_TIMED_OUT": "too-slow",
    "ERR_INVALID_URL": "refused",
}


async def go(tab: Tab, url: str, policy: WebPolicy) -> Response | None:
    """Send the tab to an address and wait until its document begins.

    Returns:
        The last answer; None where the address was within the page that is there already.

    Raises:
        PageTrouble: There is no page.
    """
    from playwright.async_api import Error, TimeoutError

    read_url(url, policy)
    tab.begin()
    going = tab.page.goto(url, wait_until="commit", timeout=policy.navigation_s * 1000)
    try:
        response = await tab.unless_trouble(going)
    except TimeoutError:
        raise PageTrouble("too-slow", f"no document within {policy.navigation_s:g} s") from None
    except Error as error:
        if "ERR_ABORTED" in str(error):
            # So end a page without content, a download and a process that dies; the last two are told a little later.
            await asyncio.wait([tab.trouble], timeout=_TOLD_LATER_S)
        raise _why_not(tab, url, error) from None
    refused(tab, url)
    if tab.trouble.done():
        raise tab.trouble.result()
    return response


def refused(tab: Tab, url: str) -> None:
    """Whether what is shown at an address is the guard's own answer.

    Raises:
        PageTrouble: It is.
    """
    # The browser tells of an answer a little later than it shows it: the address that is shown counts, too.
    for shown in (tab.response.url if tab.response is not None else url, url):
        refusal = tab.lane.refusal_of(shown)
        if refusal is not None:
            raise PageTrouble(refusal.trouble, refusal.message)


def _why_not(tab: Tab, url: str, error: Exception) -> PageTrouble:
    """The reason for which the browser did not go: the guard's, if it had one, else the browser's own word."""
    if tab.trouble.done():
        return tab.trouble.result()
    for hop in reversed(tab.hops or [url]):
        refusal = tab.lane.refusal_of(hop)
        if refusal is not None:
            return PageTrouble(refusal.trouble, refusal.message)
    text = str(error)
    match = _NET_ERROR.search(text)
    if match is None:
        if "Download is starting" in text:
            return PageTrouble("not-a-page", "a file to be downloaded")
        if "crashed" in text.lower():
            return PageTrouble("page-crashed", "the page ended its own process")
        if "closed" in text.lower():
            return PageTrouble("browser-crashed", "the browser was gone")
        return PageTrouble("no-answer", text.splitlines()[0][:300])
    name = match[1]
    if name == "ERR_ABORTED" and tab.downloads:
        return PageTrouble("not-a-page", "a file to be downloaded")
    return PageTrouble(_TROUBLE_OF.get(name, "no-answer"), name)

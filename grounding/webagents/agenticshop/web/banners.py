"""Banners that stand before a page: consent to cookies, newsletters, and other windows with a way to close them.

Only what lies over the page, or says by its name that it is such a banner, is looked at. Of its buttons only one that
rejects, closes or, in the end, accepts is used: never a link to elsewhere, nor one that sends a form, nor one that
speaks of buying or signing up. What has no such button, or stays although it was used, is taken out of view.
"""

from __future__ import annotations

import msgspec

from grounding.webagents.agenticshop.web.banner_words import WORDS
from grounding.webagents.agenticshop.web.isolated import ScriptError
from grounding.webagents.agenticshop.web.tabs import Tab

_MOST = 8
_MOST_CHARS = 200


async def dismiss_banners(tab: Tab) -> tuple[str, ...]:
    """Take away what stands before the page.

    Returns:
        For each banner what it was about and what was done, such as ``cookies: pressed 'reject all'``. Where the page
        can't be searched for banners, that is said instead.
    """
    try:
        found = await tab.run("banners", {"words": msgspec.structs.asdict(WORDS), "most": _MOST})
    except ScriptError as error:
        found = [f"not searched: {error}"]
    return tuple(str(each).encode("utf-8", "replace").decode("utf-8")[:_MOST_CHARS] for each in found)

"""Our own scripts in a page: in a world of their own, where the page's scripts can't change what words mean."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.web.troubles import PageTrouble

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

_WORLD = "grounding"
_SCRIPTS = Path(__file__).parent / "scripts"


class ScriptError(Exception):
    """A script of ours did not end well: the page is like no other, or went away meanwhile."""


@cache
def script(name: str) -> str:
    """The text of one of our scripts: a function of one argument, but for ``dom``, which they all may use."""
    return (_SCRIPTS / f"{name}.js").read_text(encoding="utf-8")


async def run_script(session: CDPSession, name: str, argument: object, limit_s: float) -> Any:
    """Call a script's function in the main frame and return what it returns, as JSON knows it.

    Args:
        session: The page's own session.
        name: The script.
        argument: What it is called with.
        limit_s: How long the page may take to answer.

    Raises:
        ScriptError: It threw, or the document was replaced.
        PageTrouble: too-slow: the page does not answer.
        playwright.async_api.Error: The page is gone.
    """
    try:
        async with asyncio.timeout(limit_s):
            answer = await _evaluate(session, name, argument, limit_s)
    except TimeoutError:
        raise PageTrouble("too-slow", f"the page was busy and did not answer for {limit_s:g} s") from None
    if "exceptionDetails" in answer:
        details = answer["exceptionDetails"]
        text = details.get("exception", {}).get("description") or details.get("text", "")
        raise ScriptError(f"{name}: {str(text)[:300]}")
    return answer["result"].get("value")


async def _evaluate(session: CDPSession, name: str, argument: object, limit_s: float) -> dict[str, Any]:
    tree = await session.send("Page.getFrameTree")
    frame = tree["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": _WORLD})
    text = f"(() => {{\n{script('dom')}\nreturn (\n{script(name)}\n)({json.dumps(argument)});\n}})()"
    options = {"returnByValue": True, "awaitPromise": True, "timeout": limit_s * 1000}
    context = world["executionContextId"]
    return await session.send("Runtime.evaluate", {"expression": text, "contextId": context, **options})

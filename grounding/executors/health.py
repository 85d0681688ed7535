"""Is a server still of use? It is asked again and again, and given up only after several failures in a row."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from grounding.records import Record


class HealthRule(Record, frozen=True, kw_only=True):
    """How a server is watched.

    A busy server may answer late: its front end makes pictures ready beside everything else. So ``reply_s`` is long,
    and only ``failures`` in a row count. With these values one that is silent is given up after two minutes or so,
    long before its requests run into their own timeout (600 s), and one that refuses connections, or says itself that
    its engine is dead (vLLM: 503), after 15 s.
    """

    every_s: float = 5.0
    reply_s: float = 30.0
    failures: int = 4


USUAL = HealthRule()


def ask_health(base_url: str, timeout_s: float) -> str:
    """Ask ``GET /health`` once; what was wrong in words, empty where the server is well. Blocks."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except TimeoutError:
        return f"no answer to /health within {timeout_s:g} s"
    except (OSError, http.client.HTTPException) as error:
        return f"no connection for /health ({getattr(error, 'strerror', None) or type(error).__name__})"
    finally:
        connection.close()
    return "" if status == http.client.OK else f"/health answers with {status}"


async def until_lost(ended: Callable[[], str], ask: Callable[[], Awaitable[str]], rule: HealthRule = USUAL) -> str:
    """Watch a server until it is of no more use; returns why. Goes on for ever with one that is well.

    Args:
        ended: How the process ended; empty while it runs.
        ask: Asks it once, as :func:`ask_health` does.
        rule: How often, and how many failures in a row are the end.
    """
    in_a_row = 0
    while True:
        await asyncio.sleep(rule.every_s)
        if how := await asyncio.to_thread(ended):
            return how
        wrong = await ask()
        in_a_row = in_a_row + 1 if wrong else 0
        if in_a_row >= rule.failures:
            # A server that dies refuses connections first: its end says more.
            return await asyncio.to_thread(ended) or f"the server is there no more: {wrong}, {in_a_row} times in a row"

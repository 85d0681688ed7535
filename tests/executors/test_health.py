"""When a server that is watched counts as lost: only after failures in a row, whatever came before."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from grounding.executors.health import HealthRule, ask_health, until_lost

AT_ONCE = HealthRule(every_s=0.0, failures=3)


def watch(replies: Sequence[bool], *, ends_after: int | None = None) -> str | None:
    """Why a server is given up that is well or not when it is asked; None where it is not."""
    left = iter(replies)
    asked = 0

    def ended() -> str:
        return "it ended" if ends_after is not None and asked > ends_after else ""

    async def ask() -> str:
        nonlocal asked
        asked += 1
        well = next(left, None)
        if well is None:
            raise EOFError
        return "" if well else "no answer"

    try:
        return asyncio.run(until_lost(ended, ask, AT_ONCE))
    except EOFError:
        return None


@given(st.lists(st.booleans(), max_size=20))
def test_only_failures_in_a_row_are_the_end(replies: list[bool]) -> None:
    text = "".join("x" if well else "-" for well in replies)
    found = watch(replies)
    assert (found is not None) == ("---" in text)
    assert found is None or found == "the server is there no more: no answer, 3 times in a row"


def test_the_end_of_the_process_is_told_at_once() -> None:
    assert watch([True] * 50, ends_after=4) == "it ended"
    # It no longer answers because it is ending: then that is the reason.
    assert watch([False] * 50, ends_after=2) == "it ended"


def answered(said: bytes | None) -> str:
    """What is made of a server that says this to the first who connects, or nothing at all."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def answer() -> None:
            taken, _ = listening.accept()
            with taken:
                taken.recv(4096)
                taken.sendall(said or b"")

        if said is not None:
            thread = threading.Thread(target=answer)
            thread.start()
        found = ask_health(f"http://127.0.0.1:{port}/v1", 5.0 if said is not None else 0.2)
        if said is not None:
            thread.join()
    return found


def test_what_is_wrong_is_told_apart() -> None:
    assert answered(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") == ""
    assert answered(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n") == "/health answers with 503"
    assert answered(None) == "no answer to /health within 0.2 s"  # The kernel connects for a process that is stopped.
    assert answered(b"no HTTP") == "no connection for /health (BadStatusLine)"
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert ask_health(f"http://127.0.0.1:{port}/v1", 5.0) == "no connection for /health (Connection refused)"

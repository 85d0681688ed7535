"""The process that looks at screenshots for the window: requests on standard input, findings on standard output.

Both are JSON lines, records of :mod:`annotate.proposals.records`. A request that a newer one has overtaken is dropped.
The process ends when its input does, so it never outlives the window, however that ends.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from annotate.proposals.finding import combine, find_regions, load_upright, meant_by, read_screen
from annotate.proposals.records import Found, Proposal, Request
from grounding.errors import UserError

if TYPE_CHECKING:
    from grounding.grounders.ocr.reader import Reader

NICENESS = 5
"""Drawing goes before looking."""


def serve(requests: BinaryIO, findings: BinaryIO) -> None:
    """Answer requests until there are no more."""
    waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, waiting), daemon=True).start()
    from grounding.grounders.ocr.reader import Reader

    reader = Reader()
    while (request := _latest(waiting)) is not None:
        for found in _look(request, reader, waiting):
            findings.write(msgspec.json.encode(found) + b"\n")
            findings.flush()


def _read(requests: BinaryIO, waiting: queue.SimpleQueue[Request | None]) -> None:
    for line in requests:
        waiting.put(msgspec.json.decode(line, type=Request))
    waiting.put(None)
    # Reading one large screenshot takes seconds: nobody is there any more who would want it.
    time.sleep(1.0)
    os._exit(0)


def _latest(waiting: queue.SimpleQueue[Request | None]) -> Request | None:
    request = waiting.get()
    while request is not None and not waiting.empty():
        request = waiting.get()
    return request


def _look(request: Request, reader: Reader, waiting: queue.SimpleQueue[Request | None]) -> Iterator[Found]:
    started = time.perf_counter()

    def found(
        proposals: tuple[Proposal, ...] = (), *, complete: bool = True, meant: int | None = None, problem: str = ""
    ) -> Found:
        return Found(
            number=request.number,
            image=request.image,
            instruction=request.instruction,
            complete=complete,
            proposals=proposals,
            meant=meant,
            problem=problem,
            seconds=time.perf_counter() - started,
        )

    path = Path(request.image)
    try:
        pixels = load_upright(path)
    except UserError as error:
        yield found(problem=str(error))
        return
    regions = find_regions(pixels)
    edges = combine(regions, None, pixels)
    yield found(edges, complete=False)
    if not waiting.empty():
        return
    try:
        screen = read_screen(reader, path, pixels)
    except UserError as error:
        yield found(edges, problem=str(error))
        return
    proposals = combine(regions, screen, pixels)
    yield found(proposals, meant=meant_by(request.instruction, screen, proposals))


def main() -> None:
    """Entry point of ``python -m annotate.proposals.worker``."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    output = sys.stdout.buffer
    # What a library prints must not end up among the findings.
    sys.stdout = sys.stderr
    serve(sys.stdin.buffer, output)


if __name__ == "__main__":
    main()

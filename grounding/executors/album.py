"""Screenshots for workers that can't read them where they are: sent by the writer, on request."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from grounding.executors.messages import PictureBytes, WantPicture
from grounding.executors.staff import Hired

AT_ONCE = 4
"""Pictures read at the same time: each is some megabytes until it is sent."""


class Album:
    """Reads the screenshots that workers were asked about, and nothing else."""

    def __init__(self) -> None:
        self._reading = asyncio.Semaphore(AT_ONCE)

    def send(self, worker: Hired, wanted: WantPicture) -> None:
        """Send a worker a screenshot. The path is taken from the question it was asked, never from its own words."""
        shown = [ticket.query.screenshot for ticket in worker.asked.values()]
        paths = {one.path for one in shown if one is not None and one.sha256 == wanted.sha256}
        task = asyncio.get_running_loop().create_task(self._send(worker, wanted.sha256, sorted(paths)))
        worker.tasks.add(task)
        task.add_done_callback(worker.tasks.discard)

    async def _send(self, worker: Hired, sha256: str, paths: list[str]) -> None:
        async with self._reading:
            content = await asyncio.to_thread(_read, paths, sha256)
        worker.say(PictureBytes(sha256=sha256, content=content))


def _read(paths: list[str], sha256: str) -> bytes | None:
    """The content of the first of these files that has this hash; None where none has, or none can be read."""
    for path in paths:
        try:
            content = Path(path).read_bytes()
        except OSError:
            continue  # The worker says which picture is missing, in the answer.
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    return None

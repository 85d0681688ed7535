"""A worker's end of asking the writer for a screenshot that it can read nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from grounding.executors.messages import PictureBytes, Up, WantPicture
from grounding.records import Screenshot


class PictureRequests:
    """What was asked for and has not come yet."""

    def __init__(self, say: Callable[[Up], None]) -> None:
        """Nothing is asked for.

        Args:
            say: Sends a message to the writer.
        """
        self._say = say
        self._open: dict[str, asyncio.Future[bytes | None]] = {}

    async def want(self, screenshot: Screenshot) -> bytes | None:
        """The bytes of a screenshot, asked for once however many want them; None where the writer can't read it."""
        coming = self._open.get(screenshot.sha256)
        if coming is None:
            coming = self._open[screenshot.sha256] = asyncio.get_running_loop().create_future()
            self._say(WantPicture(sha256=screenshot.sha256, path=screenshot.path))
        return await asyncio.shield(coming)

    def came(self, message: PictureBytes) -> None:
        """The writer has sent a screenshot, or says that it can't."""
        coming = self._open.pop(message.sha256, None)
        if coming is not None:
            coming.set_result(message.content)

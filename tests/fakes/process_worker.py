"""A worker in a process of its own: batches with their length before them, on standard input and output."""

from __future__ import annotations

import asyncio
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from grounding.executors.recipe import unpack
from grounding.executors.worker import Worker

LENGTH = struct.Struct(">I")


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    out = sys.stdout.buffer

    def send(content: bytes) -> None:
        out.write(LENGTH.pack(len(content)) + content)
        out.flush()

    async def receive() -> bytes:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return await reader.readexactly(length)

    worker = Worker(unpack(await receive()), send)

    async def listen() -> None:
        while True:
            await worker.hear(await receive())

    listening = asyncio.create_task(listen())
    await worker.run()
    listening.cancel()


if __name__ == "__main__":
    asyncio.run(main())

"""The Ray driver, in a process of its own between the writer and the workers.

    python -m grounding.executors.ray.bridge ADDRESS FOLDER WORKER

Frames (:mod:`grounding.executors.ray.frames`) come from standard input and go to standard output. It ends when its
input does, and in any way that Ray may end it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from grounding.executors.ray import frames
from grounding.executors.ray.cluster import asks_token, cluster, init_options, told_by, unreachable
from grounding.executors.ray.hired import Hired

BEAT_S = 5.0
LOOK_EVERY_S = 2.0


def take_pipes() -> tuple[int, int]:
    """Keep the writer's pipes for this process alone: Ray prints, and what it starts inherits 0, 1 and 2."""
    reading, writing = os.dup(0), os.dup(1)  # Not inherited by children (PEP 446).
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return reading, writing


class Bridge:
    """Carries out what the writer says, and tells it what the workers say."""

    def __init__(self, out: frames.FrameWriter, address: str, worker_class: str) -> None:
        self._out = out
        self._address = address
        self._worker_class = worker_class
        self._hired: dict[str, Hired] = {}

    def reached(self) -> frames.Reached:
        """What this is connected to."""
        import ray

        address = ray.get_runtime_context().gcs_address
        return frames.Reached(cluster=cluster(address, ray.nodes()))  # type: ignore[no-untyped-call]

    async def run(self, incoming: asyncio.StreamReader) -> None:
        """Do what the writer says until it is silent for ever."""
        beating = asyncio.create_task(self._beat())
        watching = asyncio.create_task(self._watch_own_node())
        doing = asyncio.create_task(self._do_all(incoming))
        try:
            await asyncio.wait((watching, doing), return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                doing.result()
            else:
                self._out.send(frames.Unreachable(message=watching.result()))
                await asyncio.sleep(0)  # Frames go out at the end of a turn.
                await self._out.drain()
        finally:
            for task in (beating, watching, doing):
                task.cancel()
            for hired in self._hired.values():
                hired.end()

    async def _do_all(self, incoming: asyncio.StreamReader) -> None:
        while (body := await frames.read_body(incoming)) is not None:
            self._do(frames.to_bridge(body))

    async def _watch_own_node(self) -> str:
        """Wait until the node that this driver belongs to is lost; gives the reason.

        A driver whose head is gone is ended by Ray itself. One whose node is gone is not: it only loses its actors, and
        gets no others.
        """
        import ray

        own = ray.get_runtime_context().get_node_id()
        while True:
            for row in await asyncio.to_thread(ray.nodes):
                if row["NodeID"] == own and not row["Alive"]:
                    return f"the Ray node on this machine is lost ({row['DeathReasonMessage'] or 'no reason given'})"
            await asyncio.sleep(LOOK_EVERY_S)

    def _do(self, message: frames.ToBridge) -> None:
        match message:
            case frames.Hire():
                self._hired[message.worker] = Hired(message, self._worker_class, self._from_worker)
            case frames.Tell() if message.worker in self._hired:
                self._hired[message.worker].tell(message.content)
            case frames.Dismiss() if message.worker in self._hired:
                self._hired[message.worker].end()
                self._from_worker(frames.Gone(worker=message.worker, reason="it was dismissed"))

    def _from_worker(self, message: frames.FromBridge) -> None:
        if isinstance(message, frames.Gone) and self._hired.pop(message.worker, None) is None:
            return  # It was told already.
        self._out.send(message)

    async def _beat(self) -> None:
        while True:
            self._out.send(frames.Beat())
            await asyncio.sleep(BEAT_S)


async def serve(address: str, worker_class: str, reading: int, writing: int) -> None:
    """Connect the pipes to the cluster that this process is already a driver of."""
    loop = asyncio.get_running_loop()
    incoming = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(incoming), os.fdopen(reading, "rb"))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(writing, "wb"))
    out = frames.FrameWriter(asyncio.StreamWriter(transport, protocol, None, loop))
    bridge = Bridge(out, address, worker_class)
    out.send(await asyncio.to_thread(bridge.reached))
    await bridge.run(incoming)


def main() -> int:
    """Become a driver, and serve."""
    address, folder, worker_class = sys.argv[1:]
    reading, writing = take_pipes()
    import ray

    try:
        options: dict[str, Any] = init_options(address, folder)
        ray.init(**options)
    except Exception as error:  # noqa: BLE001 - Ray raises whatever it likes here; the writer tells the user.
        text = told_by(error)
        lacking = asks_token(text) and "RAY_AUTH_MODE" not in os.environ
        said = frames.Unreachable(message=unreachable(address, text), asks_token=lacking)
        os.write(writing, frames.framed(said))
        return 3
    try:
        asyncio.run(serve(address, worker_class, reading, writing))
    finally:
        ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())

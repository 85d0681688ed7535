"""A server that speaks the OpenAI chat protocol and knows nothing: set latency, set number of slots.

    python tools/bench/fake_server.py --port 8123 --latency 0.3 --slots 64 --factor 28 --pixels 3136 8847360

Every reply is the point (W/2, H/2) of nothing in particular, "(640,360)". With a factor and limits it counts the tokens
of a PNG as a Qwen-VL processor with these does. GET /stats counts requests, bytes and the most that were in work at
once, so that a client's overhead can be told from the server's own time, and says when the first came and the last was
answered of those that are no probe's.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import time

from aiohttp import web

from grounding.geometry import smart_resize
from grounding.records import Size
from grounding.run.probe.gate import INSTRUCTION

CHARS_PER_TOKEN = 4
HEADER = 32  # The first bytes of a PNG as base64 characters: its size is in them.


class FakeServer:
    """Answers after the latency, as many at once as there are slots; the others wait."""

    def __init__(self, latency_s: float, slots: int, reply: str, factor: int, pixels: tuple[int, int]) -> None:
        self.latency_s = latency_s
        self.reply = reply
        self.factor = factor
        self.pixels = pixels
        self.first_s = self.last_s = 0.0
        self.slots = asyncio.Semaphore(slots)
        self.requests = 0
        self.received_bytes = 0
        self.at_work = 0
        self.most_at_work = 0

    def app(self) -> web.Application:
        """The web application."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/stats", self.stats)
        return app

    async def complete(self, request: web.Request) -> web.Response:
        """One completion."""
        body = await request.read()
        counted = INSTRUCTION.encode() not in body[:20_000] + body[-20_000:]
        if counted and not self.first_s:
            self.first_s = time.monotonic()
        self.requests += 1
        self.received_bytes += len(body)
        async with self.slots:
            self.at_work += 1
            self.most_at_work = max(self.most_at_work, self.at_work)
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            self.at_work -= 1
        if counted:
            self.last_s = time.monotonic()
        tokens = self.tokens(body)
        return web.json_response(
            {
                "id": f"fake-{self.requests}",
                "object": "chat.completion",
                "created": 0,
                "model": "fake",
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.reply}}
                ],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 8, "total_tokens": tokens + 8},
            }
        )

    def tokens(self, body: bytes) -> int:
        """The tokens of a request, those of its picture among them."""
        mark = b";base64,"
        begin = body.find(mark) + len(mark)
        if not self.factor or begin < len(mark):
            return 1000
        text = (begin + len(body) - body.find(b'"', begin)) // CHARS_PER_TOKEN
        header = base64.b64decode(body[begin : begin + HEADER])
        size = Size(width=int.from_bytes(header[16:20], "big"), height=int.from_bytes(header[20:24], "big"))
        seen = smart_resize(size, factor=self.factor, min_pixels=self.pixels[0], max_pixels=self.pixels[1])
        return text + seen.width * seen.height // self.factor**2

    async def models(self, _request: web.Request) -> web.Response:
        """No list: whatever model is asked for is fine."""
        return web.json_response({"object": "list", "data": []})

    async def stats(self, _request: web.Request) -> web.Response:
        """What came so far; the times are those since this was last asked."""
        first_s, self.first_s = self.first_s, 0.0
        return web.json_response(
            {
                "requests": self.requests,
                "received_bytes": self.received_bytes,
                "most_at_work": self.most_at_work,
                "first_s": first_s,
                "last_s": self.last_s,
            }
        )


async def serve(arguments: argparse.Namespace) -> None:
    """Serve on loopback until the process is ended; prints the port as JSON once it listens."""
    pixels = (arguments.pixels[0], arguments.pixels[1])
    fake = FakeServer(arguments.latency, arguments.slots, arguments.reply, arguments.factor, pixels)
    runner = web.AppRunner(fake.app(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", arguments.port, backlog=1024)
    await site.start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.3, metavar="SECONDS")
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--reply", default="(640,360)")
    parser.add_argument("--factor", type=int, default=0, help="0 counts the same for every picture")
    parser.add_argument("--pixels", type=int, nargs=2, default=(1, 1), metavar=("MIN", "MAX"))
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()

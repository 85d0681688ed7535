"""A server that speaks the OpenAI chat protocol and knows nothing: set latency, set number of slots.

    python tools/bench/fake_server.py --port 8123 --latency 0.3 --slots 64

Every reply is the point (W/2, H/2) of nothing in particular, "(640,360)". GET /stats counts requests, bytes and the
most that were in work at once, so that a client's overhead can be told from the server's own time.
"""

from __future__ import annotations

import argparse
import asyncio
import json

from aiohttp import web


class FakeServer:
    """Answers after the latency, as many at once as there are slots; the others wait."""

    def __init__(self, latency_s: float, slots: int, reply: str) -> None:
        self.latency_s = latency_s
        self.reply = reply
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
        self.requests += 1
        self.received_bytes += len(body)
        async with self.slots:
            self.at_work += 1
            self.most_at_work = max(self.most_at_work, self.at_work)
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            self.at_work -= 1
        return web.json_response(
            {
                "id": f"fake-{self.requests}",
                "object": "chat.completion",
                "created": 0,
                "model": "fake",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": self.reply},
                    }
                ],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 8, "total_tokens": 1008},
            }
        )

    async def models(self, _request: web.Request) -> web.Response:
        """No list: whatever model is asked for is fine."""
        return web.json_response({"object": "list", "data": []})

    async def stats(self, _request: web.Request) -> web.Response:
        """What came so far."""
        return web.json_response(
            {
                "requests": self.requests,
                "received_bytes": self.received_bytes,
                "most_at_work": self.most_at_work,
            }
        )


async def serve(arguments: argparse.Namespace) -> None:
    """Serve on loopback until the process is ended; prints the port as JSON once it listens."""
    fake = FakeServer(arguments.latency, arguments.slots, arguments.reply)
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
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()

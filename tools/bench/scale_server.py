"""A chat server that costs next to nothing: raw asyncio, kept connections, one constant reply.

    python tools/bench/scale_server.py BOARD --latency 0

It notes on the board which step each request is about (the number in the instruction) and when. The aiohttp server of
``fake_server.py`` takes longer for a request than the client that is measured, so it can't be used for this.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

from scale_board import Board

NUMBER_AFTER = b"entry number "
_DIGITS = frozenset(b"0123456789")


def reply(content: str) -> bytes:
    """A whole HTTP response that holds a completion with this text."""
    body = json.dumps(
        {
            "id": "fake", "object": "chat.completion", "created": 0, "model": "fake",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
            ],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 8, "total_tokens": 1008},
        }
    ).encode()  # fmt: skip
    return _response(body)


def _response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def step_number(body: bytes | bytearray) -> int:
    """The number in the last instruction of a request; -1 where there is none."""
    at = body.rfind(NUMBER_AFTER)
    if at < 0:
        return -1
    start = end = at + len(NUMBER_AFTER)
    while end < len(body) and body[end] in _DIGITS:
        end += 1
    return int(body[start:end]) if end > start else -1


class Connection(asyncio.Protocol):
    """One kept connection; requests come one after the other."""

    def __init__(self, board: Board, latency_s: float, answer: bytes) -> None:
        self._board, self._latency_s, self._answer = board, latency_s, answer
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        buffer = self._buffer
        buffer += data
        while True:
            head = buffer.find(b"\r\n\r\n")
            if head < 0:
                return
            whole = head + 4 + _content_length(bytes(buffer[:head]))
            if len(buffer) < whole:
                return
            is_post = buffer.startswith(b"POST")
            if is_post:
                self._board.asked(step_number(buffer[head + 4 : whole]), time.monotonic())
            del buffer[:whole]
            if not is_post:
                self._send(_response(b'{"object": "list", "data": []}'))
            elif self._latency_s:
                self._loop.call_later(self._latency_s, self._send, self._answer)
            else:
                self._send(self._answer)

    def _send(self, content: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(content)


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def serve(board: Path, latency_s: float, content: str) -> None:
    """Serve on loopback until the process is ended; prints the port as JSON once it listens."""
    shared, answer = Board(board), reply(content)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(shared, latency_s, answer), "127.0.0.1", 0, backlog=1024)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", type=Path)
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--reply", default="(150,70)")
    given = parser.parse_args()
    asyncio.run(serve(given.board, given.latency, given.reply))


if __name__ == "__main__":
    main()

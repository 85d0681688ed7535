"""A server without scruples: it answers every request on a loopback port with more bytes than anybody can hold."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Stream = Callable[[], Iterator[bytes]]

_HEAD = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n"
_MIB = b"a" * (1 << 20)


def endless(status: int = 200, start: bytes = b'{"choices": [{"message": {"content": "') -> Stream:
    """A body that goes on until the connection is closed."""

    def stream() -> Iterator[bytes]:
        yield _HEAD % status + b"\r\n" + start
        while True:
            yield _MIB

    return stream


def bomb(status: int = 200, mebibytes: int = 2048) -> Stream:
    """A body that is small until it is decompressed."""

    def stream() -> Iterator[bytes]:
        yield _HEAD % status + b"Content-Encoding: gzip\r\n\r\n"
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        for _ in range(mebibytes):
            if packed := packer.compress(_MIB):
                yield packed
        yield packer.flush()

    return stream


def endless_headers() -> Stream:
    """Headers without end."""

    def stream() -> Iterator[bytes]:
        yield _HEAD % 200
        while True:
            yield b"X-More: " + b"a" * 4000 + b"\r\n"

    return stream


@contextmanager
def endless_server(stream: Stream) -> Iterator[str]:
    """Its address, as long as the block lasts. A connection is served once, and closed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    taken, _ = listening.accept()
                    threading.Thread(target=answer, args=(taken,), daemon=True).start()

        def answer(taken: socket.socket) -> None:
            with taken, suppress(OSError):
                taken.recv(1 << 16)
                for piece in stream():
                    taken.sendall(piece)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)

"""What the writer and the bridge say to each other through pipes: MessagePack with its length before it."""

from __future__ import annotations

import asyncio

import msgspec

from grounding.executors.link import Cluster
from grounding.records import Record

_LENGTH_BYTES = 4
MOST_BYTES = 1 << 30
"""A frame longer than this is none: the stream is broken."""


class Variable(Record, frozen=True, kw_only=True):
    """An environment variable for a worker, most often a key; its value is in no ``repr``, so in no log."""

    name: str
    value: str

    def __repr__(self) -> str:
        return f"Variable(name={self.name!r})"


# --- writer to bridge ---------------------------------------------------------------------------------------------


class Hire(Record, frozen=True, kw_only=True, tag=True):
    """Start a worker."""

    worker: str
    recipe: bytes
    cpus: float
    gpus: float
    variables: tuple[Variable, ...] = ()

    def __repr__(self) -> str:
        return f"Hire(worker={self.worker!r}, cpus={self.cpus}, gpus={self.gpus}, variables={self.variables!r})"


class Tell(Record, frozen=True, kw_only=True, tag=True):
    """Hand a batch to a worker."""

    worker: str
    content: bytes


class Dismiss(Record, frozen=True, kw_only=True, tag=True):
    """End a worker at once."""

    worker: str


# --- bridge to writer ---------------------------------------------------------------------------------------------


class Reached(Record, frozen=True, kw_only=True, tag=True):
    """The bridge is connected to this cluster."""

    cluster: Cluster


class Unreachable(Record, frozen=True, kw_only=True, tag=True):
    """The bridge can't connect, or lost the cluster; it ends. The message is for the user.

    ``asks_token``: the cluster wants a token (RAY_AUTH_MODE=token), and Ray was not told to send any.
    """

    message: str
    asks_token: bool = False


class Beat(Record, frozen=True, kw_only=True, tag=True):
    """The bridge lives."""


class Came(Record, frozen=True, kw_only=True, tag=True):
    """A worker's process runs."""

    worker: str
    node: str
    pid: int


class Said(Record, frozen=True, kw_only=True, tag=True):
    """Batches from a worker, oldest first."""

    worker: str
    contents: tuple[bytes, ...]


class Waits(Record, frozen=True, kw_only=True, tag=True):
    """A worker has no place yet; the text is for the user."""

    worker: str
    text: str


class Useless(Record, frozen=True, kw_only=True, tag=True):
    """A worker can never be made ready here, and the user can put it right; it is ``Gone`` next."""

    worker: str
    message: str


class Gone(Record, frozen=True, kw_only=True, tag=True):
    """A worker is lost."""

    worker: str
    reason: str


ToBridge = Hire | Tell | Dismiss
FromBridge = Reached | Unreachable | Beat | Came | Said | Waits | Useless | Gone

_encoder = msgspec.msgpack.Encoder()
_to_bridge: msgspec.msgpack.Decoder[ToBridge] = msgspec.msgpack.Decoder(ToBridge)
_from_bridge: msgspec.msgpack.Decoder[FromBridge] = msgspec.msgpack.Decoder(FromBridge)


def framed(message: ToBridge | FromBridge) -> bytes:
    """A message with its length before it."""
    body = _encoder.encode(message)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def to_bridge(body: bytes) -> ToBridge:
    """What the writer said.

    Raises:
        msgspec.DecodeError: it is no message.
    """
    return _to_bridge.decode(body)


def from_bridge(body: bytes) -> FromBridge:
    """What the bridge said.

    Raises:
        msgspec.DecodeError: it is no message.
    """
    return _from_bridge.decode(body)


async def read_body(stream: asyncio.StreamReader) -> bytes | None:
    """The next frame's content, or None at the stream's end (also in the middle of a frame: the other side died).

    Raises:
        ValueError: a length that no frame has.
    """
    try:
        length = int.from_bytes(await stream.readexactly(_LENGTH_BYTES), "big")
        if length > MOST_BYTES:
            raise ValueError(f"expected a frame of at most {MOST_BYTES} bytes, got a length of {length}")
        return await stream.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


class FrameWriter:
    """Sends frames; those of one turn of the event loop go out in one piece."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream
        self._waiting = bytearray()

    def send(self, message: ToBridge | FromBridge) -> None:
        """Queue a message; it goes out in this turn of the event loop."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += framed(message)

    def _flush(self) -> None:
        content = bytes(self._waiting)
        self._waiting.clear()
        if not self._stream.is_closing():
            self._stream.write(content)

    async def drain(self) -> None:
        """Wait while the other side is far behind.

        Raises:
            ConnectionError: it is gone.
        """
        await self._stream.drain()

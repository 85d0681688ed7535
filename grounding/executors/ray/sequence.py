"""Counting that makes messages arrive in order and once, over calls that may fail before or after they took effect.

The sender keeps what it sent until the receiver has said that it has it, and sends it again when it can't know. The
receiver knows by the numbers what it has already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from grounding.records import Record

MOST_BYTES = 8 << 20
"""A batch is ended with the message that reaches this, so that one call stays far below gRPC's limit of 512 MB."""


class Numbered(Record, frozen=True, kw_only=True):
    """Messages with successive numbers; ``first`` is that of the first one, and numbers begin at 1."""

    first: int
    contents: tuple[bytes, ...]


class Outbox:
    """The sender's side."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._first = 1

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, content: bytes) -> None:
        """One more message."""
        self._waiting.append(content)

    def acknowledged(self, upto: int) -> None:
        """The receiver has all messages up to this number; an old word of it does nothing.

        Raises:
            ValueError: it claims what was never sent.
        """
        if upto >= self._first + len(self._waiting):
            raise ValueError(f"got an acknowledgement of {upto}, the last message is {self._first - 1}")
        while self._first <= upto:
            self._waiting.popleft()
            self._first += 1

    def batch(self) -> Numbered:
        """What to send now: the oldest messages without an acknowledgement, at least one where there are any."""
        size_bytes = 0
        count = 0
        for content in self._waiting:
            count += 1
            size_bytes += len(content)
            if size_bytes >= MOST_BYTES:
                break
        return Numbered(first=self._first, contents=tuple(islice(self._waiting, count)))


class Inbox:
    """The receiver's side."""

    def __init__(self) -> None:
        self.taken = 0
        """The number up to which everything has arrived."""

    def take(self, first: int, contents: Sequence[bytes]) -> Sequence[bytes]:
        """Those of a batch that are new.

        Raises:
            ValueError: there is a gap before the batch; the sender lost what it had to keep.
        """
        if first > self.taken + 1:
            raise ValueError(f"expected message {self.taken + 1}, got {first}")
        new = contents[self.taken + 1 - first :]
        self.taken += len(new)
        return new

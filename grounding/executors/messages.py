"""What a pool and its workers say to each other. Nothing here knows what carries the words, or Ray.

A message is a batch of these in MessagePack. A link delivers the batches of one worker in order and once, or says that
the worker is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grounding.records import Query, Record


class Ask(Record, frozen=True, kw_only=True, tag=True):
    """To a worker: answer this query. ``number`` is the pool's own for it."""

    number: int
    query: Query


class Do(Record, frozen=True, kw_only=True, tag=True):
    """To a worker of a stage: work on this item, which is itself in MessagePack. ``number`` is the pool's own for it.

    ``key`` is what the writer's stage has for the item: a worker that has another would answer another question.
    """

    number: int
    step_id: str
    key: str
    item: msgspec.Raw


class Granted(Record, frozen=True, kw_only=True, tag=True):
    """To a worker: so much was set aside for the try ``token``, as :meth:`grounding.budget.Budget.reserve` gives it."""

    token: int
    reserved_usd: float


class Refused(Record, frozen=True, kw_only=True, tag=True):
    """To a worker: the cost limit leaves no room for the try ``token``."""

    token: int
    message: str


class PictureBytes(Record, frozen=True, kw_only=True, tag=True):
    """To a worker: the screenshot with this hash, as it lies on the writer's disk; None where it can't be read."""

    sha256: str
    content: bytes | None


class Leave(Record, frozen=True, kw_only=True, tag=True):
    """To a worker: nothing more will be asked; close everything and end once what was asked is answered.

    With ``at_once`` that is broken off instead, and what there is of it handed over (:class:`Kept`).
    """

    at_once: bool = False


Down = Ask | Do | Granted | Refused | PictureBytes | Leave


class Opened(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: ready. ``identity`` has to be the writer's own, or the two would not answer alike.

    ``gpus`` are the names of those that it was given, as in CUDA_VISIBLE_DEVICES.
    """

    name: str
    identity: str
    max_concurrency: int
    base_url: str = ""
    gpus: str = ""


class NotOpened(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: it can't be made ready, and a user can put it right; the worker ends after this."""

    message: str


class Answered(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: the Plan or the Prediction for the query ``number``, itself in MessagePack."""

    number: int
    answer: msgspec.Raw


class Broke(Record, frozen=True, kw_only=True, tag=True):
    """From a worker of a stage: the item ``number`` ended in an error of the infrastructure, without a record."""

    number: int
    message: str


class Kept(Record, frozen=True, kw_only=True, tag=True):
    """From a worker of a stage: what there is of an item that is being broken off, a record in MessagePack.

    It is to be written down, for what it cost, and is no answer.
    """

    record: msgspec.Raw


class Limited(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: the query ``number`` was not asked, because the cost limit is reached."""

    number: int
    message: str


class Reserve(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: may it spend this on one try? None where nobody knows how much; answered by Granted or Refused."""

    token: int
    most_usd: float | None


class Settled(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: what the try ``token`` came to, as :meth:`grounding.budget.Budget.settle` takes it."""

    token: int
    cost_usd: float | None
    unreported_usd: float = 0.0


class Retried(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: a request was tried again."""


class Warned(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: a line that the user should see."""

    text: str


class WantPicture(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: it can't read this screenshot where it is; answered by PictureBytes."""

    sha256: str
    path: str


class Leaving(Record, frozen=True, kw_only=True, tag=True):
    """From a worker: it is of no more use (its server ended) and goes; what it was asked has to be asked elsewhere."""

    reason: str


Up = (
    Opened
    | NotOpened
    | Answered
    | Broke
    | Kept
    | Limited
    | Reserve
    | Settled
    | Retried
    | Warned
    | WantPicture
    | Leaving
)

_encoder = msgspec.msgpack.Encoder()
_down = msgspec.msgpack.Decoder(list[Down])
_up = msgspec.msgpack.Decoder(list[Up])


def packed(messages: Sequence[Down] | Sequence[Up]) -> bytes:
    """A batch as bytes."""
    return _encoder.encode(messages)


def unpacked_down(content: bytes) -> list[Down]:
    """A batch to a worker.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return _down.decode(content)


def unpacked_up(content: bytes) -> list[Up]:
    """A batch from a worker.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return _up.decode(content)

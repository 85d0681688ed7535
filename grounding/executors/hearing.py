"""What workers say, and what a pool does about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from grounding.budget import BudgetReached
from grounding.errors import UserError
from grounding.executors.album import Album
from grounding.executors.errors import ItemBroke
from grounding.executors.link import Arrived, Cut, Event, Heard, Lost
from grounding.executors.messages import (
    Answered,
    Broke,
    Kept,
    Leaving,
    Limited,
    Opened,
    Reserve,
    Retried,
    Settled,
    Up,
    WantPicture,
    Warned,
    unpacked_up,
)
from grounding.executors.recipe import Recipe
from grounding.executors.recovery import Recovery, fail
from grounding.executors.staff import Hired, StageRecords
from grounding.records import Plan, Prediction

_SHOWN_CHARS = 300


class Hearing:
    """Takes a link's events for one pool."""

    def __init__(
        self,
        recipe: Recipe,
        recovery: Recovery,
        *,
        on_retry: Callable[[], None],
        told: Callable[[str], None],
        stage: StageRecords | None = None,
    ) -> None:
        """Nothing was heard yet.

        Args:
            recipe: What the workers open.
            recovery: The pool's questions and workers.
            on_retry: Called when a worker tries a request again.
            told: Shows a line to the user.
            stage: What a stage's workers answer with; None for planners and grounders.
        """
        self._stage = stage
        self._identity = recipe.identity
        self._recovery = recovery
        self._routing = recovery.routing
        self._on_retry = on_retry
        self._told = told
        self._album = Album()
        usual: type[Any] = Plan if recipe.room == "planner" else Prediction
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(usual if stage is None else stage.answer)

    def on_event(self, event: Event) -> None:
        """Something happened to the cluster or to a worker."""
        if isinstance(event, Heard):
            self._on_heard(event)
        elif isinstance(event, Arrived):
            worker = self._recovery.crew.hired.get(event.worker)
            if worker is not None:
                worker.node, worker.pid = event.node, event.pid
                worker.state = "opening" if worker.state == "hired" else worker.state
        elif isinstance(event, Lost):
            worker = self._recovery.crew.hired.get(event.worker)
            if worker is not None:
                self._recovery.lose(worker, event.reason)
        elif isinstance(event, Cut):
            self._recovery.cut(event.reason)
        else:
            self._recovery.joined(event.cluster.address)

    def _on_heard(self, event: Heard) -> None:
        worker = self._recovery.crew.hired.get(event.worker)
        if worker is None:
            return  # It was given up before.
        try:
            messages = unpacked_up(event.content)
        except msgspec.DecodeError as error:
            self._recovery.lose(worker, f"it said what is no message: {error}", dismiss=True)
            return
        for message in messages:
            if type(message) is Answered:
                self._on_answer(worker, message)
            else:
                self._on_other(worker, message)
            if worker.state == "lost":
                break

    def _on_answer(self, worker: Hired, message: Answered) -> None:
        ticket = worker.asked.get(message.number)
        if ticket is None:
            return  # It came twice, or nobody asked.
        try:
            answer = self._decoder.decode(message.answer)
        except msgspec.DecodeError as error:
            self._recovery.lose(worker, f"its answer can't be read: {error}", dismiss=True)
            return
        query = ticket.query
        if answer.key != query.key or answer.step_id != query.step_id:
            reason = f"it answered for {answer.step_id} when it was asked about {query.step_id}"
            self._recovery.lose(worker, reason, dismiss=True)
            return
        self._recovery.answers += 1
        worker.answered += 1
        if worker.post is not None:
            worker.post.fruitless = 0
        self._close(worker, message.number, answer)

    def _on_kept(self, worker: Hired, message: Kept) -> None:
        """What there is of an item that this worker breaks off; it stays asked."""
        try:
            record = self._decoder.decode(message.record)
        except msgspec.DecodeError as error:
            self._recovery.lose(worker, f"what it kept can't be read: {error}", dismiss=True)
            return
        asked = any(
            ticket.query.key == record.key and ticket.query.step_id == record.step_id
            for ticket in worker.asked.values()
        )
        if asked and self._stage is not None:
            self._stage.kept(record)

    def _close(self, worker: Hired, number: int, outcome: Any) -> None:
        ticket = self._routing.answered(worker, number)
        if ticket is not None and not ticket.done.done():
            if isinstance(outcome, Exception):
                fail(ticket, outcome)
            else:
                ticket.done.set_result(outcome)
        if worker.state == "draining" and not worker.asked:
            worker.idle.set()

    def _on_other(self, worker: Hired, message: Up) -> None:
        if isinstance(message, Reserve):
            worker.ledger.reserve(message)
        elif isinstance(message, Settled):
            worker.ledger.settle(message)
        elif isinstance(message, Retried):
            self._on_retry()
        elif isinstance(message, Limited):
            self._close(worker, message.number, BudgetReached(message.message))
        elif isinstance(message, Broke):
            self._close(worker, message.number, ItemBroke(message.message))
        elif isinstance(message, Kept):
            self._on_kept(worker, message)
        elif isinstance(message, WantPicture):
            self._album.send(worker, message)
        elif isinstance(message, Warned):
            self._told(f"{worker.place}: {message.text}")
        elif isinstance(message, Opened):
            self._on_opened(worker, message)
        elif isinstance(message, Leaving):
            self._recovery.lose(worker, message.reason, dismiss=True)
        elif not isinstance(message, Answered):
            self._unusable(worker, f"{message.message} ({worker.place})")

    def _on_opened(self, worker: Hired, opened: Opened) -> None:
        if worker.state not in ("hired", "opening"):
            return
        if opened.identity != self._identity:
            self._unusable(
                worker,
                f"{worker.place} would answer otherwise than this machine: the version of this package, of a library "
                f"or of a model, or the card, is another there. Here: {_beginning(self._identity)}. There: "
                f"{_beginning(opened.identity)}. Install the same on every node",
            )
            return
        worker.state, worker.bound = "ready", max(1, opened.max_concurrency)
        worker.base_url, worker.gpus = opened.base_url, opened.gpus
        self._recovery.opened.set()
        self._routing.add(worker)

    def _unusable(self, worker: Hired, message: str) -> None:
        """A worker of no use, for a reason that a user can mend: the end, unless others have shown that it can be.

        What a stage says of its items holds for all of them, as it does where the run is written.
        """
        of_items = self._stage is not None and worker.state in ("ready", "draining")
        if self._recovery.answers and not of_items:
            self._recovery.lose(worker, message, dismiss=True)
        else:
            self._recovery.end(UserError(message))


def _beginning(identity: str) -> str:
    return identity if len(identity) <= _SHOWN_CHARS else f"{identity[:_SHOWN_CHARS]}…"

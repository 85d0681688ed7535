"""What a pool does when workers, or the whole cluster, are lost: others are asked, and others are hired."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from grounding.errors import UserError
from grounding.executors.crew import Crew
from grounding.executors.errors import ClusterLost, PoolClosed, WorkerGone, WorkersLost
from grounding.executors.failing import failed
from grounding.executors.messages import Ask, Do
from grounding.executors.recipe import Room
from grounding.executors.routing import Routing
from grounding.executors.staff import Hired, Patience, Post, Ticket, Work


class Recovery:
    """The open questions and the workers of a pool, and what becomes of the ones without the others.

    ``answers`` counts all answers. ``error`` is why nothing is answered any more, None while all is well. ``opened`` is
    set once a worker was ready, or nothing will ever be.
    """

    def __init__(self, room: Room, *, patience: Patience, told: Callable[[str], None]) -> None:
        """Nobody works yet.

        Args:
            room: What the workers are.
            patience: How long to wait for what.
            told: Shows a line to the user.
        """
        self._room = room
        self._patience = patience
        self._told = told
        self._cut: asyncio.TimerHandle | None = None
        self.routing = Routing(_hand)
        self.answers = 0
        self.error: Exception | None = None
        self.opened = asyncio.Event()

    def lead(self, crew: Crew) -> None:
        """Take these workers."""
        self.crew = crew

    def hire(self) -> None:
        """Hire for every post that nobody holds, unless nobody can be hired now."""
        if self._cut is None and self.error is None:
            self.crew.fill_posts()

    def lose(self, worker: Hired, reason: str, *, dismiss: bool = False) -> None:
        """A worker is gone, or of no more use: ask others what it was asked, and hire another.

        Args:
            worker: Who.
            reason: Why, for the user.
            dismiss: Whether its process may still be there, and has to be ended.
        """
        fruitful = worker.answered > 0
        post = self.crew.drop(worker)
        if dismiss:
            self.crew.dismiss(worker)
        tickets = self.routing.remove(worker)
        if self.error is not None:
            self._fail_all(tickets, self.error)
            return
        if worker.left and not tickets:
            return
        self._told(f"{worker.place} is lost: {reason}{_asked_again(tickets)}")
        self._ask_others(worker, tickets, reason)
        if post is None:
            return
        self._count(post, fruitful)
        if self._hopeless(post):
            where = worker.node or "no node yet"
            self.end(
                UserError(
                    f"{post.fruitless} {self._room} workers in a row were lost before they had answered anything, the "
                    f"last on {where}: {reason}"
                )
            )
        else:
            self.replace(post)

    def replace(self, post: Post) -> None:
        """Hire for a post, unless nobody can be hired now."""
        if self._cut is None and self.error is None:
            self.crew.replace(post)

    def cut(self, reason: str) -> None:
        """The cluster and all workers are lost, by no fault of what they were asked: it waits, with all that comes."""
        if self._cut is not None or self.error is not None:
            return
        patience_s = self._patience.cluster_s
        self._cut = asyncio.get_running_loop().call_later(patience_s, self._give_up_cluster, reason)
        self.crew.stop_hiring()
        tickets: list[Ticket] = []
        for worker in list(self.crew.hired.values()):
            self.crew.drop(worker)
            tickets += self.routing.remove(worker)
        self._told(
            f"the cluster is out of reach ({reason}); waiting up to {patience_s:g} s for it{_asked_again(tickets)}"
        )
        for ticket in tickets:
            if ticket.only is not None:
                fail(ticket, WorkerGone(f"{ticket.only.place} is lost: {reason}"))
        self.routing.put_back(ticket for ticket in tickets if ticket.only is None)

    def joined(self, address: str) -> None:
        """The cluster is there again: hire everybody anew."""
        if self._cut is None or self.error is not None:
            return
        self._cut.cancel()
        self._cut = None
        self._told(f"the cluster at {address} is there again; its {self._room} workers are hired anew")
        self.hire()

    def broke(self, error: BaseException) -> None:
        """The link failed in a way that no link should."""
        self.end(error if isinstance(error, Exception) else RuntimeError(f"the link to the cluster failed: {error!r}"))

    def end(self, error: Exception) -> None:
        """Nothing is answered any more, and everybody who waits is told why; the first reason stays."""
        if self.error is None:
            self.error = error
        if self._cut is not None:
            self._cut.cancel()
        self.crew.stop_hiring()
        tickets = self.routing.drop_all()
        for worker in self.crew.hired.values():
            tickets += self.routing.close(worker)
            tickets += worker.asked.values()
        self._fail_all(tickets, self.error)
        self.opened.set()

    def check(self) -> None:
        """Raise the reason why nothing is answered any more, if there is one."""
        if self.error is not None:
            raise _again(self.error)

    def _ask_others(self, worker: Hired, tickets: Iterable[Ticket], reason: str) -> None:
        again = []
        for ticket in tickets:
            if ticket.only is not None:
                fail(ticket, WorkerGone(f"{worker.place} is lost: {reason}"))
                continue
            ticket.lost += 1
            if ticket.lost >= self._patience.losses:
                message = f"{ticket.lost} workers were lost while they worked on this step, the last one: {reason}"
                if isinstance(ticket.query, Work):
                    fail(ticket, WorkersLost(message))
                else:
                    ticket.done.set_result(failed(self._room, ticket.query, message))
            else:
                again.append(ticket)
        self.routing.put_back(again)

    def _count(self, post: Post, fruitful: bool) -> None:
        if fruitful:
            post.fruitless = 0
            return
        if not post.fruitless:
            post.answers_then = self.answers
        post.fruitless += 1

    def _hopeless(self, post: Post) -> bool:
        """Whether worker after worker was lost at a post, and nobody else answers either."""
        if post.fruitless < self._patience.fruitless or self.answers > post.answers_then:
            return False
        return not any(_may_answer(worker) for worker in self.crew.hired.values())

    def _give_up_cluster(self, reason: str) -> None:
        self.end(
            ClusterLost(
                f"the cluster was out of reach for {self._patience.cluster_s:g} s ({reason}); what was answered is "
                "kept, and the same command goes on from there once the cluster is back"
            )
        )

    def _fail_all(self, tickets: Iterable[Ticket], error: Exception) -> None:
        for ticket in tickets:
            fail(ticket, _again(error))


def _may_answer(worker: Hired) -> bool:
    """Whether a worker is ready, or may yet become so where nobody was lost before."""
    return worker.state == "ready" or (
        worker.state == "opening" and worker.post is not None and not worker.post.fruitless
    )


def fail(ticket: Ticket, error: Exception) -> None:
    """End a question with an error, unless whoever asked has gone."""
    if not ticket.done.done():
        ticket.done.set_exception(error)


def _hand(worker: Hired, ticket: Ticket) -> None:
    query = ticket.query
    if isinstance(query, Work):
        worker.say(Do(number=ticket.number, step_id=query.step_id, key=query.key, item=query.item))
    else:
        worker.say(Ask(number=ticket.number, query=query))


def _again(error: Exception) -> Exception:
    """The same error for one more who waits, as a traceback grows with everybody who raises it."""
    kinds = (UserError, ClusterLost, PoolClosed)
    return type(error)(*error.args) if isinstance(error, kinds) else error


def _asked_again(tickets: list[Ticket]) -> str:
    count = sum(ticket.only is None for ticket in tickets)
    return f"; {count} {'query has' if count == 1 else 'queries have'} to be asked again" if count else ""

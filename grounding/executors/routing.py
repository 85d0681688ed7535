"""Which worker is asked what: the least busy one that has room, in the order in which questions came.

Pure bookkeeping: nothing here waits or sends. What was lost with two workers already may be the reason: from then on
it is asked as the only such question of its worker, so that a third loss tells it from its neighbours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from grounding.executors.staff import Hired, Ticket

SUSPECT_AFTER = 2
"""So many workers are lost with a question before it goes without its like."""


class Routing:
    """Open questions and the workers that may be asked.

    A worker is never at more than its bound. While a question waits that anybody may answer, no worker has room.
    """

    def __init__(self, hand: Callable[[Hired, Ticket], None]) -> None:
        """No questions and no workers.

        Args:
            hand: Sends a question to a worker.
        """
        self._hand = hand
        self._waiting: deque[Ticket] = deque()
        self._suspects: deque[Ticket] = deque()
        self._by_load: list[dict[Hired, None]] = []
        self._least = 0
        self._members: dict[Hired, None] = {}

    # --- workers ------------------------------------------------------------------------------------------------

    def add(self, worker: Hired) -> None:
        """A worker is ready for as many questions as its bound says."""
        worker.accepts = True
        self._members[worker] = None
        self._enter(worker)
        self._fill(worker)

    def close(self, worker: Hired) -> list[Ticket]:
        """Ask a worker nothing more; what only it could have answered and was not asked yet comes back."""
        self._leave(worker, len(worker.asked))
        worker.accepts = False
        self._members.pop(worker, None)
        own = [ticket for ticket in worker.own if not ticket.done.done()]
        worker.own.clear()
        return own

    def remove(self, worker: Hired) -> list[Ticket]:
        """A worker is gone; all that it was asked and had not answered comes back, in the order of asking."""
        own = self.close(worker)
        asked = [ticket for ticket in worker.asked.values() if not ticket.done.done()]
        worker.asked.clear()
        worker.suspect = None
        return asked + own

    # --- questions ----------------------------------------------------------------------------------------------

    def put(self, ticket: Ticket) -> None:
        """A new question: to the least busy worker, or behind those that wait already."""
        if ticket.only is not None:
            ticket.only.own.append(ticket)
            self._fill(ticket.only)
            return
        worker = None if self._waiting else self._least_busy()
        if worker is None:
            self._waiting.append(ticket)
        else:
            self._give(worker, ticket)

    def put_back(self, tickets: Iterable[Ticket]) -> None:
        """Questions whose worker was lost go before those that were never asked."""
        first: list[Ticket] = []
        for ticket in tickets:
            (self._suspects if ticket.lost >= SUSPECT_AFTER else first).append(ticket)
        self._waiting.extendleft(reversed(first))
        if self._suspects:
            for worker in [each for each in self._members if each.suspect is None]:
                self._fill(worker)
        while self._waiting:
            free = self._least_busy()
            if free is None:
                break
            self._give_next(free)

    def answered(self, worker: Hired, number: int) -> Ticket | None:
        """Take a question off a worker and give it the next; None where it was not asked that, or has answered it."""
        ticket = worker.asked.pop(number, None)
        if ticket is None:
            return None
        if worker.suspect is ticket:
            worker.suspect = None
        if worker.accepts:
            load = len(worker.asked)
            self._leave(worker, load + 1)
            self._enter(worker)
            if self._waiting or self._suspects or worker.own:
                self._fill(worker)
        return ticket

    def drop_all(self) -> list[Ticket]:
        """Give up every question that is with no worker; they come back."""
        tickets = [ticket for ticket in (*self._waiting, *self._suspects) if not ticket.done.done()]
        self._waiting.clear()
        self._suspects.clear()
        return tickets

    @property
    def waiting(self) -> int:
        """How many questions are with no worker."""
        return len(self._waiting) + len(self._suspects)

    # --- inside -------------------------------------------------------------------------------------------------

    def _fill(self, worker: Hired) -> None:
        """Give a worker all that it has room for."""
        while worker.accepts and len(worker.asked) < worker.bound and self._give_next(worker):
            pass

    def _give_next(self, worker: Hired) -> bool:
        """Give a worker with room the question whose turn it is; False where there is none for it."""
        for queue in (worker.own, self._suspects, self._waiting):
            if queue is self._suspects and worker.suspect is not None:
                continue
            while queue:
                ticket = queue.popleft()
                if not ticket.done.done():  # Else whoever asked has gone.
                    if queue is self._suspects:
                        worker.suspect = ticket
                    self._give(worker, ticket)
                    return True
        return False

    def _give(self, worker: Hired, ticket: Ticket) -> None:
        self._leave(worker, len(worker.asked))
        worker.asked[ticket.number] = ticket
        self._enter(worker)
        self._hand(worker, ticket)

    def _enter(self, worker: Hired) -> None:
        """List a worker under the number of questions that it is at, if it has room for one more."""
        load = len(worker.asked)
        if load >= worker.bound:
            return
        while len(self._by_load) <= load:
            self._by_load.append({})
        self._by_load[load][worker] = None
        self._least = min(self._least, load)

    def _leave(self, worker: Hired, load: int) -> None:
        if load < len(self._by_load):
            self._by_load[load].pop(worker, None)

    def _least_busy(self) -> Hired | None:
        by_load = self._by_load
        while self._least < len(by_load):
            for worker in by_load[self._least]:
                return worker
            self._least += 1
        return None

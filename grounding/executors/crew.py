"""The workers of a pool: hired, spoken to, replaced when they are lost, and sent away."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from grounding.budget import Budget
from grounding.executors.ledger import Ledger
from grounding.executors.link import Link, Needs
from grounding.executors.messages import Leave, packed
from grounding.executors.staff import Hired, Patience, Post


class Crew:
    """One worker for each post, hired anew where one is lost."""

    def __init__(
        self,
        link: Link,
        recipe: bytes,
        needs: Needs,
        posts: int,
        *,
        name: str,
        budget: Budget,
        patience: Patience,
        broke: Callable[[BaseException], None],
    ) -> None:
        """Nobody is hired yet.

        Args:
            link: What workers run on.
            recipe: What each opens.
            needs: What each takes up.
            posts: How many there are to be.
            name: What their names begin with; never used before on the link.
            budget: What they spend from.
            patience: How fast they are replaced, and how long they may take to leave.
            broke: Told of an error of the link itself.
        """
        self._link = link
        self._recipe = recipe
        self.needs = needs
        self._name = name
        self._budget = budget
        self._patience = patience
        self._broke = broke
        self._posts = [Post() for _ in range(posts)]
        self._numbers = itertools.count(1)
        self._errands: set[asyncio.Task[None]] = set()
        self.hired: dict[str, Hired] = {}

    def fill_posts(self) -> None:
        """Hire for every post that nobody holds, at once."""
        for post in self._posts:
            if post.holder is None:
                self._hire(post)

    def stop_hiring(self) -> None:
        """Leave the posts empty that wait for a replacement."""
        for post in self._posts:
            if post.timer is not None:
                post.timer.cancel()
                post.timer = None

    def replace(self, post: Post) -> None:
        """Hire for a post: at once where its last holder was of use, else after a pause that grows."""
        tries = post.fruitless
        patience = self._patience
        wait_s = min(patience.longest_backoff_s, patience.backoff_s * 2.0 ** min(tries - 1, 30)) if tries else 0.0
        post.timer = asyncio.get_running_loop().call_later(wait_s, self._hire, post)

    def free_post(self, worker: Hired) -> Post | None:
        """Take a worker from its post, so that another may be hired before it is gone."""
        post, worker.post = worker.post, None
        if post is not None:
            post.holder = None
        return post

    def close_post(self, post: Post) -> None:
        """Hire nobody for a post any more."""
        self._posts.remove(post)

    def drop(self, worker: Hired) -> Post | None:
        """A worker is lost: nothing more goes to it, and what it had set aside is settled. Returns its post."""
        del self.hired[worker.name]
        worker.state = "lost"
        worker.accepts = False
        worker.ledger.close()
        for task in (worker.speaking, *worker.tasks):
            if task is not None:
                task.cancel()
        worker.gone.set()
        worker.idle.set()
        return self.free_post(worker)

    def dismiss(self, worker: Hired) -> None:
        """End a worker's process, without waiting for that."""
        self._errand(self._link.dismiss(worker.name))

    async def see_off(self, workers: Iterable[Hired], *, politely: bool = True, at_once: bool = False) -> None:
        """Tell workers to leave and wait until they are gone; whoever takes too long is ended.

        Args:
            workers: Those who have nothing to answer any more.
            politely: Whether they are told at all, and may close what they opened.
            at_once: Whether they break off what they are at.
        """
        leaving = list(workers)
        for worker in leaving:
            worker.left = True
        if leaving and politely:
            for worker in leaving:
                worker.say(Leave(at_once=at_once))
            waits = [asyncio.ensure_future(worker.gone.wait()) for worker in leaving]
            _, late = await asyncio.wait(waits, timeout=self._patience.leave_s)
            for task in late:
                task.cancel()
        for worker in leaving:
            if not worker.gone.is_set():
                await self._link.dismiss(worker.name)

    async def aclose(self, *, break_off: bool = False) -> None:
        """Send everybody away: who is idle may close what it opened, the others are ended.

        Args:
            break_off: Whether those who are at something may hand over what there is of it before they end.
        """
        self.stop_hiring()
        up = [worker for worker in self.hired.values() if worker.state in ("ready", "draining")]
        polite = [worker for worker in up if break_off or not worker.asked]
        await self.see_off([worker for worker in self.hired.values() if worker not in polite], politely=False)
        await self.see_off(polite, at_once=break_off)
        for worker in list(self.hired.values()):
            self.drop(worker)
        if self._errands:
            await asyncio.wait(self._errands)

    def _hire(self, post: Post) -> None:
        name = f"{self._name}-{next(self._numbers)}"
        worker = Hired(name, post, lambda say: Ledger(self._budget, say))
        post.timer, post.holder = None, worker
        self.hired[name] = worker
        worker.speaking = self._errand(self._speak(worker))

    async def _speak(self, worker: Hired) -> None:
        """Hire a worker, then send it whatever there is to say, all that has gathered at once."""
        await self._link.hire(worker.name, self._recipe, self.needs)
        while True:
            await worker.wake.wait()
            worker.wake.clear()
            batch, worker.outbox = worker.outbox, []
            await self._link.tell(worker.name, packed(batch))

    def _errand(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(doing)
        self._errands.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._errands.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._broke(error)

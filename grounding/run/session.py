"""One run of any benchmark: from options to a scored folder, and from a stored folder to scores."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from grounding.errors import Halted
from grounding.llm.budget import Budget
from grounding.records import Call
from grounding.run.benchmark import AnyBenchmark, Benchmark, OptionsT, Pass, ScoredT, Shared, Work
from grounding.run.display import Progress, write_progress
from grounding.run.journal import Journal, PaidCalls, rows_for
from grounding.run.runner import Runner, Stage, run_interruptible

if TYPE_CHECKING:
    from grounding.run.ray.cluster import Workers

REPORT = "report.html"
TOLD_EVERY_S = 1.0  # How often a run at work says how far it is.


def evaluate(
    benchmark: Benchmark[OptionsT, Any, ScoredT],
    options: OptionsT,
    shared: Shared | None = None,
    *,
    progress: Progress | None = None,
    elsewhere: Iterable[Call] = (),
    begun: Callable[[], None] | None = None,
) -> ScoredT:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder. ``elsewhere``
    is what other runs paid under the same cost limit; ``begun`` is called when the folder is open.
    """
    if shared is None:
        shared = Shared()
        with closing(shared.servers):
            return evaluate(benchmark, options, shared, progress=progress, elsewhere=elsewhere, begun=begun)
    asked: Any = options
    progress, budget = progress or benchmark.progress(asked.display), Budget(asked.cost_limit)
    budget.take_up(elsewhere)
    others_usd = budget.spent_usd, budget.unreported_usd
    prepared = benchmark.prepare(options, budget, progress, shared)
    for warning in prepared.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr, flush=True)
    info = prepared.info
    folder = benchmark.folder(asked.log_dir / info.run_id)
    set_aside = folder.set_aside() if asked.fresh else None
    folder.create()
    try:
        before = folder.earlier_info()
        if before is not None:
            info = msgspec.structs.replace(info, started_at=before.started_at, wall_s=before.wall_s)
        folder.write_info(info)
        started = time.monotonic()
        benchmark.write_items(prepared, folder)
        rows = rows_for(benchmark.item_ids(prepared))
        with (
            journals(folder.path, benchmark.journals(prepared), rows=rows) as opened,
            closing(PaidCalls(folder.path)) as paid,
        ):
            budget.take_up(benchmark.paid(folder.path))
            if benchmark.episodes:
                budget.on_paid = paid.add
            if begun is not None:
                begun()
            work = Work(folder.path, opened, progress)
            money = lambda: (budget.spent_usd - others_usd[0], budget.unreported_usd - others_usd[1])  # noqa: E731
            around = benchmark.around(prepared, work, shared)
            stopped = run_interruptible(
                lambda: _ask(benchmark, prepared, work, budget, money), folder.path, around=around
            )
        write_progress(folder.path, None)
        wall_s = info.wall_s + time.monotonic() - started
        folder.write_info(msgspec.structs.replace(info, stopped=stopped, wall_s=wall_s))
        scored: Any = benchmark.score(folder)
        info = msgspec.structs.replace(scored.info, status=scored.summary.status)
        folder.write_info(info)
        scored = msgspec.structs.replace(scored, info=info, set_aside=set_aside)
        if not asked.no_report:
            scored = _with_page(benchmark, scored)
        found: ScoredT = scored
        return found
    finally:
        folder.release()


def rescore(benchmark: Benchmark[OptionsT, Any, ScoredT], path: Path, **chosen: Any) -> ScoredT:
    """Score a finished or stopped run again from its folder alone; asks no chat model. ``chosen`` are parameters of the
    benchmark's ``score``: what is judged otherwise than before.
    """
    folder = benchmark.folder(path)
    folder.read_info()
    folder.lock()
    try:
        scored: Any = benchmark.score(folder, **chosen)
        # A page that shows other figures than the table would be believed.
        found: ScoredT = _with_page(benchmark, scored) if (path / REPORT).exists() else scored
        return found
    finally:
        folder.release()


def _with_page(benchmark: AnyBenchmark, scored: Any) -> Any:
    report = benchmark.page(scored)
    return scored if report is None else msgspec.structs.replace(scored, report=report)


@contextmanager
def journals(
    folder: Path,
    answers: Mapping[str, type[Any]],
    *,
    read_only: bool = False,
    fresh: bool = False,
    rows: dict[str, int] | None = None,
) -> Iterator[dict[str, Journal[Any]]]:
    """The journals of a run, by their names. Read-only ones that are not there are empty, and so are all that are
    ``fresh``. ``rows`` is one table for all of them.
    """
    with ExitStack() as stack:
        opened = {}
        for name, record in answers.items():
            path = folder / name
            if read_only and (fresh or not path.exists()):
                path = Path(os.devnull)
            opened[name] = stack.enter_context(closing(Journal(path, record, read_only=read_only, rows=rows)))
        yield opened


async def _ask(
    benchmark: AnyBenchmark, prepared: Any, work: Work, budget: Budget, money: Callable[[], tuple[float, float]]
) -> str:
    options = prepared.options
    async with AsyncExitStack() as ending, _told(work, budget.limit_usd):
        ending.push_async_callback(prepared.aclose)
        workers: Workers | None = None
        await ending.enter_async_context(work.closing)
        try:
            for first in benchmark.passes(prepared, work):
                if any(asked.card.price for one in first.together() for asked in one.asks):
                    work.progress.money = money
                if first.followers and options.executor != "ray":
                    if stopped := await _stream(first):
                        return stopped
                    continue
                for one in _in_turn(first):
                    stages = one.stages
                    left = one.left()
                    if left and options.executor == "ray" and one.elsewhere is not None:
                        if workers is None:
                            from grounding.run.ray.cluster import Workers

                            workers = Workers(options, work.folder, budget, work.progress)
                            ending.push_async_callback(workers.aclose)
                        found = await one.elsewhere(workers)
                        stages = found if isinstance(found, tuple) else (found,)
                    elif left:
                        await one.check()
                        await one.start()
                    with one.progress.steps(len(one.items)):
                        stopped = await _runner(one, stages).run(one.items)
                    if workers is not None:
                        await workers.send_away()  # Each pass has workers of its own.
                    if stopped:
                        return stopped
        except Halted as halted:
            return str(halted)
        except asyncio.CancelledError:
            print("interrupted: ending what is in flight, then scoring what was answered", file=sys.stderr, flush=True)
            raise
    return ""


def _runner(one: Pass, stages: tuple[Stage[Any], ...], gives: Callable[[Any, Any], None] | None = None) -> Runner[Any]:
    progress, last = one.progress, stages[-1].name

    def told(stage: str, stored: bool) -> None:
        if stored and stage == last:
            progress.kept()

    def through(item: Any, record: Any) -> None:
        outcome = one.outcome(item, record)
        progress.count(outcome, None if one.latest is None else one.latest(item, record, outcome))
        if gives is not None:
            gives(item, record)

    return Runner[Any](stages, on_record=told, on_item=through)


def _in_turn(one: Pass) -> Iterator[Pass]:
    """A pass, and once it is through those that follow it."""
    yield one
    found = ((item, one.stage.journal.last(one.stage.item_id(item))) for item in one.items) if one.followers else ()
    given = [each for item, record in found if record is not None and one.gives for each in one.gives(item, record)]
    for follower in one.followers:
        yield from _in_turn(replace(follower, items=given))


_END = object()


class _Line:
    """A pass and the items that it is handed while it runs."""

    def __init__(self, one: Pass) -> None:
        self.one = one
        self.runner = _runner(one, one.stages, self._through)
        self.fed: list[_Line] = []
        self.count = 0
        self.checked = self.started = False
        self._items: asyncio.Queue[Any] = asyncio.Queue()

    def put(self, items: Iterable[Any]) -> None:
        for item in items:
            self.count += 1
            self._items.put_nowait(item)

    def close(self) -> None:
        self._items.put_nowait(_END)

    async def check(self) -> None:
        if not self.checked:
            self.checked = True
            await self.one.check()

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (item := await self._items.get()) is not _END:
            if not self.started and not self.one.is_settled(item):
                self.started = True
                try:
                    await self.check()
                    await self.one.start()
                except Halted as halted:
                    self.runner.halt(str(halted))
            yield item

    def _through(self, item: Any, record: Any) -> None:
        for follower in self.fed:
            follower.put(self.one.gives(item, record) if self.one.gives else ())


async def _stream(first: Pass) -> str:
    """A pass and its followers at the same time. Where one can't go on, the others end what they have begun, and the
    first error is raised: UserError, OSError as by :meth:`grounding.run.runner.Runner.run`.
    """
    lines = [_Line(one) for one in first.together()]
    for line in lines:
        line.fed = [other for other in lines if any(other.one is follower for follower in line.one.followers)]
    lines[0].put(first.items)
    lines[0].close()
    if first.left():
        # What is missing further on is said before anything is paid.
        for line in lines:
            if line.one is first or line.one.early:
                await line.check()

    async def through(line: _Line) -> str:
        try:
            return await line.runner.run(line)
        except BaseException as error:
            for each in lines:
                each.runner.halt(str(error))
            raise

    working = [asyncio.create_task(through(line)) for line in lines]
    try:
        for line, work in zip(lines, working, strict=True):
            # What it is handed is known once those before it are through; so only one bar is on the screen.
            with line.one.progress.steps(line.count):
                await asyncio.wait([work])
            for follower in line.fed:
                follower.close()
    finally:
        for work in working:
            work.cancel()
        ended = await asyncio.gather(*working, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException):
            raise one
    return next((one for one in ended if isinstance(one, str) and one), "")


@asynccontextmanager
async def _told(work: Work, limit_usd: float | None) -> AsyncIterator[None]:
    async def tell() -> None:
        while True:
            write_progress(work.folder, msgspec.structs.replace(work.progress.state(), limit_usd=limit_usd))
            await asyncio.sleep(TOLD_EVERY_S)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()


async def check_endpoints(benchmark: AnyBenchmark, prepared: Any) -> int:
    """Ask the servers of a run that is to come whether they can be asked: free of charge, and before any run is paid.

    Returns:
        How many items go through the first pass.
    """
    options = prepared.options
    folder = options.log_dir / prepared.info.run_id
    try:
        with journals(folder, benchmark.journals(prepared), read_only=True, fresh=options.fresh) as opened:
            work = Work(folder, opened, benchmark.progress("none"))
            behind, items = False, None  # What follows an unfinished pass has items that nobody knows yet.
            for one in (one for first in benchmark.passes(prepared, work) for one in first.together()):
                items = len(one.items) if items is None else items
                left = one.left()
                if (behind or left) and (one.early or one.before is not None):
                    await (one.before or one.check)()
                behind = behind or (left and one.feeds)
            return items or 0
    finally:
        await prepared.aclose()

"""How far runs are: the folder of one run, or of many, in; what the live page shows of them out. Reads only."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, get_args

import msgspec

from grounding.errors import UserError
from grounding.records import Outcome, Point, Record, Region, Screenshot
from grounding.report.html.gather import DATA_FILES, version_of
from grounding.report.html.pictures import thumbnail_name
from grounding.report.rows import first_metric, read_rows
from grounding.run.display import (
    ENDED,
    PROGRESS,
    QUEUE,
    LatestStep,
    QueuedRun,
    QueueState,
    RunState,
    folder_of,
    is_held,
    read_progress,
    read_queue,
)
from grounding.run.folder import RunFolder, utc_now
from grounding.run.scorebook import weigh
from grounding.scoring.intervals import wilson
from grounding.scoring.metrics import Metric, shown
from grounding.scoring.scored import Estimate

QUIET_S = 10.0
"""Folders in which nothing has moved for so long are asked whether anybody is at work on them."""

STARTING_QUIET_S = 120.0
"""The same while a run is starting: before it holds its folder's lock, data are read, which leaves no trace."""

MOST_TEXT = 2_000
_FILES = ("run.json", PROGRESS, "plans.jsonl", "ahead.jsonl", "predictions.jsonl", "server.log", "probe.json")

_SHARED = {"right": "hit", "wrong": "miss"}
"""What some benchmarks call outcomes that all share."""

ShownState = Literal["waiting", "starting", "running", "complete", "partial", "failed", "broken", "unbegun"]
"""A run's state in the queue; ``broken`` and ``unbegun`` where the command is gone that it belongs to."""

LinkTo = Callable[[int, Path], str]
"""Where the own page of a run is, by its key on the page and its folder; "" for nowhere."""


class Score(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run's first metric with its 95 % interval.

    ``is_final`` tells the scored figure of a run that has ended from the figure so far: hits of the items that are
    through, with Wilson's interval, which takes them for independent of each other.
    """

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None
    is_final: bool


class LatestRow(Record, frozen=True, kw_only=True):
    """A step that a run has just come through; ``thumb`` is the address of its small picture."""

    id: str
    instruction: str
    outcome: str
    thumb: str
    width: int
    height: int
    gold: Region | None = None
    click: Point | None = None


class RunRow(Record, frozen=True, kw_only=True):
    """One run. ``key`` stays the same as long as the page is served, ``link`` is where its own page is, "" for nowhere.

    ``score`` is the first metric, ``scores`` are all that a table of several runs shows. ``items`` says what is counted
    (steps, or tasks); ``steps`` is how many, 0 where nobody knows. ``wall_s`` is how long it was at work in all, as far
    as it has stopped. ``cached`` counts the plans that earlier runs had asked for. The other fields are those of
    :class:`grounding.run.display.RunState`.
    """

    key: int
    name: str
    planner: str
    grounder: str
    state: ShownState
    steps: int
    counts: dict[str, int]
    items: str
    dataset: str = ""
    signature: str = ""
    score: Score | None = None
    scores: tuple[Score, ...] = ()
    rate_per_s: float | None = None
    doing: str = ""
    waiting_s: float | None = None
    retries: int = 0
    wall_s: float = 0.0
    cached: int = 0
    spent_usd: float | None = None
    unreported_usd: float = 0.0
    server: str = ""
    problem: str = ""
    link: str = ""
    latest: tuple[LatestRow, ...] = ()


class Overview(Record, frozen=True, kw_only=True):
    """Everything that the live page shows. Times are UTC.

    ``writer`` says whether the command is still there that the runs belong to. ``is_live`` is a page that a server
    keeps up to date. ``comparison`` is the address of the page with the runs' differences, "" where there is none.
    """

    title: str
    folder: str
    writer: Literal["at work", "gone", "done"]
    runs: tuple[RunRow, ...]
    taken_at: str
    command: str = ""
    started_at: str = ""
    cost_limit_usd: float | None = None
    is_live: bool = False
    comparison: str = ""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What counts here of a run's settings."""

    planner: str = ""
    grounder: str = ""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """What counts here of the ``run.json`` of any benchmark."""

    run_id: str
    benchmark: str = ""
    status: Literal["started", "complete", "partial"]
    signature: str = ""
    wall_s: float = 0.0
    stopped: str = ""
    asked: Asked = Asked()

    @property
    def parts(self) -> dict[str, str]:
        """The signature by its keys, without hashes."""
        named = (each.partition(":") for each in self.signature.split("|"))
        return {key: value.partition("@")[0] for key, _, value in named}

    @property
    def pair(self) -> str:
        """Planner and grounder, or agent and model and memory."""
        parts = self.parts
        found = [value for key in ("planner", "grounder", "agent", "model") if (value := parts.get(key))]
        memory = f" · memory {parts['memory'].partition('/')[0]}" if "memory" in parts else ""
        return " + ".join(each for each in found if "planner" in parts or each != "none") + memory


class Seen(Record, frozen=True, kw_only=True):
    """A run by its own files. ``info`` is None where it has not begun; ``problem`` says what can't be read."""

    info: Described | None = None
    state: RunState = RunState()
    score: Score | None = None
    scores: tuple[Score, ...] = ()
    cached: int = 0
    problem: str = ""
    is_going: bool = False


def holds_runs(folder: Path) -> bool:
    """Whether a folder is one of several runs: with a queue, or with run folders in it; not a run's own folder."""
    if (folder / QUEUE).exists():
        return True
    return not (folder / "run.json").exists() and any(folder.glob("*/run.json"))


class RunWatch:
    """One run's folder, which may not be there yet, looked at again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._described = self._version = ""
        self._info: Described | None = None
        self._seen = Seen()

    def look(self) -> Seen:
        """The run as it stands: by what it says itself while it is at work, else by its summary or its answers."""
        described = version_of(self.folder, ("run.json",))
        if described != self._described:
            try:
                self._info = self._describe()
            except UserError as error:
                self._described = ""
                return Seen(problem=str(error))
            self._described = described
        info = self._info
        if info is None:
            return Seen()
        if info.status == "started" and self.is_at_work():
            state = read_progress(self.folder) or RunState(doing="starting")
            counts = {_SHARED.get(name, name): count for name, count in state.counts.items()}
            state = msgspec.structs.replace(state, counts=counts)
            return Seen(info=info, state=state, score=_score_so_far(info, state), is_going=True)
        version = version_of(self.folder, (*DATA_FILES, "summary.json"))
        if version != self._version:
            try:
                self._seen = self._read_items(info) if info.benchmark else self._read(info)
            except UserError as error:
                self._seen = Seen(info=info, problem=str(error))
            self._version = version
        return self._seen

    def _describe(self) -> Described | None:
        path = self.folder / "run.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=Described)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: not a run description of this version: {error}") from error

    def is_at_work(self) -> bool:
        """Whether a process is at work on the run: something moved lately, or it holds the folder's lock."""
        stamps = []
        for name in _FILES:
            with contextlib.suppress(OSError):
                stamps.append((self.folder / name).stat().st_mtime)
        return (bool(stamps) and time.time() - max(stamps) < QUIET_S) or is_held(self.folder)

    def _read(self, info: Described) -> Seen:
        folder = RunFolder(self.folder)
        ended = info.status != "started" and (self.folder / "summary.json").exists()
        summary = folder.read_summary() if ended else weigh(folder).summary
        counts, cost = summary.counts, summary.cost
        outcomes = {name: getattr(counts, name) for name in ("hit", "miss", "unparsed", "error", "missing")}
        outcomes["missing"] -= counts.unasked
        state = RunState(
            done=counts.answered,
            steps=counts.steps,
            counts=outcomes,
            spent_usd=cost.usd,
            unreported_usd=cost.planner.unreported_usd + cost.grounder.unreported_usd,
        )
        of = summary.scores.of if counts.answered else lambda _: None
        seen = _scored(info, state, shown([summary.scores], several=True), of, is_final=ended and not counts.unasked)
        return msgspec.structs.replace(seen, cached=cost.reused.calls)

    def _read_items(self, info: Described) -> Seen:
        """A run of another benchmark by the rows that are shown of it, once it is scored."""
        if not (self.folder / "summary.json").exists():
            return Seen(info=info, state=read_progress(self.folder) or RunState())
        run = read_rows(self.folder)
        counts = Counter[str](row.result for row in run.rows if row.was_asked)
        paid = [row.usd for row in run.rows if row.usd is not None]
        state = RunState(
            done=counts.total(), steps=len(run.rows), counts=dict(counts), spent_usd=sum(paid) if paid else None
        )
        metrics = [each for each in run.metrics if not each.narrow]
        return _scored(info, state, metrics, run.scores.get, is_final=run.status == "complete")


def _scored(
    info: Described,
    state: RunState,
    metrics: Iterable[Metric],
    found: Callable[[str], Estimate | None],
    *,
    is_final: bool,
) -> Seen:
    first, scores = first_metric(info.benchmark).name, dict[str, Score]()
    for metric in metrics:
        one = found(metric.name)
        if one is not None and one.value is not None:
            scores[metric.name] = Score(
                name=metric.label, unit=metric.unit, value=one.value, low=one.low, high=one.high, is_final=is_final
            )
    return Seen(info=info, state=state, score=scores.get(first), scores=tuple(scores.values()))


def _score_so_far(info: Described, state: RunState) -> Score | None:
    """Known only where the items' outcomes are those that the first metric counts."""
    metric = first_metric(info.benchmark)
    if not state.done or not metric.counted or not set(state.counts) <= set(get_args(Outcome)):
        return None
    k = state.counts.get("hit", 0)
    interval = wilson(k, state.done)
    return Score(
        name=metric.label, unit="%", value=100 * k / state.done, low=interval.low, high=interval.high, is_final=False
    )


class Watch:
    """Runs that are shown together, looked at again and again.

    Args:
        folder: That of a command with several runs (with ``queue.json``), one that holds run folders, or a run's own.

    Raises:
        UserError: none of these is there.
    """

    def __init__(self, folder: Path) -> None:
        if not holds_runs(folder) and not (folder / "run.json").exists():
            raise UserError(f"{folder} holds no runs: expected {QUEUE}, or folders with a run.json in them")
        self.folder = folder
        self._has_queue = (folder / QUEUE).exists()
        self._watches: dict[Path, RunWatch] = {}
        self._shots: dict[tuple[int, str], Screenshot] = {}
        self._looking = threading.Lock()

    def folder_by_key(self, key: int) -> Path | None:
        """The folder of a run on the page."""
        folders = list(self._watches)
        return folders[key] if 0 <= key < len(folders) else None

    def shot(self, key: int, name: str) -> Screenshot | None:
        """The screenshot of one of the latest steps, by its run and the name of its small picture."""
        return self._shots.get((key, name))

    def page(self, *, link: LinkTo, is_live: bool) -> Overview:
        """The page as things stand.

        Raises:
            UserError: the queue is damaged. What is wrong with a single run stands on the page.
        """
        with self._looking:
            queue = read_queue(self.folder) if self._has_queue else None
            queued = self._find(queue)
            keys = {path: key for key, path in enumerate(self._watches)}
            seen = {path: self._watches[path].look() for path in queued}
            writer = self._writer(queue, queued)
            states = {path: self._state(path, queued[path], seen[path], writer) for path in queued}
            names = _names_apart(queued, seen)
            rows = [
                self._row(keys[path], name, queued[path], seen[path], states[path], link(keys[path], path))
                for path, name in zip(queued, names, strict=True)
            ]
        limit_usd = queue.cost_limit_usd if queue else None
        if queue is None and "running" in states.values():
            writer = "at work"
            # Of runs that were started one by one each has its own limit.
            limit_usd = next(iter(seen.values())).state.limit_usd if len(seen) == 1 else None
        return Overview(
            title=self.folder.resolve().name,
            folder=str(self.folder),
            command=queue.command if queue else "",
            started_at=queue.started_at if queue else "",
            taken_at=utc_now(),
            writer=writer,
            is_live=is_live,
            runs=tuple(rows),
            cost_limit_usd=limit_usd,
        )

    def _find(self, queue: QueueState | None) -> dict[Path, QueuedRun | None]:
        """The runs by their folders with what the queue says of them."""
        found: dict[Path, QueuedRun | None]
        if queue is not None:
            found = {folder_of(self.folder, run): run for run in queue.runs}
        elif (self.folder / "run.json").exists():
            found = {self.folder: None}
        else:
            found = dict.fromkeys(sorted(each.parent for each in self.folder.glob("*/run.json")))
        for path in found:
            self._watches.setdefault(path, RunWatch(path))
        return found

    def _writer(
        self, queue: QueueState | None, queued: dict[Path, QueuedRun | None]
    ) -> Literal["at work", "gone", "done"]:
        """Whether the command is still there: something moved lately, or it holds the lock of a folder."""
        active = {path: run.state for path, run in queued.items() if run is not None and run.state not in ENDED}
        if queue is None or not active:
            return "done"
        try:
            quiet_s = time.time() - (self.folder / QUEUE).stat().st_mtime
        except OSError:
            quiet_s = float("inf")
        patience_s = STARTING_QUIET_S if "starting" in active.values() else QUIET_S
        if quiet_s < patience_s or is_held(self.folder):
            return "at work"
        return "at work" if any(self._watches[path].is_at_work() for path in active) else "gone"

    def _state(self, path: Path, queued: QueuedRun | None, seen: Seen, writer: str) -> ShownState:
        if queued is not None and (queued.state in ENDED or writer == "at work"):
            return queued.state
        if seen.info is None:
            return "failed" if seen.problem else "unbegun"
        if seen.info.status != "started":
            return seen.info.status
        return "running" if queued is None and self._watches[path].is_at_work() else "broken"

    def _row(self, key: int, name: str, queued: QueuedRun | None, seen: Seen, state: ShownState, link: str) -> RunRow:
        info, at = seen.info or Described(run_id="", status="started"), seen.state
        asked = Asked() if info.benchmark else info.asked
        said = queued or QueuedRun(name="", run_id="", folder="")
        is_running = state == "running"
        problem = seen.problem or said.problem or info.stopped
        return RunRow(
            key=key,
            name=name,
            planner=said.planner or asked.planner,
            grounder=said.grounder or asked.grounder,
            state=state,
            steps=at.steps or said.steps,
            counts={name: count for name, count in at.counts.items() if count},
            dataset=info.parts.get("dataset", ""),
            signature=info.signature,
            items="steps" if info.benchmark in ("", "desktop") else "tasks",
            score=seen.score,
            scores=seen.scores,
            rate_per_s=at.rate_per_s if is_running else None,
            doing=at.doing if is_running else "",
            waiting_s=at.waiting_s if is_running else None,
            retries=at.retries if is_running else 0,
            wall_s=info.wall_s,
            cached=seen.cached,
            spent_usd=at.spent_usd,
            unreported_usd=at.unreported_usd,
            server=said.server,
            problem=problem[:MOST_TEXT],
            link=link if seen.info else "",
            latest=tuple(self._latest(key, step) for step in at.latest) if is_running else (),
        )

    def _latest(self, key: int, step: LatestStep) -> LatestRow:
        name = thumbnail_name(step.screenshot.sha256)
        self._shots[key, name] = step.screenshot
        return LatestRow(
            id=step.id,
            instruction=step.instruction[:MOST_TEXT],
            outcome=step.outcome,
            thumb=f"thumb/{key}/{name}",
            width=step.screenshot.size.width,
            height=step.screenshot.size.height,
            gold=step.region,
            click=step.point,
        )


def _names_apart(queued: dict[Path, QueuedRun | None], seen: dict[Path, Seen]) -> list[str]:
    """A name for each run, all of them different.

    Where runs are called the same, what differs in their signatures is added; where that is nothing, the end of the
    run's id.
    """
    infos = {path: one.info for path, one in seen.items() if one.info}
    pairs = {path: infos[path].pair if path in infos else "" for path in queued}
    names = {path: run.name if run else pairs[path] or path.name for path, run in queued.items()}

    def whose(path: Path) -> tuple[str, str]:
        return names[path], infos[path].parts.get("dataset", "") if path in infos else ""

    times = Counter(map(whose, names))
    for one in [one for one, count in times.items() if count > 1]:
        parts = {path: infos[path].parts for path in names if whose(path) == one and path in infos}
        for path, said in parts.items():
            differs = [key for key in said if len({other.get(key) for other in parts.values()}) > 1]
            names[path] = " · ".join([names[path], *(f"{key} {said[key]}" for key in differs)])
    times = Counter(map(whose, names))
    ends = {path: path.name.rpartition("_")[2] for path in names}
    return [name if times[whose(path)] == 1 else f"{name} ({ends[path]})" for path, name in names.items()]

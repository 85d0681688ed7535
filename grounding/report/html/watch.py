"""How far runs are: the folder of one run, or of many, in; what the live page shows of them out. Reads only."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.records import Record, Screenshot
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
    names_apart,
    read_progress,
    read_queue,
)
from grounding.run.folder import RunFolder, utc_now
from grounding.run.scorebook import weigh
from grounding.scoring.intervals import wilson
from grounding.scoring.metrics import Metric, shown
from grounding.scoring.scored import Estimate

QUIET_S = 10.0  # Folders in which nothing has moved for so long are asked whether anybody is at work on them.
# The same while a run is starting: before it holds its folder's lock, data are read, which leaves no trace.
STARTING_QUIET_S = 120.0
MOST_TEXT = 2_000
_FILES = ("run.json", PROGRESS, "plans.jsonl", "ahead.jsonl", "predictions.jsonl", "server.log", "probe.json")

ShownState = Literal["waiting", "starting", "running", "complete", "partial", "failed", "broken", "unbegun"]
"""A run's state in the queue; ``broken`` and ``unbegun`` where the command is gone that it belongs to."""

LinkTo = Callable[[int, Path], str]
"""Where the own page of a run is, by its key on the page and its folder; "" for nowhere."""


class Score(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A metric of a run with its 95 % interval.

    ``is_final`` tells the scored figure of a run that has ended from the figure so far: hits of the items that are
    through, with Wilson's interval, which takes them for independent of each other.
    """

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None
    is_final: bool


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
    latest: tuple[LatestStep, ...] = ()


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


class Described(Record, frozen=True, kw_only=True):
    benchmark: str = ""
    status: Literal["started", "complete", "partial"]
    signature: str = ""
    wall_s: float = 0.0
    stopped: str = ""

    @property
    def parts(self) -> dict[str, str]:
        """The signature by its keys, without hashes."""
        named = (each.partition(":") for each in self.signature.split("|"))
        return {key: value.partition("@")[0] for key, _, value in named}

    @property
    def answerer(self) -> str:
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


# --- one run --------------------------------------------------------------------------------------------------------


def is_at_work(folder: Path) -> bool:
    """Whether a process is at work on a run: something moved lately, or it holds the folder's lock."""
    stamps = []
    for name in _FILES:
        with contextlib.suppress(OSError):
            stamps.append((folder / name).stat().st_mtime)
    return (bool(stamps) and time.time() - max(stamps) < QUIET_S) or is_held(folder)


def look(folder: Path) -> Seen:
    """The run as it stands: by what it says itself while it is at work, else by its summary or its answers."""
    path = folder / "run.json"
    try:
        info = msgspec.json.decode(path.read_bytes(), type=Described)
    except FileNotFoundError:
        return Seen()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return Seen(problem=f"{path}: not a run description of this version: {error}")
    if info.status != "started" or not is_at_work(folder):
        return _read(folder, info, version_of(folder, (*DATA_FILES, "summary.json")))
    state = read_progress(folder) or RunState(doing="starting")
    first, score = first_metric(info.benchmark), None
    if state.done and first.counted:
        k = state.counts.get("hit", 0)
        ends = wilson(k, state.done)
        value = 100 * k / state.done
        score = Score(name=first.label, unit="%", value=value, low=ends.low, high=ends.high, is_final=False)
    return Seen(info=info, state=state, score=score)


def is_going(folder: Path) -> bool:
    """Whether a run has begun and has not ended, and a process is at work on it."""
    info = look(folder).info
    return info is not None and info.status == "started" and is_at_work(folder)


@lru_cache(maxsize=2_000)
def _read(folder: Path, info: Described, _version: str) -> Seen:
    try:
        return _read_items(folder, info) if info.benchmark else _read_clicks(folder, info)
    except UserError as error:
        return Seen(info=info, problem=str(error))


def _read_clicks(folder: Path, info: Described) -> Seen:
    run = RunFolder(folder)
    ended = info.status != "started" and (folder / "summary.json").exists()
    summary = run.read_summary() if ended else weigh(run).summary
    counts, cost, scores = summary.counts, summary.cost, summary.scores
    outcomes = {name: getattr(counts, name) for name in ("hit", "miss", "unparsed", "error", "missing")}
    outcomes["missing"] -= counts.unasked
    state = RunState(
        done=counts.answered,
        steps=counts.steps,
        counts=outcomes,
        spent_usd=cost.usd,
        unreported_usd=cost.planner.unreported_usd + cost.grounder.unreported_usd,
    )
    metrics = shown([scores], several=True) if counts.answered else ()
    seen = _scored(info, state, metrics, scores.of, is_final=ended and not counts.unasked)
    return msgspec.structs.replace(seen, cached=cost.reused.calls)


def _read_items(folder: Path, info: Described) -> Seen:
    if not (folder / "summary.json").exists():
        return Seen(info=info, state=read_progress(folder) or RunState())
    run = read_rows(folder)
    counts = Counter[str](row.result for row in run.rows if row.was_asked)
    paid = [row.usd for row in run.rows if row.usd is not None]
    spent_usd = sum(paid) if paid else None
    state = RunState(done=counts.total(), steps=len(run.rows), counts=dict(counts), spent_usd=spent_usd)
    metrics = [each for each in run.metrics if not each.narrow]
    return _scored(info, state, metrics, run.scores.get, is_final=run.status == "complete")


def _scored(
    info: Described,
    state: RunState,
    metrics: Iterable[Metric],
    estimate_of: Callable[[str], Estimate | None],
    *,
    is_final: bool,
) -> Seen:
    scores = {}
    for metric in metrics:
        one = estimate_of(metric.name)
        if one is not None and one.value is not None:
            scores[metric.name] = Score(
                name=metric.label, unit=metric.unit, value=one.value, low=one.low, high=one.high, is_final=is_final
            )
    first = scores.get(first_metric(info.benchmark).name)
    return Seen(info=info, state=state, score=first, scores=tuple(scores.values()))


# --- all that are shown together ------------------------------------------------------------------------------------


def holds_runs(folder: Path) -> bool:
    """Whether a folder is one of several runs: with a queue, or with run folders in it; not a run's own folder."""
    return (folder / QUEUE).exists() or (not (folder / "run.json").exists() and any(folder.glob("*/run.json")))


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
        self._keys: dict[Path, int] = {}
        self._shots: dict[tuple[int, str], Screenshot] = {}
        self._looking = threading.Lock()

    def folder_by_key(self, key: int) -> Path | None:
        return next((folder for folder, known in self._keys.items() if known == key), None)

    def shot(self, key: int, name: str) -> Screenshot | None:
        return self._shots.get((key, name))

    def page(self, *, link: LinkTo, is_live: bool) -> Overview:
        """The page as things stand. Raises UserError: the queue is damaged. What is wrong with a single run stands on
        the page.
        """
        with self._looking:
            queue = read_queue(self.folder) if self._has_queue else None
            queued = self._find(queue)
            for path in queued:
                self._keys.setdefault(path, len(self._keys))
            seen = {path: look(path) for path in queued}
            writer = self._writer(queued)
            names = _names(queued, seen)
            rows = [
                self._row(path, name, said, seen[path], writer, link)
                for name, (path, said) in zip(names, queued.items(), strict=True)
            ]
        limit_usd = queue.cost_limit_usd if queue else None
        if queue is None and any(row.state == "running" for row in rows):
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
        if queue is not None:
            return {folder_of(self.folder, run): run for run in queue.runs}
        if (self.folder / "run.json").exists():
            return {self.folder: None}
        return dict.fromkeys(sorted(each.parent for each in self.folder.glob("*/run.json")))

    def _writer(self, queued: dict[Path, QueuedRun | None]) -> Literal["at work", "gone", "done"]:
        """Whether the command is still there: something moved lately, or it holds the lock of a folder."""
        active = {path: run.state for path, run in queued.items() if run is not None and run.state not in ENDED}
        if not active:
            return "done"
        patience_s = STARTING_QUIET_S if "starting" in active.values() else QUIET_S
        is_new = time.time() - (self.folder / QUEUE).stat().st_mtime < patience_s
        return "at work" if is_new or is_held(self.folder) or any(map(is_at_work, active)) else "gone"

    def _row(self, path: Path, name: str, queued: QueuedRun | None, seen: Seen, writer: str, link: LinkTo) -> RunRow:
        info, at = seen.info or Described(status="started"), seen.state
        parts = {} if info.benchmark else info.parts
        said = queued or QueuedRun(name="", run_id="", folder="")
        state: ShownState
        if queued is not None and (queued.state in ENDED or writer == "at work"):
            state = queued.state
        elif seen.info is None:
            state = "failed" if seen.problem else "unbegun"
        elif info.status != "started":
            state = info.status
        else:
            state = "running" if queued is None and is_at_work(path) else "broken"
        if state != "running":
            at = RunState(steps=at.steps, counts=at.counts, spent_usd=at.spent_usd, unreported_usd=at.unreported_usd)
        key = self._keys[path]
        self._shots |= {(key, thumbnail_name(step.screenshot.sha256)): step.screenshot for step in at.latest}
        return RunRow(
            key=key,
            name=name,
            planner=said.planner or parts.get("planner", ""),
            grounder=said.grounder or parts.get("grounder", ""),
            state=state,
            steps=at.steps or said.steps,
            counts={name: count for name, count in at.counts.items() if count},
            dataset=info.parts.get("dataset", ""),
            signature=info.signature,
            items="steps" if info.benchmark in ("", "desktop") else "tasks",
            score=seen.score,
            scores=seen.scores,
            wall_s=info.wall_s,
            cached=seen.cached,
            server=said.server,
            problem=(seen.problem or said.problem or info.stopped)[:MOST_TEXT],
            link=link(key, path) if seen.info else "",
            latest=at.latest,
            **{name: getattr(at, name) for name in _OF_STATE},
        )


_OF_STATE = ("rate_per_s", "doing", "waiting_s", "retries", "spent_usd", "unreported_usd")


def _names(queued: dict[Path, QueuedRun | None], seen: dict[Path, Seen]) -> tuple[str, ...]:
    names, data = [], []
    for path, run in queued.items():
        info = seen[path].info
        names.append(run.name if run else (info and info.answerer) or path.name)
        data.append(info.parts.get("dataset", "") if info else "")
    return names_apart(names, [path.name for path in queued], among=data)

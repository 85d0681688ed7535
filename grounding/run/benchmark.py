"""What a benchmark says of itself; everything else about a run is done in this room, once for all of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from grounding.atomic import atomic_write
from grounding.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from grounding.llm.budget import Budget
    from grounding.options import Display
    from grounding.records import Call
    from grounding.run.display import LatestStep, Progress
    from grounding.run.dry import AskedModel, Looked
    from grounding.run.journal import Journal
    from grounding.run.lock import DescribedFolder
    from grounding.run.ray.cluster import Workers
    from grounding.run.runner import Stage

T = TypeVar("T")
OptionsT = TypeVar("OptionsT", bound=msgspec.Struct)
PreparedT = TypeVar("PreparedT")
ScoredT = TypeVar("ScoredT", bound="Scored")
AnyBenchmark: TypeAlias = "Benchmark[Any, Any, Any]"


class Shared:
    """What runs that follow one another share: what was read and built, and servers that are up. ``alone`` is False
    where the runs are several of one command, which are checked together.
    """

    def __init__(self, *, alone: bool = True) -> None:
        from grounding.serving.managed import SharedServers

        self.alone = alone
        self.servers = SharedServers()
        self._made: dict[Hashable, Any] = {}

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gave for the same ``what`` before, else what it gives now."""
        if what not in self._made:
            self._made[what] = make()
        found: T = self._made[what]
        return found


class Scored(Protocol):
    @property
    def folder(self) -> Path: ...

    @property
    def summary(self) -> Any: ...


@dataclass(frozen=True)
class Work:
    """Where the passes of one run work: its folder, its journals by their files' names, and what ends with them."""

    folder: Path
    journals: Mapping[str, Journal[Any]]
    progress: Progress
    closing: AsyncExitStack = field(default_factory=AsyncExitStack)


async def nothing() -> None: ...


@dataclass(frozen=True)
class Pass:
    """A stage and the items that go through it, and then through those ``after`` it as soon as each may. ``check``
    raises a UserError where no answer can come; ``early`` says whether it can be asked before the run has started
    anything, and ``before`` is asked then where that is another question. ``start`` makes ready what works in this
    process; ``elsewhere`` hands the stages to workers, None where they never leave this process. Both are called only
    where something has no answer yet. ``asks`` are the models that the stages send requests to. ``latest`` says what
    there is to see of an item that is through, given its last record and its outcome. ``unanswered`` tells quicker than
    the items whether one has no answer yet. ``feeds``: the items of the next pass hang on the answers of this one.
    ``followers`` take up what ``gives`` makes of each item and its record while this pass is still at work; their own
    ``items`` are those that earlier starts of the run have left them.
    """

    stage: Stage[Any]
    items: Collection[Any]
    progress: Progress
    outcome: Callable[[Any, Any], str]
    check: Callable[[], Awaitable[None]] = nothing
    early: bool = True
    before: Callable[[], Awaitable[None]] | None = None
    start: Callable[[], Awaitable[None]] = nothing
    after: tuple[Stage[Any], ...] = ()
    elsewhere: Callable[[Workers], Awaitable[Stage[Any] | tuple[Stage[Any], ...]]] | None = None
    asks: tuple[AskedModel, ...] = ()
    latest: Callable[[Any, Any, str], LatestStep] | None = None
    unanswered: Callable[[], bool] | None = None
    feeds: bool = True
    gives: Callable[[Any, Any], Sequence[Any]] | None = None
    followers: tuple[Pass, ...] = ()

    def together(self) -> Iterator[Pass]:
        """This pass and all that follow it, each after the one that it takes its items from."""
        yield self
        for one in self.followers:
            yield from one.together()

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        return (self.stage, *self.after)

    def left(self) -> bool:
        return not all(map(self.is_settled, self.items)) if self.unanswered is None else self.unanswered()

    def is_settled(self, item: Any) -> bool:
        record = None
        for stage in self.stages:
            record = stage.journal.settled(stage.item_id(item), stage.key(item, record))
            if record is None or record.failure is not None:
                break
        return record is not None


@dataclass(frozen=True)
class Takes:
    """Which options of ``grounding eval`` and ``score`` mean something for a data set.

    Args:
        what: What its tasks are, for messages: "whose tasks are calls of web functions".
        names: The options that do.
        choices: The values of an option, where ``eval`` has more of them for other data sets.
        why: Why an option makes no sense, where more than that can be said.
        harmless: Values that change nothing wherever they are given.
    """

    what: str
    names: frozenset[str]
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    harmless: Mapping[str, Any] = field(default_factory=dict)

    def only(self, *names: str) -> Takes:
        return replace(self, names=frozenset(names), harmless={})

    def check(self, given: Mapping[str, Any], usual: Mapping[str, Any], dataset: str) -> None:
        """Refuse options and values that are for other data sets. ``given`` and ``usual`` are arguments of ``eval`` or
        ``score`` by their names; a value may stand alone in a tuple.
        """
        for name, value in given.items():
            if value in (usual[name], (usual[name],)):
                continue
            flag = f"--{name.replace('_', '-')}"
            if name not in self.names:
                if name in self.harmless and value in (self.harmless[name], (self.harmless[name],)):
                    continue
                if name in self.why:
                    raise UserError(f"{flag}: {self.why[name]}; leave it out for {dataset}")
                raise UserError(f"{flag} has no meaning for {dataset}, {self.what}: leave it out")
            known = self.choices.get(name)
            for one in value if isinstance(value, tuple) else (value,):
                if known is not None and one not in known:
                    *first, last = known
                    listed = f"{', '.join(first)} or {last}" if first else last
                    raise UserError(f"{flag} {one}: expected {listed} for {dataset}")


@dataclass(frozen=True)
class Row(Generic[ScoredT]):
    name: str
    options: Any
    scored: ScoredT | None = None
    problem: str = ""


@dataclass(frozen=True)
class Result(Generic[ScoredT]):
    """The runs of a command in their order. ``varying`` are the options that they differ in. ``baseline`` is the number
    of the run that the others are compared with. ``folder`` is the command's own, None for one run. ``swept``: the
    options were given by ``grounding sweep``, and ``written`` is what was written of that. ``page`` is the page over
    several runs, if one was written.
    """

    rows: tuple[Row[ScoredT], ...]
    command: str = ""
    varying: tuple[str, ...] = ()
    baseline: int = 0
    folder: Path | None = None
    swept: bool = False
    written: Any = None
    page: Path | None = None

    @property
    def scored(self) -> tuple[ScoredT, ...]:
        return tuple(row.scored for row in self.rows if row.scored is not None)


class Benchmark(Protocol[OptionsT, PreparedT, ScoredT]):
    """One benchmark. Subclasses have no state: everything is in options, prepared and scored runs. What is prepared has
    ``options``, ``info`` (the content of ``run.json``), ``warnings`` for the user and ``aclose``. What is scored is a
    struct with ``folder``, ``info`` and ``summary``, which has a ``status``; ``set_aside`` (where an earlier run of the
    same command was moved) and ``report`` (the page) are put in by whoever ran it.
    """

    name: ClassVar[str]  # The field `benchmark` of `run.json`.
    takes: ClassVar[Takes]
    axes: ClassVar[tuple[str, ...]]  # The options of `grounding eval` whose every value is a run.
    again: ClassVar[Mapping[str, str]] = {}
    """Options of ``grounding score`` that are this benchmark's, and the parameters of :meth:`score` that take them."""
    folder: ClassVar[type[DescribedFolder[Any]]]
    answers: ClassVar[Mapping[str, type[Any]]]  # The journals of a run and what their lines are.
    episodes: ClassVar[bool] = True
    """Whether an item takes several requests, each of which is kept in ``calls.jsonl`` when it is paid."""
    limits_together: ClassVar[bool] = False
    """Whether :meth:`together` says if a cost limit can be kept, and not each run by itself."""
    unit: ClassVar[str] = "tasks"  # What its items are called.
    wide: ClassVar[int]  # How many characters its tables take where the output is no terminal.

    def runs(self, given: Mapping[str, Any], axes: Sequence[str], command: str) -> tuple[OptionsT, ...]:
        """The options of each run, out of the arguments of ``grounding eval``. ``axes`` are the arguments that have a
        sequence of values; the last changes fastest. Raises UserError: a value is none of this benchmark's.
        """

    def epoch(self, options: OptionsT, number: int) -> OptionsT:
        """The options of a repeat: another seed, so that it has a folder of its own; number 0 is the run itself."""
        asked: Any = options
        return msgspec.structs.replace(options, seed=(asked.seed or 0) + number) if number else options

    def name_of(self, options: OptionsT, varying: Sequence[str]) -> str:
        values = [getattr(options, name) for name in varying]
        shown = (value.stem if isinstance(value, Path) else value for value in values)
        return " ".join("none" if value is None else f"{value}" for value in shown)

    def title(self, prepared: PreparedT, options: OptionsT, varying: Sequence[str], *, swept: bool) -> str:  # noqa: ARG002
        return self.name_of(options, varying)

    def together(self, runs: Sequence[tuple[OptionsT, PreparedT]]) -> Sequence[OptionsT]:
        """The options of runs that are to be made by one command, as they fit beside each other. Raises UserError: they
        can't be made by one command.
        """
        return [options for options, _ in runs]

    def queued(self, prepared: PreparedT) -> Mapping[str, str]:  # noqa: ARG002
        """What ``queue.json`` says of a run besides: ``planner``, ``grounder``, and the ``server`` that it shares."""
        return {}

    def progress(self, display: Display | None) -> Progress:
        """Progress that counts the outcomes of the first pass."""

    def prepare(
        self, options: OptionsT, budget: Budget, progress: Progress, shared: Shared, *, dry: bool = False
    ) -> PreparedT:
        """Find everything that a run needs. Asks nothing of any model and writes nothing. ``dry``: nothing will be
        asked, so that neither keys nor servers have to be there. Raises UserError: something is missing or wrong; says
        what.
        """

    def item_ids(self, prepared: PreparedT) -> Iterable[str]:  # noqa: ARG002
        """The ids of all items where they are known before the run: the journals then grow with no answer."""
        return ()

    def paid(self, folder: Path) -> Iterable[Call]:
        """All requests that a run made so far; none where it never began. Raises UserError: a file of the folder is
        damaged.
        """
        from grounding.run.journal import paid_calls

        return paid_calls(folder, self.answers)

    def write_items(self, prepared: PreparedT, folder: Any) -> None:
        """Write what is asked about, so that the run can be scored wherever the data have gone."""

    def around(self, prepared: PreparedT, work: Work, shared: Shared) -> AbstractContextManager[object]:  # noqa: ARG002
        """What has to be up while a run asks, such as servers."""
        return nullcontext()

    def passes(self, prepared: PreparedT, work: Work) -> Iterator[Pass]:
        """The stages in their order with their items; one that follows may read what those before it have left."""

    def score(self, folder: Any) -> ScoredT:
        """Judge every stored answer and write what is derived from them. Asks nobody. Raises UserError: the folder
        holds no run, or a file in it is damaged.
        """

    def page(self, scored: ScoredT) -> Path | None:  # noqa: ARG002
        """Write ``report.html``; None where there is none."""
        return None

    def void(self, scored: ScoredT) -> str:  # noqa: ARG002
        """Why nothing was measured at all; "" where something was."""
        return ""

    def baseline(self, runs: Sequence[OptionsT], varying: Sequence[str]) -> int:  # noqa: ARG002
        """Which of several runs the others are compared with, where nobody names one."""
        return 0

    def figures(self, scored: ScoredT, scoring: str | None) -> dict[str, float | None]:
        """The figures that stand for a run, by their names; those of repeats are put together."""

    def as_json(self, result: Result[ScoredT]) -> Any:
        """What ``--json`` prints."""

    def compared(self, result: Result[ScoredT]) -> Any:
        rows = [
            {
                "name": row.name,
                "folder": str(row.scored.folder) if row.scored else "",
                "problem": row.problem,
                "summary": row.scored.summary if row.scored else None,
            }
            for row in result.rows
        ]
        return {
            "schema": 1,
            "command": result.command,
            "varying": result.varying,
            "baseline": result.baseline,
            "rows": rows,
        }

    def write(self, result: Result[ScoredT]) -> Any:
        """Write what shows a sweep into its own folder; what it returns goes to ``result.written``."""
        assert result.folder is not None
        content = msgspec.json.format(msgspec.json.encode(self.compared(result)), indent=2) + b"\n"
        atomic_write(result.folder / "sweep.json", content)
        print(f"the comparison was written to {result.folder / 'sweep.json'}", file=sys.stderr)

    def journals(self, prepared: PreparedT) -> Mapping[str, type[Any]]:  # noqa: ARG002
        """The journals that a run needs and what their lines are; those of all runs are in ``answers``."""
        return self.answers

    def survey(self, prepared: PreparedT, folder: Path, shared: Shared) -> Looked | None:  # noqa: ARG002
        """What a dry run finds out; None to have the passes looked at."""
        return None

    def repeats(self, runs: Sequence[ScoredT]) -> Mapping[str, str]:  # noqa: ARG002
        """What else there is to say of repeats of one run, each line under its heading."""
        return {}

    def show(self, console: Console, result: Result[ScoredT], scoring: str | None, *, published: bool) -> None:
        """Print one run, or several beside each other. ``scoring`` None is the run's own definition; ``published`` adds
        the paper's figures.
        """

    def print_runs(self, console: Console, results: Sequence[ScoredT], rule: Any) -> None:
        """Print the tables of scored runs by one definition."""

    def print_published(self, console: Console, results: Sequence[ScoredT]) -> None:
        """Print the paper's tables with the runs under them."""


_KNOWN = {
    "": "grounding.benchmarks.clicks.benchmark",
    "desktop": "grounding.benchmarks.desktop.benchmark",
    "personalwab": "grounding.benchmarks.personalwab.benchmark",
    "agenticshop": "grounding.benchmarks.agenticshop.benchmark",
}  # Where the benchmarks are, by their names; each module has one as BENCHMARK. Imported when it is asked for.


def benchmark_called(name: str) -> AnyBenchmark:
    """The benchmark of a run whose ``run.json`` says so, or of a layout; clicks where it is none of the others."""
    found: AnyBenchmark = importlib.import_module(_KNOWN.get(name, _KNOWN[""])).BENCHMARK
    return found


def benchmark_for(dataset: str) -> AnyBenchmark:
    """The benchmark of a data set, by the name or path of its card. Raises UserError: the card is wrong."""
    return benchmark_called(name_for(dataset))


def name_for(dataset: str) -> str:
    from grounding.data.registry import is_desktop, layout_of

    name = "desktop" if is_desktop(dataset) else layout_of(dataset)
    return name if name in _KNOWN else ""


def void_words(steps: int) -> str:
    return (
        f"none of the {steps:,} steps has a recorded answer, so that nothing was measured: see that the file given by "
        "--predictions or --plans is for these steps"
    )

"""What the scale benchmark measured: the content of docs/scale.json. Seconds, and megabytes of 10^6 bytes.

``cpu_s`` is always that of the one process that is named; workers and servers are not in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from grounding.records import Record

PhaseName = Literal["load", "ask", "score", "report"]
CommandName = Literal["rescore", "load_run", "write_parquet", "load_run_parquet", "rescore_report"]


class Phase(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A part of a run.

    ``load`` is from the start to the first request, ``ask`` to the last one, ``score`` until summary.json was written,
    ``report`` until the process ended.
    """

    name: PhaseName
    wall_s: float
    cpu_s: float


class Window(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A tenth of the asking, by steps. ``rss_mb`` is the memory at its end."""

    until_percent: int
    steps_per_s: float
    cpu_ms_per_step: float
    rss_mb: float


class FileSize(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A file of the run folder, or a folder in it with all that it holds."""

    name: str
    bytes: int


class Resumed(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run that was killed (SIGKILL) and started again.

    ``ready_*`` is from the second start to its first request. ``asked_twice`` steps were asked about again, of those
    that the server had been asked about before the kill; ``watched_steps`` is how many were asked about by then.
    """

    killed_at_steps: int
    ready_s: float
    ready_cpu_s: float
    asked_twice: int
    watched_steps: int
    in_flight_most: int
    peak_mb: float


class Command(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Something done with the finished run by a process of its own, from start to exit, interpreter and all.

    ``rescore`` is without the page, ``rescore_report`` with it, ``write_parquet`` with the tables. ``load_run`` reads
    JSON lines, ``load_run_parquet`` those tables.
    """

    name: CommandName
    wall_s: float
    cpu_s: float
    peak_mb: float


class SizeRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One size. ``loaded_mb`` is the writer's memory at its first request, ``peak_mb`` its largest over all phases."""

    steps: int
    distinct_pictures: bool
    executor: str
    connections: int
    requests: int
    load_average: float
    phases: tuple[Phase, ...]
    windows: tuple[Window, ...]
    loaded_mb: float
    peak_mb: float
    files: tuple[FileSize, ...]
    resumed: Resumed | None = None
    commands: tuple[Command, ...] = ()

    def phase(self, name: PhaseName) -> Phase:
        """The phase of this name."""
        return next(phase for phase in self.phases if phase.name == name)

    def command(self, name: CommandName) -> Command | None:
        """The command of this name; None where it was not measured."""
        return next((command for command in self.commands if command.name == name), None)

    @property
    def label(self) -> str:
        """Its size; with a star where the steps share pictures."""
        return f"{self.steps:,}" if self.distinct_pictures else f"{self.steps:,} *"

    @property
    def killed_within(self) -> bool:
        """Whether the run itself was killed and went on, so that its last tenths are another process's."""
        return self.resumed is not None and self.resumed.watched_steps == self.steps

    @property
    def has_report(self) -> bool:
        """Whether the page at the end was part of the run."""
        return any(file.name.startswith("report") for file in self.files)

    def bytes_of(self, *names: str) -> int:
        """The size of these files of the run folder together; of all without names."""
        return sum(file.bytes for file in self.files if not names or file.name in names)


class Rate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One client of a comparison. Steps a second and CPU seconds are those from its first to its last request."""

    client: str
    steps_per_s: float
    cpu_s: float
    peak_mb: float


class Pair(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Several clients that asked the same of the same server, one after the other; best of ``repeats`` each."""

    steps: int
    latency_s: float
    picture_bytes: int
    connections: int
    repeats: int
    load_average: float
    rates: tuple[Rate, ...]

    def rate(self, client: str) -> Rate | None:
        """That of one client; None where it did not take part."""
        return next((rate for rate in self.rates if rate.client == client), None)


class Machine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where it was measured. ``shared``: other work ran at the same time, so CPU seconds say more than the clock."""

    processor: str
    cores: int
    memory_gb: float
    python: str
    day: str
    shared: bool


class Measured(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything."""

    schema: Literal[1] = 1
    machine: Machine
    sizes: tuple[SizeRun, ...] = ()
    pairs: tuple[Pair, ...] = ()

    def local(self) -> tuple[SizeRun, ...]:
        """The runs without a cluster, by size; one of each, with a picture for every step where that was measured."""
        runs = sorted(self.sizes, key=lambda run: run.distinct_pictures)
        chosen = {run.steps: run for run in runs if run.executor == "local"}
        return tuple(chosen[steps] for steps in sorted(chosen))


def read(path: Path) -> Measured:
    """The stored figures.

    Raises:
        OSError, msgspec.DecodeError: there are none that can be read.
    """
    return msgspec.json.decode(path.read_bytes(), type=Measured)


def write(path: Path, measured: Measured) -> None:
    """Store them, in one step."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    draft.replace(path)


def with_size(measured: Measured, run: SizeRun) -> Measured:
    """The figures with one run more, which takes the place of one of the same size and kind."""

    def kind(one: SizeRun) -> tuple[int, bool, str]:
        return one.steps, one.distinct_pictures, one.executor

    others = [one for one in measured.sizes if kind(one) != kind(run)]
    return msgspec.structs.replace(measured, sizes=tuple(sorted((*others, run), key=kind)))


def with_pair(measured: Measured, pair: Pair) -> Measured:
    """The same for a comparison."""

    def kind(one: Pair) -> tuple[float, int, int, int]:
        return one.latency_s, one.picture_bytes, one.steps, one.connections

    others = [one for one in measured.pairs if kind(one) != kind(pair)]
    return msgspec.structs.replace(measured, pairs=tuple(sorted((*others, pair), key=kind)))

"""A run's folder: what was asked, what came, and what it amounts to. One process writes at a time.

``run.json`` says what was asked, ``steps.jsonl`` holds the steps with their gold regions (so that a run can be scored
again wherever the data has gone), ``plans.jsonl`` and ``predictions.jsonl`` the answers as they came;
``verdicts.jsonl``, ``summary.json`` and ``time.json`` are derived from those and can be deleted.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Literal

import msgspec

from grounding.card_schema import Family
from grounding.describedfolder import benchmark_of
from grounding.errors import UserError
from grounding.history import HistoryScope
from grounding.journal import Journal
from grounding.lockedfolder import LockedFolder
from grounding.records import Plan, Prediction, Record, Session, Step, Verdict
from grounding.scoring.clusters import ClusterName
from grounding.scoring.summary import Summary


class AskedTranscript(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where the words of a run come from, if not from the questions file: all that can change them.

    ``condition`` is the canonical text of the source. ``recogniser`` and ``noise`` are identities (name, version,
    options; the mixer's version, its sources, level and seed), "" where there is none; ``source`` is the hash of the
    recordings' bytes or of the recorded transcripts. ``normaliser`` is what word error rates are computed after.
    """

    condition: str
    recogniser: str
    noise: str
    source: str
    normaliser: str


class Asked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an answer or a score; its hash is the run's id.

    ``history_scope`` and ``plan_ahead`` are as asked where they change anything, else their defaults.
    ``epoch`` is the number of a repeat, from 2; a run that repeats none has none written, and one over the true words
    no ``transcript``.
    ``planner_identity`` and ``grounder_identity`` are canonical texts of model, prompt, image rule and parameters.
    """

    dataset: str
    fingerprint: str
    questions: str
    history: int
    history_scope: HistoryScope = "session"
    history_file: str
    select: str
    planner: str
    planner_identity: str
    planner_base_url: str
    plan_ahead: bool = False
    grounder: str
    grounder_identity: str
    base_url: str
    seed: int
    version: str
    epoch: int | msgspec.UnsetType = msgspec.UNSET
    transcript: AskedTranscript | msgspec.UnsetType = msgspec.UNSET


class GrounderSetup(Record, frozen=True, kw_only=True):
    """The user's options for data and grounder, so that the same grounder can be asked again; paths are absolute.

    What an answer hangs on is in :class:`Asked`; this is how to come by it. The names are those of ``grounding eval``.
    """

    dataset: str
    data_dir: str | None = None
    questions: str | None = None
    history_file: str | None = None
    grounder: str
    predictions: str | None = None
    send: str | None = None
    backend: str | None = None
    model_path: str | None = None
    dtype: str | None = None
    device: str | None = None
    batch_size: int | None = None
    base_url: tuple[str, ...] = ()
    replicas: int = 1
    server_command: str | None = None
    temperature: float | None = None
    seed: int | None = None


class RunInfo(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``. A run that died is the one whose status is still ``started``.

    ``family`` is the grounder's architecture, which says how many tokens its pictures take; it changes no answer.
    ``setup`` is None in runs of older versions. ``clusters`` is what the intervals are drawn over.
    """

    schema: Literal[1] = 1
    run_id: str
    status: Literal["started", "complete", "partial"]
    signature: str
    asked: Asked
    data_dir: str
    command: str
    versions: dict[str, str]
    started_at: str
    wall_s: float = 0.0
    stopped: str = ""
    family: Family | None = None
    setup: GrounderSetup | None = None
    clusters: ClusterName = "task"


TRANSCRIPTS = "transcripts.json"
"""What a run was told instead of the true words; only there where it was."""


def _score_again(folder: Path) -> str:
    return f"`grounding score {folder}` makes it from the stored answers"


def utc_now() -> str:
    """The time of day for ``run.json``, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


OTHER_RUNS = {
    "desktop": "a run over desktop tasks, which this command is not for: its answers are actions and not points",
    "personalwab": "a run over a shop, which this command is not for: its answers are calls of web functions; "
    "`grounding score` shows its figures and report.html in it every episode",
    "agenticshop": "a run that curates products, which this command is not for: its answers are pages of products; "
    "`grounding score` shows its figures and report.html in it every product",
}
"""What runs of other benchmarks are told to be, by what their run.json says."""


class ScatteredSessions(Exception):
    """Steps of a participant came after those of another and before more of its own."""


class RunFolder(LockedFolder):
    """The folder of one run."""

    # --- what was asked ---

    def write_info(self, info: RunInfo) -> None:
        """Replace ``run.json`` in one step."""
        self.replace("run.json", msgspec.json.format(msgspec.json.encode(info), indent=2))

    def read_info(self) -> RunInfo:
        """Read ``run.json``.

        Raises:
            UserError: this is not a run folder, or its ``run.json`` is damaged.
        """
        path = self.path / "run.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=RunInfo)
        except OSError as error:
            raise UserError(f"{self.path} is not a run folder: run.json can't be read ({error.strerror})") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            other = OTHER_RUNS.get(benchmark_of(self.path))
            if other is not None:
                raise UserError(f"{self.path} is {other}") from error
            raise UserError(f"{path}: not a run description of this version: {error}") from error

    def write_steps(self, sessions: Iterable[Session]) -> None:
        """Write the steps that are scored in this run and those between them."""
        self.replace_lines("steps.jsonl", (step for session in sessions for step in session.steps))

    def read_sessions(self) -> tuple[Session, ...]:
        """The steps of the run, by participant.

        Raises:
            UserError: the file is missing or damaged.
        """
        by_participant: dict[str, list[Step]] = {}
        for step in self.stream_lines("steps.jsonl", Step, what="a step"):
            by_participant.setdefault(step.participant, []).append(step)
        return tuple(Session(participant=name, steps=tuple(steps)) for name, steps in by_participant.items())

    def stream_sessions(self) -> Iterator[Session]:
        """The same one after the other, so that only one is held at a time.

        Raises:
            UserError: the file is missing or damaged.
            ScatteredSessions: the steps of a participant do not follow one another, as in a file that was put together
                by hand; ``read_sessions`` reads that too.
        """
        seen: set[str] = set()
        for participant, steps in groupby(
            self.stream_lines("steps.jsonl", Step, what="a step"), key=attrgetter("participant")
        ):
            if participant in seen:
                raise ScatteredSessions(participant)
            seen.add(participant)
            yield Session(participant=participant, steps=tuple(steps))

    # --- what came ---

    def plans(self, *, read_only: bool = False, rows: dict[str, int] | None = None) -> Journal[Plan]:
        """Open ``plans.jsonl``; ``rows`` as in :class:`grounding.journal.Journal`."""
        return Journal(self.path / "plans.jsonl", Plan, read_only=read_only, rows=rows)

    def ahead(self) -> Journal[Plan]:
        """Open ``ahead.jsonl``: the replies of a planner that was asked once for each instruction."""
        return Journal(self.path / "ahead.jsonl", Plan)

    def predictions(self, *, read_only: bool = False, rows: dict[str, int] | None = None) -> Journal[Prediction]:
        """Open ``predictions.jsonl``; ``rows`` as in :class:`grounding.journal.Journal`."""
        return Journal(self.path / "predictions.jsonl", Prediction, read_only=read_only, rows=rows)

    # --- what it amounts to ---

    def write_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        """Replace ``verdicts.jsonl``."""
        self.replace_lines("verdicts.jsonl", verdicts)

    def read_verdicts(self) -> tuple[Verdict, ...]:
        """Read ``verdicts.jsonl``.

        Raises:
            UserError: the run was never scored, or the file is damaged.
        """
        return tuple(self.stream_verdicts())

    def stream_verdicts(self) -> Iterator[Verdict]:
        """The same one after the other.

        Raises:
            UserError: the run was never scored, or the file is damaged.
        """
        try:
            yield from self.stream_lines("verdicts.jsonl", Verdict, what="a verdict")
        except UserError as error:
            raise UserError(f"{error}; {_score_again(self.path)}") from error

    def read_summary(self) -> Summary:
        """Read ``summary.json``.

        Raises:
            UserError: the run was never scored, or the file is damaged.
        """
        path = self.path / "summary.json"
        try:
            return msgspec.json.decode(self._derived(path), type=Summary)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: not a summary of this version: {error}; {_score_again(self.path)}") from error

    def _derived(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}: can't be read ({error.strerror}); {_score_again(self.path)}") from error

    def write_summary(self, summary: Summary) -> None:
        """Replace ``summary.json``."""
        self.replace("summary.json", msgspec.json.format(msgspec.json.encode(summary), indent=2))

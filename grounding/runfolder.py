"""A run's folder: what was asked, what came, and what it amounts to. One process writes at a time.

``run.json`` says what was asked, ``steps.jsonl`` holds the steps with their gold regions (so that a run can be scored
again wherever the data has gone), ``plans.jsonl`` and ``predictions.jsonl`` the answers as they came;
``verdicts.jsonl`` and ``summary.json`` are derived from those and can be deleted.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from grounding.card_schema import Family
from grounding.errors import UserError
from grounding.journal import Journal
from grounding.records import Plan, Prediction, Record, Session, Step, Verdict
from grounding.scoring.summary import Summary


class Asked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an answer or a score; its hash is the run's id.

    ``planner_identity`` and ``grounder_identity`` are canonical texts of model, prompt, image rule and parameters.
    """

    dataset: str
    fingerprint: str
    questions: str
    history: int
    history_file: str
    select: str
    planner: str
    planner_identity: str
    planner_base_url: str
    grounder: str
    grounder_identity: str
    base_url: str
    seed: int
    version: str


class RunInfo(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``. A run that died is the one whose status is still ``started``.

    ``family`` is the grounder's architecture, which says how many tokens its pictures take; it changes no answer.
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


def utc_now() -> str:
    """The time of day for ``run.json``, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def create(self) -> None:
        """Make the folder and keep other processes out of it.

        Raises:
            UserError: it can't be made, or another process is writing to it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"the run folder {self.path} can't be made: {error.strerror} (see --log-dir)") from error
        self.lock()

    def lock(self) -> None:
        """Keep other processes out of the folder until ``release``.

        Raises:
            UserError: another process is writing to it.
        """
        try:
            self._lock = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise UserError(f"the run folder {self.path} can't be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise UserError(
                f"another process is at work on {self.path}: wait for it, or use another --log-dir"
            ) from error

    def release(self) -> None:
        """Let other processes in again."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def set_aside(self) -> Path | None:
        """Rename the folder, if there is one, so that a run starts afresh and nothing paid for is lost.

        Raises:
            UserError: another process is writing to it, or it can't be renamed.
        """
        if not self.path.exists():
            return None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.old{number}")).exists():
            number += 1
        self.lock()
        try:
            self.path.rename(aside)
        except OSError as error:
            raise UserError(f"the run folder {self.path} can't be set aside: {error.strerror}") from error
        finally:
            self.release()
        return aside

    # --- what was asked ---

    def write_info(self, info: RunInfo) -> None:
        """Replace ``run.json`` in one step."""
        self._replace("run.json", msgspec.json.format(msgspec.json.encode(info), indent=2))

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
            raise UserError(f"{path}: not a run description of this version: {error}") from error

    def write_steps(self, sessions: Iterable[Session]) -> None:
        """Write the steps that are scored in this run and those between them."""
        self._replace("steps.jsonl", b"".join(_lines(step for session in sessions for step in session.steps)))

    def read_sessions(self) -> tuple[Session, ...]:
        """The steps of the run, by participant.

        Raises:
            UserError: the file is missing or damaged.
        """
        path = self.path / "steps.jsonl"
        decoder = msgspec.json.Decoder(Step)
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from error
        by_participant: dict[str, list[Step]] = {}
        for number, line in enumerate(lines, start=1):
            try:
                step = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise UserError(f"{path}, line {number}: not a step: {error}") from error
            by_participant.setdefault(step.participant, []).append(step)
        return tuple(Session(participant=name, steps=tuple(steps)) for name, steps in by_participant.items())

    # --- what came ---

    def plans(self, *, read_only: bool = False) -> Journal[Plan]:
        """Open ``plans.jsonl``."""
        return Journal(self.path / "plans.jsonl", Plan, read_only=read_only)

    def predictions(self, *, read_only: bool = False) -> Journal[Prediction]:
        """Open ``predictions.jsonl``."""
        return Journal(self.path / "predictions.jsonl", Prediction, read_only=read_only)

    # --- what it amounts to ---

    def write_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        """Replace ``verdicts.jsonl``."""
        self._replace("verdicts.jsonl", b"".join(_lines(verdicts)))

    def write_summary(self, summary: Summary) -> None:
        """Replace ``summary.json``."""
        self._replace("summary.json", msgspec.json.format(msgspec.json.encode(summary), indent=2))

    def _replace(self, name: str, content: bytes) -> None:
        temporary = self.path / f".{name}.new"
        try:
            temporary.write_bytes(content + (b"" if content.endswith(b"\n") or not content else b"\n"))
            temporary.replace(self.path / name)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise UserError(
                f"{self.path / name}: can't be written: {error.strerror}. What was answered is kept; make room and run "
                "the same command again."
            ) from error


def _lines(records: Iterable[Record]) -> Iterable[bytes]:
    encoder = msgspec.json.Encoder()
    for record in records:
        yield encoder.encode(record)
        yield b"\n"

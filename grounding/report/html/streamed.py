"""A run that is too large for a page: its steps go into files beside it one by one, its figures and index come back."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from grounding.records import Record, Screenshot, Step, TaskLabel, Verdict
from grounding.report.html.chunks import StepWriter
from grounding.report.html.content import Beside
from grounding.report.html.gather import cut, heard_in, row_of, shot_of, splits_in, spoken_of, told_of
from grounding.report.html.index import Index
from grounding.report.html.measured import Measured, Measuring
from grounding.report.html.steplines import StepLines
from grounding.runfolder import RunFolder
from grounding.scorebook import Scored


class Streamed(Record, frozen=True, kw_only=True):
    """What is known of a run after its steps were written: their index, and what its diagrams are drawn from."""

    beside: Beside
    measured: Measured


class Verdicts:
    """Verdicts by step. They come in the order of the steps, so that one is held at a time; else all are."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self._verdicts = verdicts
        self._coming: Iterator[Verdict] = iter(verdicts)
        self._held: Verdict | None = next(self._coming, None)
        self._all: dict[str, Verdict] | None = None

    def of(self, step_id: str) -> Verdict | None:
        """The verdict on a step; None where there is none."""
        if self._all is not None:
            return self._all.get(step_id)
        found = self._held
        if found is not None and found.step_id == step_id:
            self._held = next(self._coming, None)
            return found
        self._all = {verdict.step_id: verdict for verdict in self._verdicts}
        return self._all.get(step_id)


class Windows:
    """The steps that a step's history tells of, by their places: :func:`grounding.history.history_window`, streamed."""

    def __init__(self, length: int, scope: str) -> None:
        self._length, self._by_task = length, scope == "task"
        self._participant: str | None = None
        self._latest: dict[TaskLabel, deque[tuple[int, bool]]] = {}

    def of(self, step: Step, place: int) -> tuple[int, ...]:
        """The window of the next step, which lies at a place; steps are given in order."""
        if step.participant != self._participant:
            self._participant = step.participant
            self._latest.clear()
        latest = self._latest.setdefault(step.task if self._by_task else "", deque(maxlen=self._length))
        found = tuple(at for at, has_words in latest if has_words)
        latest.append((place, step.history_entry is not None))
        return found


def stream(
    scored: Scored,
    steps: StepLines,
    writer: StepWriter,
    addresses: Callable[[Screenshot], tuple[str, str]],
    *,
    recordings: bool = True,
) -> Streamed:
    """Write all steps of a run into files.

    Args:
        scored: The run.
        steps: Its steps.
        writer: Where they go.
        addresses: Of a screenshot's small picture, "" where there is none, and of the screenshot itself.
        recordings: Whether the page can play recordings where they lie on the disk.

    Raises:
        UserError: a file of the run is damaged.
        OSError: a file can't be written.
    """
    asked, started = scored.info.asked, scored.info.status == "started"
    index, measuring = Index(), Measuring()
    verdicts, windows = Verdicts(scored.verdicts), Windows(asked.history, asked.history_scope)
    splits, spoken = splits_in(scored.folder), spoken_of(heard_in(scored.folder))
    folder = RunFolder(scored.folder)
    plans, predictions = folder.plans(read_only=True), folder.predictions(read_only=True)
    participant: str | None = None
    tasks: dict[TaskLabel, int] = {}
    try:
        for place, step in enumerate(steps):
            if step.participant != participant:
                participant, tasks = step.participant, {}
            task = tasks.get(step.task)
            if task is None:
                task = tasks[step.task] = index.task(cut(str(step.task)))
            verdict = verdicts.of(step.id) if step.region is not None else None
            if step.region is not None:
                measuring.add(step, verdict or Verdict(step_id=step.id, outcome="missing"), task)
            sha256 = step.screenshot.sha256
            shot = writer.shot(sha256)
            if shot is None:
                shot = writer.add_shot(sha256, shot_of(step.screenshot, {sha256: addresses(step.screenshot)}))
            row = row_of(
                step,
                None if started and verdict is not None and verdict.reason == "never asked" else verdict,
                plans.last(step.id),
                predictions.last(step.id),
                task=task,
                shot=shot,
                history=windows.of(step, place),
                split=splits.get(step.id, ()),
                spoken=spoken.get(step.id),
                recordings=recordings,
            )
            index.add(row)
            writer.add(row, told_of(step.history_entry))
        writer.flush()
    finally:
        plans.close()
        predictions.close()
    beside = index.packed(files=writer.files, key=writer.key, starts=tuple(writer.starts))
    return Streamed(beside=beside, measured=measuring.done())


def address_of(path: str) -> str:
    """A file as an address; only its folder is looked up on the disk, once."""
    at = Path(path)
    return f"{_folder_address(at.parent)}/{quote(os.fsencode(at.name), safe='')}"


@lru_cache(maxsize=4_096)
def _folder_address(folder: Path) -> str:
    return folder.resolve().as_uri().rstrip("/")

"""A run folder in, what its page shows out. Reads only: a run may be going on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grounding.errors import UserError
from grounding.errorsplit.records import ErrorSplit, StepLine
from grounding.errorsplit.report import STEPS as SPLIT_STEPS
from grounding.errorsplit.report import SUMMARY as SPLIT_SUMMARY
from grounding.errorsplit.report import split_words
from grounding.history import history_window
from grounding.records import HistoryEntry, Plan, Prediction, Screenshot, Session, Step, Verdict
from grounding.report.html.content import (
    MOST_TEXT,
    NEAR_PX,
    Diagram,
    Fact,
    FailureName,
    Mark,
    RunPage,
    Shot,
    StepRow,
    TaskRow,
    Told,
)
from grounding.report.html.facts import facts_of, metrics_of, warnings_of
from grounding.report.html.triage import LABELS_FILE, Triage, read_triage, triage_lines
from grounding.runfolder import TRANSCRIPTS, RunFolder
from grounding.scorebook import Scored, weigh

if TYPE_CHECKING:
    from grounding.asr.spoken import Spoken, Transcripts

_GROWING = (
    *("run.json", "steps.jsonl", "plans.jsonl", "predictions.jsonl", LABELS_FILE, SPLIT_STEPS, "probe.json"),
    TRANSCRIPTS,
)
"""The files that a page is made of."""

DATA_FILES = tuple(name for name in _GROWING if name != LABELS_FILE)
"""The same without what people say of the steps."""


def version_of(folder: Path, names: Sequence[str] = _GROWING) -> str:
    """A text that changes whenever what a page shows, or what these files hold, may have changed."""
    parts = []
    for name in names:
        try:
            found = (folder / name).stat()
        except OSError:
            continue
        parts.append(f"{name}:{found.st_size}:{found.st_mtime_ns}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def screenshots(sessions: Sequence[Session]) -> tuple[Screenshot, ...]:
    """The screenshots of the steps, each once, in order."""
    found = {step.screenshot.sha256: step.screenshot for session in sessions for step in session.steps}
    return tuple(found.values())


def gather(
    path: Path,
    *,
    scored: Scored | None = None,
    addresses: Mapping[str, tuple[str, str]],
    diagrams: Sequence[Diagram] = (),
    extra_warnings: Sequence[str] = (),
    recordings: bool = False,
) -> RunPage:
    """Everything that a page shows of a run.

    Args:
        path: The run's folder.
        scored: The run, where it was just scored; None to judge the stored answers again.
        addresses: For a screenshot's hash the addresses of its small and of its full picture.
        diagrams: The plots.
        extra_warnings: What else went wrong.
        recordings: Whether the page can play recordings where they lie on the disk.

    Raises:
        UserError: the folder holds no run, or a file in it is damaged.
    """
    folder, version = RunFolder(path), version_of(path)
    scored = scored or weigh(folder)
    sessions = folder.read_sessions()
    heard = heard_in(path)
    plans, predictions = folder.plans(read_only=True), folder.predictions(read_only=True)
    try:
        rows, tasks, told = _rows(
            sessions,
            scored,
            {plan.step_id: plan for plan in plans},
            {prediction.step_id: prediction for prediction in predictions},
            splits_in(path),
            spoken_of(heard),
            recordings=recordings,
        )
    finally:
        plans.close()
        predictions.close()
    return msgspec.structs.replace(
        frame_of(path, scored, version=version, diagrams=diagrams, extra_warnings=extra_warnings),
        shots=tuple(shot_of(shot, addresses) for shot in screenshots(sessions)),
        tasks=tasks,
        steps=rows,
        told=told,
    )


def frame_of(
    path: Path, scored: Scored, *, version: str, diagrams: Sequence[Diagram], extra_warnings: Sequence[str]
) -> RunPage:
    """What a page shows of a run besides its steps.

    Raises:
        UserError: a file in the run's folder is damaged.
    """
    asked, heard, triage = scored.info.asked, heard_in(path), read_triage(path)
    wrong = (verdict.step_id for verdict in scored.verdicts if verdict.outcome != "hit")
    return RunPage(
        name=f"{asked.dataset} · {asked.planner} + {asked.grounder}",
        data=f"{asked.dataset}@{asked.fingerprint}",
        folder=str(path),
        status=scored.info.status if scored.info.status == "started" else scored.summary.status,
        metrics=metrics_of(scored),
        facts=(*facts_of(scored), *(() if heard is None else (Fact(name="transcript", text=cut(heard.words, 500)),))),
        warnings=(*warnings_of(scored), *extra_warnings),
        diagrams=tuple(diagrams),
        shots=(),
        tasks=(),
        steps=(),
        told=(),
        marks=marks_of(triage),
        mark_facts=(
            *_split_facts(path),
            *(Fact(name="labels", text=line) for line in triage_lines(triage, wrong)),
        ),
        independent=scored.summary.independent,
        version=version,
    )


def marks_of(triage: Triage) -> tuple[Mark, ...]:
    """The labels as a page has them."""
    return tuple(
        Mark(step=one.step, label=one.label, labeller=one.labeller, note=one.note, at=one.at) for one in triage.labels
    )


def shot_of(shot: Screenshot, addresses: Mapping[str, tuple[str, str]]) -> Shot:
    """A screenshot as a page has it."""
    thumb, full = addresses.get(shot.sha256, ("", ""))
    return Shot(width=shot.size.width, height=shot.size.height, path=shot.path, thumb=thumb, full=full)


def _rows(
    sessions: Sequence[Session],
    scored: Scored,
    plans: Mapping[str, Plan],
    predictions: Mapping[str, Prediction],
    splits: Mapping[str, tuple[str, ...]],
    spoken: Mapping[str, Spoken],
    *,
    recordings: bool,
) -> tuple[tuple[StepRow, ...], tuple[TaskRow, ...], tuple[Told | None, ...]]:
    asked = scored.info.asked
    verdicts = {verdict.step_id: verdict for verdict in scored.verdicts}
    shots = {shot.sha256: number for number, shot in enumerate(screenshots(sessions))}
    rows: list[StepRow] = []
    tasks: list[TaskRow] = []
    told: list[Told | None] = []
    for session in sessions:
        place = {step.id: len(rows) + number for number, step in enumerate(session.steps)}
        task_of: dict[str, int] = {}
        for task in session.tasks():
            task_of |= {step.id: len(tasks) for step in task.steps}
            steps = tuple(place[step.id] for step in task.steps)
            tasks.append(TaskRow(participant=session.participant, name=cut(str(task.label)), steps=steps))
        for number, step in enumerate(session.steps):
            verdict = verdicts.get(step.id)
            pending = scored.info.status == "started" and verdict is not None and verdict.reason == "never asked"
            entry = step.history_entry
            told.append(told_of(entry))
            window = history_window(session.steps, number, asked.history, asked.history_scope)
            history = entries_of(session.steps[:number], window)
            rows.append(
                row_of(
                    step,
                    None if pending else verdict,
                    plans.get(step.id),
                    predictions.get(step.id),
                    task=task_of[step.id],
                    shot=shots[step.screenshot.sha256],
                    history=tuple(place[step_id] for step_id in history),
                    split=splits.get(step.id, ()),
                    spoken=spoken.get(step.id),
                    recordings=recordings,
                )
            )
    return tuple(rows), tuple(tasks), tuple(told)


def row_of(
    step: Step,
    verdict: Verdict | None,
    plan: Plan | None,
    prediction: Prediction | None,
    *,
    task: int,
    shot: int,
    history: tuple[int, ...],
    split: tuple[str, ...],
    spoken: Spoken | None,
    recordings: bool,
) -> StepRow:
    """One step as a page has it. ``task``, ``shot`` and ``history`` are places in the page's lists."""
    calls = [each.call for each in (plan, prediction) if each is not None and each.call is not None]
    return StepRow(
        id=step.id,
        participant=step.participant,
        task=task,
        instruction=cut(step.instruction),
        shot=shot,
        outcome=verdict.outcome if verdict else "none" if step.region is None else "pending",
        gold=step.region,
        click=verdict.point if verdict else None,
        distance=verdict.distance_px if verdict else None,
        failure=failure_of(verdict, plan, prediction) if verdict else None,
        reason=cut(verdict.reason) if verdict else "",
        plan=cut((plan.text if plan else None) or ""),
        planner_raw=cut((plan.raw if plan else None) or ""),
        raw=cut((prediction.raw if prediction else None) or ""),
        action=cut(step.action),
        seconds=sum(call.seconds for call in calls) if calls else None,
        absent=step.target_absent,
        history=history,
        groups=tuple(cut(f"{group.kind}: {group.name}") for group in step.groups),
        split=split,
        said="" if spoken is None else cut(spoken.reference),
        audio=Path(spoken.audio).resolve().as_uri() if spoken is not None and spoken.audio and recordings else "",
    )


def told_of(entry: HistoryEntry | None) -> Told | None:
    """What later steps may be told about a step, with the page's bounds."""
    return None if entry is None else Told(instruction=cut(entry.instruction), action=cut(entry.action))


def spoken_of(heard: Transcripts | None) -> dict[str, Spoken]:
    """What was heard for each step."""
    return {} if heard is None else {step: one for one in heard.spoken for step in one.steps}


def failure_of(verdict: Verdict, plan: Plan | None, prediction: Prediction | None) -> FailureName | None:
    """Why a step is no hit; None for a hit."""
    if verdict.outcome == "hit":
        return None
    if prediction is None and plan is not None and plan.failure is not None and verdict.outcome != "error":
        return "no plan"
    if prediction is not None and prediction.declined:
        return "declined"
    if verdict.outcome != "miss":
        return verdict.outcome
    if verdict.distance_px is None:
        return "no shape"
    return "near" if verdict.distance_px <= NEAR_PX else "far"


def entries_of(before: Sequence[Step], window: Sequence[HistoryEntry]) -> tuple[str, ...]:
    """The ids of the steps that a window of history entries tells of, the oldest first."""
    found: list[str] = []
    left = list(window)
    for step in reversed(before):
        if not left:
            break
        if step.history_entry is left[-1]:
            found.append(step.id)
            left.pop()
    return tuple(reversed(found))


def cut(text: str, most: int = MOST_TEXT) -> str:
    """A text with a bound, which says how much was left out.

    >>> cut("abcdef", 3)
    'abc … (3 more characters)'
    """
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"


def heard_in(folder: Path) -> Transcripts | None:
    """What a run was told; None where it was told the true words, for which nothing of speech is loaded.

    Raises:
        UserError: the file is damaged.
    """
    if not (folder / TRANSCRIPTS).exists():
        return None
    from grounding.asr.spoken import read_transcripts

    return read_transcripts(folder)


def _split_facts(folder: Path) -> tuple[Fact, ...]:
    """Each source's error split; nothing where none was made."""
    path = folder / SPLIT_SUMMARY
    try:
        split = msgspec.json.decode(path.read_bytes(), type=ErrorSplit)
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read ({error}); delete it, or run grounding blame again") from error
    return tuple(Fact(name="blame", text=cut(f"{one.source}: {split_words(one)}", 500)) for one in split.splits)


def splits_in(folder: Path) -> dict[str, tuple[str, ...]]:
    """What the sources of an error split say of each step; nothing where none was made."""
    path = folder / SPLIT_STEPS
    decoder = msgspec.json.Decoder(StepLine)
    try:
        lines = [decoder.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read ({error}); delete it, or run grounding blame again") from error
    return {
        line.step_id: tuple(
            cut(f"{one.source}: {one.said}" + (f" ({one.because})" if one.because else ""), 300)
            for one in line.opinions
        )
        for line in lines
    }

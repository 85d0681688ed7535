"""A run's folder in, what its page shows out. Reads only: a run may be going on."""

import dataclasses
import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from grounding.analysis.labels import ErrorSplit, ErrorSplitLine, Opinion
from grounding.analysis.showing import STEPS as SPLIT_STEPS
from grounding.analysis.showing import SUMMARY as SPLIT_SUMMARY
from grounding.analysis.showing import split_words
from grounding.data.release import data_name
from grounding.errors import UserError
from grounding.llm.budget import dollars
from grounding.records import HistoryEntry, Plan, Prediction, Record, Screenshot, Session, Step, TaskLabel, Verdict
from grounding.report.clicks import rows_of
from grounding.report.groups import estimate_cells
from grounding.report.html import plots
from grounding.report.html.content import (
    MOST_TEXT,
    NEAR_PX,
    Diagram,
    Fact,
    FailureName,
    LookRow,
    RunPage,
    ShownMetric,
    StepRow,
    SummaryTable,
)
from grounding.report.html.pictures import PackedSteps
from grounding.report.html.triage import LABELS_FILE, read_triage, triage_lines
from grounding.report.rows import ItemRow, Note, RunRows, break_down, read_rows, tasks_of
from grounding.report.table import metrics_of, partial_words, run_lines, run_warnings
from grounding.run.folder import TRANSCRIPTS, RunFolder
from grounding.run.scorebook import ScoredClicks, scored_tasks
from grounding.scoring.scored import Estimate
from grounding.scoring.words import read_spoken

T = TypeVar("T")

DATA_FILES = ("run.json", "steps.jsonl", "plans.jsonl", "predictions.jsonl", SPLIT_STEPS, "probe.json", TRANSCRIPTS)
"""The files that a page is made of, but for what people say of the steps."""


# Kinds of group that need no labels.
DERIVED = ("gold-area", "screen-place", "instruction-words", "position", "gold-shapes", "screen", "action")
MOST_GROUPED, MOST_GROUPS = 20_000, 40
"""A run of more steps has no groups on its page, and a kind of more groups no table there."""


def version_of(folder: Path, names: Sequence[str] = (*DATA_FILES, LABELS_FILE)) -> str:
    """A text that changes whenever what a page shows, or what these files hold, may have changed."""
    parts = []
    for name in names:
        try:
            found = (folder / name).stat()
        except OSError:
            continue
        parts.append(f"{name}:{found.st_size}:{found.st_mtime_ns}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def cut(text: str, most: int = MOST_TEXT) -> str:
    """A text with a bound, which says how much was left out.

    >>> cut("abcdef", 3)
    'abc … (3 more characters)'
    """
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"


# --- clicks ---------------------------------------------------------------------------------------------------------


class ClicksSource:
    """A run of clicks whose page is to be made, with the steps that are not scored.

    Args:
        scored: The run.
        recordings: Whether the page can play recordings where they lie on the disk.
    """

    def __init__(self, scored: ScoredClicks, *, recordings: bool = True) -> None:
        self.scored, self.folder = scored, scored.folder
        self._recordings = recordings

    @cached_property
    def _rows(self) -> tuple[ItemRow, ...]:
        is_large = len(self.scored.verdicts) > MOST_GROUPED
        return () if is_large else tuple(rows_of(scored_tasks(self.scored)))

    @cached_property
    def _groups(self) -> dict[str, tuple[str, ...]]:
        rows = self._rows
        kinds = [kind for kind in DERIVED if len({row.groups[kind] for row in rows}) > 1]
        found = {row.id: tuple(f"{kind}: {row.groups[kind][0]}" for kind in kinds) for row in rows}
        for task in () if self.scored.summary.independent else tasks_of(rows):
            wrong = [(number, row.id) for number, row in enumerate(task.asked(), start=1) if not row.is_hit]
            for number, step_id in wrong[:1]:
                found[step_id] += (f"first-wrong: {number}",)
        return found

    @cached_property
    def _group_tables(self) -> tuple[SummaryTable, ...]:
        if self.scored.info.status == "started" or not self._rows:
            return ()
        run = dataclasses.replace(read_rows(self.folder), read=lambda: self._rows)
        found = (break_down(run, kind) for kind in run.columns() if kind != "task")
        return tuple(
            SummaryTable(
                title=f"{each.metric} by {each.column}",
                heads=(each.column, "value", "k/n", "95 % interval", "tasks"),
                rows=tuple((row.name, *estimate_cells(row.accuracy), str(row.tasks)) for row in each.rows),
                group=each.column,
            )
            for each in found
            if 1 < len(each.rows) <= MOST_GROUPS
        )

    def _sessions(self) -> Iterator[Session]:
        return RunFolder(self.folder).stream_sessions()

    def shots(self) -> tuple[Screenshot, ...]:
        steps = (step for session in self._sessions() for step in session.steps)
        return tuple({step.screenshot.sha256: step.screenshot for step in steps}.values())

    def fill(self, sink: PackedSteps) -> Callable[[], tuple[Diagram, ...]]:
        """Hand over every step; what is returned draws the run's diagrams. Raises UserError: a file of the run is
        damaged; so does :meth:`frame`.
        """
        asked, measuring, place = self.scored.info.asked, plots.Measuring(), 0
        verdicts = {verdict.step_id: verdict for verdict in self.scored.verdicts if verdict.was_asked}
        splits, heard = _splits(self.folder), read_spoken(self.folder)
        spoken = {} if heard is None else {step: one for one in heard.spoken for step in one.steps}
        folder = RunFolder(self.folder)
        with closing(folder.plans(read_only=True)) as plans, closing(folder.predictions(read_only=True)) as predictions:
            for session in self._sessions():
                tasks: dict[TaskLabel, int] = {}
                first, told_of = place, windows(session.steps, asked.history, asked.history_scope)
                for step, window in zip(session.steps, told_of, strict=True):
                    if step.task not in tasks:
                        tasks[step.task] = sink.task(session.participant, cut(str(step.task)))
                    task, verdict, told = tasks[step.task], verdicts.get(step.id), step.history_entry
                    if verdict is not None:
                        measuring.add(task, step, verdict.outcome == "hit", verdict.distance_px)
                    row = _row(step, verdict, plans.last(step.id), predictions.last(step.id))
                    said = spoken.get(step.id)
                    audio = said.audio if said is not None and self._recordings else ""
                    row = msgspec.structs.replace(
                        row,
                        task=task,
                        shot=sink.shot(step.screenshot),
                        history=tuple(first + at for at in window),
                        groups=(*row.groups, *self._groups.get(step.id, ())),
                        split=splits.get(step.id, ()),
                        said="" if said is None else cut(said.reference),
                        audio=Path(audio).resolve().as_uri() if audio else "",
                    )
                    words = told and HistoryEntry(instruction=cut(told.instruction), action=cut(told.action))
                    sink.add(row, words)
                    place += 1
        return lambda: plots.draw_diagrams(measuring, independent=self.scored.summary.independent)

    def frame(self, *, version: str = "", warnings: Sequence[str] = ()) -> RunPage:
        scored, path = self.scored, self.folder
        asked, summary, heard, triage = scored.info.asked, scored.summary, read_spoken(path), read_triage(path)
        wrong = (verdict.step_id for verdict in scored.verdicts if verdict.was_asked and verdict.outcome != "hit")
        goes_on = scored.info.status == "started"
        found = ((metric, summary.scores.of(metric.name)) for metric in metrics_of(summary))
        metrics = [_metric(metric.label, one, metric.of) for metric, one in found if one is not None]
        for kind, both in summary.averages.items():
            metrics.append(_metric(f"step accuracy, macro over {kind}", both.macro, "groups"))
        facts = []
        for name, text in ((line[:10].strip(), line[11:]) for line in run_lines(scored, "page")):
            # What was not asked now was not waited for either: it stands beside the figures.
            facts.append(Fact(name="cached" if name == "reused" else name, text=text))
        status = "started" if goes_on else partial_words(summary) or summary.status
        if reused := summary.cost.reused.calls:
            status += f", {reused:,} {'plan' if reused == 1 else 'plans'} cached"
        if heard is not None:
            facts.append(Fact(name="transcript", text=cut(f"{heard.words}; {heard.recogniser}; {heard.speed}", 700)))
        odd = ["the run is going on, or it died: its figures are not final"] if goes_on else []
        odd += run_warnings(summary, scored.info)
        if unparsed := summary.counts.unparsed:
            asked_for = summary.counts.answered
            odd.append(f"{unparsed:,} of {asked_for:,} replies hold no usable point and count as wrong")
        labels = (Fact(name="labels", text=line) for line in triage_lines(triage, wrong))
        return RunPage(
            name=f"{data_name(asked.dataset, scored.info.departs)} · {asked.planner} + {asked.grounder}",
            data=f"{asked.dataset}@{asked.fingerprint}",
            folder=str(path),
            status=status,
            metrics=tuple(metrics),
            facts=(*facts, *_where(scored, summary.signature)),
            warnings=(*odd, *scored.warnings, *warnings),
            marks=triage,
            mark_facts=(*_split_facts(path), *labels),
            tables=self._group_tables,
            independent=summary.independent,
            version=version,
        )


def _row(step: Step, verdict: Verdict | None, plan: Plan | None, prediction: Prediction | None) -> StepRow:
    cached = plan is not None and plan.reused
    calls = [each.call for each in (None if cached else plan, prediction) if each is not None and each.call is not None]
    return StepRow(
        id=step.id,
        participant=step.participant,
        task=-1,
        instruction=cut(step.instruction),
        shot=-1,
        outcome=verdict.outcome if verdict else "none" if step.region is None else "pending",
        gold=step.region,
        click=verdict.point if verdict else None,
        distance=verdict.distance_px if verdict else None,
        failure=_failure(verdict, plan, prediction) if verdict else None,
        reason=cut(verdict.reason) if verdict else "",
        plan=cut((plan.text if plan else None) or ""),
        cached=cached,
        planner_raw=cut((plan.raw if plan else None) or ""),
        raw=cut((prediction.raw if prediction else None) or ""),
        action=cut(step.action),
        seconds=sum(call.seconds for call in calls) if calls else None,
        absent=step.target_absent,
        groups=tuple(cut(f"{each.kind}: {each.name}") for each in step.groups),
        looks=tuple(map(_look, prediction.passes if prediction else ())),
    )


def _look(one: Prediction) -> LookRow:
    call, words = one.call, [] if one.failure is None else [one.failure.message]
    if call is not None:
        words.append(f"{call.seconds:.2f} s")
        words += [] if call.usage is None else [f"{call.usage.input_tokens:,} + {call.usage.output_tokens:,} tokens"]
        words += [] if call.cost_usd is None else [dollars(call.cost_usd)]
    return LookRow(crop=one.crop, click=one.point, words=cut(" · ".join(words), 300), raw=cut(one.raw or ""))


def _metric(name: str, found: Estimate, of: str) -> ShownMetric:
    value, count, interval = estimate_cells(found, of=of)
    return ShownMetric(name=name, value=value, count=count, interval=interval)


def _where(run: ScoredClicks | RunRows, signature: str) -> tuple[Fact, ...]:
    info = run.info
    about = {"started": info.started_at, "command": info.command, "signature": signature, "folder": str(run.folder)}
    return tuple(Fact(name=name, text=text) for name, text in about.items())


def _failure(verdict: Verdict, plan: Plan | None, prediction: Prediction | None) -> FailureName | None:
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


def windows(steps: Sequence[Step], length: int, scope: str) -> Iterator[tuple[int, ...]]:
    """Of which steps each step's history tells: :func:`grounding.data.history.history_window`, one after the other."""
    latest: dict[TaskLabel, deque[int]] = {}
    for at, step in enumerate(steps):
        before = latest.setdefault(step.task if scope == "task" else "", deque(maxlen=length))
        yield tuple(each for each in before if steps[each].history_entry is not None)
        before.append(at)


def _split_facts(folder: Path) -> tuple[Fact, ...]:
    found = _decoded(folder / SPLIT_SUMMARY, lambda content: [msgspec.json.decode(content, type=ErrorSplit)])
    splits = [each for split in found for each in split.splits]
    return tuple(Fact(name="blame", text=cut(f"{one.source}: {split_words(one)}", 500)) for one in splits)


def _splits(folder: Path) -> dict[str, tuple[str, ...]]:
    lines = _decoded(folder / SPLIT_STEPS, msgspec.json.Decoder(ErrorSplitLine).decode_lines)
    return {line.step_id: tuple(cut(_opinion(one), 300) for one in line.opinions) for line in lines}


def _opinion(one: Opinion) -> str:
    return f"{one.source}: {one.said}" + (f" ({one.because})" if one.because else "")


def _decoded(path: Path, decode: Callable[[bytes], list[T]]) -> list[T]:
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read ({error}); delete it, or run grounding blame again") from error


# --- every other benchmark ------------------------------------------------------------------------------------------


class PageAbout(Record, frozen=True, kw_only=True):
    """What a benchmark says of a run on its page, beside the items. ``groups`` are the kinds that items can be filtered
    by; ``words`` take the place of the page's own words of clicks.
    """

    facts: tuple[Fact, ...] = ()
    warnings: tuple[str, ...] = ()
    metrics: tuple[ShownMetric, ...] = ()
    tables: tuple[SummaryTable, ...] = ()
    diagrams: tuple[Diagram, ...] = ()
    groups: tuple[str, ...] = ()
    words: dict[str, str] = msgspec.field(default_factory=dict)


class ItemSource:
    def __init__(self, run: RunRows, about: PageAbout) -> None:
        self.run, self.about, self.folder = run, about, run.folder

    def shots(self) -> tuple[Screenshot, ...]:
        return tuple(
            {row.screenshot.sha256: row.screenshot for row in self.run.rows if row.screenshot is not None}.values()
        )

    def fill(self, sink: PackedSteps) -> Callable[[], tuple[Diagram, ...]]:
        kinds, in_words = self.about.groups or self.run.kinds, "recorded" in self.about.words
        tasks: dict[tuple[str, str], int] = {}
        for row in self.run.rows:
            if (row.user, row.task) not in tasks:
                tasks[row.user, row.task] = sink.task(row.user, cut(row.task))
            shot = -1 if row.screenshot is None else sink.shot(row.screenshot)
            sink.add(_item(row, tasks[row.user, row.task], shot, kinds, in_words=in_words))
        return lambda: self.about.diagrams

    def frame(self, *, version: str = "", warnings: Sequence[str] = ()) -> RunPage:
        run, about = self.run, self.about
        metrics = {each.name: each for each in run.metrics}
        own = (_metric(metrics[name].label, found, metrics[name].of) for name, found in run.scores.items())
        return RunPage(
            name=f"{data_name(run.dataset, run.info.departs)} · {run.name}",
            data=f"{run.dataset}@{run.fingerprint}",
            folder=str(run.folder),
            status="started" if run.info.status == "started" else run.status,
            metrics=(*own, *about.metrics),
            facts=(*about.facts, *_where(run, run.signature)),
            warnings=(*about.warnings, *warnings),
            tables=about.tables,
            words=about.words,
            independent=run.item == "task",
            version=version,
        )


def _item(row: ItemRow, task: int, shot: int, kinds: Sequence[str], *, in_words: bool) -> StepRow:
    return StepRow(
        id=row.id,
        participant=row.user,
        task=task,
        instruction=cut(row.instruction),
        shot=shot,
        outcome=row.result if row.was_asked else "pending",
        gold=row.region,
        click=row.points[0] if row.points else None,
        distance=row.distance_px,
        failure=None if row.is_hit or not row.was_asked else row.outcome,
        reason=cut(row.reason) if row.was_asked else "",
        plan=cut(row.plan),
        raw=cut(row.reply),
        seconds=row.seconds,
        groups=tuple(cut(f"{kind}: {name}") for kind in kinds for name in row.groups.get(kind, ())),
        recorded=row.recorded,
        points=row.points,
        target=cut(row.target, 200) if in_words else "",
        answer=cut(row.answer, 200) if in_words else "",
        notes=tuple(Note(title=note.title, text=cut(note.text)) for note in row.notes),
    )

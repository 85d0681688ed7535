"""What recognition errors do to an agent: runs over the same steps in, differences, slopes and changed steps out.

Pure. The truth is the run over the true transcripts; the others differ from it in nothing but the source of the words
(RealWebAssist, appendix, Table 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from grounding.asr.conditions import Condition, parse_condition
from grounding.asr.spoken import Spoken, Transcripts, WordScore, pairs_of
from grounding.asr.word_errors import ClipErrors, word_errors
from grounding.records import Outcome, Record, TaskLabel
from grounding.scoring import Comparison, Estimate, PaperScores, Summary, compare, registered
from grounding.scoring.clusters import ClusterName
from grounding.scoring.intervals import Matrix, resampled_sums
from grounding.scoring.scored import ScoredStep, ScoredTask

Cause = Literal["words", "spelling", "unheard", "before"]
"""Why an outcome may differ from the truth's. ``words``: words of the instruction were heard wrong. ``spelling``: all
words are right, but they are written in another way. ``unheard``: there is no transcript. ``before``: the instruction
is as it was said, letter by letter, so that only the history, or chance, can have made the difference."""


class HeardRun(Record, frozen=True, kw_only=True):
    """A scored run under one condition; ``transcripts`` is None for the true words."""

    condition: str
    folder: str
    transcripts: Transcripts | None
    summary: Summary
    tasks: tuple[ScoredTask, ...]


class Slope(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The line through instructions: points of step accuracy lost for every 10 points of word error rate.

    Least squares over ``instructions`` (each once for each condition), interval from drawing whole tasks, or
    participants; None where the instructions do not differ in their word error rate.
    """

    value: float | None
    low: float | None
    high: float | None
    instructions: int


class Spot(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One instruction under one condition: its word error rate, and the accuracy lost on its steps, in percent."""

    condition: str
    participant: str
    task: TaskLabel
    word_error_percent: float
    lost_percent: float


class Changed(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A step that only one of the two runs hit."""

    condition: str
    step_id: str
    participant: str
    task: TaskLabel
    said: str
    heard: str
    truth: Outcome
    outcome: Outcome
    cause: Cause
    word_error_percent: float | None
    audio: str
    clip_sha256: str
    reason: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether the error cost a hit; else it brought one."""
        return self.truth == "hit"


class Row(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One source of transcripts: a line of the table.

    ``words`` is None for the truth. ``missing``, ``unparsed`` and ``failed`` count instructions without a transcript:
    no recording or entry; one that can't be read or in which nothing was heard; a recogniser that failed.
    ``difference`` is to the truth, over the same steps; None for the truth itself and where there is none.
    """

    condition: str
    folder: str
    words: WordScore | None
    missing: int = 0
    unparsed: int = 0
    failed: int = 0
    status: str
    scores: PaperScores
    difference: Comparison | None = None
    slope: Slope | None = None


class Level(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One point of a curve."""

    snr_db: float
    words: WordScore
    step_accuracy: Estimate


class Curve(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One recogniser under one kind of noise at several levels, from the loudest noise on; ``clean`` is without any."""

    recogniser: str
    noise: str
    levels: tuple[Level, ...]
    clean: Row | None


class Ablation(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that was found. ``truth`` is the number of the row over the true words, None where there is none."""

    title: str
    rows: tuple[Row, ...]
    truth: int | None
    slope: Slope | None
    curves: tuple[Curve, ...]
    spots: tuple[Spot, ...]
    changed: tuple[Changed, ...]


def ablate(runs: Sequence[HeardRun], *, title: str, seed: int = 0, clusters: ClusterName = "task") -> Ablation:
    """Compare every run with the one over the true words.

    Args:
        runs: In the order of the table, over the same steps.
        title: What they have in common.
        seed: Of the bootstraps.
        clusters: What those draw together.

    Raises:
        ValueError: the runs are not over the same steps.
    """
    truth = next((number for number, run in enumerate(runs) if run.transcripts is None), None)
    rows: list[Row] = []
    spots: list[Spot] = []
    changed: list[Changed] = []
    for run in runs:
        told = run.transcripts
        if told is None or truth is None:
            rows.append(_row(run))
            continue
        base = runs[truth]
        difference = compare(registered(), run.tasks, base.tasks, seed=seed, clusters=clusters)
        of_clip = {clip.clip_id: clip for clip in word_errors(pairs_of(told.spoken)).clips}
        mine = _spots(run, base, told, of_clip)
        rows.append(_row(run, difference=difference, slope=fit_slope(mine, seed=seed, clusters=clusters)))
        spots += mine
        changed += _changed(run, base, told, of_clip)
    return Ablation(
        title=title,
        rows=tuple(rows),
        truth=truth,
        slope=fit_slope(spots, seed=seed, clusters=clusters) if spots else None,
        curves=curves(rows),
        spots=tuple(spots),
        changed=tuple(changed),
    )


def _row(run: HeardRun, *, difference: Comparison | None = None, slope: Slope | None = None) -> Row:
    told = run.transcripts
    return Row(
        condition=run.condition,
        folder=run.folder,
        words=None if told is None else told.score,
        missing=0 if told is None else told.failures("missing"),
        unparsed=0 if told is None else told.failures("unparsed"),
        failed=0 if told is None else told.failures("error"),
        status=run.summary.status,
        scores=run.summary.scores.paper,
        difference=difference,
        slope=slope,
    )


# --- instruction by instruction -----------------------------------------------------------------------------------


def _by_id(tasks: Sequence[ScoredTask]) -> dict[str, ScoredStep]:
    return {scored.step.id: scored for task in tasks for scored in task.steps}


def _spots(run: HeardRun, base: HeardRun, told: Transcripts, of_clip: Mapping[str, ClipErrors]) -> list[Spot]:
    mine, theirs = _by_id(run.tasks), _by_id(base.tasks)
    found = []
    for one in told.spoken:
        steps = [step for step in one.steps if step in mine]
        rate = of_clip[one.id].errors.rate_percent
        if not steps or rate is None:
            continue
        lost = sum(theirs[step].is_hit - mine[step].is_hit for step in steps)
        found.append(
            Spot(
                condition=run.condition,
                participant=one.participant,
                task=one.task,
                word_error_percent=rate,
                lost_percent=100 * lost / len(steps),
            )
        )
    return found


def _changed(run: HeardRun, base: HeardRun, told: Transcripts, of_clip: Mapping[str, ClipErrors]) -> list[Changed]:
    spoken = {step: one for one in told.spoken for step in one.steps}
    theirs = _by_id(base.tasks)
    found = []
    for task in run.tasks:
        for scored in task.steps:
            other, one = theirs[scored.step.id], spoken.get(scored.step.id)
            if one is None or scored.is_hit == other.is_hit:
                continue
            errors = of_clip[one.id].errors
            found.append(
                Changed(
                    condition=run.condition,
                    step_id=scored.step.id,
                    participant=task.participant,
                    task=task.label,
                    said=one.reference,
                    heard=one.heard,
                    truth=other.verdict.outcome,
                    outcome=scored.verdict.outcome,
                    cause=_cause(one, errors.errors),
                    word_error_percent=errors.rate_percent,
                    audio=one.audio,
                    clip_sha256=one.clip_sha256,
                    reason=scored.verdict.reason,
                )
            )
    return found


def _cause(one: Spoken, errors: int) -> Cause:
    if one.failure is not None:
        return "unheard"
    if errors:
        return "words"
    return "before" if one.heard == one.reference else "spelling"


def fit_slope(spots: Sequence[Spot], *, seed: int = 0, clusters: ClusterName = "task") -> Slope:
    """The least-squares line through the spots, with a 95 % percentile interval from drawing tasks or participants."""
    rows: dict[tuple[str, TaskLabel | None], list[float]] = {}
    for spot in spots:
        cluster = (spot.participant, spot.task if clusters == "task" else None)
        x, y = spot.word_error_percent / 10, spot.lost_percent
        sums = rows.setdefault(cluster, [0.0] * 5)
        for at, value in enumerate((1.0, x, y, x * x, x * y)):
            sums[at] += value
    if not rows:
        return Slope(value=None, low=None, high=None, instructions=0)
    parts = np.array(list(rows.values()), dtype=np.float64)
    (value,) = _slopes(parts.sum(axis=0, keepdims=True))
    drawn = _slopes(resampled_sums(parts, seed))
    known = drawn[~np.isnan(drawn)]
    # Where no draw differs, as with a single task, they say nothing about how sure the slope is.
    differ = len(known) > 0 and np.ptp(known) > 1e-9
    low, high = np.quantile(known, [0.025, 0.975]) if differ and not np.isnan(value) else (None, None)
    return Slope(
        value=None if np.isnan(value) else float(value),
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        instructions=len(spots),
    )


def _slopes(sums: Matrix) -> Matrix:
    """Rows of (n, sum x, sum y, sum xx, sum xy) to slopes; NaN where all x are equal."""
    n, x, y, xx, xy = sums.T
    spread = n * xx - x * x
    # Sums in another order differ in their last bits; that is no spread.
    flat = spread <= 1e-9 * np.maximum(1.0, n * xx)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(flat, np.nan, (n * xy - x * y) / spread)


# --- levels of noise ----------------------------------------------------------------------------------------------


def curves(rows: Sequence[Row]) -> tuple[Curve, ...]:
    """One curve for every recogniser and kind of noise that has two levels or more."""
    levels: dict[tuple[str, str], list[Level]] = {}
    clean: dict[str, Row] = {}
    for row in rows:
        condition = parse_condition(row.condition)
        if not condition.is_heard or row.words is None:
            continue
        recogniser = condition.clean.label
        if condition.noise is None:
            clean[recogniser] = row
            continue
        level = Level(snr_db=condition.noise.snr_db, words=row.words, step_accuracy=row.scores.step_accuracy)
        levels.setdefault((recogniser, kind_of_noise(condition)), []).append(level)
    return tuple(
        Curve(
            recogniser=recogniser,
            noise=noise,
            levels=tuple(sorted(found, key=lambda level: level.snr_db)),
            clean=clean.get(recogniser),
        )
        for (recogniser, noise), found in levels.items()
        if len(found) > 1
    )


def kind_of_noise(condition: Condition) -> str:
    """A condition's noise without its level: what the points of one curve share."""
    noise = condition.noise
    if noise is None:
        return ""
    measure = ", active speech" if noise.measure == "speech-active" else ""
    return f"{noise.source}{measure}{f', seed {noise.seed}' if noise.seed else ''}"

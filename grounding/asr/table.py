"""What recognition errors do: runs that differ in their transcripts, in the shape of RealWebAssist's Table 4.

The scores, their paired differences and the page are those of any sweep; here is what speech adds to them: the word
error rate among the scores, the lines below the table, the curve over the level of the noise, and the paper's figures.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from grounding.cards.places import published_dir
from grounding.console import say
from grounding.data.release import data_name
from grounding.data.speech import TRUTH, parse_condition
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.groups import table_of
from grounding.report.matrix import MatrixRow, print_matrix
from grounding.report.plot import PlotPoint, SweepPlot, picture, save
from grounding.report.published import PAPER, figure_text
from grounding.run.scorebook import ScoredClicks, scored_tasks
from grounding.scoring import Comparison, Summary, compare, registered
from grounding.scoring.metrics import Metric
from grounding.scoring.published import read_published
from grounding.scoring.words import WORD_ERROR_RATE, Transcripts, read_spoken

NOISE_NOTE = (
    "noise      the paper names its noises (MS-SNSD: people talking, typing) and neither their level nor the files: "
    "its third row can't be repeated, and a level stands beside every noise here"
)
_COLUMNS = ("word error rate", "step accuracy", "progress", "task success")


class HeardRun(Record, frozen=True, kw_only=True):
    """A scored run with what it was told; ``told`` is None for the true words. ``summary`` is the run's, with the word
    error rate among its scores.
    """

    scored: ScoredClicks
    told: Transcripts | None
    summary: Summary

    @property
    def condition(self) -> str:
        return TRUTH if self.told is None else self.told.condition


def heard_run(scored: ScoredClicks) -> HeardRun:
    """A run with its word error rate. Raises UserError: what the run was told can't be read."""
    told, summary = read_spoken(scored.folder), scored.summary
    if told is not None:
        scores = summary.scores
        scores = replace(scores, extra={**scores.extra, WORD_ERROR_RATE: told.score.estimate})
        summary = replace(summary, scores=scores)
    return HeardRun(scored=scored, told=told, summary=summary)


def print_notes(console: Console, runs: Sequence[HeardRun], *, published: bool = False) -> None:
    published = published or any(run.scored.info.asked.dataset == PAPER for run in runs)
    if published:
        figures = [one for one in read_published(published_dir() / f"{PAPER}.csv") if one.table == "4"]
        table = table_of("RealWebAssist, Table 4 (GPT-4o + UGround-V1), in per cent; WER from the text", ["transcript"])
        cells = {(one.row, one.column): figure_text(one) for one in figures}
        for name in _COLUMNS:
            table.add_column(name, justify="right")
        for name in dict.fromkeys(one.row for one in figures):
            table.add_row(name, *(cells.get((name, column), "") for column in _COLUMNS))
        console.print(table)
    told = {run.told.condition: run.told for run in runs if run.told is not None}
    lines = [
        f"WER        corpus level, normaliser {normaliser}; intervals over recordings"
        for normaliser in dict.fromkeys(one.score.normaliser for one in told.values())
    ]
    lines += [f"transcript {one.words}" for one in told.values()]
    if published or any("@" in condition for condition in told):
        lines.append(NOISE_NOTE)
    for line in lines:
        say(console, line)


# --- over the level of the noise ----------------------------------------------------------------------------------

_PLOTTED = (
    Metric(name=WORD_ERROR_RATE, title="word error rate", of="words said", unit="% of words"),
    Metric(name="step_accuracy", title="step accuracy", of="steps"),
)


def draw_levels(runs: Sequence[HeardRun], folder: Path, subtitle: str) -> tuple[Path, ...]:
    """Draw word error rate above step accuracy over the level of the noise, a line for each recogniser and noise.
    Dashed lines are the same recognisers without noise, and the true words. Nothing without two levels of one noise.
    """
    points, still = [], []
    for run in runs:
        condition, scores = parse_condition(run.condition), run.summary.scores
        if (noise := condition.noise) is None:
            still.append((run.condition if run.told is None else f"{run.condition}, no noise", scores))
            continue
        series = f"{condition.clean.label}, {noise.source}{f', seed {noise.seed}' if noise.seed else ''}"
        partial = run.summary.status == "partial"
        points.append(PlotPoint(series=series, x=noise.snr_db, scores=scores, partial=partial))
    several = tuple(one for one in points if sum(other.series == one.series for other in points) > 1)
    if not several:
        return ()
    plot = SweepPlot(
        points=several,
        metrics=_PLOTTED,
        x_option="signal-to-noise ratio in dB: the less, the louder the noise",
        series_options=("recogniser", "noise"),
        subtitle=subtitle,
        lines=tuple(still),
        note="95 % intervals over recordings above, over tasks below",
    )
    return save(picture(plot), folder, "speech-snr")


# --- finished runs ------------------------------------------------------------------------------------------------


def print_table(console: Console, runs: Sequence[ScoredClicks], *, published: bool) -> None:
    """Print the table over finished runs that differ in their transcripts only; asks and hears nothing again. Raises
    UserError: no run, runs that differ in more, or over other steps.
    """
    if not runs:
        raise UserError("no run was given: name run folders, one of them over the true words")
    first = runs[0]
    for run in runs[1:]:
        one, other = first.info.asked, run.info.asked
        fields = [name for name in one.__struct_fields__ if name != "transcript"]
        names = [name for name in fields if getattr(one, name) != getattr(other, name)]
        if names:  # Anything else would change scores as well.
            raise UserError(
                f"{first.folder} and {run.folder} differ in more than their transcripts ({', '.join(names)}): "
                "compare runs of one planner, grounder and data set"
            )
    heard = [heard_run(run) for run in runs]
    base = next((number for number, run in enumerate(heard) if run.told is None), 0)
    tasks, asked, compared = scored_tasks(runs[base]), first.info.asked, dict[int, Comparison]()
    try:
        for number, run in enumerate(runs):
            if number != base:
                compared[number] = compare(
                    registered(), scored_tasks(run), tasks, seed=asked.seed, clusters=first.info.clusters
                )
    except ValueError as error:
        raise UserError(f"the runs can't be compared: {error}") from error
    print_matrix(
        console,
        [MatrixRow(values=(run.condition,), summary=run.summary, folder=str(run.scored.folder)) for run in heard],
        title=f"{data_name(asked.dataset, first.info.departs)} · planner {asked.planner} · grounder {asked.grounder}",
        headings=("transcript",),
        scoring="paper",
        compared=compared,
        baseline=base,
    )
    print_notes(console, heard, published=published)

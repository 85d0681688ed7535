"""An ablation as tables: the shape of the paper's Table 4 for a terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.asr.ablation import Ablation, Row, Slope
from grounding.asr.drawing import slope_words
from grounding.asr.spoken import WordScore
from grounding.places import published_dir
from grounding.records import Record
from grounding.report.matrix import estimate_text
from grounding.report.published import PAPER, figure_text
from grounding.scoring import Estimate
from grounding.scoring.published import read_published

COLUMNS = (
    ("step_accuracy", "step accuracy"),
    ("average_progress", "progress"),
    ("task_success", "task success"),
)
"""Field of the scores and heading."""

WORD_ERRORS = "word error rate"
"""The column of published word error rates."""

_TABLE_4 = "4"


class PublishedRow(Record, frozen=True, kw_only=True):
    """A row of the paper's Table 4, as text; "" where the paper has no figure."""

    name: str
    words: str
    scores: tuple[str, ...]


def published_rows() -> tuple[PublishedRow, ...]:
    """The rows of the paper's Table 4 with the word error rates from the text beside it.

    Raises:
        UserError: the figures are missing from this installation or damaged.
    """
    figures = [one for one in read_published(published_dir() / f"{PAPER}.csv") if one.table == _TABLE_4]
    cells = {(one.row, one.column): figure_text(one) for one in figures}
    return tuple(
        PublishedRow(
            name=name,
            words=cells.get((name, WORD_ERRORS), ""),
            scores=tuple(cells.get((name, heading), "") for _, heading in COLUMNS),
        )
        for name in dict.fromkeys(one.row for one in figures)
    )


def print_ablation(console: Console, ablation: Ablation, *, published: bool = False) -> None:
    """Print the scores under every source of transcripts, the differences to the truth, and what errors cost."""
    console.print(_scores(ablation))
    if ablation.truth is not None and len(ablation.rows) > 1:
        console.print(_differences(ablation))
    if published:
        console.print(_published())
    for line in lines(ablation):
        console.print(Text(line), soft_wrap=True, highlight=False)


def _scores(ablation: Ablation) -> Table:
    table = Table(title=Text(ablation.title), title_style="bold", title_justify="left")
    for heading in ("transcript", "WER %", "step accuracy %", "progress %", "task success %", "tasks"):
        table.add_column(heading, justify="left" if heading == "transcript" else "right", overflow="fold")
    for row in ablation.rows:
        success = row.scores.task_success
        cells = [row.condition + _mark(row), words_text(row.words), *(estimate_text(one) for one in _figures(row))]
        table.add_row(*map(Text, cells), "-" if success.k is None else f"{success.k}/{success.n}")
    return table


def _differences(ablation: Ablation) -> Table:
    title = "difference to the true words in points, paired; won and lost are steps; slope: lost for 10 of WER"
    table = Table(title=Text(title), title_style="bold", title_justify="left")
    for heading in ("transcript", *(heading for _, heading in COLUMNS), "won", "lost", "slope"):
        table.add_column(heading, justify="left" if heading == "transcript" else "right", overflow="fold")
    for row in ablation.rows:
        if row.difference is None:
            continue
        found = [estimate_text(row.difference.metrics[field], sign="+") for field, _ in COLUMNS]
        table.add_row(
            *map(Text, (row.condition, *found)),
            str(row.difference.won),
            str(row.difference.lost),
            slope_text(row.slope),
        )
    return table


def _published() -> Table:
    title = "RealWebAssist, Table 4 (GPT-4o + UGround-V1), in per cent; WER from the text"
    table = Table(title=Text(title), title_style="bold", title_justify="left")
    for heading in ("transcript", "WER", *(heading for _, heading in COLUMNS)):
        table.add_column(heading, justify="left" if heading == "transcript" else "right")
    for row in published_rows():
        table.add_row(row.name, row.words, *row.scores)
    return table


def lines(ablation: Ablation) -> list[str]:
    """What stands below the tables: how words were compared, what errors cost, and why outcomes changed."""
    found = []
    rated = [row for row in ablation.rows if row.words is not None]
    if rated and rated[0].words is not None:
        words = rated[0].words
        found.append(
            f"WER        corpus level, normaliser {words.normaliser}, {words.instructions:,} instructions of "
            f"{words.errors.reference_words:,} words; intervals over recordings"
        )
    for row in rated:
        lacking = row.missing + row.unparsed + row.failed
        if lacking and row.words is not None:
            found.append(
                f"warning    {row.condition}: {lacking} of {row.words.instructions} instructions have no transcript, "
                "are not asked about and count as wrong"
            )
    if ablation.spots:
        found.append(f"slope      {slope_words(ablation)}")
    if ablation.changed:
        found.append(f"changed    {changed_words(ablation)}")
    return found


def changed_words(ablation: Ablation) -> str:
    """How many outcomes changed, and for what reason."""
    parts = []
    for cause, words in (
        ("words", "words heard wrong"),
        ("unheard", "no transcript"),
        ("spelling", "only the spelling differs"),
        ("before", "the very same words"),
    ):
        lost = sum(one.cause == cause and one.is_lost for one in ablation.changed)
        won = sum(one.cause == cause and not one.is_lost for one in ablation.changed)
        if lost or won:
            parts.append(f"{words}: {lost} lost, {won} won")
    return f"{len(ablation.changed)} outcomes over all conditions: {'; '.join(parts)}"


def words_text(words: WordScore | None) -> str:
    """A word error rate with its interval: ``28.1 [26.0, 30.2]``."""
    if words is None or words.rate_percent is None:
        return "-"
    interval = words.interval
    return f"{words.rate_percent:.1f}" + ("" if interval is None else f" [{interval.low:.1f}, {interval.high:.1f}]")


def slope_text(slope: Slope | None) -> str:
    """A slope with its interval."""
    if slope is None or slope.value is None:
        return "-"
    return f"{slope.value:+.1f}" + ("" if slope.low is None else f" [{slope.low:+.1f}, {slope.high:+.1f}]")


def _figures(row: Row) -> list[Estimate]:
    return [getattr(row.scores, field) for field, _ in COLUMNS]


def _mark(row: Row) -> str:
    return " (partial)" if row.status == "partial" else ""


# --- files --------------------------------------------------------------------------------------------------------


def ablation_markdown(ablation: Ablation, *, published: bool = False) -> str:
    """The table as Markdown, with the differences in its last columns."""
    heads = ["transcript", "WER %", "step accuracy %", "progress %", "task success %"]
    differs = ablation.truth is not None
    heads += ["Δ step accuracy", "Δ progress", "Δ task success", "won", "lost"] if differs else []
    out = [f"**{_cell(ablation.title)}**", "", _line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
    for row in ablation.rows:
        cells = [f"`{row.condition}`{_mark(row)}", words_text(row.words), *map(estimate_text, _figures(row))]
        if row.difference is not None:
            cells += [estimate_text(row.difference.metrics[field], sign="+") for field, _ in COLUMNS]
            cells += [str(row.difference.won), str(row.difference.lost)]
        elif differs:
            cells += [""] * 5
        out.append(_line([_cell(cell) for cell in cells]))
    if published:
        out += ["", "**RealWebAssist, Table 4 (GPT-4o + UGround-V1); WER from the text**", ""]
        out += [_line(heads[:5]), _line(["---", *["---:"] * 4])]
        out += [_line([_cell(row.name), row.words, *row.scores]) for row in published_rows()]
    return "\n".join([*out, "", *lines(ablation), ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def ablation_csv(ablation: Ablation) -> str:
    """One line a source: word errors, scores and differences with their intervals, unrounded, in per cent."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    ends = ("", "_low", "_high")
    words = ("wer", "wer_low", "wer_high", "substitutions", "deletions", "insertions", "reference_words")
    writer.writerow(
        [
            *("transcript", "status", *words, "normaliser", "instructions", "missing", "unparsed", "failed"),
            *(f"{field}{end}" for field, _ in COLUMNS for end in (*ends, "_k", "_n")),
            *(f"{field}_difference{end}" for field, _ in COLUMNS for end in (*ends, "_p")),
            *("won", "lost", "slope", "slope_low", "slope_high", "run_folder"),
        ]
    )
    for row in ablation.rows:
        cells: list[object] = [row.condition, row.status]
        if row.words is None:
            cells += [None] * 9
        else:
            of, interval = row.words.errors, row.words.interval
            cells += [row.words.rate_percent, *((interval.low, interval.high) if interval else (None, None))]
            cells += [of.substitutions, of.deletions, of.insertions, of.reference_words]
            cells += [row.words.normaliser, row.words.instructions]
        cells += [row.missing, row.unparsed, row.failed]
        for one in _figures(row):
            cells += [one.value, one.low, one.high, one.k, one.n]
        for field, _ in COLUMNS:
            found = None if row.difference is None else row.difference.metrics[field]
            cells += [None] * 4 if found is None else [found.value, found.low, found.high, found.p]
        cells += [None, None] if row.difference is None else [row.difference.won, row.difference.lost]
        slope = row.slope
        cells += [None] * 3 if slope is None else [slope.value, slope.low, slope.high]
        writer.writerow(["" if cell is None else cell for cell in (*cells, row.folder)])
    return out.getvalue()

"""``grounding report`` and ``grounding score``: a run shown again, broken down or beside figures, or scored anew."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from grounding.errors import UserError
from grounding.options import ClusterChoice, DesktopScoringName

REPORT_EXAMPLES = """
Examples:

```
# The table of a run again
grounding report results/sample-web_none_ocr_1234567890

# Where does it fail? By the size of the target and the place in the task
grounding report RUN --by gold-area position

# Beside the figures of the paper
grounding report RUN --published

# The curves, samples and figures of a training
grounding report results/train-gta1_sample-web_1234567890
```
"""

SCORE_EXAMPLES = "Example: grounding score results/sample-web_none_ocr_0123456789"

_Flag = Parameter(negative="", show_default=False)


def report_command(
    *runs: Path,
    by: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)] = (),
    published: Annotated[bool, _Flag] = False,
    clusters: ClusterChoice | None = None,
    scoring: DesktopScoringName = "paper",
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Show scored runs again, by any column, or beside published figures. Asks no model and writes nothing.

    Of a training run the page ``report.html`` is written anew.

    Args:
        runs: Run folders, or a folder that holds some.
        by: Columns to break the scores down by. Clicks: participant, task, instruction-words, gold-shapes, gold-area,
            screen, position, action, or any kind of label that the data set has (platform, application, type, ...).
            Desktop tasks: kind, category, action, failure, ... Shops: type, scenario, user, ... A wrong name lists
            those that the run has.
        published: Put the runs under the tables of the paper of their benchmark.
        clusters: What intervals of breakdowns are drawn over, task or participant [default: as the run was scored].
        scoring: Which definition the run's own table shows: paper, official, or strict for desktop tasks.
        json: Print JSON: the breakdowns where --by is given, else the summaries.
    """
    from grounding.console import print_json, wide_console
    from grounding.report.matrix import WIDE
    from grounding.report.rows import break_down, breakdown_table, read_rows, run_folders, run_names
    from grounding.run.benchmark import benchmark_called
    from grounding.training.records import is_training_run

    runs = run_folders(runs)
    trainings = [path for path in runs if is_training_run(path)]
    if trainings:
        if len(trainings) < len(runs) or by or published or json:
            raise UserError(
                f"{trainings[0]} is a training run: its page and its figures are shown by themselves, without --by, "
                "--published and --json (summary.json in it has the figures)"
            )
        from grounding.training.results import print_run, write_page

        for path in trainings:
            write_page(path)
            print_run(wide_console(), path)
        return 0
    results = [read_rows(path) for path in runs]
    for run in results:
        takes = benchmark_called(run.benchmark).takes.only("scoring")
        takes.check({"scoring": scoring}, {"scoring": "paper"}, run.dataset)
    if published:
        if len({run.benchmark for run in results}) > 1:
            raise UserError("--published: the runs are of different benchmarks, whose papers have different tables")
        benchmark_called(results[0].benchmark).print_published(wide_console(WIDE), [run.scored for run in results])
        return 0
    console = wide_console(WIDE) if by else wide_console(100 if all(not run.benchmark for run in results) else WIDE)
    printed = []
    for run, name in zip(results, run_names(results), strict=True):
        found = [break_down(run, column, clusters=clusters) for column in by]
        about = {"name": name, "folder": str(run.folder)}
        printed.append({**about, "summary": None if by else run.summary, "breakdowns": found})
        if json:
            continue
        if not by:
            benchmark_called(run.benchmark).print_runs(console, [run.scored], scoring)
            continue
        console.print(f"{name}  ({run.folder})", markup=False, highlight=False, soft_wrap=True)
        for each in found:
            console.print(breakdown_table(each, run, clusters=clusters))
    if json:
        print_json(printed)
    return 0


def score_command(
    run: Path,
    /,
    *,
    scoring: DesktopScoringName | None = None,
    tolerance: float | None = None,
    clusters: ClusterChoice | None = None,
    published: Annotated[bool, _Flag] = False,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Score a run again from its stored answers. Asks no model.

    Args:
        run: The run's folder.
        scoring: Which definition the table shows: paper, official, or strict for desktop tasks; summary.json has them
            all [default: paper, or what a run on the web was made with].
        tolerance: How many pixels an action on a desktop may be off [default: as before].
        clusters: What the intervals are drawn over [default: as before].
        published: Show the tables of PERCU's paper, of PersonalWAB's or of AgenticShop's, too.
        json: Print summary.json instead of the table.
    """
    from grounding.run import several
    from grounding.run.benchmark import benchmark_called
    from grounding.run.lock import benchmark_of

    given = {"scoring": scoring, "tolerance": tolerance, "clusters": clusters}
    return several.score_command(benchmark_called(benchmark_of(run)), run, given, as_json=json, published=published)


COMPARE_EXAMPLES = """
Examples:

```
# Is the second run better than the first?
grounding compare results/sample-web_none_ocr_1234567890 results/sample-web_replay_ocr_0123456789

# Three runs beside a fourth, participants drawn as wholes
grounding compare RUN RUN RUN --baseline BASELINE --clusters participant

# All runs of one command
grounding compare results/matrix_1234567890
```
"""


def compare_command(
    *runs: Path,
    baseline: Path | None = None,
    clusters: Literal["task", "participant"] = "task",
    intervals: Literal["bootstrap", "wald"] = "bootstrap",
    seed: int = 0,
    force: Annotated[bool, _Flag] = False,
    flips: Annotated[bool, _Flag] = False,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Compare runs over the same steps: differences with intervals, p-values, and the steps that flipped.

    Runs over other data, other steps or with another way of scoring are refused. Asks no model. The same as a page,
    with every item that flipped, is written beside the runs.

    Args:
        runs: Run folders, or a folder that holds some; the first is the baseline unless --baseline names another.
        baseline: The run that all others are compared with.
        clusters: What the bootstrap draws as a whole: each task, or everything of one participant.
        intervals: `bootstrap` (paired, right), or `wald` (unpaired, as papers print it; only proportions have one).
        seed: Seed of the bootstrap.
        force: Compare anyway what differs in data or scoring, over the steps that both have.
        flips: List the steps that only one of two runs hit.
        json: Print everything as JSON, with the flipped steps.
    """
    if seed < 0:
        raise UserError(f"--seed {seed}: expected 0 or more")
    from grounding.console import print_json, wide_console
    from grounding.report.compare import compare_runs, print_comparison
    from grounding.report.html.comparison import write_comparison
    from grounding.report.matrix import WIDE
    from grounding.report.rows import run_folders

    result = compare_runs(
        run_folders(runs), baseline=baseline, clusters=clusters, intervals=intervals, force=force, seed=seed
    )
    if json:
        print_json(result)
    else:
        print_comparison(wide_console(WIDE), result, flips=flips)
        with contextlib.suppress(OSError):  # Others' results may be looked at where nothing can be written.
            print(f"page       {os.path.relpath(write_comparison(result))}")
    return 0


BOARD_EXAMPLES = """
Examples:

```
# All scored runs in a folder among what others report
grounding board --dataset screenspot-pro results

# The published figures alone
grounding board --dataset osworld-g
```
"""


def board_command(*runs: Path, dataset: str, out: Path = Path("results"), json: Annotated[bool, _Flag] = False) -> int:
    """Show runs among the published figures of a data set, from the highest down, and draw it. Asks no model.

    Own runs have their count, interval and scoring. What does not belong beside the others (other steps, other
    instructions, not the release, another definition) stands apart, with the reason.

    Args:
        runs: Run folders, or a folder that holds some.
        dataset: The data set: screenspot, screenspot-v2, screenspot-pro, osworld-g, osworld-g-refined or ui-vision.
        out: Where board_DATASET.png and .svg are written.
        json: Print JSON instead, and draw nothing.
    """
    from grounding.console import print_json, wide_console
    from grounding.report.board import NARROW, draw_board, make_board, print_board

    board = make_board(dataset, runs)
    if json:
        print_json(board)
        return 0
    print_board(wide_console(NARROW), board)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {out}: the folder can't be made: {error.strerror}") from error
    print(f"drawn      {', '.join(map(str, draw_board(board, out)))}")
    return 0


EXPORT_EXAMPLES = """
Examples:

```
# A table for a paper: best in bold, a dagger where a run differs from the first
grounding export RUN RUN RUN --format latex --out table.tex

# The line that a leaderboard asks for
grounding export RUN --submission

# For the viewer of Inspect (pip install 'gui-grounding[inspect]')
grounding export RUN --format inspect --out run.eval

# A data set of the Hugging Face hub: a card with the scores, and every answer (pip install 'gui-grounding[parquet]')
grounding export RUN RUN --format hub --out my-results

# Every step with its plan, prediction and verdict, for pandas, DuckDB, ... (pip install 'gui-grounding[parquet]')
grounding export RUN --format parquet --out s3://bucket/run
```
"""


def export_command(
    *runs: Path,
    format: Literal["markdown", "latex", "csv", "json", "inspect", "parquet", "hub"] = "markdown",
    submission: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    baseline: Path | None = None,
    out: str | None = None,
) -> int:
    """Write the scores of runs as a table, or runs as a log of Inspect, as Parquet or for the hub. Asks no model.

    Args:
        runs: Folders of scored runs, or a folder that holds some.
        format: Which form; `inspect` and `parquet` take one run, and they and `hub` need --out.
        submission: One wide line of CSV for each run instead: scores, counts and every group, as leaderboards ask.
        baseline: The run that the others are tested against [default: the first].
        out: Where to write [default: standard output]; of Parquet a folder, also elsewhere (s3://, gs://). What is
            there is not overwritten.
    """
    from grounding.report.export import FORMS, export_table, write_inspect_log
    from grounding.report.export import submission as submission_lines
    from grounding.report.rows import read_rows, run_folders

    runs = run_folders(runs)
    if format == "parquet" and not submission:
        if len(runs) != 1 or out is None:
            raise UserError("--format parquet writes one run to one folder: name one run, and --out FOLDER")
        from grounding.report.frames import write_parquet

        print(f"written to {out}: {', '.join(write_parquet(runs[0], out))}", file=sys.stderr)
        return 0
    if format == "hub" and not submission:
        if out is None:
            raise UserError("--format hub writes a folder: name it with --out FOLDER")
        from grounding.report.hub import write_hub

        print(f"written to {out}: {', '.join(write_hub(runs, out, baseline=baseline))}", file=sys.stderr)
        return 0
    place = None if out is None else Path(out)
    if place is not None and place.exists():
        raise UserError(f"--out {out}: is there already; name another file or remove it")
    if format == "inspect" and not submission:
        if len(runs) != 1 or place is None:
            raise UserError("--format inspect writes one run to one file: name one run, and --out FILE.eval")
        write_inspect_log(read_rows(runs[0]), place)
        print(f"written to {out}", file=sys.stderr)
        return 0
    if submission:
        text = submission_lines([read_rows(path) for path in runs])
    else:
        text = FORMS[format](export_table(runs, baseline=baseline))
    if place is None:
        print(text, end="")
    else:
        place.write_text(text, encoding="utf-8")
        print(f"written to {out}", file=sys.stderr)
    return 0

"""``grounding report``: a run that was scored, shown again, broken down, or beside published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from grounding.errors import UserError
from grounding.options import ClusterChoice, ScoringName

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
grounding report results/train-gta1-7b-2507_sample-web_without-participant-3_1234567890
```
"""

_Flag = Parameter(negative="", show_default=False)


def report_command(
    *runs: Path,
    by: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)] = (),
    published: Annotated[bool, _Flag] = False,
    clusters: ClusterChoice | None = None,
    scoring: ScoringName = "paper",
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Show scored runs again, by any column, or beside published figures. Asks no model and writes nothing.

    Of a training run the page ``report.html`` is written anew.

    Args:
        runs: Run folders.
        by: Columns to break step accuracy down by: participant, task, instruction-words, gold-shapes, gold-area,
            screen, position, action, or any kind of label that the data set has (platform, application, type, ...).
        published: Put the runs under the tables of RealWebAssist's paper, or of PERCU's for desktop tasks.
        clusters: What intervals of breakdowns are drawn over, task or participant [default: as the run was scored].
        scoring: Which definition the run's own table shows.
        json: Print JSON: the breakdowns where --by is given, else the summaries.
    """
    if not runs:
        raise UserError("which run? Name its folder, such as results/sample-web_none_ocr_1234567890")
    import msgspec

    from grounding.comparison import run_names
    from grounding.desktop.published import print_published_desktop
    from grounding.desktop.runfiles import is_desktop_run
    from grounding.report.breakdown import breakdown_table
    from grounding.report.matrix import WIDE
    from grounding.report.published import print_published
    from grounding.report.show import wide_console
    from grounding.report.shown import ShownRun
    from grounding.report.table import print_summary
    from grounding.runfolder import RunFolder
    from grounding.scorebook import read_run
    from grounding.scoring.breakdown import break_down
    from grounding.scoring.scored import join
    from grounding.training.folder import is_training_run

    trainings = [path for path in runs if is_training_run(path)]
    if trainings:
        if len(trainings) < len(runs) or by or published or json:
            raise UserError(
                f"{trainings[0]} is a training run: its page and its figures are shown by themselves, without --by, "
                "--published and --json (summary.json in it has the figures)"
            )
        from grounding.training.page.terminal import report_trainings

        report_trainings(wide_console(), trainings)
        return 0
    desktop = [path for path in runs if is_desktop_run(path)]
    if desktop:
        if len(desktop) < len(runs) or not published or by or json:
            raise UserError(
                f"{desktop[0]} is a run over desktop tasks: --published shows it beside PERCU's table, and "
                "`grounding score` shows its scores; --by and --json are for runs that answer with points"
            )
        print_published_desktop(wide_console(WIDE), desktop)
        return 0
    results = [read_run(path) for path in runs]
    names = run_names(results)
    console = wide_console()
    printed: list[ShownRun] = []
    for result, name in zip(results, names, strict=True):
        drawn = clusters or result.info.clusters
        if by:
            sessions = join(RunFolder(result.folder).read_sessions(), result.verdicts)
            seed = result.info.asked.seed
            found = [break_down(sessions, column, clusters=drawn, seed=seed) for column in by]
            printed.append(ShownRun(name=name, folder=str(result.folder), breakdowns=tuple(found)))
            if not json:
                console.print(f"{name}  ({result.folder})", markup=False, highlight=False, soft_wrap=True)
                for each in found:
                    console.print(breakdown_table(each, clusters=drawn))
        elif json:
            printed.append(ShownRun(name=name, folder=str(result.folder), summary=result.summary))
        elif not published:
            print_summary(console, result, scoring=scoring)
    if json:
        print(msgspec.json.format(msgspec.json.encode(printed), indent=2).decode())
    elif published:
        print_published(wide_console(WIDE), results, names)
    return 0

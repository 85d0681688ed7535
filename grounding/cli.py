"""The command ``grounding`` and its sub-commands. Errors of the user end with a sentence and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.config import Env

from grounding import __version__
from grounding.asr.transcribing import TRANSCRIBE_EXAMPLES, transcribe_command
from grounding.blame import BLAME_EXAMPLES, blame_command
from grounding.captions.command import CAPTION_EXAMPLES, caption_command
from grounding.commandline import EXIT_USAGE, leave
from grounding.compare import COMPARE_EXAMPLES, compare_command
from grounding.errors import UserError
from grounding.eval import evaluate_command
from grounding.examples import EXAMPLES
from grounding.export import EXPORT_EXAMPLES, export_command
from grounding.options import ClusterChoice, DesktopScoringName, EvalOptions, ShopAttempt
from grounding.probe.command import AUDIT_EXAMPLES, PROBE_EXAMPLES, audit_command, probe_command
from grounding.reporting import REPORT_EXAMPLES, report_command
from grounding.serve import SERVE_EXAMPLES, serve_command
from grounding.sources.option import DataDir
from grounding.stores import cache_app
from grounding.sweep import SWEEP_EXAMPLES, sweep_command
from grounding.train import train_app
from grounding.view import VIEW_EXAMPLES, view_command
from grounding.webagents.agenticshop.commands import curation_app
from grounding.webagents.personalwab.construction.command import shop_app

app = App(
    name="grounding",
    help="Evaluate GUI grounding: from a screenshot and a spoken instruction to a scored click.",
    version=__version__,
    result_action="return_value",
    exit_on_error=False,
    print_error=True,
    help_on_error=False,
    suppress_keyboard_interrupt=False,
    help_format="markdown",
    config=Env("GROUNDING_"),
    # Named once, below, instead of at every option.
    default_parameter=Parameter(show_env_var=False),
    help_epilogue="Any option can be set in the environment, too: `GROUNDING_EVAL_GROUNDER=gta1`.",
)
app.command(evaluate_command, name="eval", help_epilogue=EXAMPLES)
app.command(caption_command, name="caption", help_epilogue=CAPTION_EXAMPLES)
app.command(sweep_command, name="sweep", help_epilogue=SWEEP_EXAMPLES)
app.command(cache_app)
app.command(shop_app)
app.command(train_app)
app.command(curation_app)
app.command(transcribe_command, name="transcribe", help_epilogue=TRANSCRIBE_EXAMPLES)
app.command(compare_command, name="compare", help_epilogue=COMPARE_EXAMPLES)
app.command(report_command, name="report", help_epilogue=REPORT_EXAMPLES)
app.command(export_command, name="export", help_epilogue=EXPORT_EXAMPLES)
app.command(serve_command, name="serve", help_epilogue=SERVE_EXAMPLES)
app.command(probe_command, name="probe", help_epilogue=PROBE_EXAMPLES)
app.command(audit_command, name="audit", help_epilogue=AUDIT_EXAMPLES)
app.command(view_command, name="view", help_epilogue=VIEW_EXAMPLES)
app.command(blame_command, name="blame", help_epilogue=BLAME_EXAMPLES)


@app.command(help_epilogue="Example: grounding check --dataset realwebassist --data-dir DATA")
def check(
    *, dataset: str, data_dir: DataDir | None = None, questions: str | None = None, history_file: str | None = None
) -> int:
    """List every problem of a data set at once, with file, item, field, value and what to do.

    Unlike `eval`, which checks the same things, it also decodes every picture to its last pixel. Exit code 0: the
    data set is sound; 2: it is not. Counts other than those that the data set's card states are a warning.

    Args:
        dataset: Which data set or layout; `grounding list datasets` shows them.
        data_dir: Where the data lie: a folder, an archive or a URL, as for `eval`.
        questions: Which questions file.
        history_file: Which history file; asked for and absent is a problem [default: the one that is there].
    """
    from grounding.loaders import inspect_dataset
    from grounding.loaders.registry import layout_of

    if layout_of(dataset) == "personalwab":
        from grounding.webagents.personalwab.check import inspect_shop

        if questions is not None or history_file is not None:
            raise UserError(f"--questions and --history-file have no meaning for {dataset}: leave them out")
        found = inspect_shop(dataset, data_dir)
    elif layout_of(dataset) == "agenticshop":
        from grounding.webagents.agenticshop.check import inspect_curation

        if questions is not None or history_file is not None:
            raise UserError(f"--questions and --history-file have no meaning for {dataset}: leave them out")
        found = inspect_curation(dataset, data_dir)
    else:
        found = inspect_dataset(dataset, data_dir, questions=questions, history=history_file or "if-present")
    for problem in found.problems:
        print(problem)
    for warning in found.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr)
    if found.problems:
        print(f"{len(found.problems)} problems", file=sys.stderr)
        return EXIT_USAGE
    print(f"no problems found: {found.summary}" if found.summary else "no problems found")
    return 0


@app.command(help_epilogue="Example: grounding score results/sample-web_none_ocr_0123456789")
def score(
    run: Path,
    /,
    *,
    scoring: DesktopScoringName | None = None,
    tolerance: float | None = None,
    clusters: ClusterChoice | None = None,
    attempt: ShopAttempt | None = None,
    published: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    parquet: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Score a run again from its stored answers. Asks no model.

    Args:
        run: The run's folder.
        scoring: Which definition the table shows; summary.json has them all. `strict` is for desktop tasks [default:
            paper, or what a run on the web was made with].
        tolerance: How many pixels an action on a desktop may be off [default: as before].
        clusters: What the intervals are drawn over [default: as before].
        attempt: Which of several calls of web functions counts, from now on [default: as before].
        published: Show the tables of PERCU's paper, of PersonalWAB's or of AgenticShop's, too.
        parquet: Write the run's tables as Parquet files beside the JSON lines, for `grounding.load_run` and others.
        json: Print summary.json instead of the table.
    """
    from grounding.desktop.runfiles import is_desktop_run
    from grounding.webagents.agenticshop.runfiles import is_curation_run
    from grounding.webagents.personalwab.runfiles import is_shop_run

    if parquet and (is_curation_run(run) or is_shop_run(run) or is_desktop_run(run)):
        raise UserError("--parquet: is for runs of clicks; the tables of this run have no Parquet form")
    if is_curation_run(run):
        from grounding.webagents.agenticshop.command import curation_score_command

        for flag, value in {"tolerance": tolerance, "clusters": clusters, "attempt": attempt}.items():
            if value is not None:
                raise UserError(f"--{flag} has no meaning for a run that curates products: leave it out")
        if scoring == "strict":
            raise UserError("--scoring strict: is for desktop tasks; choose paper or official")
        # What nobody chose is the run's own reading.
        return curation_score_command(run, rule=scoring, as_json=json, published=published)
    if is_shop_run(run):
        return _score_shop(
            run, scoring, attempt=attempt, published=published, as_json=json, tolerance=tolerance, clusters=clusters
        )
    if attempt is not None:
        raise UserError("--attempt chooses among calls of web functions, and this run has none: leave it out")

    if is_desktop_run(run):
        from grounding.desktop.command import desktop_score_command

        if clusters is not None:
            raise UserError("--clusters: desktop tasks have no participants: their intervals are by task; leave it out")
        chosen = scoring or "paper"
        return desktop_score_command(run, scoring=chosen, as_json=json, tolerance=tolerance, published=published)
    from grounding.desktop.refusals import point_scoring
    from grounding.report.html.written import with_report
    from grounding.report.show import show_result
    from grounding.scorebook import rescore

    result = rescore(run, clusters, tables=parquet)
    # A page that shows other figures than the table would be believed.
    result = with_report(result) if (run / "report.html").exists() else result
    options = EvalOptions(dataset=result.info.asked.dataset, tolerance=tolerance)
    return show_result(result, scoring=point_scoring(options, scoring or "paper", published=published), as_json=json)


def _score_shop(
    run: Path,
    scoring: DesktopScoringName | None,
    *,
    attempt: ShopAttempt | None,
    published: bool,
    as_json: bool,
    tolerance: float | None,
    clusters: ClusterChoice | None,
) -> int:
    from grounding.webagents.personalwab.command import shop_score_command

    if tolerance is not None or clusters is not None:
        flag = "clusters" if tolerance is None else "tolerance"
        raise UserError(f"--{flag}: web functions have no pixels, and intervals over users; leave it out")
    if scoring == "strict":
        raise UserError("--scoring strict: is for desktop tasks; choose paper or official")
    # What nobody chose is the run's own preset.
    return shop_score_command(run, rule=scoring, as_json=as_json, attempt=attempt, published=published)


@app.command(name="list", help_epilogue="Example: grounding list grounders")
def list_what(what: Literal["datasets", "planners", "grounders", "agents", "search"], /) -> int:
    """Show the data sets, planners, grounders, agents or models with a search tool that there are.

    Args:
        what: What to list.
    """
    from grounding.catalogue import print_catalogue

    print_catalogue(what)
    return 0


def run(arguments: Sequence[str], commands: App = app) -> None:
    """Run a command line and leave the process with its exit code.

    Args:
        arguments: What stands behind the program's name.
        commands: Those of another program of this package.
    """
    leave(lambda: commands(list(arguments)), "grounding")


def main() -> None:
    """Entry point of the command ``grounding``."""
    run(sys.argv[1:])


if __name__ == "__main__":
    main()

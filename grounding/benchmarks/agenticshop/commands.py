"""``grounding curation``: what is done beside a run over curated products. No logic of its own.

Every command imports what it needs when it runs, so that `--help` stays fast and needs no browser.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from grounding.benchmarks.flags import AS_THE_CARD, Count, Flag, MaybeSome, ModelFlags, Several, examples, exit_code
from grounding.console import EXIT_OK, print_json, wide_console
from grounding.data.option import DataDir

curation_app = App(name="curation")


@curation_app.command(
    name="agree",
    help_epilogue=examples(
        "# Two people labelled on the run's report.html (button `Label`) and saved a file each",
        "grounding curation agree results/RUN --labels labels-ann.json labels-ben.json",
        "",
        "# Without labels: the judges against the offline reference, on the items that it decides",
        "grounding curation agree results/RUN",
    ),
)
def agree_command(
    run: Path,
    /,
    *,
    labels: Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative="")] = (),
    seed: Count = 0,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Tell how far a run's judges agree with people: Cohen's kappa and Spearman's coefficient, in all and by dimension.

    People label products on the run's `report.html`. Every judge is held against each person over the items that both
    decide; figures are means over people, with 95 % intervals by a bootstrap over products. The paper's tables 3 and 9
    stand beside. What judges are shown, as in table 3, is compared in one run: `--judge A A@no-info A@url-only`.

    Args:
        run: The run's folder.
        labels: Files of labels, one a person [default: none, the offline reference of the run].
        seed: Seed of the intervals.
        json: Print the figures as JSON instead of the tables.
    """
    from .agreement import agree_with_people, print_agreement

    agreed = agree_with_people(run, labels, seed=seed)
    (print_json if json else print_agreement)(agreed)
    return EXIT_OK


@curation_app.command(
    name="align",
    help_epilogue=examples(
        "# By a chat model, as in the paper, every pair in both orders, for at most 5 dollars",
        "grounding curation align --raw AgenticShop/data/user_raw --profiles AgenticShop/data/user_profiles_samples \\",
        "    --by gpt-5-mini --cost-limit 5 --out aligned",
    ),
)
def align_command(
    *,
    raw: Path,
    profiles: Path,
    by: str,
    out: Path,
    seed: Count = 0,
    flags: ModelFlags = AS_THE_CARD,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Tell whether checklists prefer what their users rated higher, against query, history and context.

    For each user one product of the lowest and one of the highest rating is drawn from the reviews, neither that which
    the query was made of; each description has to tell which of the two the user rated higher (paper, section 4.1.1;
    its table 2 stands below). The same command again goes on where it stopped. Exit code 1: something is left to ask.

    Args:
        raw: Folder with the raw users: Grocery_and_Gourmet_Food.json, open_curation.json and so on.
        profiles: Folder with the users' profiles: home_user_profile.json and so on.
        by: Who compares: the card of a chat model, by its name in `grounding list planners` or its path (.yaml).
        out: Folder for the replies and alignment.json.
        seed: Seed of the pairs and the intervals, and for a model that takes one.
        flags: How a model is asked.
        json: Print the figures as JSON instead of the table.
    """
    from .alignment import align, print_alignment

    found, answers = align(raw, profiles, flags.asking(by, seed), out=out, seed=seed)
    if json:
        print_json(found)
    else:
        print_alignment(found, answers)
    return exit_code(answers.stopped, complete=answers.complete)


@curation_app.command(
    name="construct",
    help_epilogue=examples(
        "# As in the paper: one model writes contexts and checklists, another one the queries, for at most 20 dollars",
        "grounding curation construct --raw RAW --out my-users \\",
        "    --writer gpt-5-mini --query-writer gpt-4.1-mini --cost-limit 20",
        "",
        "# The folder is a data set",
        "grounding eval --dataset agenticshop --data-dir my-users --agent search --model gpt-4o-search",
    ),
)
def construct_command(
    *,
    raw: Path,
    out: Path,
    writer: str,
    query_writer: str | None = None,
    scenario: Several = (),
    users: MaybeSome = None,
    seed: Count = 0,
    flags: ModelFlags = AS_THE_CARD,
) -> int:
    """Make users with contexts, queries and checklists from raw purchase histories, in the release's layout.

    For each user an item of the history is drawn, and kept out of the reviews that the context is written from. At the
    end queries are held against all users of their file. The same command again goes on where it stopped.
    `made-with.json` says what the folder was made of and with, and what the check found. Exit code 1: something is left
    to ask.

    Args:
        raw: Folder of raw users (Grocery_and_Gourmet_Food.json, Electronics.json, Home_and_Kitchen.json,
            Clothing_Shoes_and_Jewelry.json, open_curation.json), or one of these files.
        out: The folder to make.
        writer: Who writes: the card of a chat model, by its name in `grounding list planners` or its path (.yaml).
        query_writer: The card of another chat model for situation, budget and queries [default: the writer].
        scenario: Only these scenarios, such as explicit_title [default: all that the files can be made into].
        users: Only so many users of each file, the first ones [default: all].
        seed: Seed of the drawn items, and for a model that takes one.
        flags: How the models are asked.
    """
    from .construction import construct
    from .records import scenario_named

    scenarios = tuple(dict.fromkeys(map(scenario_named, scenario)))
    asker = None if query_writer is None else flags.asking(query_writer, seed, option="--query-writer")
    writing = flags.asking(writer, seed, option="--writer")
    lines, stopped, done = construct(raw, out, writing, queries=asker, scenarios=scenarios, users=users, seed=seed)
    print("\n".join(lines))
    return exit_code(stopped, complete=done)


@curation_app.command(
    name="export",
    help_epilogue=examples(
        "# A run as the release's own programs have theirs",
        "grounding curation export results/RUN --out their-layout",
        "",
        "# And back: the same products, pages and verdicts as a run of ours",
        "grounding eval --dataset agenticshop --data-dir their-layout/data --agent replay \\",
        "    --curations their-layout/product_curation_artifacts/web_agents/browsing-gpt-4o \\",
        "    --extractions their-layout/eval_results --judgements their-layout/eval_results",
    ),
)
def export_command(run: Path, /, *, out: Path, judge: str | None = None) -> int:
    """Write a run in the release's layout: users, prompts, products, extractions, evaluations and pictures.

    Args:
        run: The run's folder.
        out: A folder that holds nothing yet.
        judge: Whose verdicts are written [default: the judge that counts].
    """
    from .release import export_run

    print(export_run(run, out, judge=judge))
    return EXIT_OK


@curation_app.command(name="figures")
def figures_command(*run: Path, out: Path | None = None) -> int:
    """Show the paper's figures 3 to 5 of runs: scores by kind of goods and by dimension, and what steps were for.

    Args:
        run: Folders of scored runs.
        out: Folder for the pictures, PNG and SVG [default: tables alone].
    """
    from .paper import print_figures, read_several

    print_figures(wide_console(), read_several(run), out)
    return EXIT_OK


@curation_app.command(name="failures")
def failures_command(*run: Path, json: Annotated[bool, Flag] = False) -> int:
    """Count the failure kinds of the paper's appendix D in runs: each by a rule, which is printed with it.

    Args:
        run: Folders of scored runs.
        json: Print every case as JSON instead of the table.
    """
    from .paper import failures_of, print_failures, read_several

    scored = read_several(run)
    if json:
        print_json({str(one.folder): failures_of(one) for one in scored})
    else:
        print_failures(wide_console(), scored)
    return EXIT_OK


@curation_app.command(name="mall")
def serve_mall_command(
    dataset: str = "sample-mall",
    *,
    data_dir: DataDir | None = None,
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 0,
) -> int:
    """Serve a data set's own shops on this machine, so that you can walk through them in a browser.

    Args:
        dataset: A data set with shops of its own, by name or path.
        data_dir: Where the data lies, if not where its card says.
        port: The port to serve on [default: any that is free].
    """
    from .mall.pages import serve_dataset

    serve_dataset(dataset, data_dir, port)
    return EXIT_OK

"""``grounding curation``: what is done beside a run over curated products. No logic of its own.

Every command imports what it needs when it runs, so that `--help` stays fast and needs no browser.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from grounding.options import Display
from grounding.sources.option import DataDir

AGREE_EXAMPLES = """
Examples:

```
# Two people labelled on the run's report.html (button `Label`) and saved a file each
grounding curation agree results/RUN --labels labels-ann.json labels-ben.json

# Runs that differ in what their judges are shown, side by side as in the paper's table 3
grounding curation agree results/FULL results/NO-INFO results/URL-ONLY --labels labels-ann.json labels-ben.json
```
"""

ALIGN_EXAMPLES = """
Examples:

```
# Without a model, by the words that descriptions and products share
grounding curation align --raw user_raw --profiles user_profiles

# By a chat model, as in the paper, every pair in both orders, for at most 5 dollars
grounding curation align --raw user_raw --profiles user_profiles --by gpt-5-mini --cost-limit 5 --out aligned
```
"""

CONSTRUCT_EXAMPLES = """
Examples:

```
# Without a model: users, products and histories are real, contexts are counts, queries follow patterns
grounding curation construct --raw RAW --out my-users

# Written by a model, another one for the queries, for at most 20 dollars
grounding curation construct --raw RAW --out my-users --writer gpt-6.1-sol --query-writer gpt-4o --cost-limit 20

# As the release makes them, with the item of the query among the reviews of the context
grounding curation construct --raw RAW --out their-users --official

# The folder is a data set
grounding eval --dataset agenticshop --data-dir my-users --agent search --model gpt-4o-search
```
"""

MALL_EXAMPLES = """
Examples:

```
# The bundled shops, on any free port
grounding curation mall

# Always at the same addresses
grounding curation mall --port 8080
```
"""

EXPORT_EXAMPLES = """
Examples:

```
# A run as the release's own programs have theirs
grounding curation export results/RUN --to their-layout

# And back: the same products, pages and verdicts as a run of ours
grounding eval --dataset agenticshop --data-dir their-layout/data --agent replay \\
    --curations their-layout/product_curation_artifacts/web_agents/browsing-gpt-4o \\
    --extractions their-layout/eval_results --judgements their-layout/eval_results
```
"""

EXIT_OK, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 130

_Flag = Parameter(negative="", show_default=False)
_Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
_Count = Annotated[int, Parameter(validator=Number(gte=0))]
_Some = Annotated[int, Parameter(validator=Number(gte=1))]
_MaybeSome = Annotated[int | None, Parameter(validator=Number(gte=1))]
_MaybeMore = Annotated[float | None, Parameter(validator=Number(gt=0))]

curation_app = App(
    name="curation",
    help="Curated products: making users, walking through shops, the release's layout, agreement with people.",
)


@curation_app.command(name="agree", help_epilogue=AGREE_EXAMPLES)
def agree_command(
    *run: Path,
    labels: Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative="")],
    unsure: Literal["leave-out", "not-satisfied"] = "leave-out",
    seed: _Count = 0,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Tell how far a run's judges agree with people: Cohen's kappa and Spearman's coefficient, in all and by dimension.

    People label products on the run's `report.html` and save a file each. Every judge is held against each person over
    the items that both decide; figures are means over people, with 95 % intervals by a bootstrap over products. With
    two people or more they are held against each other, too. The paper's tables 3 and 9 stand beside. Exit code 0: the
    figures are printed; 2: something about the command or the files is wrong.

    Args:
        run: Folders of runs over the same products.
        labels: Files of labels, one a person.
        unsure: What "can't tell" counts as: `leave-out`, no opinion, or `not-satisfied`.
        seed: Seed of the intervals.
        json: Print the figures as JSON instead of the tables.
    """
    import msgspec

    from grounding.errors import UserError
    from grounding.webagents.agenticshop.reliability.agreeing import agree_with_people
    from grounding.webagents.agenticshop.reliability.show import print_agreement

    if not run:
        raise UserError("give the folder of a run, such as: grounding curation agree results/RUN --labels FILE")
    agreed = agree_with_people(run, labels, unsure=unsure, seed=seed)
    if json:
        print(msgspec.json.format(msgspec.json.encode(agreed), indent=2).decode())
    else:
        print_agreement(agreed)
    return EXIT_OK


@curation_app.command(name="align", help_epilogue=ALIGN_EXAMPLES)
def align_command(
    *,
    raw: Path,
    profiles: Path,
    by: str = "none",
    out: Path | None = None,
    pairs: _Some = 1,
    reviews: Literal["all", "unseen"] = "all",
    orders: Literal["both", "one"] = "both",
    seed: _Count = 0,
    model: str | None = None,
    base_url: _Several = (),
    temperature: float | None = None,
    max_connections: _MaybeSome = None,
    timeout: _MaybeMore = None,
    max_retries: _Count = 5,
    cost_limit: _MaybeMore = None,
    json: Annotated[bool, _Flag] = False,
    display: Display | None = None,
) -> int:
    """Tell whether checklists prefer what their users rated higher, against query, history and context.

    For each user one product of the lowest and one of the highest rating is drawn from the reviews; then query, history
    (without the pair's reviews), context and checklist each have to tell which of the two the user rated higher, as in
    the paper's section 4.1.1; its table 2 stands below. The product that the query was made of takes no part, and users
    who rated everything alike are counted and left out. The same command again goes on where it stopped and asks
    nothing twice. Exit code 0: everything is compared; 1: errors or questions are left; 2: something about the command
    or the data is wrong.

    Args:
        raw: Folder with the raw users: Grocery_and_Gourmet_Food.json, open_curation.json and so on.
        profiles: Folder with the users' profiles: home_user_profile.json and so on.
        by: Who compares: `none`, the share of words in common, or the card of a chat model, by its name in
            `grounding list planners` or its path (.yaml).
        out: Folder for the replies and alignment.json; needed where a model is asked.
        pairs: At most so many pairs of a user.
        reviews: Draw pairs from `all` reviews, or from those `unseen` by the release's context and checklist.
        orders: A model is asked in `both` orders of presentation, or in `one` by chance.
        seed: Seed of the pairs, their order and the intervals, and for a model that takes one.
        model: The model's name at its server, instead of the one in its card.
        base_url: The model's server, instead of the one in its card, or several that share the work.
        temperature: Sampling temperature [default: the card's].
        max_connections: Requests open at once [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        cost_limit: US dollars that it may cost in all; it stops before and can go on with a higher limit.
        json: Print the figures as JSON instead of the table.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    import msgspec

    from grounding.chat import ChatOptions
    from grounding.webagents.agenticshop.reliability.alignment.aligning import AlignOptions, align
    from grounding.webagents.agenticshop.reliability.alignment.show import print_alignment

    aligned = align(
        AlignOptions(
            raw=raw,
            profiles=profiles,
            by=by,
            out=out,
            per_user=pairs,
            source=reviews,
            orders=orders,
            seed=seed,
            model=model,
            chat=ChatOptions(
                base_url=" ".join(base_url) or None,
                temperature=temperature,
                seed=seed,
                max_connections=max_connections,
                timeout_s=timeout,
                max_retries=max_retries,
            ),
            cost_limit=cost_limit,
            display=display,
        )
    )
    if json:
        print(msgspec.json.format(msgspec.json.encode(aligned.alignment), indent=2).decode())
    else:
        print_alignment(aligned)
    if not aligned.complete:
        print("the same command again goes on from here", file=sys.stderr)
    if aligned.stopped == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_OK if aligned.complete else EXIT_PARTIAL


@curation_app.command(name="construct", help_epilogue=CONSTRUCT_EXAMPLES)
def construct_command(
    *,
    raw: Path,
    out: Path,
    scenario: _Several = (),
    writer: str = "template",
    model: str | None = None,
    query_writer: str | None = None,
    query_model: str | None = None,
    users: _MaybeSome = None,
    reviews: _Some = 10,
    seed: _Count = 0,
    official: Annotated[bool, _Flag] = False,
    mend: bool = True,
    prompt: str = "construction",
    base_url: _Several = (),
    temperature: float | None = None,
    max_connections: _MaybeSome = None,
    timeout: _MaybeMore = None,
    max_retries: _Count = 5,
    cost_limit: _MaybeMore = None,
    fresh: Annotated[bool, _Flag] = False,
    display: Display | None = None,
) -> int:
    """Make users with contexts, queries and checklists from raw purchase histories, in the release's layout.

    For each user an item of the history is drawn, and kept out of the reviews that the context is written from. A model
    (or rules) writes the context, then situation, budget and queries for the item, then the checklist from context,
    situation and budget. Everything is kept by user. At the end queries are held against all users of their file, and
    checklists looked through for items that repeat another, ask for several things or can't be checked; a checklist
    with such items is asked for once more. The same command again goes on where it stopped and asks nothing twice.
    `made-with.json` in the folder says what it was made of and with, and what the checks found. Exit code 0: all is
    written; 1: errors or questions are left; 2: something about the command or the data is wrong.

    Args:
        raw: Folder of raw users (Grocery_and_Gourmet_Food.json, Electronics.json, Home_and_Kitchen.json,
            Clothing_Shoes_and_Jewelry.json, open_curation.json), or one of these files.
        out: The folder to make.
        scenario: Only these scenarios, such as explicit_title [default: all that the files can be made into].
        writer: Who writes: the card of a chat model, by its name in `grounding list planners` or its path (.yaml), or
            `template` for rules without a model.
        model: The model's name at its server, instead of the one in its card.
        query_writer: The card of another chat model for situation, budget and queries [default: the writer].
        query_model: Its name at its server, instead of the one in its card.
        users: Only so many users of each file, the first ones [default: all].
        reviews: So many of a user's reviews are shown for the context; in open exploration all are.
        seed: Seed of the drawn items, and for a model that takes one.
        official: As the release does it: the item that the file names, the first reviews with that item among them, no
            second checklists.
        mend: Ask once more for a checklist with items that are objected to.
        prompt: The wording: `construction` or the path of a file (.yaml).
        base_url: The models' server, instead of the ones in their cards, or several that share the work.
        temperature: Sampling temperature [default: the card's].
        max_connections: Requests open at once [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        cost_limit: US dollars that it may cost in all; it stops before and can go on with a higher limit.
        fresh: Start over; the earlier folder is set aside, not deleted.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    import sys

    from grounding.chat import ChatOptions
    from grounding.webagents.agenticshop.construction.build import construct
    from grounding.webagents.agenticshop.construction.recipe import ConstructOptions
    from grounding.webagents.agenticshop.construction.show import constructed_lines
    from grounding.webagents.agenticshop.scenarios import scenario_named

    done = construct(
        ConstructOptions(
            raw=raw,
            out=out,
            scenario=tuple(dict.fromkeys(scenario_named(name) for name in scenario)),
            writer=writer,
            model=model,
            query_writer=query_writer,
            query_model=query_model,
            users=users,
            reviews=reviews,
            seed=seed,
            official=official,
            mend=mend,
            prompt=prompt,
            chat=ChatOptions(
                base_url=" ".join(base_url) or None,
                temperature=temperature,
                seed=seed,
                max_connections=max_connections,
                timeout_s=timeout,
                max_retries=max_retries,
            ),
            cost_limit=cost_limit,
            fresh=fresh,
            display=display,
        )
    )
    if done.set_aside is not None:
        print(f"the earlier folder was set aside as {done.set_aside}", file=sys.stderr)
    print("\n".join(constructed_lines(done, out)))
    if not done.complete:
        print("the same command again goes on from here", file=sys.stderr)
    if done.stopped == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_OK if done.complete else EXIT_PARTIAL


@curation_app.command(name="export", help_epilogue=EXPORT_EXAMPLES)
def export_command(run: Path, /, *, to: Path, judge: str | None = None, bare: Annotated[bool, _Flag] = False) -> int:
    """Write a run in the release's layout: users, prompts, products, extractions, evaluations and pictures.

    Args:
        run: The run's folder.
        to: A folder that holds nothing yet.
        judge: Whose verdicts are written [default: the judge that counts].
        bare: Write evaluations as the release's pipeline does; its collector reads only wrapped ones.
    """
    from grounding.webagents.agenticshop.exporting import export_run

    done = export_run(run, to, judge=judge, bare=bare)
    print(f"{done.products:,} products of {done.curations:,} tasks and {done.users:,} users: {done.results}")
    return EXIT_OK


@curation_app.command(name="mall", help_epilogue=MALL_EXAMPLES)
def serve_mall_command(
    dataset: str = "sample-mall",
    *,
    data_dir: DataDir | None = None,
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 0,
) -> int:
    """Serve a data set's own shops on this machine, so that you can walk through them in a browser.

    The addresses are printed; Ctrl-C ends it. Nobody but this machine can reach them, and nothing is remembered.

    Args:
        dataset: A data set with shops of its own, by name or path.
        data_dir: Where the data lies, if not where its card says.
        port: The port to serve on [default: any that is free].
    """
    from grounding.webagents.agenticshop.mall.command import serve_dataset

    return serve_dataset(dataset, data_dir, port)

"""``grounding shop``: a shop made from real reviews, and how well profiles fit their users. No logic of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from grounding.options import Display
from grounding.sources.option import DataDir, ready

BUILD_EXAMPLES = """
Examples:

```
# Without a model: users, products and histories are real, the instructions follow patterns
grounding shop build --agenticshop RAW --out my-shop

# As in the paper, from Amazon-Reviews-2023, written by gpt-4o, for at most 20 dollars
grounding shop build --reviews AMAZON --writer gpt-4o --cost-limit 20 --out my-shop

# The shop is a data set
grounding eval --dataset personalwab --data-dir my-shop --agent rules
```
"""

PROFILES_EXAMPLES = """
Examples:

```
# By sentence embeddings, without a model
grounding shop profiles my-shop

# By a chat model, as in the paper
grounding shop profiles my-shop --by gpt-4o --out my-shop-profiles
```
"""

EXIT_OK, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 130

_Flag = Parameter(negative="", show_default=False)
_Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
_Count = Annotated[int, Parameter(validator=Number(gte=0))]
_Some = Annotated[int, Parameter(validator=Number(gte=1))]
_MaybeCount = Annotated[int | None, Parameter(validator=Number(gte=0))]
_MaybeSome = Annotated[int | None, Parameter(validator=Number(gte=1))]
_MaybeMore = Annotated[float | None, Parameter(validator=Number(gt=0))]

shop_app = App(name="shop", help="Make a shop from real reviews, and judge the profiles of its users.")


@shop_app.command(name="build", help_epilogue=BUILD_EXAMPLES)
def build_command(
    *,
    out: Path,
    reviews: Path | None = None,
    agenticshop: Path | None = None,
    category: _Several = (),
    writer: str = "template",
    users: _Some = 1000,
    min_behaviours: Annotated[int, Parameter(validator=Number(gte=2))] = 5,
    max_behaviours: _Some = 500,
    products: _Count = 0,
    candidates: _Some = 1_000_000,
    per_purchase: Literal["one", "all"] = "one",
    profile_from: Literal["all", "history"] = "all",
    profile_behaviours: _Some = 100,
    prompt: str = "construction",
    seed: _Count = 0,
    model: str | None = None,
    base_url: _Several = (),
    temperature: float | None = None,
    max_connections: _MaybeSome = None,
    timeout: _MaybeMore = None,
    max_retries: _Count = 5,
    cost_limit: _MaybeMore = None,
    fresh: Annotated[bool, _Flag] = False,
    display: Display | None = None,
) -> int:
    """Make a data set of PersonalWAB's layout from real reviews: users drawn, histories cut, profiles and instructions.

    Users are drawn by chance; each one's behaviour is put in order of time and cut into 80 % history, 10 % train and
    10 % test. A model (or rules) describes every user and writes an instruction to search, to recommend or to review
    for each behaviour of train and test. The same command again goes on where it stopped and asks nothing twice.
    `made-with.json` in the folder says what it was made of and with. Exit code 0: all is written; 1: errors or
    questions are left; 2: something about the command or the data is wrong.

    Args:
        out: The folder to make.
        reviews: Folder with JSONL files of Amazon-Reviews-2023, plain or .gz: Electronics.jsonl and
            meta_Electronics.jsonl, and so on.
        agenticshop: Folder with AgenticShop's raw users instead; ids of products and times are made up for them.
        category: Only these categories of --reviews [default: the paper's five].
        writer: Who writes: the card of a chat model, by its name in `grounding list planners` or its path (.yaml), or
            `template` for rules without a model.
        users: How many users are drawn; fewer where fewer have enough behaviours.
        min_behaviours: A user has at least so many behaviours.
        max_behaviours: A user has at most so many behaviours.
        products: How many further products the shop has beside those that its users bought.
        candidates: How many users are counted at a time while --reviews is read, which bounds the memory.
        per_purchase: `one` instruction for each behaviour of train and test, the types in turns, or `all` three.
        profile_from: Describe users from `all` behaviour, as in the paper, or from their `history` alone.
        profile_behaviours: At most so many of a user's newest behaviours are shown for the profile.
        prompt: The wording: `construction` or the path of a file (.yaml).
        seed: Seed of the draw, and for a model that takes one.
        model: The model's name at its server, instead of the one in its card.
        base_url: The model's server, instead of the one in its card, or several that share the work.
        temperature: Sampling temperature [default: the card's].
        max_connections: Requests open at once [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        cost_limit: US dollars that the shop may cost in all; it stops before and can go on with a higher limit.
        fresh: Start over; the earlier folder is set aside, not deleted.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    from grounding.chat import ChatOptions
    from grounding.errors import UserError
    from grounding.webagents.personalwab.construction.build import build_shop
    from grounding.webagents.personalwab.construction.recipe import BuildOptions
    from grounding.webagents.personalwab.construction.records import Sampling
    from grounding.webagents.personalwab.construction.show import built_lines

    if min_behaviours > max_behaviours:
        raise UserError(f"--min-behaviours {min_behaviours}: is more than --max-behaviours {max_behaviours}")
    built = build_shop(
        BuildOptions(
            out=out,
            reviews=reviews,
            agenticshop=agenticshop,
            category=category,
            writer=writer,
            model=model,
            sampling=Sampling(
                users=users,
                min_behaviours=min_behaviours,
                max_behaviours=max_behaviours,
                products=products,
                seed=seed,
                candidates=candidates,
            ),
            per_purchase=per_purchase,
            profile_from=profile_from,
            profile_behaviours=profile_behaviours,
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
    if built.set_aside is not None:
        print(f"the earlier folder was set aside as {built.set_aside}", file=sys.stderr)
    print("\n".join(built_lines(built, out)))
    return _exit_code(built.stopped, complete=built.complete)


@shop_app.command(name="profiles", help_epilogue=PROFILES_EXAMPLES)
def profiles_command(
    data_dir: DataDir,
    /,
    *,
    by: str = "similarity",
    out: Path | None = None,
    users: _MaybeSome = None,
    behaviours: _Some = 20,
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
    """Tell how well profiles fit their users: do they single out the user, and the products that the user bought?

    Two tasks for each user, as in the paper (section A.1): the user among four others by their behaviours (top-1
    accuracy), and three bought products ranked among seven others (NDCG@5, Recall@5), with 95 % intervals over users.
    Replies that can't be read count as wrong; errors are left out and asked again. Exit code 0: all is judged; 1:
    errors or questions are left; 2: something about the command or the data is wrong.

    Args:
        data_dir: Folder of a shop in PersonalWAB's layout.
        by: Who judges: `similarity` of sentence embeddings, or the card of a chat model.
        out: Folder for the replies and consistency.json; needed where a model is asked.
        users: Only so many users, by chance [default: all with a profile].
        behaviours: At most so many of a candidate's newest behaviours are shown.
        seed: Seed of the candidates, their order and the intervals, and for a model that takes one.
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
    from grounding.chat import ChatOptions
    from grounding.webagents.personalwab.construction.judging import JudgeOptions, judge_profiles
    from grounding.webagents.personalwab.construction.show import print_consistency

    judged = judge_profiles(
        JudgeOptions(
            data_dir=ready(data_dir),
            by=by,
            out=out,
            users=users,
            behaviours=behaviours,
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
    print_consistency(judged, as_json=json)
    return _exit_code(judged.stopped, complete=judged.complete)


def _exit_code(stopped: str, *, complete: bool) -> int:
    if not complete:
        print("the same command again goes on from here", file=sys.stderr)
    if stopped == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_OK if complete else EXIT_PARTIAL

"""``grounding shop``: a shop made from real reviews, and how well profiles fit their users. No logic of its own."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App

from grounding.benchmarks.flags import (
    AS_THE_CARD,
    Count,
    Flag,
    MaybeSome,
    ModelFlags,
    Several,
    Some,
    examples,
    exit_code,
)
from grounding.console import EXIT_OK, print_json
from grounding.data.option import DataDir, ready
from grounding.options import Display

shop_app = App(name="shop")


@shop_app.command(
    name="build",
    help_epilogue=examples(
        "# As in the paper, from Amazon-Reviews-2023, written by gpt-4o, for at most 20 dollars",
        "grounding shop build --reviews AMAZON --writer gpt-4o --cost-limit 20 --out my-shop",
        "",
        "# The shop is a data set",
        "grounding eval --dataset personalwab --data-dir my-shop --agent rules",
    ),
)
def build_command(
    *,
    out: Path,
    reviews: Path,
    writer: str,
    category: Several = (),
    users: Some = 1000,
    epochs: Count = 200,
    seed: Count = 0,
    flags: ModelFlags = AS_THE_CARD,
    fresh: Annotated[bool, Flag] = False,
) -> int:
    """Make a data set of PersonalWAB's layout from real reviews: users drawn, histories cut, profiles and instructions.

    Users with 5 to 500 behaviours are drawn by chance; each one's behaviour is cut by time into 80 % history, 10 %
    train and 10 % test. A model describes every user, and writes an instruction to search, to recommend or to review,
    in turns, for each behaviour of train and test. The same command again goes on where it stopped. Exit code 0: all is
    written; 1: errors or questions are left; 2: the command or the data is wrong.

    Args:
        out: The folder to make.
        reviews: Folder with Electronics.jsonl[.gz], meta_Electronics.jsonl[.gz] and so on of Amazon-Reviews-2023.
        writer: Who writes: the card of a chat model, by its name in `grounding list planners` or its path (.yaml).
        category: Only these categories [default: the paper's five].
        users: How many users are drawn; fewer where fewer have enough behaviours.
        epochs: How long the recommender is trained on the shop's histories; 0 for a shop without one.
        seed: Seed of the draw and of the recommender, and for a model that takes one.
        flags: How a model is asked.
        fresh: Start over; the earlier folder is set aside, not deleted.
    """
    from grounding.benchmarks.personalwab.construction import build_shop

    asking = flags.asking(writer, seed, option="--writer")
    drawn = {"categories": category, "users": users, "epochs": epochs, "seed": seed, "fresh": fresh}
    made, stopped, lines = build_shop(out, reviews, asking, **drawn)  # type: ignore[arg-type]
    print("\n".join(lines))
    return exit_code(stopped, complete=made.status == "complete")


@shop_app.command(
    name="profiles", help_epilogue=examples("grounding shop profiles my-shop --by gpt-4o-mini --out my-shop-profiles")
)
def profiles_command(
    data_dir: DataDir,
    /,
    *,
    by: str,
    out: Path,
    users: MaybeSome = None,
    seed: Count = 0,
    flags: ModelFlags = AS_THE_CARD,
    json: Annotated[bool, Flag] = False,
) -> int:
    """Tell how well profiles fit their users: do they single out the user, and the products that the user bought?

    Two tasks for each user, as in the paper (section A.1): the user among four others by their behaviours (top-1
    accuracy), and three bought products ranked among seven others (NDCG@5, Recall@5). Replies that can't be read count
    as wrong; errors are left out and asked again. Exit codes are those of `shop build`.

    Args:
        data_dir: Folder of a shop in PersonalWAB's layout.
        by: Who judges: the card of a chat model, in the paper gpt-4o-mini.
        out: Folder for the replies and consistency.json.
        users: Only so many users, by chance [default: all with a profile].
        seed: Seed of the candidates, their order and the intervals, and for a model that takes one.
        flags: How a model is asked.
        json: Print the figures as JSON instead of the table.
    """
    from grounding.benchmarks.personalwab.consistency import judge_profiles, print_consistency

    asking = flags.asking(by, seed)
    found, answers = judge_profiles(ready(data_dir), asking, out=out, users=users, seed=seed)
    if json:
        print_json(found)
    else:
        print_consistency(found, answers)
    return exit_code(answers.stopped, complete=answers.complete)


@shop_app.command(
    name="recommender",
    help_epilogue=examples(
        "# For a download without the release's checkpoint", "grounding shop recommender DATA --display plain"
    ),
)
def recommender_command(
    data_dir: DataDir,
    /,
    *,
    epochs: Some = 200,
    seed: Count = 0,
    fresh: Annotated[bool, Flag] = False,
    display: Display | None = None,
) -> int:
    """Train a recommender (SASRec) for a shop that has none, such as a download without the release's checkpoint.

    It says how high it ranks each user's last purchase, which it is not shown. `eval` finds `sasrec.pth` then.

    Args:
        data_dir: Folder of a shop in PersonalWAB's layout.
        epochs: How often every user is seen.
        seed: Seed of the training.
        fresh: Number the products and train anew, though there is a recommender.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    from grounding.benchmarks.personalwab.embeddings import needs

    with needs("torch"):
        from grounding.benchmarks.personalwab.sasrec import add_recommender, trained_text
    trained = add_recommender(ready(data_dir), epochs=epochs, seed=seed, fresh=fresh, display=display)
    print(trained_text(trained))
    return EXIT_OK


@shop_app.command(name="stats", help_epilogue="Example: grounding shop stats datasets/sample-shop")
def stats_command(data_dir: DataDir, /) -> int:
    """Count what the paper counts: users, purchases, instructions and products with their mean tokens, and profiles.

    Table 2 by split, and the shares of figures 3 and 4. Tokens are those of cl100k_base.

    Args:
        data_dir: Folder of a shop in PersonalWAB's layout.
    """
    from grounding.benchmarks.personalwab.loader import print_statistics, read_shop, statistics

    folder = ready(data_dir)
    shop = read_shop(folder, name=folder.resolve().name, splits=None)
    print_statistics(shop.name, *statistics(shop))
    return EXIT_OK


@shop_app.command(
    name="results",
    help_epilogue=examples(
        "# For the leaderboard",
        "grounding shop results results/RUN --out mine.json",
        "",
        "# Figures of a file that the release wrote",
        "grounding shop results singleturn/step-1_function_calling-gpt-4o-mini.json",
    ),
)
def results_command(path: Path, /, *, out: Path | None = None) -> int:
    """Write a run as a result file of PersonalWAB's own run.py, as its leaderboard asks for, or read such a file.

    Prints the release's figures: F, R of the best call with the right function, and steps.

    Args:
        path: Folder of a scored run over a shop, or a result file.
        out: The file to write [default: pwab-results.json in the run's folder].
    """
    from grounding.benchmarks.personalwab.release import print_results, read_results, write_results

    if path.is_dir():
        file = out or path / "pwab-results.json"
        found = write_results(path, file)
        print(f"written: {file}", file=sys.stderr)
    else:
        file, found = path, read_results(path)
    print_results(str(file), found)
    return EXIT_OK

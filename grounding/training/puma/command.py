"""``grounding train puma``: a web agent aligned to the users of a shop. No logic of its own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from grounding.options import Display, ShopSearch
from grounding.sources.option import DataDir, without_secrets

if TYPE_CHECKING:
    from grounding.training.puma.opening import OpenedPuma

PUMA_EXAMPLES = """
Examples:

```
# What would be trained, on whom, and whether it fits here; trains nothing
grounding train puma MODEL --dataset personalwab --data-dir DATA --dry-run

# SFT and DPO as in the paper, evaluated on the test before and after
grounding train puma MODEL --dataset personalwab --data-dir DATA

# Search labels by a chat model, as in the paper, for at most five dollars
grounding train puma MODEL --labels-model gpt-4o --cost-limit 5

# Tables 5 and 6: all ablations and all lengths of memory in one run
grounding train puma MODEL --recipe puma-ablations

# Users that never train; another value of the recipe
grounding train puma MODEL --hold-out user=A7RDJ3LXNB2WZS --set sft.optimisation.learning_rate=4e-3

# The trained model is an agent
grounding eval --dataset sample-shop --agent puma-local --model-path results/RUN/models/full
```
"""

EXIT_OK, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 130
WIDE = 132

_Flag = Parameter(negative="", show_default=False)
_Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
_MaybeSome = Annotated[int | None, Parameter(validator=Number(gte=1))]
_MaybeMore = Annotated[float | None, Parameter(validator=Number(gt=0))]
_Count = Annotated[int, Parameter(validator=Number(gte=0))]


def puma_command(
    model: str,
    /,
    *,
    dataset: str = "sample-shop",
    data_dir: DataDir | None = None,
    hold_out: _Several = (),
    shared: Literal["drop", "refuse"] = "drop",
    search: ShopSearch = "bm25",
    search_index: Path | None = None,
    recipe: str = "puma-llama2-7b",
    set_: Annotated[
        tuple[str, ...], Parameter(name="--set", consume_multiple=True, negative="", show_default=False)
    ] = (),
    labels_model: str | None = None,
    labels_base_url: _Several = (),
    max_connections: _MaybeSome = None,
    timeout: _MaybeMore = None,
    max_retries: _Count = 5,
    cost_limit: _MaybeMore = None,
    seed: _Count = 0,
    device: Literal["cpu"] | None = None,
    processes: _MaybeSome = None,
    accelerate_config: Path | None = None,
    evaluate: Literal["both", "after", "none"] = "both",
    eval_limit: _MaybeSome = None,
    log_dir: Path = Path("results"),
    fresh: Annotated[bool, _Flag] = False,
    force: Annotated[bool, _Flag] = False,
    dry_run: Annotated[bool, _Flag] = False,
    display: Display | None = None,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Align a causal language model to a shop's users: supervised tuning, then DPO over what the web functions answer.

    The model learns which function an instruction asks for and which parameter to call it with, then to prefer the
    better of the parameters that it draws itself, scored by the shop's own web functions. Instructions of the test,
    and users that are held out for it, are never trained on. Models are evaluated by the agent puma-local. The same
    command again goes on where it stopped. Exit code 0: trained and evaluated; 1: something is left; 2: something
    about the command or the data is wrong.

    Args:
        model: The base model: a folder, or a name on the hub such as meta-llama/Llama-2-7b-chat-hf.
        dataset: A shop; `grounding list datasets` shows them.
        data_dir: Where the data lie, for a data set that is not bundled.
        hold_out: Users that are kept for the test: user=ID, one or several. Without any, every user of the test is
            tested on later instructions than it trains on, as in PersonalWAB.
        shared: What to do about training instructions that give something of the test away (the same user's same
            words, or made after a purchase of the test): drop them, or refuse to train.
        search: How the shop's search ranks products.
        search_index: The folder of a Lucene index, for --search pyserini.
        recipe: How to train: a recipe's name in models/recipes or a path (.yaml).
        set_: Values of the recipe to change, such as memory.tokens=[256] lora.rank=32.
        labels_model: The card of the chat model that writes the search queries to learn from [default: they are made
            of the instruction's and the memory's own words].
        labels_base_url: Its server, instead of the one in its card.
        max_connections: Requests open to it at once [default: the card's].
        timeout: Seconds to wait for its reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        cost_limit: US dollars that the queries may cost in all.
        seed: Of who is held out, of first weights, of the order of examples and of what is drawn.
        device: Where to train, if not on the GPUs that are there.
        processes: Train on so many devices [default: one].
        accelerate_config: Train as a file of `accelerate config` says: DeepSpeed, FSDP, several machines.
        evaluate: Evaluate the base and the trained models (`both`), the trained ones (`after`), or none.
        eval_limit: Evaluate on the first so many instructions of the test only.
        log_dir: Where run folders are made.
        fresh: Start over; what an earlier run left is set aside, not deleted.
        force: Train even if it does not seem to fit into memory.
        dry_run: Train nothing: show the split and how much memory the training will take.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
        json: Print summary.json instead of the tables.
    """
    from grounding.chat import ChatOptions
    from grounding.training.extras import needs_training
    from grounding.training.loop.records import Launch
    from grounding.training.puma.asked import PumaTraining, parse_test_users
    from grounding.training.puma.opening import open_puma

    needs_training()
    opened = open_puma(
        PumaTraining(
            model=model,
            dataset=dataset,
            data_dir=data_dir,
            search=search,
            search_index=search_index,
            test_users=parse_test_users(hold_out),
            shared=shared,
            recipe=recipe,
            overrides=set_,
            labels_model=labels_model,
            chat=ChatOptions(
                base_url=" ".join(labels_base_url) or None,
                temperature=None,
                max_connections=max_connections,
                timeout_s=timeout,
                max_retries=max_retries,
            ),
            cost_limit=cost_limit,
            seed=seed,
            device=device,
            launch=Launch(
                processes=processes,
                accelerate_config=None if accelerate_config is None else str(accelerate_config.absolute()),
            ),
            evaluates=evaluate,
            eval_limit=eval_limit,
            log_dir=log_dir,
            fresh=fresh,
            force=force,
            display=display,
            command=shlex.join(["grounding", *without_secrets(sys.argv[1:])]),
        )
    )
    return _dry_run(opened) if dry_run else _train(opened, as_json=json)


def _dry_run(opened: OpenedPuma) -> int:
    from grounding.report.show import wide_console
    from grounding.training.estimate import render_estimate
    from grounding.training.puma.fit import stage_fits
    from grounding.training.puma.table import print_opened

    print_opened(wide_console(WIDE), opened)
    fits = stage_fits(opened)
    for stage in fits:
        print(f"\nstage {stage.name}\n{render_estimate(stage.estimate, fit=stage.fit)}")
    print(f"\nrun folder {opened.path}")
    return EXIT_OK if all(stage.fit.fits for stage in fits) else EXIT_PARTIAL


def _train(opened: OpenedPuma, *, as_json: bool) -> int:
    import msgspec

    from grounding.attended import INTERRUPTED
    from grounding.report.show import wide_console
    from grounding.training.puma.fit import refuse_what_does_not_fit
    from grounding.training.puma.running import run_puma
    from grounding.training.puma.table import print_opened, print_trained
    from grounding.webagents.personalwab.running import evaluate_shop

    if not opened.asked.force:
        refuse_what_does_not_fit(opened)
    console = wide_console(WIDE)
    if not as_json:
        print_opened(console, opened)
    trained = run_puma(opened, lambda options, shelf: evaluate_shop(options, shelf=shelf))
    if trained.set_aside is not None:
        print(f"the earlier run was set aside as {trained.set_aside}", file=sys.stderr)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(trained.summary), indent=2).decode())
    else:
        print_trained(console, opened, trained)
    if trained.summary.status != "complete":
        print("the same command again goes on from here", file=sys.stderr)
    if trained.summary.stopped == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_OK if trained.summary.status == "complete" else EXIT_PARTIAL

"""``grounding train``: tune a grounder on other people's clicks, or a web agent on its user. No logic of its own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from grounding.options import Backend, Display
from grounding.sources.option import DataDir, without_secrets
from grounding.training.puma.command import PUMA_EXAMPLES, puma_command

if TYPE_CHECKING:
    from grounding.training.grounder.opening import OpenedTraining

GROUNDER_EXAMPLES = """
Examples:

```
# What would be trained, on whom, and whether it fits here; trains nothing
grounding train grounder gta1 --dataset realwebassist --data-dir DATA --hold-out participant=3 --dry-run

# GRPO on nine participants, evaluated on the tenth before and after
grounding train grounder gta1 --dataset realwebassist --data-dir DATA --hold-out participant=3

# Every participant held out once, as in the paper
grounding train grounder gta1 --dataset realwebassist --data-dir DATA --leave-one-out participant

# Another recipe, a value of it changed, weights from a folder
grounding train grounder gta1 --hold-out participant=3 --recipe my.yaml --set lora.rank=32 --model CHECKPOINT

# Four devices, or whatever `accelerate config` wrote down
grounding train grounder gta1 --hold-out participant=3 --processes 4
grounding train grounder gta1 --hold-out participant=3 --accelerate-config fsdp.yaml

# The tuned model is a grounder, for transformers and for vLLM
grounding eval --grounder results/RUN/adapter --participant 3 --backend hf
grounding serve results/RUN/adapter --port 8000
```
"""

EXIT_OK, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 130

_Flag = Parameter(negative="", show_default=False)
_Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
_MaybeSome = Annotated[int | None, Parameter(validator=Number(gte=1))]
_Count = Annotated[int, Parameter(validator=Number(gte=0))]

train_app = App(name="train", help="Tune a grounder on other people's clicks, or a web agent on its user.")
train_app.command(puma_command, name="puma", help_epilogue=PUMA_EXAMPLES)


@train_app.command(name="grounder", help_epilogue=GROUNDER_EXAMPLES)
def grounder_command(
    card: str,
    /,
    *,
    dataset: str = "sample-web",
    data_dir: DataDir | None = None,
    questions: str | None = None,
    history_file: str | None = None,
    hold_out: _Several = (),
    leave_one_out: Literal["participant"] | None = None,
    shared_screenshots: Literal["refuse", "drop"] = "refuse",
    shared_tasks: Literal["refuse", "drop"] = "refuse",
    recipe: str = "grpo-gta1",
    set_: Annotated[
        tuple[str, ...], Parameter(name="--set", consume_multiple=True, negative="", show_default=False)
    ] = (),
    model: str | None = None,
    limit: _MaybeSome = None,
    test_limit: _MaybeSome = None,
    seed: _Count = 0,
    device: Literal["cpu"] | None = None,
    processes: _MaybeSome = None,
    accelerate_config: Path | None = None,
    no_evaluate: Annotated[bool, _Flag] = False,
    backend: Backend = "hf",
    server_command: str | None = None,
    batch_size: _MaybeSome = None,
    log_dir: Path = Path("results"),
    fresh: Annotated[bool, _Flag] = False,
    force: Annotated[bool, _Flag] = False,
    dry_run: Annotated[bool, _Flag] = False,
    display: Display | None = None,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Tune a grounder on some participants' clicks and evaluate it on the others', before and after.

    What is trained on and what is tested share no participant, no task and no screenshot; a split that does is refused.
    The reward is the evaluation's own scoring, the prompt the card's own. The base model is evaluated with its card as
    it is, the tuned one with the history that it was trained with. The same command again goes on where it stopped.
    Exit code 0: trained and evaluated; 1: something is left; 2: something about the command or the data is wrong.

    Args:
        card: The grounder to tune: a card's name, a path to a card (.yaml), or the folder of an earlier adapter.
        dataset: Which data set; `grounding list datasets` shows them.
        data_dir: Where the data lie, for a data set that is not bundled.
        questions: Which questions file.
        history_file: Which history file [default: the one that is there].
        hold_out: What is tested on and never trained on: participant=NAME or task=LABEL, one or several. Where a task
            is held out, its participants' other tasks are not used at all.
        leave_one_out: Make every split that holds out one participant, and report all of them together.
        shared_screenshots: What to do about screenshots that are on both sides, by the hash of their files: refuse the
            split, or drop their steps from the training.
        shared_tasks: The same for tasks that are on both sides, by their words.
        recipe: How to train: a recipe's name in models/recipes or a path (.yaml).
        set_: Values of the recipe to change, such as grpo.generations=4 lora.rank=32.
        model: The weights to tune, instead of the card's: a folder or an id on the hub.
        limit: Train on the first so many steps only.
        test_limit: Test on the first so many held-out steps only.
        seed: Of the order of examples, of first weights, of what is sampled, and of the intervals.
        device: Where to train, if not on the GPUs that are there.
        processes: Train on so many devices [default: one].
        accelerate_config: Train as a file of `accelerate config` says: DeepSpeed, FSDP, several machines.
        no_evaluate: Only train.
        backend: Who runs the models for the evaluation: transformers in this process (`hf`), or vLLM (`server`).
        server_command: What starts a server, instead of `vllm serve`.
        batch_size: How many steps are evaluated at once with `hf` [default: 8].
        log_dir: Where run folders are made.
        fresh: Start over; what an earlier run left is set aside, not deleted.
        force: Train even if it does not seem to fit into memory.
        dry_run: Train nothing: show the split and how much memory the training will take.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
        json: Print summary.json instead of the tables.
    """
    from grounding.loaders import load_dataset
    from grounding.training.grounder.asked import GrounderTraining
    from grounding.training.grounder.opening import open_training
    from grounding.training.grounder.split import parse_hold_out
    from grounding.training.loop.records import launch_of

    asked = GrounderTraining(
        card=_absolute(card),
        dataset=dataset,
        data_dir=data_dir,
        questions=questions,
        history_file=history_file,
        held_out=parse_hold_out(hold_out),
        leave_one_out=leave_one_out,
        shared_screenshots=shared_screenshots,
        shared_tasks=shared_tasks,
        recipe=recipe,
        overrides=set_,
        model=model,
        limit=limit,
        test_limit=test_limit,
        seed=seed,
        device=device,
        launch=launch_of(processes, accelerate_config),
        evaluates=not no_evaluate,
        backend=backend,
        server_command=server_command,
        batch_size=batch_size,
        log_dir=log_dir,
        fresh=fresh,
        force=force,
        display=display,
        command=shlex.join(["grounding", *without_secrets(sys.argv[1:])]),
    )
    opened = open_training(asked, load_dataset, weights=not dry_run)
    return _dry_run(opened) if dry_run else _train(opened, as_json=json)


def _absolute(card: str) -> str:
    """A card's path as the evaluation may name it from anywhere; a name stays what it is."""
    path = Path(card)
    return str(path.absolute()) if path.is_file() or (path / "card.yaml").is_file() else card


def _dry_run(opened: OpenedTraining) -> int:
    from grounding.report.matrix import WIDE
    from grounding.report.show import wide_console
    from grounding.training.estimate import render_estimate
    from grounding.training.grounder.fit import stage_fits
    from grounding.training.grounder.table import print_split

    print_split(wide_console(WIDE), opened)
    fits = stage_fits(opened)
    for stage in fits:
        print(f"\nstage {stage.name}\n{render_estimate(stage.estimate, fit=stage.fit, duration=stage.duration)}")
    print(f"\nrun folder {opened.path}")
    return 0 if all(stage.fit.fits for stage in fits) else EXIT_PARTIAL


def _train(opened: OpenedTraining, *, as_json: bool) -> int:
    import msgspec

    from grounding.attended import INTERRUPTED
    from grounding.display import Progress
    from grounding.evaluation import evaluate
    from grounding.report.matrix import WIDE
    from grounding.report.show import wide_console
    from grounding.training.extras import needs_training
    from grounding.training.grounder.fit import refuse_what_does_not_fit, stage_fits
    from grounding.training.grounder.fold import is_trained
    from grounding.training.grounder.folds import run_training
    from grounding.training.grounder.table import print_split, print_training

    needs_training()
    for warning in opened.dataset.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr, flush=True)
    if not opened.asked.force and (opened.asked.fresh or not all(map(is_trained, opened.folds))):
        refuse_what_does_not_fit(opened)
    console = wide_console(WIDE)
    if not as_json:
        print_split(console, opened)
    fits = stage_fits(opened)
    trained = run_training(opened, lambda options: evaluate(options, Progress(options.display)), fits=fits)
    if trained.set_aside is not None:
        print(f"the earlier run was set aside as {trained.set_aside}", file=sys.stderr)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(trained.summary), indent=2).decode())
    else:
        print_training(console, trained)
    if trained.summary.status != "complete":
        print("the same command again goes on from here", file=sys.stderr)
    if trained.stopped == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_OK if trained.summary.status == "complete" else EXIT_PARTIAL

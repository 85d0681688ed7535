"""``grounding train``: tune a grounder on other people's clicks, or a web agent on its user. No logic of its own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from grounding.console import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL, print_json
from grounding.data.option import without_secrets
from grounding.training.options import GrounderOptions, PumaOptions

if TYPE_CHECKING:
    from grounding.training.records import Trained

GROUNDER_EXAMPLES = """
Examples:

```
# What would be trained, on whom, and whether it fits here; trains nothing
grounding train grounder gta1 --dataset realwebassist --data-dir DATA --hold-out participant=3 --dry-run

# GRPO on nine participants, evaluated on the tenth before and after; or a task held out, with all who did it
grounding train grounder gta1 --dataset realwebassist --data-dir DATA --hold-out participant=3
grounding train grounder gta1 --dataset realwebassist --data-dir DATA --hold-out "task=Buy a gift"

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

PUMA_EXAMPLES = """
Examples:

```
# What would be trained, on whom, and whether it fits here; trains nothing
grounding train puma MODEL --dataset personalwab --data-dir DATA --dry-run

# SFT and DPO as in the paper, evaluated on the test before and after
grounding train puma MODEL --dataset personalwab --data-dir DATA

# Search labels by a chat model, as in the paper, for at most five dollars
grounding train puma MODEL --labels-model gpt-4o --cost-limit 5

# A row of table 5 (others: memory.told=false, sft.train_on=function), and one of table 6
grounding train puma MODEL --set dpo=null
grounding train puma MODEL --set memory.tokens=256

# Users that never train; another value of the recipe
grounding train puma MODEL --hold-out user=A7RDJ3LXNB2WZS --set sft.optimisation.learning_rate=4e-3

# The trained model is an agent
grounding eval --dataset sample-shop --agent puma-local --model-path results/RUN/model
```
"""

_Flag = Annotated[bool, Parameter(negative="", show_default=False)]

train_app = App(name="train")
_GROUNDER, _PUMA = GrounderOptions(), PumaOptions()


@train_app.command(name="grounder", help_epilogue=GROUNDER_EXAMPLES)
def grounder_command(
    grounder: str, *, options: GrounderOptions = _GROUNDER, dry_run: _Flag = False, json: _Flag = False
) -> int:
    """Tune a grounder on some participants' clicks and evaluate it on the others', before and after.

    What is trained on and what is tested share no participant, no task and no screenshot; a split that does is refused.
    The reward is the evaluation's own scoring, the prompt the card's own. The base model is evaluated with its card as
    it is, the tuned one with the history that it was trained with. The same command again goes on where it stopped.
    Generation by vLLM inside GRPO (--set grpo.trl.use_vllm=true) is handed on to TRL and was never run.
    Exit code 0: trained and evaluated; 1: something is left; 2: something about the command or the data is wrong.

    Args:
        grounder: Who is tuned: a card's name, a path to a card (.yaml), or the folder of an earlier adapter.
        options: How.
        dry_run: Train nothing: show the split, run two steps at the longest example, and print what they take.
        json: Print summary.json instead of the tables.
    """
    from grounding.benchmarks.clicks.benchmark import evaluate
    from grounding.console import wide_console
    from grounding.report.matrix import WIDE
    from grounding.training.grounder import open_training, run_training
    from grounding.training.preflight import grounder_fits
    from grounding.training.records import needs_training
    from grounding.training.results import print_run, print_split

    opened = open_training(_absolute(grounder), options, weights=not dry_run, command=_command())
    console = wide_console(WIDE)
    if dry_run or not json:
        print_split(console, opened)
    if dry_run and not any(opened.checkpoint.glob("*.safetensors")):
        print("memory and time: - (the weights are not on this disk; with --model FOLDER two steps are measured)")
        return _measured(True, opened.run.path)
    needs_training()
    if dry_run:
        return _measured(grounder_fits(console, opened), opened.run.path)
    for warning in opened.dataset.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr, flush=True)
    trained = run_training(opened, evaluate)
    return _ended(trained, None if json else lambda: print_run(console, trained.folder))


@train_app.command(name="puma", help_epilogue=PUMA_EXAMPLES)
def puma_command(model: str, /, *, options: PumaOptions = _PUMA, dry_run: _Flag = False, json: _Flag = False) -> int:
    """Align a causal language model to a shop's users: supervised tuning, then DPO over what the web functions answer.

    The model learns which function an instruction asks for and which parameter to call it with, then to prefer the
    better of the parameters that it draws itself, scored by the shop's own web functions. Instructions of the test,
    and users that are held out for it, are never trained on. Models are evaluated by the agent puma-local. The same
    command again goes on where it stopped. Exit code 0: trained and evaluated; 1: something is left; 2: something
    about the command or the data is wrong.

    Args:
        model: The base model: a folder, or a name on the hub such as meta-llama/Llama-2-7b-chat-hf.
        options: How.
        dry_run: Train nothing: show the split, run two steps at the longest example, and print what they take.
        json: Print summary.json instead of the tables.
    """
    from grounding.console import wide_console
    from grounding.report.matrix import WIDE
    from grounding.training.puma.training import open_puma, print_opened, print_trained, puma_fits, run_puma
    from grounding.training.records import needs_training

    needs_training()
    opened = open_puma(model, options, command=_command())
    console = wide_console(WIDE)
    if dry_run or not json:
        print_opened(console, opened)
    if dry_run:
        return _measured(puma_fits(console, opened), opened.run.path)
    trained = run_puma(opened)
    return _ended(trained, None if json else lambda: print_trained(console, opened, trained))


def _command() -> str:
    return shlex.join(["grounding", *without_secrets(sys.argv[1:])])


def _absolute(card: str) -> str:
    path = Path(card)
    return str(path.absolute()) if path.is_file() or (path / "card.yaml").is_file() else card


def _measured(fits: bool, path: Path) -> int:
    print(f"run folder {path}")
    return EXIT_OK if fits else EXIT_PARTIAL


def _ended(trained: Trained[Any], show: Callable[[], None] | None) -> int:
    from grounding.run.runner import INTERRUPTED

    if show is None:
        print_json(trained.summary)
    else:
        show()
    if trained.summary.status != "complete":
        print("the same command again goes on from here", file=sys.stderr)
    if trained.info.stopped == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_OK if trained.summary.status == "complete" else EXIT_PARTIAL

"""What a user asks of a training: the flags of ``grounding train`` with their help, and the records that open it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from grounding.data.option import DataDir
from grounding.options import Display, ShopSearch

_Flag = Annotated[bool, Parameter(negative="", show_default=False)]
_Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
_Some = Annotated[int | None, Parameter(validator=Number(gte=1))]
_Count = Annotated[int, Parameter(validator=Number(gte=0))]
SharedRule = Literal["refuse", "drop"]
"""What becomes of what is to train on and shares something with the test: training is refused, or it is left out."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What is asked of every training.

    Attributes:
        dataset: Which data set; `grounding list datasets` shows them.
        data_dir: Where the data lie, for a data set that is not bundled.
        hold_out: Who or what is tested on and never trained on, one or several: participant=NAME, task=LABEL (whose
            participants then train on nothing), of a shop user=ID. A shop without any tests every user on later
            instructions than it trains on, as in PersonalWAB; what gives something of the test away never trains.
        recipe: How to train: a recipe's name in models/recipes or a path (.yaml).
        overrides: Values of the recipe to change, such as grpo.generations=4 lora.rank=32.
        test_limit: Test on the first so many held-out steps (of a shop: instructions) only.
        no_evaluate: Only train.
        seed: Of the order of examples, of first weights, of who is held out where that is drawn, of what is sampled,
            and of the intervals.
        device: Where to train, if not on the GPUs that are there.
        processes: Train on so many devices [default: one].
        accelerate_config: Train as a file of `accelerate config` says: DeepSpeed, FSDP, several machines (all of which
            are handed on to accelerate and were never run).
        log_dir: Where run folders are made.
        fresh: Start over; what an earlier run left is set aside, not deleted.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """

    dataset: str
    data_dir: DataDir | None = None
    hold_out: _Several = ()
    recipe: str
    overrides: Annotated[_Several, Parameter(name="--set")] = ()
    test_limit: _Some = None
    no_evaluate: _Flag = False
    seed: _Count = 0
    device: Literal["cpu"] | None = None
    processes: _Some = None
    accelerate_config: Path | None = None
    log_dir: Path = Path("results")
    fresh: _Flag = False
    display: Display | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GrounderOptions(TrainingOptions):
    """The flags of ``grounding train grounder``.

    Attributes:
        questions: Which questions file.
        shared: What to do about tasks (by their words) and screenshots (by the hash of their files) that are on both
            sides: refuse the split, or drop their steps from the training.
        leave_one_out: Make every split that holds out one participant, and report all of them together.
        model: The weights to tune, instead of the card's: a folder or an id on the hub.
        batch_size: How many steps are evaluated at once [default: 8].
    """

    dataset: str = "sample-web"
    questions: str | None = None
    leave_one_out: Literal["participant"] | None = None
    shared: SharedRule = "refuse"
    recipe: str = "grpo-gta1"
    model: str | None = None
    batch_size: _Some = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PumaOptions(TrainingOptions):
    """The flags of ``grounding train puma``.

    Attributes:
        search: How the shop's search ranks products.
        labels_model: The card of the chat model that writes the search queries to learn from [default: they are made
            of the instruction's and the memory's own words].
        labels_base_url: Its server, instead of the one in its card.
        cost_limit: US dollars that the queries may cost in all.
    """

    dataset: str = "sample-shop"
    search: ShopSearch = "bm25"
    recipe: str = "puma-llama2-7b"
    labels_model: str | None = None
    labels_base_url: _Several = ()
    cost_limit: Annotated[float | None, Parameter(validator=Number(gt=0))] = None

"""A stage's folder holds all that its trainer is made from, and the second stage goes on from the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from grounding.card_schema import AdapterRule
from grounding.errors import UserError
from grounding.training.grounder.examples import EXAMPLES_FILE, HELD_OUT_FILE, read_examples
from grounding.training.grounder.records import GrpoRule, HeldOutRule, SftRule
from grounding.training.grounder.stages import STAGE_FILE, plan_grounder, read_stage
from grounding.training.loop.records import StagePlan
from training.grounder.steps import box, example, few, recipe, small_card, step

REACHABLE = tuple(example(step(number, boxes=(box(10, 10, 60, 60),))) for number in range(6))
UNREACHABLE = (example(step(6, boxes=(box(10.2, 10.2, 10.4, 10.4),))),)
BOTH = {
    "sft": SftRule(optimisation=few(batch=3)),
    "grpo": GrpoRule(optimisation=few(batch=4), generations=4),
    "held_out": HeldOutRule(every_steps=7, examples=2),
    "sample_every_steps": 3,
}


def planned(folder: Path, card: Any = None, **fields: Any) -> tuple[StagePlan, ...]:
    return plan_grounder(
        folder,
        recipe(**{**BOTH, **fields}),
        card=card or small_card(),
        model=folder / "weights",
        train=(*REACHABLE[:4], *UNREACHABLE),
        held_out=REACHABLE[4:],
        seed=5,
    )


def test_what_the_loop_is_told(tmp_path: Path) -> None:
    first, second = planned(tmp_path)
    assert (first.name, first.method, first.examples, first.generations) == ("sft", "sft", 4, 1)
    assert (second.name, second.method, second.examples, second.generations) == ("grpo", "grpo", 5, 4)
    assert (first.optimisation.batch, second.optimisation.batch) == (3, 4)
    for plan in (first, second):
        assert (plan.seed, plan.held_out_every_steps, plan.sample_every_steps) == (5, 7, 3)
        assert Path(plan.folder) == tmp_path / "stages" / plan.name
    (alone, _) = planned(tmp_path / "alone", held_out=None)
    assert alone.held_out_every_steps is None


def test_what_stands_in_a_stages_folder(tmp_path: Path) -> None:
    first, second = (Path(plan.folder) for plan in planned(tmp_path))
    assert read_examples(first / EXAMPLES_FILE) == REACHABLE[:4]
    assert read_examples(second / EXAMPLES_FILE) == (*REACHABLE[:4], *UNREACHABLE)
    assert read_examples(first / HELD_OUT_FILE) == read_examples(second / HELD_OUT_FILE) == REACHABLE[4:]
    assert read_stage(first).grpo is None
    assert read_stage(second).sft is None
    assert read_stage(first).card == small_card()


def test_a_second_stage_goes_on_from_the_first(tmp_path: Path) -> None:
    first, second = (Path(plan.folder) for plan in planned(tmp_path))
    weights = str(tmp_path / "weights")
    assert (read_stage(first).model, read_stage(first).adapter) == (weights, "")
    assert (read_stage(second).model, read_stage(second).adapter) == (weights, str(first / "output"))
    first, second = (Path(plan.folder) for plan in planned(tmp_path / "whole", lora=None))
    assert (read_stage(second).model, read_stage(second).adapter) == (str(first / "output"), "")


def test_an_adapter_is_tuned_on(tmp_path: Path) -> None:
    card = msgspec.structs.replace(small_card(), adapter=AdapterRule(base="m", path="/adapters/one"))
    first, second = (Path(plan.folder) for plan in planned(tmp_path, card))
    assert read_stage(first).adapter == "/adapters/one"
    assert read_stage(second).adapter == str(first / "output")
    with pytest.raises(UserError, match="lora: null"):
        planned(tmp_path, card, lora=None)
    narrow = msgspec.structs.replace(card, adapter=AdapterRule(base="m", path="/adapters/one", rank=2))
    with pytest.raises(UserError, match=r"--set lora\.rank=2"):
        planned(tmp_path, narrow)


def test_nothing_is_written_where_batches_do_not_come_out_even(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no multiple of 4"):
        planned(tmp_path, sft=None, grpo=GrpoRule(optimisation=few(batch=3), generations=4))
    assert not (tmp_path / "stages").exists()


def test_a_stage_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--fresh"):
        read_stage(tmp_path)
    (tmp_path / STAGE_FILE).write_text('{"name": 3}')
    with pytest.raises(UserError, match="--fresh"):
        read_stage(tmp_path)

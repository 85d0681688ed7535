"""Supervised tuning: which weights are tuned, the tokens that are learned, and a model that then answers rightly."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from grounders.hf.tiny import write_plain

from grounding.cards import GrounderCard
from grounding.cards.schema import AdapterRule
from grounding.geometry import is_hit
from grounding.grounders.hf import HfOptions, open_hf
from grounding.grounders.hf.generation import model_inputs
from grounding.grounders.hf.loading import Loaded, load
from grounding.llm.chat import ChatOptions
from grounding.training.examples import GrounderExample
from grounding.training.recipes import HeldOutRule, LoraRule, Precision, SftRule
from grounding.training.records import METRICS, TrainStage, read_lines
from grounding.training.stage import run_stage
from grounding.training.trainers import IGNORED, gold_batches, load_policy, raise_precision, rendered, supervised
from training.steps import drawn, example, few, recipe, small_card, stage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CPU = HfOptions(dtype="float32", device="cpu")
PREFILLED = small_card(prefill="click(", writes="click({x},{y})", system="A picture of {width}x{height}.")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    torch.set_num_threads(1)
    return write_plain(tmp_path_factory.mktemp("sft") / "tiny")


@pytest.fixture(scope="module")
def loaded(checkpoint: Path) -> Loaded:
    return load(checkpoint, PREFILLED, CPU)


@pytest.fixture
def examples(tmp_path: Path) -> tuple[GrounderExample, ...]:
    return tuple(example(each) for each in drawn(tmp_path, 4))


def test_the_prompt_is_the_evaluations_and_only_the_answer_is_learned(
    loaded: Loaded, examples: tuple[GrounderExample, ...]
) -> None:
    gold = supervised(PREFILLED, examples)
    longer = (examples[0], gold[0][1] + " and more")
    batch = gold_batches((longer, *gold[1:]), PREFILLED, loaded)([{"example": 1}, {"example": 0}])
    asked = [rendered(loaded.processor, PREFILLED, each.query) for each, _ in (gold[1], gold[0])]
    wanted = model_inputs(loaded, PREFILLED, [prompt for prompt, _ in asked], [text for _, text in asked])
    length = wanted["input_ids"].shape[1]
    assert batch["input_ids"][:, :length].equal(wanted["input_ids"])
    assert batch["attention_mask"][:, :length].equal(wanted["attention_mask"])
    assert batch["pixel_values"].equal(wanted["pixel_values"])
    assert (batch["labels"][:, :length] == IGNORED).all()
    for row, text in enumerate((gold[1][1], longer[1])):
        learned = batch["labels"][row][batch["labels"][row] != IGNORED].tolist()
        assert loaded.processor.tokenizer.decode(learned) == text + "<|im_end|>"
        answered = batch["attention_mask"][row, length:].sum()
        assert answered == len(learned)
        assert batch["input_ids"][row, length : length + len(learned)].tolist() == learned
    assert batch["mm_token_type_ids"].shape == batch["input_ids"].shape
    assert not batch["mm_token_type_ids"][:, length:].any()


def hits(card: GrounderCard, options: HfOptions, examples: tuple[GrounderExample, ...]) -> list[bool]:
    async def answers() -> list[bool]:
        grounder = open_hf(card, options, ChatOptions())
        try:
            found = [await grounder.ground(each.query) for each in examples]
        finally:
            await grounder.aclose()
        regions = [each.step.region for each in examples]
        return [
            answer.point is not None and region is not None and is_hit(region, answer.point)
            for answer, region in zip(found, regions, strict=True)
        ]

    return asyncio.run(answers())


def test_an_adapter_learns_to_answer_and_the_evaluation_takes_it(
    checkpoint: Path, examples: tuple[GrounderExample, ...], tmp_path: Path
) -> None:
    here = msgspec.structs.replace(CPU, model_path=str(checkpoint))
    assert hits(PREFILLED, here, examples) == [False] * 4
    plan = recipe(
        sft=SftRule(optimisation=few(max_steps=60, batch=4, learning_rate=1e-2)),
        lora=LoraRule(rank=16, alpha=32),
        held_out=HeldOutRule(every_steps=60, examples=2, batch=2, generations=1),
    )
    made = stage(plan, PREFILLED, checkpoint)
    assert run_stage(tmp_path / "s", made, examples, examples[:2], display="none").status == "complete"
    output = tmp_path / "s" / "output"
    assert {"adapter_config.json", "adapter_model.safetensors"} <= {path.name for path in output.iterdir()}
    rule = AdapterRule(base="m", checkpoint=str(checkpoint), path=str(output), rank=16)
    tuned = msgspec.structs.replace(PREFILLED, adapter=rule)
    assert hits(tuned, CPU, examples) == [True] * 4
    lines = read_lines(output.parent / METRICS, dict[str, Any])
    for kind in ("train", "held_out"):
        losses = [line["loss"] for line in lines if line["kind"] == kind]
        assert losses[-1] < losses[0] / 10


def planned(checkpoint: Path, **fields: Any) -> TrainStage:
    rule = SftRule(optimisation=few())
    return stage(recipe(sft=rule, precision=Precision(dtype="bfloat16"), **fields), small_card(), checkpoint)


def test_adapters_are_put_on_the_language_model_and_tuned_in_float32(checkpoint: Path) -> None:
    from peft import get_peft_model

    _, model, config = load_policy(planned(checkpoint))
    adapted = get_peft_model(model, config)
    raise_precision(adapted)
    kinds = {name: str(weights.dtype) for name, weights in adapted.named_parameters()}
    free = [name for name, weights in adapted.named_parameters() if weights.requires_grad]
    assert free
    assert all("lora_" in name and ".language_model." in name for name in free)
    assert {kinds[name] for name in free} == {"torch.float32"}
    assert {kind for name, kind in kinds.items() if name not in free} == {"torch.bfloat16"}


@pytest.mark.parametrize("vision", [False, True])
def test_whole_weights_lie_in_float32_and_vision_is_frozen(checkpoint: Path, vision: bool) -> None:
    _, model, config = load_policy(planned(checkpoint, lora=None, vision=vision))
    free = [name for name, weights in model.named_parameters() if weights.requires_grad]
    assert config is None
    assert any(".visual." in name for name in free) == vision
    assert any("lm_head" in name for name in free)
    assert {str(weights.dtype) for weights in model.parameters()} == {"torch.float32"}

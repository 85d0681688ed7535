"""Supervised tuning: the tokens that are learned, and a model that then answers rightly in the evaluation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from grounders.hf.tiny import write_plain

from grounding.card_schema import AdapterRule
from grounding.cards import GrounderCard
from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.grounders.hf import HfOptions, open_hf
from grounding.grounders.hf.generator import model_inputs
from grounding.grounders.hf.loading import Loaded, load
from grounding.regions import is_hit
from grounding.training.grounder.gold import gold_answer
from grounding.training.grounder.records import GrounderExample, HeldOutRule, SftRule
from grounding.training.grounder.sft import IGNORED, GoldBatches, Supervised, supervised
from grounding.training.grounder.stages import build_grounder_trainer, plan_grounder
from grounding.training.grounder.verbatim import rendered
from grounding.training.loop.recorder import read_metrics
from grounding.training.loop.records import StageResult
from grounding.training.loop.stage import run_stage
from grounding.training.records import LoraRule
from training.grounder.steps import box, drawn, example, few, recipe, small_card, step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
for package in ("trl", "peft", "torchvision"):
    pytest.importorskip(package, reason="training needs the extra 'train'")

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
    longer = Supervised(example=examples[0], text=gold[0].text + " and more")
    batch = GoldBatches((longer, *gold[1:]), PREFILLED, loaded)([{"example": 1}, {"example": 0}])
    asked = [rendered(loaded.processor, PREFILLED, each.example.query) for each in (gold[1], gold[0])]
    wanted = model_inputs(loaded, PREFILLED, [prompt for prompt, _ in asked], [text for _, text in asked])
    length = wanted["input_ids"].shape[1]
    assert batch["input_ids"][:, :length].equal(wanted["input_ids"])
    assert batch["attention_mask"][:, :length].equal(wanted["attention_mask"])
    assert batch["pixel_values"].equal(wanted["pixel_values"])
    assert (batch["labels"][:, :length] == IGNORED).all()
    for row, text in enumerate((gold[1].text, longer.text)):
        learned = batch["labels"][row][batch["labels"][row] != IGNORED].tolist()
        assert loaded.processor.tokenizer.decode(learned) == text + "<|im_end|>"
        answered = batch["attention_mask"][row, length:].sum()
        assert answered == len(learned)
        assert batch["input_ids"][row, length : length + len(learned)].tolist() == learned
    assert batch["mm_token_type_ids"].shape == batch["input_ids"].shape
    assert not batch["mm_token_type_ids"][:, length:].any()


def test_what_cannot_be_answered_is_left_out() -> None:
    small, large = example(step(0, boxes=(box(10.2, 10.2, 10.3, 10.3),))), example(step(1, boxes=(box(9, 9, 30, 30),)))
    assert [each.example for each in supervised(small_card(), (small, large))] == [large]


def trained(
    folder: Path,
    checkpoint: Path,
    examples: tuple[GrounderExample, ...],
    card: GrounderCard,
    *,
    steps: int,
    whole: bool,
) -> StageResult:
    rule = SftRule(optimisation=few(max_steps=steps, batch=4, learning_rate=1e-3 if whole else 1e-2))
    plan = recipe(
        sft=rule,
        lora=None if whole else LoraRule(rank=16, alpha=32),
        vision=whole,
        held_out=HeldOutRule(every_steps=steps, examples=2, batch=2, generations=1),
    )
    (stage,) = plan_grounder(folder, plan, card=card, model=checkpoint, train=examples, held_out=examples[:2], seed=0)
    return run_stage(stage, build_grounder_trainer, display="none")


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
    result = trained(tmp_path, checkpoint, examples, PREFILLED, steps=60, whole=False)
    assert result.status == "complete"
    output = Path(result.output or "")
    assert {"adapter_config.json", "adapter_model.safetensors"} <= {path.name for path in output.iterdir()}
    rule = AdapterRule(base="m", checkpoint=str(checkpoint), path=str(output), rank=16)
    tuned = msgspec.structs.replace(PREFILLED, adapter=rule)
    assert hits(tuned, CPU, examples) == [True] * 4
    lines = read_metrics(output.parent)
    losses = [line.loss for line in lines if line.kind == "train" and line.loss is not None]
    assert losses[-1] < losses[0] / 10
    held_out = [line.loss for line in lines if line.kind == "held_out" and line.loss is not None]
    assert held_out[-1] < held_out[0] / 10


def test_whole_weights_are_a_checkpoint_like_the_first(
    checkpoint: Path, examples: tuple[GrounderExample, ...], tmp_path: Path
) -> None:
    from transformers import AutoProcessor

    card = small_card()
    result = trained(tmp_path, checkpoint, examples, card, steps=25, whole=True)
    output = Path(result.output or "")
    assert (
        AutoProcessor.from_pretrained(output).chat_template == AutoProcessor.from_pretrained(checkpoint).chat_template
    )
    here = msgspec.structs.replace(CPU, model_path=str(output))
    assert hits(card, here, examples) == [True] * 4


def test_a_stage_without_answers_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    unreachable = (example(step(0, boxes=(box(10.2, 10.2, 10.3, 10.3),))),)
    with pytest.raises(UserError, match="no example to learn from"):
        trained(tmp_path, checkpoint, unreachable, small_card(), steps=1, whole=False)
    assert gold_answer(small_card(), unreachable[0]) is None

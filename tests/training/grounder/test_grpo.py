"""GRPO: the evaluation's prompts, the toolkit's rewards, a policy that moves towards them, and runs that go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from grounders.hf.tiny import write_family, write_plain

from grounding.card_schema import AdapterRule
from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.grounders.hf.generator import model_inputs
from grounding.grounders.hf.loading import Loaded, load
from grounding.grounders.hf.options import HfOptions
from grounding.training.grounder.grpo import reading_rule
from grounding.training.grounder.records import (
    GrounderExample,
    GrounderRecipe,
    GrpoRule,
    HeldOutRule,
    RewardTerm,
    SftRule,
)
from grounding.training.grounder.rewards import grade
from grounding.training.grounder.stages import build_grounder_trainer, plan_grounder
from grounding.training.grounder.verbatim import rendered
from grounding.training.loop.arguments import stage_arguments
from grounding.training.loop.recorder import read_metrics, read_samples
from grounding.training.loop.records import StageContext, StagePlan
from grounding.training.loop.stage import run_stage
from grounding.training.records import LoraRule, Precision, Saving
from training.grounder.steps import drawn, example, few, recipe, small_card

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
for package in ("trl", "peft", "torchvision"):
    pytest.importorskip(package, reason="training needs the extra 'train'")

CARD = small_card(prefill="click(", writes="click({x},{y})", system="A picture of {width}x{height}.")
TERMS = (RewardTerm(kind="hit"), RewardTerm(kind="format", weight=0.25), RewardTerm(kind="distance", weight=0.5))
RULE = GrpoRule(
    optimisation=few(batch=4, accumulation=2, learning_rate=2e-3),
    generations=4,
    temperature=1.3,
    beta=0.05,
    rewards=TERMS,
    use_vllm="never",
)


class Warm(msgspec.Struct, frozen=True):
    """A checkpoint, an adapter that has learned to write answers, and the examples."""

    checkpoint: Path
    adapter: Path
    examples: tuple[GrounderExample, ...]

    @property
    def card(self) -> GrounderCard:
        """The card of the adapter."""
        rule = AdapterRule(base="m", checkpoint=str(self.checkpoint), path=str(self.adapter), rank=8)
        return msgspec.structs.replace(CARD, adapter=rule)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Warm:
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("grpo")
    checkpoint = write_plain(folder / "tiny")
    examples = tuple(example(each) for each in drawn(folder, 6))
    supervision = SftRule(optimisation=few(max_steps=30, batch=4, learning_rate=1e-2))
    plan = recipe(sft=supervision, lora=LoraRule(rank=8, alpha=16))
    (stage,) = plan_grounder(folder, plan, card=CARD, model=checkpoint, train=examples, held_out=(), seed=0)
    result = run_stage(stage, build_grounder_trainer, display="none")
    return Warm(checkpoint, Path(result.output or ""), examples)


def planned(warm: Warm, folder: Path, *, rule: GrpoRule = RULE, **fields: Any) -> StagePlan:
    plan: GrounderRecipe = recipe(**{"grpo": rule, "lora": LoraRule(rank=8, alpha=16), **fields})
    card = warm.card if plan.lora is not None else CARD
    (stage,) = plan_grounder(
        folder, plan, card=card, model=warm.checkpoint, train=warm.examples[:4], held_out=warm.examples[4:], seed=3
    )
    return stage


def opened(stage: StagePlan) -> Any:
    context = StageContext(
        plan=stage,
        folder=Path(stage.folder),
        arguments=stage_arguments(stage, on_cpu=True),
        process=0,
        processes=1,
        sample_sink=lambda _line: None,
        held_out_sink=lambda _line: None,
    )
    return build_grounder_trainer(context)


def test_what_is_written_and_learned_from_is_the_evaluations_prompt(warm: Warm, tmp_path: Path) -> None:
    trainer = opened(planned(warm, tmp_path))
    asked = next(iter(trainer.get_train_dataloader()))
    numbers = [row["example"] for row in asked]
    assert [numbers[at : at + 4] for at in (0, 4)] == [[numbers[0]] * 4, [numbers[4]] * 4]
    trainer.model.train()
    made = trainer._generate_and_score_completions(asked)

    loaded: Loaded = load(warm.checkpoint, CARD, HfOptions(dtype="float32", device="cpu"))
    queries = [warm.examples[number].query for number in numbers]
    texts = [rendered(loaded.processor, CARD, query) for query in queries]
    wanted = model_inputs(loaded, CARD, [prompt for prompt, _ in texts], [text for _, text in texts])
    assert made["prompt_ids"].equal(wanted["input_ids"])
    assert made["prompt_mask"].equal(wanted["attention_mask"])
    assert made["pixel_values"].equal(wanted["pixel_values"])
    assert made["image_grid_thw"].equal(wanted["image_grid_thw"])


def test_a_step_makes_likelier_what_was_worth_more(warm: Warm, tmp_path: Path) -> None:
    import torch

    rule = msgspec.structs.replace(RULE, beta=0.0, optimisation=few(max_steps=1, batch=8, learning_rate=1e-4))
    trainer = opened(planned(warm, tmp_path, rule=rule))
    made: list[dict[str, Any]] = []
    write: Callable[[Any], Any] = trainer._generate_and_score_completions

    def kept(inputs: Any) -> Any:
        made.append(dict(write(inputs)))
        return made[-1]

    trainer._generate_and_score_completions = kept
    likely: list[float] = []

    def likelihood() -> float:
        batch = made[0]
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        more = {name: batch[name] for name in ("pixel_values", "image_grid_thw", "mm_token_type_ids", "num_images")}
        with torch.no_grad():
            logs, _, _ = trainer._get_per_token_logps_and_entropies(
                trainer.model, ids, mask, batch["completion_ids"].shape[1], **more
            )
        a_reply = (logs * batch["completion_mask"]).sum(1) / batch["completion_mask"].sum(1)
        return float((a_reply * batch["advantages"]).sum())

    step = trainer.training_step

    def measured(*args: Any, **more: Any) -> Any:
        loss = step(*args, **more)
        likely.append(likelihood())
        return loss

    trainer.training_step = measured
    trainer.train()
    assert made[0]["advantages"].abs().max() > 0.5, "the replies must not all be worth the same"
    assert likelihood() > likely[0] + 1e-4


def test_a_stage_writes_what_happened(warm: Warm, tmp_path: Path) -> None:
    measuring = HeldOutRule(every_steps=2, examples=2, batch=4, generations=2)
    stage = planned(warm, tmp_path, held_out=measuring, sample_every_steps=1)
    result = run_stage(stage, build_grounder_trainer, display="none")
    assert (result.status, result.step) == ("complete", 2)
    output = Path(result.output or "")
    assert not (output / "ref").exists()
    assert (output / "adapter_model.safetensors").is_file()

    lines = read_metrics(Path(stage.folder))
    train = [line for line in lines if line.kind == "train"]
    assert [line.step for line in train] == [1, 2]
    for line in train:
        assert None not in (line.loss, line.reward, line.reward_sd, line.kl, line.clipped_fraction)
        # values of the terms before weights
        total = sum(
            term.weight * next(value for name, value in line.values.items() if f"{term.kind}/mean" in name)
            for term in TERMS
        )
        assert line.reward == pytest.approx(total, abs=1e-5)
    assert train[0].kl == pytest.approx(0, abs=1e-6)
    assert train[1].kl is not None
    assert train[1].kl > 0
    held_out = [line for line in lines if line.kind == "held_out"]
    assert held_out
    assert all(line.reward is not None for line in held_out)

    by_id = {each.step.id: each for each in warm.examples}
    samples = read_samples(Path(stage.folder))
    assert {sample.step for sample in samples if sample.kind == "train"} == {1, 2}
    assert {sample.example for sample in samples if sample.kind == "held_out"} == {"1/4", "1/5"}
    for sample in samples:
        graded = grade(by_id[sample.example], CARD, RULE, sample.text)
        assert sample.rewards == pytest.approx(graded.terms)
        assert sample.reward == pytest.approx(graded.reward)
        assert sample.point == graded.point
        assert "<|im_end|>" not in sample.text
    assert any(sample.reward for sample in samples)


def interrupted(context: StageContext) -> Any:
    """The trainer, and a user who breaks it off in the second step."""
    trainer = build_grounder_trainer(context)
    step = trainer.training_step

    def broken_off(*args: Any, **more: Any) -> Any:
        if trainer.state.global_step == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(*args, **more)

    trainer.training_step = broken_off
    return trainer


def test_a_run_that_was_broken_off_ends_in_the_same_adapter(warm: Warm, tmp_path: Path) -> None:
    rule = msgspec.structs.replace(RULE, optimisation=few(max_steps=3, batch=4, accumulation=1, learning_rate=2e-3))
    outputs = []
    for name in ("whole", "broken"):
        saving = Saving(every_steps=1, every_minutes=None, keep=1)
        stage = planned(warm, tmp_path / name, rule=rule, saving=saving)
        if name == "broken":
            assert run_stage(stage, interrupted, display="none").status == "partial"
        result = run_stage(stage, build_grounder_trainer, display="none")
        assert (result.status, result.step) == ("complete", 3)
        outputs.append((Path(result.output or "") / "adapter_model.safetensors").read_bytes())
    assert outputs[0] == outputs[1]
    assert outputs[0] != (warm.adapter / "adapter_model.safetensors").read_bytes()


def test_whole_weights_are_compared_with_those_of_the_start(warm: Warm, tmp_path: Path) -> None:
    rule = msgspec.structs.replace(RULE, optimisation=few(max_steps=1, batch=4), max_new_tokens=3)
    trainer = opened(planned(warm, tmp_path, rule=rule, **{"lora": None}))
    assert trainer.ref_model is not None
    frozen = {name.split(".")[1] for name, weights in trainer.model.named_parameters() if not weights.requires_grad}
    assert frozen == {"visual"}
    trainer.train()
    assert trainer.state.global_step == 1
    assert "kl" in trainer.state.log_history[0]


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl"])
def test_the_other_families_learn_too(family: str, tmp_path: Path) -> None:
    """In bfloat16 and with activations computed again, as large models are trained."""
    factor = 32 if family == "qwen3_vl" else 28
    image = {"resize": "client", "factor": factor, "min_pixels": 3136, "max_pixels": 20_000}
    card = small_card(family=family, image=image, answer={"form": "point", "space": "rel_1000"})
    checkpoint = write_family(tmp_path / "tiny", family)
    examples = tuple(example(each) for each in drawn(tmp_path, 4))
    plan = recipe(
        precision=Precision(dtype="bfloat16", gradient_checkpointing=True),
        sft=SftRule(optimisation=few(batch=2)),
        grpo=msgspec.structs.replace(RULE, optimisation=few(max_steps=1, batch=4), max_new_tokens=3),
    )
    stages = plan_grounder(tmp_path, plan, card=card, model=checkpoint, train=examples, held_out=(), seed=0)
    for stage in stages:
        assert run_stage(stage, build_grounder_trainer, display="none").status == "complete"
    (first, second) = (read_metrics(Path(stage.folder)) for stage in stages)
    assert first[0].gradient_norm is not None
    assert first[0].gradient_norm > 0
    assert second[0].kl == pytest.approx(0, abs=1e-3)


def test_how_replies_end_is_the_cards() -> None:
    rule = reading_rule(
        small_card(parameters={"max_tokens": 7, "stop_token_ids": [3], "structured_outputs": {"json": {}}})
    )
    assert rule.stop_token_ids == (3,)
    assert rule.arguments["max_new_tokens"] == 7
    with pytest.raises(UserError, match=r"parameters\.stop"):
        reading_rule(small_card(parameters={"stop": ["\n"]}))

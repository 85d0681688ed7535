"""GRPO: the evaluation's prompts, the toolkit's rewards, a policy that moves towards them, and runs that go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from grounders.hf.tiny import write_family, write_plain

from grounding.cards import GrounderCard
from grounding.cards.schema import AdapterRule
from grounding.grounders.hf.generation import model_inputs
from grounding.grounders.hf.loading import HfOptions, Loaded, load
from grounding.training.examples import GrounderExample, reward
from grounding.training.loop import stage_arguments
from grounding.training.recipes import GrounderRecipe, GrpoRule, HeldOutRule, LoraRule, Precision, SftRule
from grounding.training.records import EXAMPLES, METRICS, TrainStage, read_lines
from grounding.training.stage import run_stage
from grounding.training.trainers import build_trainer, rendered
from training.steps import drawn, example, few, recipe, small_card, stage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CARD = small_card(prefill="click(", writes="click({x},{y})", system="A picture of {width}x{height}.")
RULE = GrpoRule(
    optimisation=few(batch=4, accumulation=2, learning_rate=2e-3),
    generations=4,
    trl={"temperature": 1.3, "beta": 0.05, "loss_type": "grpo"},
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
    run_stage(folder / "warm", stage(plan, CARD, checkpoint), examples, display="none")
    return Warm(checkpoint, folder / "warm" / "output", examples)


def planned(warm: Warm, *, rule: GrpoRule = RULE, **fields: Any) -> TrainStage:
    plan: GrounderRecipe = recipe(**{"grpo": rule, "lora": LoraRule(rank=8, alpha=16), **fields})
    return stage(plan, warm.card if plan.lora is not None else CARD, warm.checkpoint, seed=3)


def opened(warm: Warm, folder: Path, made: TrainStage) -> Any:
    (folder / EXAMPLES).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in warm.examples[:4]))
    return build_trainer(made, folder, stage_arguments(folder, made, on_cpu=True))


def test_what_is_written_and_learned_from_is_the_evaluations_prompt(warm: Warm, tmp_path: Path) -> None:
    trainer = opened(warm, tmp_path, planned(warm))
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


def test_a_stage_writes_what_happened(warm: Warm, tmp_path: Path) -> None:
    import pandas as pd

    measuring = HeldOutRule(every_steps=2, examples=2, batch=4, generations=2)
    made = planned(warm, held_out=measuring)
    result = run_stage(tmp_path, made, warm.examples[:4], warm.examples[4:], display="none")
    assert (result.status, result.step) == ("complete", 2)
    assert not (tmp_path / "output" / "ref").exists()
    assert (tmp_path / "output" / "adapter_model.safetensors").is_file()

    lines = read_lines(tmp_path / METRICS, dict[str, Any])
    train = [line for line in lines if line["kind"] == "train"]
    assert [line["step"] for line in train] == [1, 2]
    for line in train:
        assert {"loss", "reward", "reward_std", "kl", "clip_ratio/region_mean"} <= line.keys()
    assert train[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert train[1]["kl"] > 0
    assert all("reward" in line for line in lines if line["kind"] == "held_out")

    # What was written in the first step, and what it was worth: the evaluation's own hit.
    by_id = {each.step.id: each for each in warm.examples}
    written = pd.read_parquet(tmp_path / "checkpoints" / "completions" / "completions_00001.parquet")
    assert len(written) == 8
    for hit, step_id, ((said,)) in written[["hit", "step_id", "completion"]].itertuples(index=False):
        assert hit == reward(by_id[step_id], CARD, said["content"])
    assert train[0]["reward"] == pytest.approx(written.hit.mean())


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl"])
def test_the_other_families_learn_too(family: str, tmp_path: Path) -> None:
    """In bfloat16 and with activations computed again, as large models are trained."""
    factor = 32 if family == "qwen3_vl" else 28
    image = {"resize": "client", "factor": factor, "min_pixels": 3136, "max_pixels": 20_000}
    card = small_card(family=family, image=image, answer={"form": "point", "space": "rel_1000"})
    checkpoint = write_family(tmp_path / "tiny", family)
    examples = tuple(example(each) for each in drawn(tmp_path, 4))
    supervision = SftRule(optimisation=few(batch=2))
    rule = msgspec.structs.replace(RULE, optimisation=few(max_steps=1, batch=4), max_new_tokens=3)
    precision = Precision(dtype="bfloat16", gradient_checkpointing=True)
    first = []
    for name, plan in (("sft", {"sft": supervision}), ("grpo", {"grpo": rule})):
        made = stage(recipe(precision=precision, **plan), card, checkpoint)
        assert run_stage(tmp_path / name, made, examples, display="none").status == "complete"
        first.append(read_lines(tmp_path / name / METRICS, dict[str, Any])[0])
    assert first[0]["grad_norm"] > 0
    assert first[1]["kl"] == pytest.approx(0, abs=1e-3)

"""The sum of an estimate: its terms, its phases, devices that share, and what may never make it smaller."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Size
from grounding.training.estimate import (
    MemoryEstimate,
    Rollouts,
    Sharding,
    TrainingLoad,
    estimate_memory,
    example_shape,
    shape_from_config,
    training_load,
)
from grounding.training.estimate.load import ExampleShape
from grounding.training.estimate.terms import gib
from grounding.training.records import LoraRule, Optimisation, Precision
from training.estimate.test_shapes import LLAMA2_7B, QWEN3_8B, QWEN25_7B

QWEN = shape_from_config(QWEN25_7B, name="7B")
LLAMA = shape_from_config(LLAMA2_7B, name="llama")
SCREEN = example_shape(
    QWEN, text_tokens=400, completion_tokens=32, picture=Size(width=1920, height=1080), max_pixels=8847360
)


def terms(estimate: MemoryEstimate, phase: str = "forward and backward") -> dict[str, int]:
    (found,) = [each for each in estimate.phases if each.name == phase]
    return {term.name: term.bytes for term in (*estimate.always, *found.terms)}


def grpo(**changes: Any) -> TrainingLoad:
    return msgspec.structs.replace(
        TrainingLoad(method="grpo", example=SCREEN, batch=2, accumulation=4, rollouts=Rollouts()), **changes
    )


def test_a_screenshot_of_1080p_is_2691_tokens() -> None:
    assert (SCREEN.prompt_tokens, SCREEN.patches) == (2691 + 400, 4 * 2691)
    three = shape_from_config(QWEN3_8B, name="8B")
    seen = example_shape(three, text_tokens=10, completion_tokens=1, picture=Size(width=1920, height=1080))
    assert seen.prompt_tokens == 10 + 60 * 34


def test_pictures_that_no_model_takes_are_refused() -> None:
    with pytest.raises(UserError, match="takes no pictures"):
        example_shape(LLAMA, text_tokens=1, completion_tokens=1, picture=Size(width=10, height=10))
    with pytest.raises(UserError, match="refuses a picture"):
        example_shape(QWEN, text_tokens=1, completion_tokens=1, picture=Size(width=10_000, height=10))


def test_the_exact_terms_of_adapters_on_7b() -> None:
    found = terms(estimate_memory(QWEN, grpo()))
    # Rank 16 on seven layers: 16 x (2 x 3584 + 2 x (3584 + 512) + 2 x 3584 + 3 x (3584 + 18944)) x 28 layers.
    adapters = 16 * (2 * 3584 + 2 * (3584 + 512) + 2 * 3584 + 3 * (3584 + 18944)) * 28
    assert found["weights"] == 2 * 8_292_166_656
    assert found["adapters"] == 4 * adapters
    assert found["gradients of the adapters"] == 4 * adapters
    assert found["optimiser states of the adapters"] == 8 * adapters + 4 * 2 * 7 * 28
    assert found["pictures"] == 8 * SCREEN.patches * 1176 * 4
    assert "reference model" not in found


def test_the_cache_of_generation_is_exact() -> None:
    found = terms(estimate_memory(QWEN, grpo()), "generation")
    assert found["KV cache"] == 8 * SCREEN.tokens * 28 * 2 * 512 * 2


def test_whole_weights_with_a_reference() -> None:
    found = terms(estimate_memory(QWEN, grpo(lora=None, beta=0.04, weights="float32")))
    assert found["weights"] == found["reference model"] == 4 * 8_292_166_656
    language = 7_615_616_512
    assert found["gradients of the weights"] == 4 * language
    assert found["optimiser states of the weights"] == 8 * language + 4 * 339
    assert found["cast weights"] > 0
    assert "reference model" not in terms(estimate_memory(QWEN, grpo(lora=None)))
    assert "reference model" not in terms(estimate_memory(QWEN, grpo(beta=0.04)))


def test_the_reference_of_dpo() -> None:
    example = ExampleShape(prompt_tokens=700, completion_tokens=60)
    load = TrainingLoad(method="dpo", example=example, lora=None)
    assert load.sequences == 2
    assert "reference model" in terms(estimate_memory(LLAMA, load))
    early = msgspec.structs.replace(load, precomputed=True)
    assert "reference model" not in terms(estimate_memory(LLAMA, early))


def test_modules_trained_whole_are_as_wide_as_the_model_unless_said() -> None:
    rule = LoraRule(also_train=("lm_head",))
    count = 4096 * 32000
    for copies, size in ((None, 2), ("float32", 4)):
        load = TrainingLoad(
            method="sft", example=ExampleShape(prompt_tokens=9, completion_tokens=9), lora=rule, copies=copies
        )
        found = terms(estimate_memory(LLAMA, load))
        assert found["modules trained whole"] == size * count
        assert found["gradients of the modules trained whole"] == size * count
        assert found["optimiser states of the modules trained whole"] == 2 * size * count + 4


def test_devices_that_split_keep_their_part_and_a_float32_copy() -> None:
    alone = terms(estimate_memory(QWEN, grpo(lora=None)))
    fsdp = terms(estimate_memory(QWEN, grpo(lora=None, sharding=Sharding(strategy="fsdp", devices=8))))
    language, tower = 7_615_616_512, 676_550_144
    assert alone["weights"] == 2 * (language + tower)
    assert fsdp["weights"] == (4 * language + 2 * tower) // 8
    assert fsdp["gradients of the weights"] == 4 * language // 8
    assert fsdp["gathered weights"] > 0
    zero = terms(estimate_memory(QWEN, grpo(lora=None, sharding=Sharding(strategy="zero3", devices=8))))
    assert zero["weights"] == 2 * (language + tower) // 8
    assert zero["float32 of the weights"] == 4 * language // 8
    two = terms(estimate_memory(QWEN, grpo(lora=None, sharding=Sharding(strategy="zero2", devices=8))))
    assert two["weights"] == alone["weights"]
    ddp = terms(estimate_memory(QWEN, grpo(sharding=Sharding(devices=8))))
    assert ddp["gradient buckets"] == ddp["gradients of the adapters"]


def test_a_vllm_beside_takes_its_share() -> None:
    load = grpo(rollouts=Rollouts(engine="vllm_colocate", vllm_memory=0.4))
    whole = 80 * 1024**3
    assert terms(estimate_memory(QWEN, load, device_bytes=whole))["vLLM"] == int(0.4 * whole)
    least = terms(estimate_memory(QWEN, load))["vLLM"]
    assert least > 2 * 8_292_166_656
    # A share that doesn't hold the weights is no less than they are.
    assert terms(estimate_memory(QWEN, load, device_bytes=20 * 1024**3))["vLLM"] == least
    server = estimate_memory(QWEN, grpo(rollouts=Rollouts(engine="vllm_server")))
    assert "KV cache" not in terms(server, "generation")


def test_the_largest_phase_counts() -> None:
    found = estimate_memory(QWEN, grpo())
    sizes = [phase.bytes for phase in found.phases]
    assert found.stored_bytes == sum(term.bytes for term in found.always) + max(sizes)
    assert found.peak.bytes == max(sizes)
    assert [phase.name for phase in found.phases] == ["generation", "forward and backward", "optimiser step"]
    # Many replies at once make generation the largest.
    many = estimate_memory(QWEN, grpo(rollouts=Rollouts(steps_per_generation=64)))
    assert many.peak.name == "generation"


def test_a_tower_outside_the_graph_keeps_nothing() -> None:
    kept = terms(estimate_memory(QWEN, grpo()))
    assert kept["states between vision blocks"] == 2 * SCREEN.patches * 32 * 2560
    assert "states between vision blocks" not in terms(estimate_memory(QWEN, grpo(tower_outside=True)))


def test_a_load_follows_its_recipe() -> None:
    load = training_load(
        "grpo",
        SCREEN,
        Optimisation(learning_rate=1e-6, batch=3, accumulation=5, optimiser="adamw_torch_fused"),
        Precision(dtype="float32", gradient_checkpointing=False),
        lora=LoraRule(rank=4),
        sharding=Sharding(strategy="zero3", devices=2),
    )
    assert (load.batch, load.accumulation, load.optimiser) == (3, 5, "adamw_torch_fused")
    assert (load.weights, load.compute, load.checkpointing) == ("float32", "float32", False)


def test_an_estimate_goes_through_json() -> None:
    found = estimate_memory(QWEN, grpo())
    assert msgspec.json.decode(msgspec.json.encode(found), type=MemoryEstimate) == found


def test_targets_that_the_model_lacks_are_refused() -> None:
    with pytest.raises(UserError, match=r"w_proj.*q_proj"):
        estimate_memory(QWEN, grpo(lora=LoraRule(targets=("w_proj",))))
    with pytest.raises(UserError, match="also_train"):
        estimate_memory(QWEN, grpo(lora=LoraRule(also_train=("nothing",))))


loads = st.builds(
    TrainingLoad,
    method=st.sampled_from(["sft", "dpo", "grpo"]),
    example=st.builds(
        ExampleShape,
        prompt_tokens=st.integers(1, 4000),
        completion_tokens=st.integers(1, 500),
        patches=st.integers(0, 3000).map(lambda count: 4 * count),
        pictures=st.just(1),
    ),
    batch=st.integers(1, 16),
    accumulation=st.integers(1, 16),
    lora=st.sampled_from([None, LoraRule(), LoraRule(rank=64, vision=True, dropout=0.1)]),
    vision=st.booleans(),
    compute=st.sampled_from(["bfloat16", "float32"]),
    optimiser=st.sampled_from(["adamw_torch", "adamw_torch_fused", "adamw_8bit", "sgd"]),
    checkpointing=st.booleans(),
    beta=st.sampled_from([0.0, 0.1]),
    rollouts=st.sampled_from([None, Rollouts(), Rollouts(engine="vllm_colocate")]),
    sharding=st.builds(
        Sharding, strategy=st.sampled_from(["ddp", "zero2", "zero3", "fsdp"]), devices=st.integers(1, 16)
    ),
)


@given(loads)
def test_nothing_is_negative_and_more_is_never_less(load: TrainingLoad) -> None:
    found = estimate_memory(QWEN, load)
    every = [*found.always, *(term for phase in found.phases for term in phase.terms), *found.overhead]
    assert all(term.bytes >= 0 for term in every)
    assert found.bytes == found.stored_bytes + sum(term.bytes for term in found.overhead)
    larger = (
        msgspec.structs.replace(load, batch=load.batch * 2),
        msgspec.structs.replace(load, example=msgspec.structs.replace(load.example, prompt_tokens=5000)),
        msgspec.structs.replace(load, example=msgspec.structs.replace(load.example, patches=13_000)),
    )
    for more in larger:
        assert estimate_memory(QWEN, more).bytes >= found.bytes
    if not load.checkpointing:
        assert estimate_memory(LLAMA, msgspec.structs.replace(load, checkpointing=True, lora=None)).bytes <= (
            estimate_memory(LLAMA, msgspec.structs.replace(load, lora=None)).bytes
        )


def test_bytes_in_words() -> None:
    assert [gib(size) for size in (0, 2048, 3 * 1024**2, 1024**3, 2000 * 1024**3)] == [
        "0.0 KiB",
        "2.0 KiB",
        "3.0 MiB",
        "1.0 GiB",
        "2,000 GiB",
    ]

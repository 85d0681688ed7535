"""Operations held against torch's own counter, and hours that follow from them."""

from __future__ import annotations

import msgspec
import pytest

from grounding.errors import UserError
from grounding.training.estimate import (
    Device,
    Machine,
    Rollouts,
    Sharding,
    Speed,
    TrainingLoad,
    estimate_time,
    render_estimate,
)
from grounding.training.estimate.devices import KNOWN, known_device, speed_of
from grounding.training.estimate.flops import pass_flops
from grounding.training.estimate.load import ExampleShape
from grounding.training.estimate.memory import estimate_memory
from training.estimate.keeping import checkpointed, config, inputs, model, shape_of
from training.estimate.test_memory import QWEN, grpo

SPEED = Speed(name="test", peak_flops=1e15, memory_bytes_s=4e12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "checkpointing"),
    [("llama", False), ("llama", True), ("qwen2_vl", False), ("qwen2_5_vl", False), ("qwen3_vl", False)],
)
def test_torch_counts_as_many_operations(family: str, checkpointing: bool) -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    made = config(family)
    made._attn_implementation = "eager"  # Torch doesn't count what the CPU's own kernel of attention does.
    real = model(made, "float32")
    grid = None if family == "llama" else (16, 12)
    given = inputs(made, sequences=1, words=120, grid=grid)
    tokens = given["input_ids"].shape[1]
    if checkpointing:
        checkpointed(real)
    with FlopCounterMode(display=False) as forward, torch.no_grad():
        real(**given)
    with FlopCounterMode(display=False) as whole:
        real(**given).logits.sum().backward()
    patches = 0 if grid is None else grid[0] * grid[1]
    example = ExampleShape(prompt_tokens=1, completion_tokens=tokens - 1, patches=patches, pictures=int(patches > 0))
    # Every token goes through the output layer here, and both halves of the causal attention are calculated.
    ours = pass_flops(shape_of(made), msgspec.structs.replace(example, prompt_tokens=0, completion_tokens=tokens))
    ours = msgspec.structs.replace(ours, attention=2 * ours.attention)
    assert ours.forward == pytest.approx(forward.get_total_flops(), rel=0.02)
    # Without TRL's output layer, which works out its tiles a second time, and scores that are kept, not made again.
    learning = ours.learning(whole=True, checkpointing=checkpointing, tower=True, tower_whole=True)
    learning -= ours.head + ours.attention / 2
    assert learning == pytest.approx(whole.get_total_flops(), rel=0.04)


def test_7b_takes_about_twice_its_weights_in_operations_a_token() -> None:
    text = ExampleShape(prompt_tokens=99, completion_tokens=1)
    counted = pass_flops(QWEN, text)
    assert counted.text == 2 * 6_525_288_448 * 100
    assert counted.tower == 0


def test_twice_the_examples_take_twice_as_long_and_twice_the_devices_half() -> None:
    one = estimate_time(QWEN, grpo(), SPEED, examples=400)
    assert estimate_time(QWEN, grpo(), SPEED, examples=800).seconds == pytest.approx(2 * one.seconds)
    assert estimate_time(QWEN, grpo(), SPEED, examples=400, epochs=2).seconds == pytest.approx(2 * one.seconds)
    two = estimate_time(QWEN, grpo(sharding=Sharding(devices=2)), SPEED, examples=400)
    assert two.seconds == pytest.approx(one.seconds / 2)
    assert two.device_hours == pytest.approx(one.device_hours)
    assert one.optimiser_steps == 400 * 8 // 8


def test_use_made_of_a_device_is_an_argument() -> None:
    slow = msgspec.structs.replace(SPEED, training=0.1, source="measured")
    found = estimate_time(QWEN, grpo(), slow, examples=10)
    assert found.seconds > estimate_time(QWEN, grpo(), SPEED, examples=10).seconds
    assert found.low_seconds < found.seconds < found.high_seconds
    assert "measured" in found.notes[-1]


@pytest.mark.parametrize(
    ("load", "passes"),
    [
        (grpo(), 0),
        (grpo(beta=0.04), 1),
        (grpo(rollouts=Rollouts(iterations=2)), 1),
        (grpo(beta=0.04, rollouts=Rollouts(engine="vllm_server")), 2),
    ],
)
def test_passes_without_gradients_are_those_that_trl_makes(load: TrainingLoad, passes: int) -> None:
    found = {part.name: part for part in estimate_time(QWEN, load, SPEED, examples=10).steps}
    scored = found.get("scoring and reference")
    counted = 0.0 if scored is None else scored.flops / pass_flops(QWEN, load.example).forward
    assert counted == pytest.approx(10 * 8 * passes)


def test_dpo_reads_each_side_and_its_reference_once_where_it_is_made_before() -> None:
    example = ExampleShape(prompt_tokens=50, completion_tokens=10)
    load = TrainingLoad(method="dpo", example=example)
    late = {part.name: part.flops for part in estimate_time(QWEN, load, SPEED, examples=10, epochs=3).steps}
    early = msgspec.structs.replace(load, precomputed=True)
    before = {part.name: part.flops for part in estimate_time(QWEN, early, SPEED, examples=10, epochs=3).steps}
    assert late["scoring and reference"] == pytest.approx(3 * before["scoring and reference"])
    assert late["scoring and reference"] == pytest.approx(60 * pass_flops(QWEN, example).forward)


def test_shorter_replies_are_written_sooner() -> None:
    most = estimate_time(QWEN, grpo(), SPEED, examples=10)
    short = estimate_time(QWEN, grpo(), SPEED, examples=10, reply_tokens=4)
    assert short.seconds < most.seconds


def test_nothing_to_train_on_is_refused() -> None:
    with pytest.raises(UserError, match="nothing to train on"):
        estimate_time(QWEN, grpo(), SPEED, examples=0)


def test_the_time_is_shown_with_its_parts() -> None:
    load = grpo()
    duration = estimate_time(QWEN, load, SPEED, examples=1000)
    text = render_estimate(estimate_memory(QWEN, load), duration=duration)
    for part in duration.steps:
        assert part.formula in text
    assert "device-hours" in text


def test_devices_are_found_by_name() -> None:
    assert known_device("h200").memory_bytes > known_device("H100").memory_bytes
    with pytest.raises(UserError, match="H100 80 GB"):
        known_device("abacus")
    for device in KNOWN:
        assert device.machine(2).devices[1].name == device.name
    seen = Machine(kind="cuda", devices=(Device(name="NVIDIA GeForce RTX 4090", total_bytes=1, free_bytes=1),))
    found = speed_of(seen)
    assert found is not None
    assert found.name == "RTX 4090 24 GB"
    unknown = Machine(kind="cuda", devices=(Device(name="NVIDIA T4", total_bytes=1, free_bytes=1),))
    assert speed_of(unknown) is None
    hopper = Machine(kind="cuda", devices=(Device(name="NVIDIA H100 80GB HBM3", total_bytes=1, free_bytes=1),))
    assert (speed_of(hopper) or SPEED).name == "H100 80 GB"
    ada = Machine(kind="cuda", devices=(Device(name="NVIDIA RTX 4000 Ada", total_bytes=1, free_bytes=1),))
    assert speed_of(ada) is None

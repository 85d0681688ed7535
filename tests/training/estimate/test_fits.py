"""Whether a stage fits, and the refusal where it doesn't."""

from __future__ import annotations

import re

import msgspec
import pytest

from grounding.errors import UserError
from grounding.training.estimate import (
    Device,
    Machine,
    Rollouts,
    Sharding,
    TrainingLoad,
    assess,
    check_fits,
    estimate_memory,
    render_estimate,
)
from grounding.training.estimate.knobs import knobs, way_out
from training.estimate.test_memory import LLAMA, QWEN, SCREEN, grpo

GIB = 1024**3


def machine(free_gib: float, count: int = 1, kind: str = "cuda") -> Machine:
    device = Device(name="GPU", total_bytes=80 * GIB, free_bytes=int(free_gib * GIB))
    return msgspec.convert({"kind": kind, "devices": [msgspec.to_builtins(device)] * count}, Machine)


def test_what_fits_goes_on_and_says_what_there_is() -> None:
    estimate = estimate_memory(QWEN, grpo())
    fit = check_fits(estimate, machine(79))
    assert fit.fits
    assert (fit.needed_bytes, fit.free_bytes) == (estimate.bytes, 79 * GIB)


def test_a_refusal_says_what_is_needed_what_there_is_and_what_helps() -> None:
    load = grpo(lora=None, weights="float32", batch=4, checkpointing=False, beta=0.04)
    with pytest.raises(UserError) as caught:
        check_fits(estimate_memory(QWEN, load), machine(70, count=8))
    said = str(caught.value)
    assert re.match(r"7B: training \(grpo\) needs about [\d.,]+ GiB", said)
    assert "has 70.0 GiB free" in said
    for words in ("(lora)", "gradient_checkpointing", "optimisation.batch", "max_pixels", "adamw_8bit", "FSDP"):
        assert words in said
    assert re.search(r"[\d.]+ GiB less: ", said)
    assert "Enough together" in said


def test_every_knob_really_makes_it_smaller_by_as_much_as_it_says() -> None:
    load = grpo(lora=None, weights="float32", batch=4, checkpointing=False, beta=0.04)
    before = estimate_memory(QWEN, load).bytes
    found = knobs(QWEN, load, devices=8)
    assert len(found) >= 6
    for knob in found:
        assert estimate_memory(QWEN, knob.load).bytes == knob.bytes == before - knob.saved_bytes
    assert [knob.bytes for knob in found] == sorted(knob.bytes for knob in found)


def test_the_way_out_fits_and_leaves_the_result_alone_where_it_can() -> None:
    load = grpo(batch=16, accumulation=4)
    path = way_out(QWEN, load, 40 * GIB, devices=1)
    assert path is not None
    assert estimate_memory(QWEN, path[-1].load).bytes <= 40 * GIB
    assert all(knob.same for knob in path)
    # As many replies are learned from in a step as before.
    after = path[-1].load
    assert after.batch * after.accumulation == load.batch * load.accumulation


def test_the_same_where_even_everything_is_not_enough() -> None:
    estimate = estimate_memory(QWEN, grpo())
    with pytest.raises(UserError, match="not enough: a smaller model or a larger device"):
        check_fits(estimate, machine(12))


def test_devices_that_are_not_there() -> None:
    estimate = estimate_memory(QWEN, grpo(sharding=Sharding(devices=4)))
    with pytest.raises(UserError, match=r"4 devices are asked for and 2 are here.*--processes 2"):
        check_fits(estimate, machine(79, count=2))


def test_the_device_with_least_counts() -> None:
    devices = tuple(Device(name=f"GPU {free}", total_bytes=80 * GIB, free_bytes=free * GIB) for free in (79, 30, 70))
    estimate = estimate_memory(QWEN, grpo(sharding=Sharding(devices=3)))
    assert assess(estimate, Machine(kind="cuda", devices=devices)).device == "GPU 30"
    one = estimate_memory(QWEN, grpo())
    assert assess(one, Machine(kind="cuda", devices=devices)).device == "GPU 79"


def test_processes_on_a_cpu_share_its_memory() -> None:
    load = TrainingLoad(method="sft", example=SCREEN, device="cpu", sharding=Sharding(devices=2))
    estimate = estimate_memory(QWEN, load)
    fit = assess(estimate, machine(1000, kind="cpu"))
    assert fit.needed_bytes == 2 * estimate.bytes
    assert "CPU" in fit.device


def test_pictures_are_not_made_unreadable_to_fit() -> None:
    tiny = msgspec.structs.replace(SCREEN, patches=512, prompt_tokens=200)
    assert not any("max_pixels" in knob.words for knob in knobs(QWEN, grpo(example=tiny), devices=1))


def test_replies_are_written_in_whole_groups_only() -> None:
    load = grpo(batch=2, accumulation=16, rollouts=Rollouts(generations=8, steps_per_generation=4))
    assert not any("generate_at_once" in knob.words for knob in knobs(QWEN, load, devices=1))


def test_the_calculation_is_shown_term_by_term() -> None:
    estimate = estimate_memory(QWEN, grpo())
    fit = assess(estimate, machine(79))
    text = render_estimate(estimate, fit=fit)
    for term in (*estimate.always, *(term for phase in estimate.phases for term in phase.terms), *estimate.overhead):
        if term.bytes:
            assert term.formula in text
    assert "8,292,166,656 parameters x 2 bytes" in text
    assert "it fits" in text
    assert "does not fit" in render_estimate(estimate, fit=assess(estimate, machine(10)))
    assert "assumed" in text
    plain = render_estimate(estimate_memory(LLAMA, TrainingLoad(method="sft", example=SCREEN, lora=None)))
    assert "all weights" in plain

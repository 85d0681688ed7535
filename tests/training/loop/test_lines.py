from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from grounding.training.loop.lines import is_summary, metrics_line, not_a_number
from grounding.training.records import MetricsLine

GRPO = {
    "loss": 0.5,
    "grad_norm": 1.25,
    "learning_rate": 1e-6,
    "num_tokens": 320.0,
    "completions/mean_length": 12.5,
    "completions/clipped_ratio": 0.25,
    "rewards/hit/mean": 0.75,
    "rewards/hit/std": float("nan"),
    "reward": 0.75,
    "reward_std": 0.5,
    "kl": 0.01,
    "clip_ratio/region_mean": 0.125,
    "step_time": 3.2,
    "epoch": 0.5,
}


def test_a_line_has_fields_for_what_everybody_wants_to_see() -> None:
    line = metrics_line(GRPO, step=7, seconds=9.0)
    assert line == MetricsLine(
        step=7,
        epoch=0.5,
        loss=0.5,
        reward=0.75,
        reward_sd=0.5,
        kl=0.01,
        clipped_fraction=0.125,
        learning_rate=1e-6,
        gradient_norm=1.25,
        completion_tokens=12.5,
        seconds=9.0,
        values={"num_tokens": 320.0, "completions/clipped_ratio": 0.25, "rewards/hit/mean": 0.75},
    )


def test_figures_of_held_out_examples_are_told_apart() -> None:
    logs = {
        "eval_loss": 0.5,
        "eval_rewards/accuracies": 1.0,
        "eval_runtime": 2.0,
        "eval_rewards/margins": 0.1,
        "epoch": 1,
    }
    assert metrics_line(logs, step=3, seconds=1.0) == MetricsLine(
        step=3,
        epoch=1.0,
        kind="held_out",
        loss=0.5,
        preference_accuracy=1.0,
        seconds=1.0,
        values={"rewards/margins": 0.1},
    )


def test_a_loss_or_gradient_that_is_no_number_is_named() -> None:
    assert not_a_number({"loss": 1.0, "grad_norm": float("inf"), "kl": float("nan")}) == "grad_norm"
    assert not_a_number({"loss": float("nan")}) == "loss"
    assert not_a_number({"loss": 1.0, "reward": float("nan")}) is None


def test_the_summary_at_the_end_is_known() -> None:
    assert is_summary({"train_runtime": 1.0, "train_loss": 0.5, "epoch": 1.0})
    assert not is_summary(GRPO)


@given(
    st.dictionaries(st.text(max_size=12), st.one_of(st.floats(), st.integers(), st.text(), st.none(), st.booleans()))
)
def test_any_log_becomes_a_line_that_reads_as_the_same(logs: dict[str, object]) -> None:
    line = metrics_line(logs, step=1, seconds=0.5)
    assert msgspec.json.decode(msgspec.json.encode(line), type=MetricsLine) == line

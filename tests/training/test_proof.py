"""The small form of the proof: a random model learns to find coloured squares, by the commands that users have."""

from __future__ import annotations

from pathlib import Path

import pytest

for package in ("torch", "torchvision", "trl", "peft", "datasets"):
    pytest.importorskip(package, reason="training needs the extra 'train'")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]


def test_grpo_raises_the_reward_on_held_out_pictures(tmp_path: Path) -> None:
    from tools.training_proof.grounder import QUICK, run, show

    proof = run(tmp_path, [0], QUICK)
    show(proof)
    (one,) = proof.seeds
    assert one.eval_before.steps == one.eval_after.steps == QUICK.tested
    # Of 16 places one is right: what came out of SFT had learned something, and left something to learn.
    assert 0.1 < one.eval_before.hits / QUICK.tested < 0.95
    # So short a training sharpens what the model says before it changes what it says most of all.
    assert one.reward_after > one.reward_before
    assert one.p_reward < 0.01
    assert one.eval_after.hits >= one.eval_before.hits

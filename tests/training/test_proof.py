"""The small form of the proofs: random models learn, by the commands that users have."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]


def test_grpo_raises_the_reward_on_held_out_pictures_with_each_of_five_seeds(tmp_path: Path) -> None:
    from tools.training_proof.grounder import QUICK, run, show

    proof = run(tmp_path, range(5), QUICK)
    show(proof)
    for one in proof.seeds:
        assert one.eval_before.steps == one.eval_after.steps == QUICK.tested
        # Of 9 places one is right: what came out of SFT had learned something, and left something to learn.
        assert 0.05 < one.reward_before < 0.9
        assert one.reward_after > one.reward_before + 0.02
    assert proof.p_seeds is not None
    assert proof.p_seeds < 0.05


DPO = (
    *("candidates.beams=1", "candidates.count=2", "candidates.max_new_tokens=12", "candidates.batch=64"),
    *("memory.tokens=16", "memory.length=5", "held_out_users=0.4", "sft.optimisation.max_steps=30"),
    *("dpo.optimisation.max_steps=30", "dpo.optimisation.learning_rate=1e-3"),
)  # A short memory, and two candidates beside the label: drawing takes seconds, and so do the steps.


def test_dpo_raises_the_preference_on_held_out_pairs(tmp_path: Path) -> None:
    from tools.training_proof.puma import prove

    proof = prove(tmp_path, 2, DPO)
    assert proof.p == 1 / 4  # It rose with each.
    assert proof.mean_rise > 0.1

"""Prove that tuning a grounder works: SFT and then GRPO on coloured squares, from random weights, on a processor.

    python -m tools.training_proof.grounder OUT [--seeds 5] [--jobs 2]       # about half an hour on two cores
    python -m tools.training_proof.grounder OUT --seeds 1 --quick            # some minutes

Each seed has its own pictures, its own first weights and its own order. All is done by the commands that a user has:
``grounding train grounder`` twice, which ends in ``grounding eval`` of the base and of the tuned model on one person
whose pictures were never trained on. The same command again goes on where it stopped. OUT/proof.json has the figures,
OUT/curves.png and .svg the curves. Needs the extras ``train`` and ``test``.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import NormalDist

import msgspec

from grounding.records import Record
from grounding.training.page.curves import draw_curves, run_group
from grounding.training.records import MetricsLine
from tools.training_proof.squares import write as write_squares
from tools.vllm_cpu.tiny_checkpoint import write as write_checkpoint

HERE = Path(__file__).parent
STRENGTH = 2.5
"""Times the usual first weights: with more it learns by heart, with less it waits long before it learns at all."""


class Size(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How much is trained. ``people`` have ``steps`` pictures each; the last of them is held out."""

    people: int = 5
    steps: int = 400
    sft_steps: int = 400
    grpo_steps: int = 150
    tested: int = 300


QUICK = Size(people=5, steps=240, sft_steps=320, grpo_steps=60, tested=200)


class Hits(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Held-out steps that a model hit, of those that it was asked about."""

    hits: int
    steps: int


class SeedProof(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What came of one seed.

    ``before`` and ``after`` GRPO: the mean reward of replies that are sampled at temperature 1, and the greedy answers
    through ``grounding eval``; ``gained`` steps are hits only after it, ``lost`` ones only before. ``p_reward`` is
    one-sided for the reward, as if the replies to one picture were always worth the same: that errs on the safe side.
    """

    seed: int
    reward_before: float
    reward_after: float
    p_reward: float
    eval_before: Hits
    eval_after: Hits
    gained: int
    lost: int
    sft_s: float
    grpo_s: float
    runs: tuple[str, ...]


class Proof(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All seeds. ``p_seeds``: one-sided paired t-test of the held-out reward; ``p_steps``: one-sided sign test of the
    steps on which the models differ, pooled. None for one seed.
    """

    size: Size
    seeds: tuple[SeedProof, ...]
    reward_gain: float
    reward_gain_low: float | None
    reward_gain_high: float | None
    p_seeds: float | None
    p_steps: float


class _Outcome(Record, frozen=True, kw_only=True):
    step_id: str
    outcome: str


class _Fold(Record, frozen=True, kw_only=True):
    base_run: str
    tuned_run: str


class _Summary(Record, frozen=True, kw_only=True):
    folds: tuple[_Fold, ...]


class _StageOutcome(Record, frozen=True, kw_only=True):
    wall_s: float


def prove(seed: int, out: Path, size: Size) -> SeedProof:
    """Train one seed from nothing and read what came of it; what is there already is not done again."""
    folder = out / f"seed-{seed}"
    data, tiny = folder / "squares", folder / "tiny"
    if not (data / str(size.people) / "questions_with_task_updated.json").exists():
        write_squares(data, people=size.people, steps=size.steps, seed=seed)
    if not (tiny / "processor_config.json").exists():
        write_checkpoint(tiny, seed, strength=STRENGTH)
    sft = _train(folder, "sft", data, tiny, seed, size, f"sft.optimisation.max_steps={size.sft_steps}", "--no-evaluate")
    tuned = sft / "stages" / "sft" / "output"
    grpo = _train(
        folder, "grpo", data, tuned, seed, size, f"grpo.optimisation.max_steps={size.grpo_steps}",
        "--test-limit", str(size.tested),
    )  # fmt: skip
    lines = [
        msgspec.json.decode(line, type=MetricsLine)
        for line in (grpo / "stages" / "grpo" / "metrics.jsonl").read_bytes().splitlines()
    ]
    measured = [line for line in lines if line.kind == "held_out"]
    rewards = [line.reward for line in measured if line.reward is not None]
    spreads = [line.reward_sd for line in measured if line.reward_sd is not None]
    pictures = len((grpo / "stages" / "grpo" / "held_out.jsonl").read_bytes().splitlines())
    error = math.hypot(spreads[0], spreads[-1]) / math.sqrt(pictures)
    fold = msgspec.json.decode((grpo / "summary.json").read_bytes(), type=_Summary).folds[0]
    before, after = _hits(grpo / fold.base_run), _hits(grpo / fold.tuned_run)
    if before.keys() != after.keys():
        raise RuntimeError("base and tuned model were not asked about the same steps")
    return SeedProof(
        seed=seed,
        reward_before=rewards[0],
        reward_after=rewards[-1],
        p_reward=NormalDist().cdf((rewards[0] - rewards[-1]) / error),
        eval_before=Hits(hits=sum(before.values()), steps=len(before)),
        eval_after=Hits(hits=sum(after.values()), steps=len(after)),
        gained=sum(after[step] and not before[step] for step in before),
        lost=sum(before[step] and not after[step] for step in before),
        sft_s=_wall_s(sft, "sft"),
        grpo_s=_wall_s(grpo, "grpo"),
        runs=(str(sft.relative_to(out)), str(grpo.relative_to(out))),
    )


def _train(folder: Path, method: str, data: Path, model: Path, seed: int, size: Size, setting: str, *more: str) -> Path:
    log_dir = folder / method
    command = [
        sys.executable, "-m", "grounding.cli", "train", "grounder", str(HERE / "squares.yaml"),
        "--dataset", str(HERE / "squares-data.yaml"), "--data-dir", str(data),
        "--hold-out", f"participant={size.people}", "--recipe", str(HERE / f"squares-{method}.yaml"),
        "--set", setting, "--model", str(model), "--seed", str(seed), "--device", "cpu",
        "--log-dir", str(log_dir), *more,
    ]  # fmt: skip
    # One thread: so small a model only loses by sharing its work, and the figures don't hang on the machine.
    done = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    (folder / f"{method}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    (run,) = log_dir.glob("train-*")
    return run


def _hits(run: Path) -> dict[str, bool]:
    lines = (run / "verdicts.jsonl").read_bytes().splitlines()
    verdicts = [msgspec.json.decode(line, type=_Outcome) for line in lines]
    return {verdict.step_id: verdict.outcome == "hit" for verdict in verdicts}


def _wall_s(run: Path, method: str) -> float:
    return msgspec.json.decode((run / "stages" / method / "result.json").read_bytes(), type=_StageOutcome).wall_s


def judge(size: Size, seeds: Sequence[SeedProof]) -> Proof:
    """The tests over the seeds and over the steps."""
    from scipy import stats

    gains = [one.reward_after - one.reward_before for one in seeds]
    gained, lost = sum(one.gained for one in seeds), sum(one.lost for one in seeds)
    low = high = p_seeds = None
    if len(seeds) > 1:
        tested = stats.ttest_1samp(gains, 0.0, alternative="greater")
        interval = stats.ttest_1samp(gains, 0.0).confidence_interval()
        low, high, p_seeds = float(interval.low), float(interval.high), float(tested.pvalue)
    p_steps = float(stats.binomtest(gained, gained + lost, alternative="greater").pvalue) if gained + lost else 1.0
    return Proof(
        size=size,
        seeds=tuple(seeds),
        reward_gain=sum(gains) / len(gains),
        reward_gain_low=low,
        reward_gain_high=high,
        p_seeds=p_seeds,
        p_steps=p_steps,
    )


def show(proof: Proof) -> None:
    """Print the figures as a table of plain text."""
    print("seed  reward on held-out pictures  right through grounding eval  gained  lost  SFT s  GRPO s")
    for one in proof.seeds:
        before, after = one.eval_before, one.eval_after
        print(
            f"{one.seed:4}  {one.reward_before:17.3f} -> {one.reward_after:.3f}  "
            f"{before.hits:13}/{before.steps} -> {after.hits:3}/{after.steps}  {one.gained:6}  {one.lost:4}  "
            f"{one.sft_s:5.0f}  {one.grpo_s:6.0f}"
        )
    interval = ""
    if proof.p_seeds is not None:
        interval = f" [{proof.reward_gain_low:+.3f}, {proof.reward_gain_high:+.3f}], p = {proof.p_seeds:.2g} over seeds"
    print(f"reward {proof.reward_gain:+.3f}{interval}; p = {proof.p_steps:.2g} over steps")


def run(out: Path, seeds: Sequence[int], size: Size, jobs: int = 1) -> Proof:
    """Prove it for several seeds; writes ``proof.json`` and the curves."""
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as places:
        proof = judge(size, list(places.map(lambda seed: prove(seed, out, size), seeds)))
    (out / "proof.json").write_bytes(msgspec.json.format(msgspec.json.encode(proof), indent=2) + b"\n")
    groups = [
        run_group(name, [out / one.runs[place] for one in proof.seeds], stage=stage)
        for place, (name, stage) in enumerate((("SFT", "sft"), ("GRPO", "grpo")))
    ]
    draw_curves(groups[:1], out / "curves-sft", fields=("loss", "mean_token_accuracy"))
    draw_curves(groups[1:], out / "curves-grpo", fields=("reward", "entropy"))
    return proof


def main() -> None:
    """Read the options, train, and show what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    show(run(asked.out, range(asked.seeds), QUICK if asked.quick else Size(), asked.jobs))


if __name__ == "__main__":
    main()

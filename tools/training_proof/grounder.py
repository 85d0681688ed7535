"""Prove that tuning a grounder works: SFT and then GRPO on coloured squares, from random weights, on a processor.

    python -m tools.training_proof.grounder OUT [--seeds 5] [--jobs 2]       # about half an hour on two cores
    python -m tools.training_proof.grounder OUT --quick                      # some minutes

Each seed has its own pictures, its own first weights and its own order; with ``--quick`` seeds begin with one tuned
model on one, easier set of pictures, and have their own order and draws. All is done by the commands that a user has:
``grounding train grounder`` twice, which ends in ``grounding eval`` of the base and of the tuned model on one person
whose pictures were never trained on. The same command again goes on where it stopped. OUT/proof.json has the figures,
OUT/curves.png and .svg the curves. Needs the extras ``train`` and ``test``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from statistics import NormalDist
from typing import Any

from grounding.cli import app
from grounding.records import Record
from grounding.run.folder import RunFolder
from grounding.training.records import METRICS, RESULT, StageResult, read_lines, read_record, write_record
from grounding.training.results import GrounderSummary
from tools.training_proof.squares import write as write_squares
from tools.vllm_cpu.tiny_checkpoint import write as write_checkpoint

HERE = Path(__file__).parent
STRENGTH = 2.5
"""Times the usual first weights: with more it learns by heart, with less it waits long before it learns at all."""


class Size(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How much is trained. ``people`` have ``steps`` pictures each; the last of them is held out.

    ``easy``: what is meant lies at a place of its colour's own, and all seeds begin GRPO with the same tuned model.
    """

    people: int = 5
    steps: int = 400
    sft_steps: int = 400
    grpo_steps: int = 150
    tested: int = 300
    easy: bool = False


QUICK = Size(people=3, steps=120, sft_steps=30, grpo_steps=18, tested=20, easy=True)

EASY = (
    *("grpo.max_new_tokens=8", "grpo.optimisation.learning_rate=3e-3"),
    *("held_out.every_steps=1000", "held_out.examples=80", "held_out.batch=320"),
)  # What a place is called is shorter there; all replies to held-out pictures are written at once, before and after.


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


def prove(seed: int, out: Path, size: Size) -> SeedProof:
    """Train one seed from nothing and read what came of it; what is there already is not done again."""
    folder = out / f"seed-{seed}"
    start = out / "seed-0" if size.easy else folder
    data, tiny = start / "squares", start / "tiny"
    first = 0 if size.easy else seed
    if not (data / str(size.people) / "questions_with_task_updated.json").exists():
        write_squares(data, people=size.people, steps=size.steps, seed=first, homes=size.easy)
    if not (tiny / "processor_config.json").exists():
        write_checkpoint(tiny, first, strength=STRENGTH)
    fewer = ("held_out=null",) if size.easy else ()
    steps = f"sft.optimisation.max_steps={size.sft_steps}"
    sft = _train(start, "sft", data, tiny, first, size, (steps, *fewer), "--no-evaluate")
    fewer = EASY if size.easy else ()
    steps, tuned = f"grpo.optimisation.max_steps={size.grpo_steps}", sft / "stages" / "sft" / "output"
    grpo = _train(folder, "grpo", data, tuned, seed, size, (steps, *fewer), "--test-limit", str(size.tested))
    lines = read_lines(grpo / "stages" / "grpo" / METRICS, dict[str, Any])
    measured = [line for line in lines if line["kind"] == "held_out"]
    rewards = [line["reward"] for line in measured]
    spreads = [line["reward_std"] for line in measured]
    pictures = len((grpo / "stages" / "grpo" / "held_out.jsonl").read_bytes().splitlines())
    error = math.hypot(spreads[0], spreads[-1]) / math.sqrt(pictures)
    fold = read_record(grpo / "summary.json", GrounderSummary).folds[0]
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


def _train(
    folder: Path, method: str, data: Path, model: Path, seed: int, size: Size, settings: Sequence[str], *more: str
) -> Path:
    log_dir = folder / method
    command = [
        "train", "grounder", str(HERE / "squares.yaml"),
        "--dataset", str(HERE / "squares-data.yaml"), "--data-dir", str(data),
        "--hold-out", f"participant={size.people}", "--recipe", str(HERE / f"squares-{method}.yaml"),
        "--set", *settings, "--model", str(model), "--seed", str(seed), "--device", "cpu",
        "--log-dir", str(log_dir), *more,
    ]  # fmt: skip
    call(command)
    (run,) = log_dir.glob("train-*")
    return run


def call(command: Sequence[str]) -> None:
    """A command of ``grounding`` in this process, whose libraries take longer to import than a quick proof."""
    import torch

    # One thread: so small a model only loses by sharing its work, and the figures don't hang on the machine.
    torch.set_num_threads(1)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = app(command)
    if code:
        raise RuntimeError(f"grounding {' '.join(command)}\nended with {code}:\n{said.getvalue()}")


def _hits(run: Path) -> dict[str, bool]:
    return {verdict.step_id: verdict.outcome == "hit" for verdict in RunFolder(run).stream_verdicts()}


def _wall_s(run: Path, method: str) -> float:
    return read_record(run / "stages" / method / RESULT, StageResult).wall_s


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
    if jobs == 1:
        proofs = [prove(seed, out, size) for seed in seeds]
    else:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as places:
            proofs = list(places.map(prove, seeds, repeat(out), repeat(size)))
    proof = judge(size, proofs)
    write_record(out / "proof.json", proof)
    for place, (stage, fields) in enumerate(
        (("sft", ("loss", "mean_token_accuracy")), ("grpo", ("reward", "entropy")))
    ):
        folders = [out / one.runs[place] / "stages" / stage for one in proof.seeds]
        draw_curves(folders, out / f"curves-{stage}", fields)
    return proof


def draw_curves(folders: Sequence[Path], target: Path, fields: Sequence[str]) -> None:
    """Draw fields of several stages' metrics over their steps, each run thin and their mean thick."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(fields), figsize=(5 * len(fields), 3.5), layout="constrained", squeeze=False)
    for axis, name in zip(axes[0], fields, strict=True):
        runs = []
        for folder in folders:
            lines = read_lines(folder / METRICS, dict[str, Any])
            runs.append({line["step"]: line[name] for line in lines if line["kind"] == "train" and name in line})
            axis.plot(list(runs[-1]), list(runs[-1].values()), color="tab:blue", alpha=0.25, linewidth=0.8)
        steps = sorted(set.intersection(*(set(run) for run in runs)))
        axis.plot(steps, [sum(run[step] for run in runs) / len(runs) for step in steps], color="tab:blue", linewidth=2)
        axis.set(xlabel="step", ylabel=name.replace("_", " "))
    for suffix in (".png", ".svg"):
        figure.savefig(target.with_suffix(suffix), dpi=120)
    plt.close(figure)


def main() -> None:
    """Read the options, train, and show what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    show(run(asked.out, range(asked.seeds), QUICK if asked.quick else Size(), 1 if asked.quick else asked.jobs))


if __name__ == "__main__":
    main()

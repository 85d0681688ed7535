"""Prove on the CPU that PUMA's training works: SFT and DPO of a tiny Llama over the sample shop, for several seeds.

    python -m tools.training_proof.puma --out DIR [--seeds 6] [--threads 1]

Each seed has weights, held-out users and draws of its own. The question is asked on pairs of held-out users: is DPO's
own preference (how much more a text is likelier than under the model that DPO began with) on the side of the parameter
that the shop's web functions found better? It is by chance, 0.5, where DPO begins. The paired test over seeds is exact:
all signs of the differences are tried (one-sided). What a seed gave is kept in DIR, so that the script goes on after a
kill; ``results.json`` holds all figures.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from grounding.records import Record
from grounding.training.puma.learning import COUNTS, Learning, PairFile, read_json, write_json
from grounding.training.puma.models import load_tokenizer
from grounding.training.puma.records import Preference, PumaRecipe
from grounding.training.puma.shop import LearntShop, open_learnt_shop
from grounding.training.puma.split import split_tasks
from grounding.training.recipes import read_recipe
from tools.training_proof.tinyllama import Shape, make_tiny_llama

RECIPE = "puma-tiny"
CHANCE = 0.5


class SeedResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One seed: its model, its pairs, and the held-out preference before and after DPO. Times are of the processor."""

    seed: int
    weights: int
    pairs: PairFile
    before: Preference
    after: Preference
    sft_cpu_s: float
    drawing_cpu_s: float
    dpo_cpu_s: float

    @property
    def rise(self) -> float:
        """How far DPO's own preference is above its start."""
        return (self.after.reward if self.after.reward is not None else CHANCE) - CHANCE


class Proof(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All seeds, the mean rise of the held-out preference, and how likely it would be by chance (one-sided)."""

    recipe: PumaRecipe
    seeds: tuple[SeedResult, ...]
    mean_rise: float
    p: float
    mean_likelier_change: float
    p_likelier: float
    pooled: Preference
    wall_s: float


def sign_flip_p(differences: Sequence[float]) -> float:
    """How often the mean of differences is as large as this one where coins draw the signs: exact, one-sided."""
    observed = sum(differences)
    flips = list(itertools.product((1.0, -1.0), repeat=len(differences)))
    as_large = sum(
        sum(sign * one for sign, one in zip(signs, differences, strict=True)) >= observed - 1e-12 for signs in flips
    )
    return as_large / len(flips)


def prove(out: Path, seeds: int, overrides: Sequence[str] = ()) -> Proof:
    """Train and measure every seed that has no result yet, and put all together."""
    recipe = read_recipe(RECIPE, PumaRecipe, tuple(overrides)).recipe
    shop = open_learnt_shop("sample-shop", None, scoring=recipe.candidates.scoring)
    started = time.monotonic()
    results = []
    for seed in range(seeds):
        results.append(learn(out / f"seed-{seed}", seed, recipe, shop))
        print(line_of(results[-1]), flush=True)
    rises = [one.rise for one in results]
    changes = [_share(one.after) - _share(one.before) for one in results]
    total = sum(one.after.pairs for one in results)
    proof = Proof(
        recipe=recipe,
        seeds=tuple(results),
        mean_rise=sum(rises) / len(rises),
        p=sign_flip_p(rises),
        mean_likelier_change=sum(changes) / len(changes),
        p_likelier=sign_flip_p(changes),
        pooled=Preference(
            pairs=total,
            whole=sum(_share(one.after) * one.after.pairs for one in results) / total,
            per_token=sum((one.after.per_token or 0.0) * one.after.pairs for one in results) / total,
            reward=sum((one.after.reward or 0.0) * one.after.pairs for one in results) / total,
        ),
        wall_s=time.monotonic() - started,
    )
    write_json(out / "results.json", proof)
    return proof


def learn(folder: Path, seed: int, recipe: PumaRecipe, shop: LearntShop) -> SeedResult:
    """Take one seed through SFT, drawing, DPO and measuring; a finished one is read."""
    done = folder / "result.json"
    if done.is_file():
        return read_json(done, SeedResult)
    base = folder / "base"
    weights = make_tiny_llama(base, seed=seed, shape=Shape())
    split = split_tasks(shop.dataset.tasks, shop.test, shop.dataset.users, share=recipe.held_out_users, seed=seed)
    learning = Learning(
        stages=folder / "stages",
        base=str(base.resolve()),
        shop=shop,
        split=split,
        recipe=recipe,
        seed=seed,
        display="none",
        device="cpu",
    )
    tokenizer = load_tokenizer(str(base))
    inputs = learning.inputs(
        lambda text: len(tokenizer(text)["input_ids"]), tokens=max(recipe.memory.tokens), told=True
    )
    clock = [time.process_time()]
    tuned = learning.tune("sft", inputs, parameters=True)
    clock.append(time.process_time())
    pairs, held = learning.pair("dpo", tuned, inputs)
    clock.append(time.process_time())
    change = learning.measure("dpo", tuned, learning.prefer("dpo", tuned, pairs, held), held)
    clock.append(time.process_time())
    sft_s, drawing_s, dpo_s = (after - before for before, after in itertools.pairwise(clock))
    result = SeedResult(
        seed=seed,
        weights=weights,
        pairs=read_json(learning.stages / "dpo" / COUNTS, PairFile),
        before=change.before,
        after=change.after,
        sft_cpu_s=sft_s,
        drawing_cpu_s=drawing_s,
        dpo_cpu_s=dpo_s,
    )
    write_json(done, result)
    return result


def line_of(one: SeedResult) -> str:
    """A seed in a line."""
    return (
        f"seed {one.seed}: {one.weights:,} weights, {one.pairs.train.pairs} pairs, {one.after.pairs} held out;"
        f" preferred by DPO {CHANCE:.3f} -> {one.after.reward or 0.0:.3f}, likelier {_share(one.before):.3f} -> "
        f"{_share(one.after):.3f}; processor {one.sft_cpu_s:.0f} s SFT, {one.drawing_cpu_s:.0f} s drawing, "
        f"{one.dpo_cpu_s:.0f} s DPO"
    )


def _share(preference: Preference) -> float:
    return 0.0 if preference.whole is None else preference.whole


def main() -> None:
    """Run the proof and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", dest="overrides", action="append", default=[], help="values of the recipe to change")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(given.threads)
    proof = prove(given.out, given.seeds, given.overrides)
    print(
        f"{len(proof.seeds)} seeds, {proof.pooled.pairs} held-out pairs: preferred by DPO {CHANCE:.3f} -> "
        f"{CHANCE + proof.mean_rise:.3f} (mean of seeds), p = {proof.p:.4f} (exact, one-sided); likelier text "
        f"{proof.mean_likelier_change:+.3f}, p = {proof.p_likelier:.4f}"
    )
    print(f"kept in {given.out / 'results.json'}")


if __name__ == "__main__":
    main()

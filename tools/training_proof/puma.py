"""Prove on the CPU that PUMA's training works: SFT and DPO of a tiny Llama over the sample shop, for several seeds.

    python -m tools.training_proof.puma --out DIR [--seeds 6]

Each seed has weights, held-out users and draws of its own and is one ``grounding train puma``. The question is asked on
pairs of held-out users: is DPO's own preference (how much more a text is likelier than under the model that DPO began
with) on the side of the parameter that the shop's web functions found better? It is by chance, 0.5, where DPO begins.
The paired test over seeds is exact: all signs of the differences are tried (one-sided). The same command again goes on
where it stopped; ``results.json`` holds all figures.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path

from grounding.records import Record
from grounding.training.records import read_record, write_record
from grounding.training.results import PumaSummary
from tools.training_proof.grounder import call
from tools.training_proof.tinyllama import Shape, make_tiny_llama

CHANCE = 0.5


class Proof(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Each seed's model, the mean rise of the held-out preference, and how likely it would be by chance (one-sided)."""

    seeds: tuple[PumaSummary, ...]
    pairs: int
    mean_rise: float
    p: float


def sign_flip_p(differences: Sequence[float]) -> float:
    """How often the mean of differences is as large as this one where coins draw the signs: exact, one-sided."""
    observed = sum(differences)
    flips = list(itertools.product((1.0, -1.0), repeat=len(differences)))
    as_large = sum(
        sum(sign * one for sign, one in zip(signs, differences, strict=True)) >= observed - 1e-12 for signs in flips
    )
    return as_large / len(flips)


def learn(folder: Path, seed: int, settings: Sequence[str], shape: Shape) -> PumaSummary:
    """Train one seed by the command; returns what came of it, with the preference after DPO."""
    base = folder / "base"
    if not (base / "config.json").exists():
        make_tiny_llama(base, seed=seed, shape=shape)
    command = ["train", "puma", str(base), "--recipe", "puma-tiny", "--json", "--seed", str(seed), "--device", "cpu"]
    command += ["--no-evaluate", "--log-dir", str(folder / "results")]
    call([*command, *(["--set", *settings] if settings else [])])
    (summary,) = (folder / "results").glob("train-*/summary.json")
    return read_record(summary, PumaSummary)


def prove(out: Path, seeds: int, settings: Sequence[str] = (), shape: Shape | None = None) -> Proof:
    """Train and measure every seed, and put all together."""
    found, rises = [], []
    for seed in range(seeds):
        one = learn(out / f"seed-{seed}", seed, settings, shape or Shape())
        if one.preferred is None or one.pairs is None:
            raise RuntimeError(f"seed {seed}: no held-out pair has a better and a worse parameter")
        found.append(one)
        rises.append(one.preferred - CHANCE)
        print(
            f"seed {seed}: {one.pairs['pairs']} pairs, {one.held_out_pairs} held out; preferred by DPO {CHANCE:.3f} -> "
            f"{one.preferred:.3f}",
            flush=True,
        )
    proof = Proof(
        seeds=tuple(found),
        pairs=sum(one.held_out_pairs for one in found),
        mean_rise=sum(rises) / len(rises),
        p=sign_flip_p(rises),
    )
    write_record(out / "results.json", proof)
    print(
        f"{seeds} seeds, {proof.pairs} held-out pairs: preferred by DPO {CHANCE:.3f} -> {CHANCE + proof.mean_rise:.3f} "
        f"(mean of seeds), p = {proof.p:.4f} (exact, one-sided)"
    )
    return proof


def main() -> None:
    """Run the proof and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--set", dest="settings", nargs="+", default=[], help="values of the recipe to change")
    given = parser.parse_args()
    prove(given.out, given.seeds, given.settings)


if __name__ == "__main__":
    main()

"""The sample's own README and the versions that made its recommender, from the files that were written."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tools.sample_shop.recommender import Ranked


def write_versions(out: Path) -> None:
    """What decides the bits of the checkpoint."""
    import numpy
    import torch

    made = {"torch": torch.__version__, "numpy": numpy.__version__, "cpu": torch.backends.cpu.get_cpu_capability()}
    (out / "made-with.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def write_readme(out: Path, ranked: Ranked) -> None:
    """The README with its counts."""
    (out / "README.md").write_text(_TEXT.format(**_counts(out), **_figures(ranked)), encoding="utf-8")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _counts(out: Path) -> dict[str, object]:
    products = {asin: one for path in sorted(out.glob("all_products*.json")) for asin, one in _read(path).items()}
    histories = {user: one for path in sorted(out.glob("user_history*.json")) for user, one in _read(path).items()}
    instructions = _read(out / "user_instructions.json")
    lengths = sorted(len(one) for one in histories.values())
    categories = Counter(one["main_category"] for one in products.values())
    rows = []
    for kind in ("search", "recommend", "review"):
        counts = (sum(one["type"] == kind for one in instructions[split]) for split in ("train", "test"))
        rows.append(f"| {kind} | {' | '.join(map(str, counts))} |")
    return {
        "users": len(_read(out / "user_profiles.json")),
        "with_history": len(histories),
        "few": sum(length < 10 for length in lengths),
        "purchases": sum(lengths),
        "longest": lengths[-1],
        "products": len(products),
        "categories": "\n".join(f"- {name}: {count}" for name, count in sorted(categories.items())),
        "instructions": "\n".join(rows),
        "train": len(instructions["train"]),
        "test": len(instructions["test"]),
        "numbered": len(_read(out / "sample_ids.json")),
    }


def _figures(ranked: Ranked) -> dict[str, object]:
    return {
        "n": ranked.n,
        "recall": f"{ranked.recall_10:.3f}",
        "ndcg": f"{ranked.ndcg_10:.3f}",
        "popular_recall": f"{ranked.popular_recall_10:.3f}",
        "popular_ndcg": f"{ranked.popular_ndcg_10:.3f}",
    }


_TEXT = """# The bundled shop

A small data set in the layout of PersonalWAB, made for this toolkit, so that web functions can be called for particular
users without downloading anything. Shop, products, makers, people, purchases, reviews and instructions are invented by
rules from hand-made word lists; no model wrote them and no real person is in them. Results on it are not results on
PersonalWAB.

    user_instructions.json         what users ask for: text, type, time, target product and review
    user_history_part_*.json       what each user bought, oldest first, with the review, cut 80/10/10 by time
    user_profiles.json             the eleven dimensions of the paper's profiles
    all_products_part_*.json       the shop's range
    sample_ids.json                numbers of the products that the recommender knows
    sasrec.pth                     the recommender, trained on the split `history`
    made-with.json                 the versions that decide the bits of sasrec.pth

{users} users; {with_history} of them have {purchases} purchases in all, at most {longest}, and {few} fewer than ten.
{products} products:

{categories}

| instructions | train | test |
|---|---|---|
{instructions}
| all | {train} | {test} |

Some instructions are given in the same words by several users, and once twice by the same user, on purpose: tasks are
told apart by their ids.

The recommender knows the {numbered} products that somebody bought in the split `history`. On the {n} purchases of the
splits `train` and `test` that are of such products, each ranked among all of them from what the user had bought before,
its recall at 10 is {recall} (NDCG {ndcg}); that of what sells most and the user does not have yet is {popular_recall}
(NDCG {popular_ndcg}).

Remade with `python -m tools.sample_shop.build`. Licence: MIT, like the project.
"""

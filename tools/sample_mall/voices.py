"""Reviews beyond those that were written for a product: short voices of a category, dealt by the product's name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import yaml

from grounding.benchmarks.agenticshop.records import CustomerReview

_VOICES = yaml.safe_load((Path(__file__).parent / "voices.yaml").read_text())
MOST = 7


def more_reviews(
    slug: str, category: str, said: tuple[CustomerReview, ...], rating: float | None, count: int
) -> tuple[CustomerReview, ...]:
    """As many that a page shows up to seven in all, whose stars keep near the product's rating; never one twice."""
    if rating is None:
        return ()
    wanted = max(0, min(MOST, count, 3 + _number(slug, "how many") % 5) - len(said))
    pool = [(int(stars), title, text) for stars, title, text in _VOICES["everywhere"] + _VOICES.get(category, [])]
    pool.sort(key=lambda voice: _number(slug, voice[1]))
    found: list[CustomerReview] = []
    total, stars_so_far = len(said), sum(one.rating or 0 for one in said)
    for _ in range(wanted):
        # The next voice is the first one dealt whose stars bring the mean nearest to the rating.
        aim = max(1, min(5, round(rating * (total + 1) - stars_so_far)))
        nearest = min(pool, key=lambda voice: (abs(voice[0] - aim), pool.index(voice)))
        pool.remove(nearest)
        found.append(CustomerReview(text=nearest[2], title=nearest[1], rating=float(nearest[0])))
        total, stars_so_far = total + 1, stars_so_far + nearest[0]
    return tuple(found)


def _number(slug: str, salt: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{slug}:{salt}".encode()).digest()[:6], "big")

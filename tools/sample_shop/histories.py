"""Who buys what and when: people and products in, purchases in order of time out.

A purchase leads to one of a kind that often follows, mostly by the maker of the buyer's group, so that there is
something to be learnt from sequences. How much chance is in it follows the buyer's preference for diversity.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

import msgspec

from tools.sample_shop.catalogue import GROUPS, Item, Kind
from tools.sample_shop.people import Person

FIRST_MS, LAST_MS = 1_609_500_000_000, 1_694_000_000_000  # Between January 2021 and September 2023.
FOLLOWS = {"Low": 0.92, "Medium": 0.85, "High": 0.72}
LOYAL = {"Low": 0.95, "Medium": 0.88, "High": 0.75}
ODDS_OF_NEXT = (6, 3, 1, 1)


class Purchase(msgspec.Struct, frozen=True, kw_only=True):
    """One purchase. ``before`` is the earlier purchase that it goes with, None where it goes with none."""

    item: Item
    timestamp_ms: int
    rating: float
    split: Literal["history", "train", "test"]
    before: Item | None = None


def lengths(people: Sequence[Person], seed: str) -> dict[str, int]:
    """How much each has bought: one nothing, nine fewer than ten times, the others 12 to 45 times."""
    rng = random.Random(f"{seed}:lengths")
    few = rng.sample(range(1, len(people)), 10)
    found = {person.id: rng.choice((*range(12, 46), *range(20, 34))) for person in people}
    for place, count in zip(few, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9), strict=True):
        found[people[place].id] = count
    return found


def buy(person: Person, count: int, kinds: dict[str, Kind], items: Sequence[Item], seed: str) -> list[Purchase]:
    """The purchases of one person, oldest first, cut 80/10/10 in order of time."""
    rng = random.Random(f"{seed}:buys:{person.id}")
    times = sorted(rng.sample(range(FIRST_MS, LAST_MS), count))
    strictness = rng.gauss(0, 0.4)
    chosen: list[Item] = []
    leads: list[Item | None] = []
    for _ in range(count):
        item, lead = _next(person, chosen, kinds, items, rng)
        chosen.append(item)
        leads.append(lead)
    splits = cut(count)
    return [
        Purchase(
            item=item,
            timestamp_ms=time,
            rating=_rating(item, strictness, rng),
            split=split,
            before=lead,
        )
        for item, time, split, lead in zip(chosen, times, splits, leads, strict=True)
    ]


def cut(count: int) -> list[Literal["history", "train", "test"]]:
    """80/10/10 in order of time, the parts for tasks rounded, at least one each where there are three."""
    part = max(1, round(count / 10)) if count >= 3 else 0
    kept = count - 2 * part
    return [*["history"] * kept, *["train"] * part, *["test"] * part]  # type: ignore[list-item]


def _next(
    person: Person, chosen: Sequence[Item], kinds: dict[str, Kind], items: Sequence[Item], rng: random.Random
) -> tuple[Item, Item | None]:
    owned = {item.asin for item in chosen}
    for tries in range(200):
        lead = chosen[-1] if chosen and tries < 8 and rng.random() < FOLLOWS[person.diversity] else None
        if lead is not None:
            kind = rng.choices(lead.kind.next, ODDS_OF_NEXT[: len(lead.kind.next)])[0]
        elif tries >= 16 or (person.diversity == "High" and rng.random() < 0.3):
            kind = rng.choice(list(kinds))
        else:
            kind = rng.choice(person.starts)
        group = person.group if rng.random() < LOYAL[person.diversity] else _near(person.group, rng)
        found = [item for item in items if item.kind.name == kind and item.group == group and item.asin not in owned]
        if found:
            return found[0], lead
    raise ValueError(f"{person.id}: nothing is left to buy")


def _near(group: int, rng: random.Random) -> int:
    return min(GROUPS - 1, max(0, group + rng.choice((-2, -1, 1, 2))))


def _rating(item: Item, strictness: float, rng: random.Random) -> float:
    let_down = rng.uniform(1.4, 3.0) if rng.random() < 0.11 else 0.0
    return float(min(5, max(1, round(rng.gauss(item.quality + 0.3 - strictness - let_down, 0.8)))))

"""Draws users by chance without holding all of them: a seeded hash of the id is a user's place in the queue.

The users with the smallest hashes are a random sample, whatever order the files have them in, and the same ones for the
same seed. Only so many of them are counted as ``candidates`` allows; a user who is still there at the end has been
counted from its first review on, because the bound that keeps others out only ever falls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from grounding.errors import UserError
from grounding.webagents.personalwab.construction.records import CutUser, RawUser, Sampling, Selection, SourceFacts
from grounding.webagents.personalwab.construction.splitting import cut_time_line, without_repeats
from grounding.webagents.personalwab.records import Product

SPARE_SHARE, SPARE = 0.25, 20
"""Users who are drawn beside those that are wanted, since some lose reviews whose product nothing is known of."""

_NEVER = 1 << 64


def chance_rank(seed: int, name: str) -> int:
    """A place in the queue: 64 random bits that hang on seed and name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, key=str(seed).encode()).digest())


class CandidateCounts:
    """Counts the reviews of the users with the smallest ranks, at most twice ``capacity`` users at a time."""

    def __init__(self, capacity: int, seed: int) -> None:
        self._capacity = capacity
        self._seed = seed
        self._counts: dict[str, int] = {}
        self._ranks: dict[str, int] = {}
        self._bound = _NEVER

    def __len__(self) -> int:
        """How many users are held."""
        return len(self._counts)

    def add(self, user_id: str) -> None:
        """A review of this user was seen."""
        if user_id in self._counts:
            self._counts[user_id] += 1
            return
        rank = chance_rank(self._seed, user_id)
        if rank >= self._bound:
            return
        self._counts[user_id], self._ranks[user_id] = 1, rank
        if len(self._counts) > 2 * self._capacity:
            self._shrink()

    def _shrink(self) -> None:
        kept = sorted(self._ranks, key=self._ranks.__getitem__)[: self._capacity]
        self._bound = self._ranks[kept[-1]] + 1
        self._counts = {user: self._counts[user] for user in kept}
        self._ranks = {user: self._ranks[user] for user in kept}

    def eligible(self, least: int, most: int) -> tuple[str, ...]:
        """The users with so many reviews, in the order of the queue."""
        fit = [user for user, count in self._counts.items() if least <= count <= most]
        return tuple(sorted(fit, key=self._ranks.__getitem__))


def with_spare(users: int) -> int:
    """How many users to gather reviews of, when so many are wanted."""
    return users + int(users * SPARE_SHARE) + SPARE


def select(
    raw: Iterable[RawUser],
    products: Mapping[str, Product],
    further: Iterable[str],
    sampling: Sampling,
    facts: SourceFacts,
) -> Selection:
    """Draw the users and cut their time lines.

    Args:
        raw: Candidates in any order; those with too few or too many behaviours, or none to cut, are passed over.
        products: All products that may be needed.
        further: Ids of products that the shop may get besides, in any order; the first by chance are taken.
        sampling: Whom to draw.
        facts: What was read.

    Raises:
        UserError: nobody has enough behaviours.
    """
    repeats = without_product = 0
    users: list[CutUser] = []
    for user in sorted(raw, key=lambda one: chance_rank(sampling.seed, one.id)):
        once = without_repeats(user.reviews)
        known = [review for review in once if review.asin in products]
        repeats += len(user.reviews) - len(once)
        without_product += len(once) - len(known)
        if not sampling.min_behaviours <= len(known) <= sampling.max_behaviours:
            continue
        behaviours = cut_time_line(known)
        if behaviours:
            users.append(CutUser(id=user.id, behaviours=behaviours))
        if len(users) == sampling.users:
            break
    if not users:
        raise UserError(
            f"{facts.source}: no user has {sampling.min_behaviours} to {sampling.max_behaviours} behaviours with known "
            f"products ({facts.reviews_read} reviews and {facts.products_read} products were read); see "
            "--min-behaviours, --max-behaviours and --candidates"
        )
    bought = dict.fromkeys(one.asin for user in users for one in user.behaviours)
    queue = sorted(set(further) - set(bought), key=lambda asin: chance_rank(sampling.seed, asin))
    chosen = sorted([*bought, *queue[: sampling.products]])
    return Selection(
        users=tuple(users),
        products={asin: products[asin] for asin in chosen},
        facts=msgspec.structs.replace(facts, same_twice=repeats, without_product=without_product),
    )

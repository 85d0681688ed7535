"""Draws pairs of products that one user rated differently. Pure.

From a user's reviews one of the lowest and one of the highest rating are drawn by a seed and the user's id; the
product that the query was made of takes no part. A user whose ratings are all the same has no pair. The paper says no
more than "one low-rated item, and one high-rated item drawn from the same user's interaction history".
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Literal

from grounding.webagents.agenticshop.records import CurationTask
from grounding.webagents.agenticshop.reliability.alignment.records import Draw, RatedPair
from grounding.webagents.agenticshop.scenarios import row_of
from grounding.webagents.rawusers import RawReview, RawUser

Source = Literal["all", "unseen"]
"""From which reviews pairs are drawn: all, or those that the user's context was not written from."""

CONTEXT_REVIEWS = 10
"""The release writes a context from a user's first ten reviews, and from all in open exploration."""

RAW_FILES = {
    "Food": "Grocery_and_Gourmet_Food.json",
    "Home": "Home_and_Kitchen.json",
    "Electronics": "Electronics.json",
    "Fashion": "Clothing_Shoes_and_Jewelry.json",
    "All": "open_curation.json",
}
"""The file of raw users of each of the paper's domains."""


def draw_pairs(
    tasks: Sequence[CurationTask],
    histories: Mapping[str, Mapping[str, RawUser]],
    *,
    per_user: int = 1,
    source: Source = "all",
    seed: int = 0,
) -> Draw:
    """Draw pairs for the users of tasks.

    Args:
        tasks: The tasks; several of one user in one domain share the user's pairs.
        histories: Users by domain and id.
        per_user: At most so many pairs of a user in a domain.
        source: Which reviews pairs are drawn from.
        seed: Seed of the draw.
    """
    pairs: list[RatedPair] = []
    same = without = few = 0
    for domain, user in dict.fromkeys((row_of(task.scenario).domain, task.user) for task in tasks):
        history = histories.get(domain, {}).get(user)
        if history is None:
            without += 1
            continue
        used = len(history.reviews) if domain == "All" else CONTEXT_REVIEWS
        fit = [place for place in _candidates(history) if source == "all" or place >= used]
        ratings = {place: _rating(history.reviews[place]) for place in fit}
        if len(ratings) < 2:
            few += 1
            continue
        low, high = min(ratings.values()), max(ratings.values())
        if low == high:
            same += 1
            continue
        chance = _chance(seed, f"{domain}/{user}")
        lowest = [place for place, rating in ratings.items() if rating == low]
        highest = [place for place, rating in ratings.items() if rating == high]
        chance.shuffle(lowest)
        chance.shuffle(highest)
        for number in range(min(per_user, max(len(lowest), len(highest)))):
            one, two = lowest[number % len(lowest)], highest[number % len(highest)]
            pairs.append(
                RatedPair(
                    domain=domain,
                    user=user,
                    number=number,
                    lower=one,
                    higher=two,
                    first=chance.choice(("lower", "higher")),
                    in_context=min(one, two) < used,
                )
            )
    return Draw(pairs=tuple(pairs), same_rating=same, without_history=without, too_few=few)


def _candidates(user: RawUser) -> list[int]:
    """Places of rated reviews, one for each product, without the product that the query was made of."""
    target = "" if user.target is None else user.target.product.title
    seen = {target}
    found = []
    for place, review in enumerate(user.reviews):
        title = review.product.title
        if review.user_rating is not None and title not in seen:
            seen.add(title)
            found.append(place)
    return found


def _rating(review: RawReview) -> float:
    if review.user_rating is None:
        raise ValueError("the review has no rating")
    return review.user_rating


def _chance(seed: int, name: str) -> random.Random:
    digest = hashlib.sha256(f"alignment/{seed}/{name}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))

"""Drawn users to what has to be written of them: a subject for each user, one or more jobs for each behaviour. Pure.

The paper does not say how many instructions come from one behaviour. With ``one`` the three types take turns over a
user's behaviours of ``train`` and ``test``, beginning at a place that hangs on seed and user, so that all types are
about equally frequent; with ``all`` each behaviour gets every type. A review without words is no target of a review
task; in turns it becomes a search. The time of an instruction is that of its behaviour, so an agent that remembers only
what is strictly earlier never sees the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from grounding.webagents.personalwab.construction.records import CutUser, Job, PerPurchase, ProfileFrom, ProfileSubject
from grounding.webagents.personalwab.construction.sampling import chance_rank
from grounding.webagents.personalwab.records import TaskType

TYPES: tuple[TaskType, ...] = ("search", "recommend", "review")


def profile_subjects(users: Sequence[CutUser], source: ProfileFrom, newest: int) -> tuple[ProfileSubject, ...]:
    """Who is to be described, and from what.

    Args:
        users: The drawn users.
        source: ``all`` behaviour, as in the paper (section 3.2.1: "their entire history of behaviors"), or only the
            part ``history``.
        newest: At most so many of the newest behaviours are shown.
    """
    return tuple(
        ProfileSubject(
            user_id=user.id,
            behaviours=tuple(one for one in user.behaviours if source == "all" or one.split == "history")[-newest:],
        )
        for user in users
    )


def instruction_jobs(users: Sequence[CutUser], per_purchase: PerPurchase, seed: int) -> tuple[Job, ...]:
    """All instructions that are to be written, user by user, oldest first."""
    return tuple(
        Job(
            id=f"{user.id}/{place}/{kind}",
            user_id=user.id,
            type=kind,
            split=behaviour.split,
            behaviour=behaviour,
        )
        for user in users
        for turn, (place, behaviour) in enumerate(
            (place, one) for place, one in enumerate(user.behaviours) if one.split != "history"
        )
        for kind in _types(per_purchase, chance_rank(seed, user.id) + turn, wordless=not behaviour.review.text.strip())
    )


def _types(per_purchase: PerPurchase, turn: int, *, wordless: bool) -> tuple[TaskType, ...]:
    possible = tuple(kind for kind in TYPES if not (wordless and kind == "review"))
    if per_purchase == "all":
        return possible
    kind = TYPES[turn % len(TYPES)]
    return (kind if kind in possible else "search",)

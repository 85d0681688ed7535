"""Which instructions of a shop train, which measure preference, and which are never looked at. Pure.

PersonalWAB cuts each user's purchases by time, so most users have instructions to train on and, later, instructions to
be tested on. What is tested is never trained on, nor anything made after it; whole users can be kept for the test too
(``--hold-out user=…``). Of the users that train, some are held out: their pairs measure the preference accuracy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Literal

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.personalwab.records import ShopTask, ShopUser

Shared = Literal["drop", "refuse"]
NAMED = 5


class PumaSplit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``split.json``: ids of tasks and users.

    ``train`` and ``held_out`` are tasks of the list ``train``; their users have nothing in common. ``test_users`` are
    kept for the test whole (empty: every user of the list ``test`` is tested, on later instructions). ``left_out`` are
    tasks of the list ``train`` that are used for nothing: of test users, in words of the same user that are tested too,
    or from a time when a purchase that is tested had been made.
    """

    train: tuple[str, ...]
    held_out: tuple[str, ...]
    train_users: tuple[str, ...]
    held_out_users: tuple[str, ...]
    test_users: tuple[str, ...]
    left_out: dict[str, tuple[str, ...]]
    tested: int


def split_tasks(
    train: Sequence[ShopTask],
    test: Sequence[ShopTask],
    users: dict[str, ShopUser],
    *,
    share: float,
    seed: int,
    test_users: Collection[str] = (),
    shared: Shared = "drop",
) -> PumaSplit:
    """Divide the list ``train``.

    Args:
        train: All tasks of it.
        test: All tasks of the list ``test``.
        users: Everybody, with behaviour.
        share: Of the training users, so many are held out.
        seed: Chooses them.
        test_users: Kept for the test whole.
        shared: What becomes of a task that gives something of the test away: ``drop`` it, or ``refuse`` to train.

    Raises:
        UserError: a test user is unknown, something is shared and to be refused, or nothing is left.
    """
    known = {task.user_id for task in (*train, *test)}
    strangers = sorted(set(test_users) - known)
    if strangers:
        raise UserError(f"--hold-out user={strangers[0]}: no task is of this user; users look like {min(known)}")
    kept_for_test = [task.id for task in train if task.user_id in test_users]
    rest = [task for task in train if task.user_id not in test_users]
    reasons = _shared(rest, test, users)
    if shared == "refuse" and any(reasons.values()):
        why, ids = next((why, ids) for why, ids in reasons.items() if ids)
        raise UserError(
            f"{len(ids)} training tasks {why}: {', '.join(ids[:NAMED])}{' …' if len(ids) > NAMED else ''}; "
            "--shared drop trains without them"
        )
    left = {id_ for ids in reasons.values() for id_ in ids}
    usable = [task for task in rest if task.id not in left]
    held = _drawn({task.user_id for task in usable}, share, seed)
    split = PumaSplit(
        train=tuple(task.id for task in usable if task.user_id not in held),
        held_out=tuple(task.id for task in usable if task.user_id in held),
        train_users=tuple(sorted({task.user_id for task in usable} - held)),
        held_out_users=tuple(sorted(held)),
        test_users=tuple(sorted(test_users)),
        left_out={"are of users that are kept for the test": tuple(kept_for_test), **reasons},
        tested=sum(not test_users or task.user_id in test_users for task in test),
    )
    check_split(split, train, test)
    return split


def check_split(split: PumaSplit, train: Sequence[ShopTask], test: Sequence[ShopTask]) -> None:
    """Refuse a division in which something stands on two sides, wherever it comes from.

    Raises:
        UserError: says what is on both sides, and where.
    """
    by_id = {task.id: task for task in (*train, *test)}
    unknown = [id_ for id_ in (*split.train, *split.held_out) if id_ not in by_id]
    if unknown:
        raise UserError(f"the split names {unknown[0]}, and the data set has no such task: it belongs to other data")
    trained = [by_id[id_] for id_ in split.train]
    tested = [task.id for task in trained if task.split == "test"]
    if tested:
        raise UserError(f"{len(tested)} tasks of the test are in the training: {', '.join(tested[:NAMED])}")
    of_test_users = [task.id for task in trained if task.user_id in split.test_users]
    if of_test_users:
        raise UserError(
            f"{len(of_test_users)} training tasks are of users that are kept for the test: "
            f"{', '.join(of_test_users[:NAMED])} ({by_id[of_test_users[0]].user_id})"
        )
    both = {task.user_id for task in trained} & {by_id[id_].user_id for id_ in split.held_out}
    if both:
        raise UserError(f"the user {min(both)} is in the training and among the held-out users")
    if not trained:
        raise UserError("no task is left to train on; hold fewer users out")


def _shared(
    tasks: Sequence[ShopTask], test: Sequence[ShopTask], users: dict[str, ShopUser]
) -> dict[str, tuple[str, ...]]:
    """Tasks that give something of the test away, by the reason."""
    words = {(task.user_id, task.instruction) for task in test}
    same_words = tuple(task.id for task in tasks if (task.user_id, task.instruction) in words)
    tested = {task.user_id: set[tuple[str, int]]() for task in test}
    for task in test:
        tested[task.user_id].add((task.target_asin, task.timestamp_ms))
    knowing = tuple(
        task.id
        for task in tasks
        if any(
            one.review.timestamp_ms < task.timestamp_ms
            and (one.split == "test" or (one.asin, one.review.timestamp_ms) in tested.get(task.user_id, ()))
            for one in users[task.user_id].behaviours
        )
    )
    return {
        "have the words of a task of the same user in the test": same_words,
        "come after a purchase of the test": knowing,
    }


def _drawn(users: Collection[str], share: float, seed: int) -> set[str]:
    if share == 0:
        return set()
    ranked = sorted(users, key=lambda user: hashlib.sha256(f"{seed}:{user}".encode()).digest())
    return set(ranked[: min(max(1, round(share * len(ranked))), len(ranked))])

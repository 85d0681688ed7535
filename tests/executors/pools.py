"""Pools for tests, and waiting for what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fakes.askers import recipe

from grounding.budget import Budget
from grounding.executors.link import Link, Needs
from grounding.executors.pool import Patience, Pool
from grounding.executors.recipe import Recipe
from grounding.records import Plan, Prediction, Query

QUICK = Patience(cluster_s=60.0, leave_s=5.0, backoff_s=0.0)
Answer = Plan | Prediction


class Told(list[str]):
    """What the user was told."""

    @property
    def text(self) -> str:
        return "\n".join(self)


def made(
    link: Link,
    *,
    workers: int = 2,
    budget: Budget | None = None,
    told: Callable[[str], None] = lambda _line: None,
    patience: Patience = QUICK,
    asked: Recipe | None = None,
) -> Pool:
    return Pool(
        link,
        asked or recipe(),
        workers=workers,
        needs=Needs(cpus=1.0),
        budget=budget or Budget(None),
        on_retry=lambda: None,
        told=told,
        patience=patience,
    )


async def settle() -> None:
    """Let everything happen that can happen by now."""
    for _ in range(30):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    for _ in range(30):
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.002)


def asking(pool: Pool, asked: list[Query]) -> list[asyncio.Task[Answer]]:
    return [asyncio.create_task(pool.ask(query)) for query in asked]

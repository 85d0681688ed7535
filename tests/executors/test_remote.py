"""A planner and a grounder whose work is done in a pool answer as the ones in this process do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import TinyDataset
from fakes.chat_server import ChatServer, answering
from fakes.inprocess_link import InProcessLink
from shell import grounder_card, planner_card

from grounding.budget import Budget
from grounding.building import grounder_card as card_of
from grounding.building import grounder_of, planner_of
from grounding.card_schema import GrounderCard
from grounding.executors.link import Needs
from grounding.executors.opening import open_asker
from grounding.executors.pool import Patience, Pool
from grounding.executors.recipe import Recipe, Room
from grounding.executors.remote import RemoteGrounder, RemotePlanner
from grounding.grounders import Grounder
from grounding.loaders import load_dataset
from grounding.options import EvalOptions
from grounding.planner_card import PlannerCard
from grounding.planners import Planner
from grounding.records import Plan, Prediction, Query


def pool_of(
    room: Room, options: EvalOptions, identity: str, *, card: GrounderCard | PlannerCard | None = None, url: str = ""
) -> Pool:
    return Pool(
        InProcessLink(),
        Recipe(room=room, options=options, identity=identity, base_url=url, card=card),
        workers=3,
        needs=Needs(),
        budget=Budget(options.cost_limit),
        on_retry=lambda: None,
        told=lambda _line: None,
        patience=Patience(backoff_s=0.0),
    )


def questions(data_dir: Path) -> list[Query]:
    return [
        Query(step_id=step.id, key=f"k{step.id}", screenshot=step.screenshot, instruction=step.instruction)
        for session in load_dataset("realwebassist", data_dir).sessions
        for step in session.steps
    ]


def untimed(found: Any) -> Any:
    return found if found.call is None else msgspec.structs.replace(found, call=None)


async def ground_all(grounder: Grounder, asked: list[Query]) -> list[Prediction]:
    await grounder.check()
    found = await asyncio.gather(*(grounder.ground(query) for query in asked))
    await grounder.aclose()
    return [untimed(each) for each in found]


async def plan_all(planner: Planner, asked: list[Query]) -> list[Plan]:
    await planner.check()
    found = await asyncio.gather(*(planner.plan(query) for query in asked))
    await planner.aclose()
    return [untimed(each) for each in found]


def grounder(options: EvalOptions, *, url: str | None = None) -> Grounder:
    return grounder_of(
        options, card=card_of(options), base_url=url, sessions=(), budget=Budget(None), on_retry=lambda: None
    ).grounder


@pytest.mark.parametrize("name", ["random", "center", pytest.param("ocr", marks=pytest.mark.slow)])
def test_grounders_without_a_server(tiny_dataset: TinyDataset, name: str) -> None:
    asked = questions(tiny_dataset())
    options = EvalOptions(grounder=name, seed=3)
    own = grounder(options)
    remote = RemoteGrounder(grounder(options), pool_of("grounder", options, own.identity))
    assert (remote.name, remote.identity) == (own.name, own.identity)
    assert remote.max_concurrency == 3 * own.max_concurrency
    assert asyncio.run(ground_all(remote, asked)) == asyncio.run(ground_all(own, asked))


def last_words(body: dict[str, Any]) -> str:
    return next(part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text")


def test_a_grounder_behind_a_server_with_its_card_sent_along(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    asked = questions(tiny_dataset())
    path = grounder_card(tmp_path)
    options = EvalOptions(grounder=str(path))
    card = card_of(options)
    with ChatServer(answering(lambda body: f"({len(last_words(body))}, 7)"), models=["pointer"]) as server:
        own = grounder(options, url=server.base_url)
        expected = asyncio.run(ground_all(own, asked))
        mine = grounder(options, url=server.base_url)
        pool = pool_of("grounder", options, own.identity, card=card, url=server.base_url)
        path.unlink()  # As on a node that never saw the file.
        assert asyncio.run(ground_all(RemoteGrounder(mine, pool), asked)) == expected
        assert server.count == 2 * len(asked)


def test_a_planner_with_another_prompt_and_model(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    asked = questions(tiny_dataset())
    path = planner_card(tmp_path)
    options = EvalOptions(planner=str(path), planner_prompt="explicit", planner_model="tuned")
    with ChatServer(answering(lambda body: f"Click {len(last_words(body))}"), models=["tuned"]) as server:
        options = msgspec.structs.replace(options, planner_base_url=server.base_url)

        def built() -> Any:
            return planner_of(options, base_url=server.base_url, budget=Budget(None), on_retry=lambda: None)

        own, mine = built(), built()
        expected = asyncio.run(plan_all(own.planner, asked))
        pool = pool_of("planner", options, own.planner.identity, card=own.card, url=server.base_url)
        path.unlink()
        remote = RemotePlanner(mine.planner, pool)
        assert remote.reads == own.planner.reads
        assert asyncio.run(plan_all(remote, asked)) == expected
        assert {body["model"] for body in server.bodies} == {"tuned"}


def test_a_pool_that_is_lent_outlives_its_grounder(tiny_dataset: TinyDataset) -> None:
    asked = questions(tiny_dataset())
    options = EvalOptions(grounder="center")

    async def main() -> None:
        pool = pool_of("grounder", options, "center")
        first = RemoteGrounder(grounder(options), pool, owns_pool=False)
        second = RemoteGrounder(grounder(options), pool)
        await ground_all(first, asked)
        assert len(await ground_all(second, asked)) == len(asked)
        assert sum(worker.state != "lost" for worker in pool.workers) == 0

    asyncio.run(main())


def test_connections_that_are_shared_out_are_each_workers_own(tmp_path: Path) -> None:
    options = EvalOptions(grounder=str(grounder_card(tmp_path, connections=8)))
    recipe = Recipe(
        room="grounder",
        options=options,
        identity="",
        base_url="http://127.0.0.1:1/v1",
        max_connections=2,
        card=card_of(options),
    )

    async def main() -> None:
        asker = open_asker(recipe, Budget(None), lambda: None)
        assert asker.max_concurrency == 4, "two connections, and two pictures made ready"
        await asker.aclose()

    asyncio.run(main())

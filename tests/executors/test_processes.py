"""Real processes, killed in the midst of their work: the answers are those of one grounder, each asked for once."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import TinyDataset
from fakes.chat_server import ChatServer, after, answering
from fakes.process_link import ProcessLink
from shell import grounder_card

from grounding.budget import Budget
from grounding.building import grounder_card as card_of
from grounding.building import grounder_of
from grounding.executors.link import Needs
from grounding.executors.pool import Patience, Pool
from grounding.executors.recipe import Recipe
from grounding.executors.remote import RemoteGrounder
from grounding.grounders import Grounder
from grounding.loaders import load_dataset
from grounding.options import EvalOptions
from grounding.records import Prediction, Query

WORKERS = 2
AT_ONCE = 4


def point_for(body: dict[str, Any]) -> str:
    """A point that hangs on the instruction alone."""
    words = "".join(
        part["text"] for message in body["messages"] for part in message["content"] if part["type"] == "text"
    )
    return f"({sum(words.encode()) % 60}, {len(words)})"


def asked_words(server: ChatServer) -> Counter[str]:
    return Counter(
        part["text"] for body in server.bodies for part in body["messages"][0]["content"] if part["type"] == "text"
    )


def questions(data_dir: Path) -> list[Query]:
    dataset = load_dataset("realwebassist", data_dir)
    return [
        Query(step_id=step.id, key=f"k{step.id}", screenshot=step.screenshot, instruction=step.instruction)
        for session in dataset.sessions
        for step in session.steps
    ]


async def ask_all(grounder: Grounder, asked: list[Query]) -> list[Prediction]:
    try:
        await grounder.check()
        found = await asyncio.gather(*(grounder.ground(query) for query in asked))
    finally:
        await grounder.aclose()
    return [without_time(each) for each in found]


def without_time(found: Prediction) -> Prediction:
    """An answer without what another try would change: how long it took."""
    assert found.call is not None
    return msgspec.structs.replace(found, call=msgspec.structs.replace(found.call, seconds=0.0))


@pytest.mark.slow
def test_workers_killed_in_mid_run_change_no_answer(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(participants=2, steps=30)
    options = EvalOptions(grounder=str(grounder_card(tmp_path, connections=AT_ONCE)))
    card = card_of(options)
    assert card is not None
    with ChatServer(after(0.03, answering(point_for)), models=["pointer"]) as server:

        def own() -> Grounder:
            return grounder_of(
                options,
                card=card,
                base_url=server.base_url,
                sessions=(),
                budget=Budget(None),
                on_retry=lambda: None,
            ).grounder

        asked = questions(data_dir)
        asked = [query for query in asked if query.instruction]
        expected = asyncio.run(ask_all(own(), asked))
        server.requests.clear()

        async def main() -> list[Prediction]:
            link = ProcessLink()
            mine = own()
            recipe = Recipe(
                room="grounder", options=options, identity=mine.identity, base_url=server.base_url, card=card
            )
            pool = Pool(
                link,
                recipe,
                workers=WORKERS,
                needs=Needs(),
                budget=Budget(None),
                on_retry=lambda: None,
                told=lambda _line: None,
                patience=Patience(backoff_s=0.01),
            )
            asking = asyncio.create_task(ask_all(RemoteGrounder(mine, pool), asked))
            for answers in (5, 25):
                while server.count < answers and not asking.done():
                    await asyncio.sleep(0.005)
                busy = [worker.name for worker in pool.workers if worker.in_flight]
                link.kill(busy[0])
                while busy[0] in [worker.name for worker in pool.workers] and not asking.done():
                    await asyncio.sleep(0.005)
            found = await asking
            assert len(link.hired) == WORKERS + 2
            return found

        assert asyncio.run(main()) == expected
        assert all(each.failure is None for each in expected)
        # Each worker has so many connections: no more than that was in flight when two were killed.
        assert len(asked) <= server.count <= len(asked) + 2 * AT_ONCE
        assert max(asked_words(server).values()) <= 3 * max(Counter(query.instruction for query in asked).values())

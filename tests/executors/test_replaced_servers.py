"""Workers with model servers beside them, which are killed in mid-run: no answer is an error, and none is lost."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import msgspec
import pytest
from conftest import TinyDataset
from fakes.inprocess_link import InProcessLink
from fakes.make import grounder_card
from serving.helpers import FAKE, is_alive, pids, started

from grounding.budget import Budget
from grounding.building import grounder_of
from grounding.executors import beside as beside_module
from grounding.executors.health import HealthRule
from grounding.executors.link import Needs
from grounding.executors.pool import Patience, Pool
from grounding.executors.recipe import Beside, Recipe
from grounding.executors.remote import RemoteGrounder
from grounding.loaders import load_dataset
from grounding.options import EvalOptions
from grounding.records import Point, Query
from grounding.serving.command import ServerOptions


@pytest.mark.slow
def test_a_killed_server_costs_no_answer(
    tmp_path: Path, tiny_dataset: TinyDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A dead server is noticed only some time after its first refused connections.
    late = partial(beside_module.server_beside, rule=HealthRule(every_s=0.5, reply_s=5.0, failures=3))
    monkeypatch.setattr(beside_module, "server_beside", late)
    record = tmp_path / "started.jsonl"
    card = grounder_card()
    # Without retries every refused connection is an error at once.
    options = EvalOptions(grounder=card.name, max_retries=0)
    served = ServerOptions(command=FAKE, flags=("--fake-record", str(record)))
    own = grounder_of(
        msgspec.structs.replace(options, predictions=None),
        card=card,
        base_url="http://127.0.0.1:1/v1",
        sessions=(),
        budget=Budget(None),
        on_retry=lambda: None,
    ).grounder
    sessions = load_dataset("realwebassist", tiny_dataset()).sessions
    asked = [
        Query(step_id=f"{step.id}/{number}", key="k", screenshot=step.screenshot, instruction=step.instruction)
        for number in range(40)
        for session in sessions
        for step in session.steps
    ]
    told: list[str] = []

    async def main() -> None:
        link = InProcessLink()
        pool = Pool(
            link,
            Recipe(
                room="grounder",
                options=options,
                identity=own.identity,
                card=card,
                beside=Beside(card=card, options=served),
            ),
            workers=2,
            needs=Needs(),
            budget=Budget(None),
            on_retry=lambda: None,
            told=told.append,
            patience=Patience(backoff_s=0.0),
        )
        remote = RemoteGrounder(own, pool)
        await remote.check()
        while len({worker.base_url for worker in pool.workers if worker.base_url}) < 2:
            await asyncio.sleep(0.05)
        tasks = [asyncio.create_task(remote.ground(query)) for query in asked]
        while sum(task.done() for task in tasks) < 20:
            await asyncio.sleep(0.01)
        os.kill(int(started(record)[0]["pid"]), signal.SIGKILL)
        found = await asyncio.gather(*tasks)
        assert [each.step_id for each in found] == [query.step_id for query in asked]
        assert {(each.point, each.failure) for each in found} == {(Point(x_px=10.0, y_px=20.0), None)}
        await remote.aclose()

    asyncio.run(main())
    assert any("the server ended by itself (signal 9)" in line for line in told)
    assert not [pid for pid in pids(record) if is_alive(pid)]

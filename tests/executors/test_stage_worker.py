"""A worker of a benchmark's stage: its answers, what it says of other questions, and what it hands over at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.askers import screenshot

from grounding.actions import Wait
from grounding.budget import Budget
from grounding.desktop.agents import build_agent
from grounding.desktop.elsewhere import open_act
from grounding.desktop.preparation import chat_options
from grounding.desktop.stage import ActStage, DesktopItem
from grounding.desktop_records import DesktopPrediction, DesktopStep
from grounding.executors.messages import (
    Answered,
    Broke,
    Do,
    Down,
    Kept,
    Leave,
    Leaving,
    NotOpened,
    Opened,
    Up,
    packed,
    unpacked_up,
)
from grounding.executors.recipe import Recipe, StageWork, pack, unpack
from grounding.executors.stageopening import OpenedStage, Surroundings
from grounding.executors.worker import Worker
from grounding.options import EvalOptions

CENTER = EvalOptions(grounder="always-click-center")


def own_stage() -> ActStage:
    agent = build_agent(
        CENTER, card=None, tasks=(), chat=chat_options(CENTER), servers=None, budget=Budget(None), on_retry=print
    )
    return ActStage(agent.agent, None)  # type: ignore[arg-type]


def recipe(opener: str = f"{open_act.__module__}:{open_act.__name__}") -> Recipe:
    stage = StageWork(opener=opener, options=CENTER)
    return unpack(pack(Recipe(room="stage", options=EvalOptions(), identity=own_stage().identity, stage=stage)))


class Bench:
    def __init__(self, asked: Recipe) -> None:
        self.said: list[Up] = []
        self.worker = Worker(asked, lambda content: self.said.extend(unpacked_up(content)))
        self.running = asyncio.create_task(self.worker.run())

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.said if isinstance(message, kind)]

    async def tell(self, *messages: Down) -> None:
        await self.worker.hear(packed(messages))

    async def until(self, kind: type) -> Any:
        async with asyncio.timeout(60):
            while not self.of(kind):
                await asyncio.sleep(0.002)
        return self.of(kind)[0]


@asynccontextmanager
async def bench(asked: Recipe) -> AsyncIterator[Bench]:
    made = Bench(asked)
    await made.until(Opened)
    try:
        yield made
    finally:
        await made.tell(Leave(at_once=True))
        await made.running


def item(folder: Path, memory: str = "") -> DesktopItem:
    picture = screenshot(folder)
    step = DesktopStep(id="a/1", gold=Wait(), gold_text="wait", screenshot=picture, second_instruction="Do the usual.")
    return DesktopItem(step=step, memory=memory)


def do(one: DesktopItem, key: str) -> Do:
    return Do(number=1, step_id=one.step.id, key=key, item=msgspec.Raw(msgspec.msgpack.encode(one)))


def test_an_item_is_answered_under_the_writers_key(tmp_path: Path) -> None:
    async def run() -> None:
        async with bench(recipe()) as made:
            assert made.of(Opened)[0].identity == own_stage().identity
            one = item(tmp_path)
            key = own_stage().key(one, None)
            await made.tell(do(one, key))
            answered = await made.until(Answered)
            found = msgspec.msgpack.decode(answered.answer, type=DesktopPrediction)
            assert (found.step_id, found.key, found.action_text) == ("a/1", key, "click (2, 1.5)")

    asyncio.run(run())


def test_another_question_than_the_writers_is_refused_and_what_is_no_item_is_an_error(tmp_path: Path) -> None:
    async def run() -> None:
        made = Bench(recipe())
        await made.until(Opened)
        await made.tell(Do(number=1, step_id="a/1", key="k", item=msgspec.Raw(msgspec.msgpack.encode("no item"))))
        assert "ValidationError" in (await made.until(Broke)).message
        one = item(tmp_path)
        await made.tell(do(one, own_stage().key(item(tmp_path, "something else"), None)))
        assert "would be answered otherwise here" in (await made.until(NotOpened)).message
        await made.running

    asyncio.run(run())


def test_only_this_packages_functions_open_stages() -> None:
    async def run() -> None:
        made = Bench(recipe("os:system"))
        with pytest.raises(ValueError, match="is no function of this package"):
            await made.running
        assert "is no function of this package" in made.of(Leaving)[0].reason

    asyncio.run(run())


class Endless(ActStage):
    """Never gets ready, and hands over what there is of an item when it is broken off."""

    async def run(self, item: DesktopItem, earlier: None, key: str) -> DesktopPrediction:  # noqa: ARG002
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.journal.append(DesktopPrediction(step_id=item.step.id, key=key, action=None, action_text="begun"))
            raise
        raise AssertionError("nobody sets it")


def test_what_there_is_of_an_item_comes_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_endless(work: StageWork, around: Surroundings) -> OpenedStage:
        opened = open_act(work, around)
        opened.stage.__class__ = Endless
        return opened

    monkeypatch.setattr("grounding.desktop.elsewhere.open_act", open_endless)

    async def run() -> None:
        one = item(tmp_path)
        key = own_stage().key(one, None)
        async with bench(recipe("grounding.desktop.elsewhere:open_act")) as made:
            await made.tell(do(one, key))
            await asyncio.sleep(0.05)
        (kept,) = made.of(Kept)
        found = msgspec.msgpack.decode(kept.record, type=DesktopPrediction)
        assert (found.step_id, found.key, found.action_text) == ("a/1", key, "begun")
        assert not made.of(Answered)

    asyncio.run(run())

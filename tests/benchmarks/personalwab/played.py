"""One episode over the small shop, played against a real HTTP server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from fakes import make
from fakes.chat_server import Behaviour, ChatServer, working_out
from fakes.shop_model import shop_model

from benchmarks.personalwab.shops import shop, task, web
from grounding.benchmarks.personalwab.agents.chat import Given, ShopAgent
from grounding.benchmarks.personalwab.episode import EpisodeStage, ScriptedUser
from grounding.benchmarks.personalwab.options import AGENTS, ShopOptions
from grounding.benchmarks.personalwab.prompts import Memory, MemoryName, shop_prompts
from grounding.benchmarks.personalwab.records import Episode, ShopDataset, ShopTask, Track


def by_letters(texts: Sequence[str]) -> np.ndarray:  # type: ignore[type-arg]
    """Rows of how often each letter comes, of length 1: an embedding whose neighbours can be told by hand."""
    rows = np.array([[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def memory_of(kind: MemoryName, *, length: int = 2, dataset: ShopDataset | None = None, **more: Any) -> Memory:
    return Memory(kind, dataset or shop(), shop_prompts(), length=length, **{"embed": by_letters, **more})


def agent_of(
    name: str, kind: MemoryName = "last", *, length: int = 2, dataset: ShopDataset | None = None, **more: Any
) -> ShopAgent:
    """A registered agent with a memory; ``more`` are options of a run, or what else an agent is made of."""
    fields = {key: more.pop(key) for key in list(more) if key in Given.__dataclass_fields__}
    options = ShopOptions(agent=name, **more)
    given = Given(options=options, functions=web(), memory=memory_of(kind, length=length, dataset=dataset), **fields)
    return AGENTS[name].make(given)


def play(
    agent: ShopAgent,
    of: ShopTask | None = None,
    *,
    user: ScriptedUser | None = None,
    track: Track = "single",
    max_steps: int = 10,
) -> Episode:
    """One episode of an agent that is there already."""
    journal: Any = None
    stage = EpisodeStage(agent, web(), user, journal, track=track, max_steps=max_steps, shop="")

    async def run() -> Episode:
        try:
            return await stage.run(of or task(), None, "k")
        finally:
            for model in (getattr(one, "_model", None) for one in (agent, user)):
                if hasattr(model, "aclose"):
                    await model.aclose()

    return asyncio.run(run())


def asked(
    name: str,
    *says: Behaviour,
    kind: MemoryName = "last",
    of: ShopTask | None = None,
    max_steps: int = 10,
    **options: object,
) -> tuple[Episode, ChatServer]:
    """One episode with a model behind a server: it says what is given, then what a sensible model would."""
    with ChatServer(working_out(shop_model)) as server:
        server.script(*says)
        model = make.model(make.planner_card(), server.base_url, **options)
        return play(agent_of(name, kind, model=model), of, max_steps=max_steps), server


def names(episode: Episode) -> list[str]:
    return [turn.call.name for turn in episode.turns]


def value(episode: Episode, argument: str, place: int = 0) -> object:
    return msgspec.json.decode(episode.turns[place].call.arguments)[argument]

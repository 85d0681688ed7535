"""One episode over the small shop, played against a real HTTP server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from fakes import make
from fakes.chat_server import Behaviour, ChatServer, working_out
from fakes.shop_model import shop_model

from grounding.chat import ChatModel
from grounding.webagents.personalwab.agents.base import ShopAgent
from grounding.webagents.personalwab.agents.functions import FunctionAgent
from grounding.webagents.personalwab.agents.interec import InterecAgent
from grounding.webagents.personalwab.agents.predictions import Predictions
from grounding.webagents.personalwab.agents.react import ReactAgent
from grounding.webagents.personalwab.episode import run_episode, view_of
from grounding.webagents.personalwab.memory import Memory, MemoryName
from grounding.webagents.personalwab.prompts import shop_prompts
from grounding.webagents.personalwab.records import Episode, ShopTask, Track
from grounding.webagents.personalwab.users.base import SimulatedUser
from webagents.personalwab.shops import PRODUCTS, shop, task, web
from webagents.personalwab.test_memory import by_letters

Made = Callable[[ChatModel], ShopAgent]


def memory_of(kind: MemoryName, *, length: int = 2, max_tokens: int | None = None) -> Memory:
    return Memory(kind, shop(), shop_prompts(), length=length, max_tokens=max_tokens, embed=by_letters, count=len)


def calling_functions(kind: MemoryName = "last", *, length: int = 2, predictions: Predictions | None = None) -> Made:
    return lambda model: FunctionAgent(model, memory_of(kind, length=length), shop_prompts(), predictions=predictions)


def reacting(kind: MemoryName = "last", *, reflects: bool = False) -> Made:
    return lambda model: ReactAgent(model, memory_of(kind), shop_prompts(), reflects=reflects)


def interec() -> Made:
    return lambda model: InterecAgent(model, memory_of("interecagent"), shop_prompts(), dict(PRODUCTS))


def play(
    agent: ShopAgent,
    of: ShopTask | None = None,
    *,
    user: SimulatedUser | None = None,
    track: Track = "single",
    max_steps: int = 10,
    on_broken_off: Callable[[Episode], None] | None = None,
) -> Episode:
    """One episode of an agent that is there already."""
    of = of or task()

    async def run() -> Episode:
        try:
            return await run_episode(
                agent,
                web(),
                user,
                of,
                view_of(of, PRODUCTS.get(of.target_asin)),
                track=track,
                max_steps=max_steps,
                key="k",
                on_broken_off=on_broken_off,
            )
        finally:
            await agent.aclose()

    return asyncio.run(run())


def asked(
    made: Made,
    *says: Behaviour,
    of: ShopTask | None = None,
    user: SimulatedUser | None = None,
    track: Track = "single",
    max_steps: int = 10,
    **options: object,
) -> tuple[Episode, ChatServer]:
    """One episode with a model behind a server: it says what is given, then what a sensible model would."""
    with ChatServer(working_out(shop_model)) as server:
        server.script(*says)
        agent = made(make.model(make.planner_card(), server.base_url, **options))
        return play(agent, of, user=user, track=track, max_steps=max_steps), server


def names(episode: Episode) -> list[str]:
    return [turn.call.name for turn in episode.turns]


def value(episode: Episode, argument: str, place: int = 0) -> object:
    return msgspec.json.decode(episode.turns[place].call.arguments)[argument]

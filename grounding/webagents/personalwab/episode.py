"""One episode: an agent, the web and, in the multi-turn track, a user; a task in, everything that happened out.

Single-turn (paper, section 3.3): the first call of one of the three functions that end a task ends it, also one that
was refused; so does talking, because nobody listens. Multi-turn: the agent's ``stop`` or the limit of steps ends it;
every move is a step.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from grounding.budget import BudgetReached
from grounding.errors import UserError
from grounding.records import Call, Failure
from grounding.webagents.calls import together
from grounding.webagents.personalwab.agents.base import Move, ShopAgent, Started
from grounding.webagents.personalwab.agents.conversation import said
from grounding.webagents.personalwab.functions import WebFunctions
from grounding.webagents.personalwab.records import (
    EndReason,
    Episode,
    Product,
    ShopTask,
    TaskView,
    Track,
    Turn,
)
from grounding.webagents.personalwab.users.base import SimulatedUser
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

MAX_STEPS: dict[Track, int] = {"single": 10, "multi": 10}
"""Moves of an episode, at most (release; its ReAct agent takes 3 in the single-turn track)."""


def view_of(task: ShopTask, product: Product | None) -> TaskView:
    """What an agent may know of a task; the product is told for reviews alone."""
    return TaskView(
        task_id=task.id,
        user_id=task.user_id,
        instruction=task.instruction,
        timestamp_ms=task.timestamp_ms,
        review_product=product if task.type == "review" else None,
    )


async def run_episode(
    agent: ShopAgent,
    functions: WebFunctions,
    user: SimulatedUser | None,
    task: ShopTask,
    view: TaskView,
    *,
    track: Track,
    max_steps: int,
    key: str,
    on_broken_off: Callable[[Episode], None] | None = None,
) -> Episode:
    """Let an agent work on a task until it ends. Failures are recorded, not raised.

    Args:
        agent: Who acts.
        functions: The web that it acts on.
        user: Who answers it; needed in the multi-turn track.
        task: The task, which the user knows and the agent doesn't.
        view: What the agent knows of it.
        track: How an episode ends.
        max_steps: How many moves there are at most.
        key: Goes into the record.
        on_broken_off: Given what there is of an episode that an interruption or a refusal ends after it cost
            something; what ended it is raised all the same.

    Raises:
        BudgetReached: the cost limit leaves no room for the first request. Later ones are an episode that failed.
        UserError: a model refuses every request.
    """
    started = await agent.start(view, track=track, max_steps=max_steps)
    run = _Running(started)
    if started.failure is None:
        try:
            await _play(run, agent, functions, user, task, view)
        except BudgetReached as reached:
            if not run.calls and not run.user_calls:
                raise
            # What the requests so far cost must not be forgotten: only a record keeps it.
            run.failed(Failure(kind="error", message=f"broken off: {reached}"))
        except (asyncio.CancelledError, UserError) as ended:
            if on_broken_off is not None and (run.calls or run.user_calls):
                run.failed(Failure(kind="error", message=f"broken off: {ended}".removesuffix(": ")))
                on_broken_off(run.episode(task.id, key))
            raise
    return run.episode(task.id, key)


class _Running:
    """What has happened so far."""

    def __init__(self, started: Started) -> None:
        self.started = started
        self.turns: list[Turn] = []
        self.calls: list[Call] = list(started.calls)
        self.user_calls: list[Call] = []
        self.end: EndReason = "failed"
        self.failure: Failure | None = started.failure

    def failed(self, failure: Failure) -> None:
        self.failure = failure
        self.end = "gave-up" if failure.kind == "unparsed" else "failed"

    def episode(self, task_id: str, key: str) -> Episode:
        return Episode(
            task_id=task_id,
            key=key,
            turns=tuple(self.turns),
            end=self.end,
            memory=self.started.opening,
            memory_behaviours=len(self.started.memory.chosen),
            predicted_type=self.started.predicted,
            call=together(self.calls),
            user_call=together(self.user_calls),
            failure=self.failure,
        )


async def _play(
    run: _Running,
    agent: ShopAgent,
    functions: WebFunctions,
    user: SimulatedUser | None,
    task: ShopTask,
    view: TaskView,
) -> None:
    started = run.started
    for _ in range(started.max_steps):
        began = time.perf_counter()
        move = await agent.move(started, view, run.turns)
        run.calls += move.calls
        if move.failure is not None or move.call is None:
            run.failed(move.failure or Failure(kind="unparsed", message="no call"))
            return
        turn = _turn(move, time.perf_counter() - began)
        if move.call.name == "respond":
            if started.track == "single" or user is None:
                run.turns.append(turn)
                run.end = "responded"
                return
            reply = await user.reply(task, run.turns, said(move.call))
            run.user_calls += () if reply.call is None else (reply.call,)
            run.turns.append(msgspec.structs.replace(turn, user_reply=reply.text))
            if reply.failure is not None:
                run.failed(reply.failure)
                return
            await _reflect(run, agent, view)
            if run.failure is not None:
                return
            continue
        seen = functions.call(move.call, allowed=agent.functions)
        run.turns.append(msgspec.structs.replace(turn, observation=seen))
        if move.call.name == "stop" and not seen.error:
            run.end = "stopped"
            return
        if started.track == "single" and move.call.name in FUNCTION_OF.values():
            run.end = "terminal-call"
            return
    run.end = "step-limit"


async def _reflect(run: _Running, agent: ShopAgent, view: TaskView) -> None:
    reflection = await agent.reflect(run.started, view, run.turns)
    run.calls += reflection.calls
    if reflection.failure is not None:
        run.failed(reflection.failure)
    elif reflection.text:
        run.turns[-1] = msgspec.structs.replace(run.turns[-1], reflection=reflection.text)


def _turn(move: Move, seconds: float) -> Turn:
    call = move.call
    if call is None:
        raise ValueError("a turn is a move with a call")
    return Turn(
        call=call,
        thought=move.thought,
        raw=move.raw,
        extra_calls=move.extra_calls,
        seconds=seconds,
        completions=move.completions,
    )

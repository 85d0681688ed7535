"""Agents without a chat model, each one function decorated with :func:`agent`; ``FILE.py:NAME`` is a user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import msgspec

from grounding.actions import Action, Unparsed, parse_reply, print_action
from grounding.cards.functions import UserFunction
from grounding.data.desktop_records import DesktopPrediction, DesktopTask
from grounding.data.recorded import read_recorded
from grounding.errors import UserError
from grounding.geometry import ModelPoint, Space
from grounding.grounders.base import Answerer, Offline
from grounding.records import Call, Failure, FailureKind, ImageSizes, Record, Screenshot
from grounding.scoring.desktop.rules import official_action, to_screen


class ActQuery(Record, frozen=True, kw_only=True):
    """All that an agent may know of a step: never what the recorded person did.

    ``memory`` is what the agent is told that it remembers ("" where that is nothing), None where it is not told of any.
    """

    step_id: str
    key: str
    screenshot: Screenshot
    instruction: str
    memory: str | None = None

    def answer(self, action: Action | None = None, text: str = "", **fields: Any) -> DesktopPrediction:
        return DesktopPrediction(step_id=self.step_id, key=self.key, action=action, action_text=text, **fields)

    def failed(self, kind: FailureKind, message: str) -> DesktopPrediction:
        return self.answer(failure=Failure(kind=kind, message=message))


class Agent(Answerer, Protocol):
    async def act(self, query: ActQuery) -> DesktopPrediction:
        """Failures are recorded in the prediction, not raised."""
        ...


Make = Callable[[Sequence[DesktopTask], Path | None], Agent]


class DesktopAgentEntry(Record, frozen=True, kw_only=True):
    what: str
    make: Make


AGENTS: dict[str, DesktopAgentEntry] = {}  # The agents without a chat model, by their names.

ALIASES = {"ocr": "ocr-agent", "center": "always-click-center"}


def agent(name: str, what: str) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        AGENTS[name] = DesktopAgentEntry(what=what, make=make)
        return make

    return register


def entry_of(name: str) -> DesktopAgentEntry | None:
    return AGENTS.get(ALIASES.get(name, name))


def read_reply(reply: str, *, space: Space, sizes: ImageSizes, scroll_in_pixels: bool = True) -> Action | Failure:
    """The action in a reply in whichever known spelling it is, its points in pixels of the original screenshot.

    ``space`` is what coordinates mean that don't say so themselves. Without ``scroll_in_pixels`` only the direction of
    a scroll is kept, because notches of a wheel and pixels can't be compared.
    """
    action = parse_reply(reply, space=space)
    if isinstance(action, Unparsed):
        shown = f": {action.text}" if action.text else ""
        return Failure(kind="unparsed", message=f"the reply {action.reason}{shown}")
    return to_screen(action if scroll_in_pixels else msgspec.structs.replace(action, amount=None), sizes)


def replied(query: ActQuery, reply: str, call: Call | None = None) -> DesktopPrediction:
    """The answer in a reply whose coordinates are pixels of the screenshot."""
    size = query.screenshot.size
    read = read_reply(reply, space="original_px", sizes=ImageSizes(original=size, sent=size, model=size))
    text = official_action(reply, size)
    if isinstance(read, Failure):
        return query.answer(None, text, raw=reply, failure=read, call=call)
    # A bare action announces nothing; the released matcher is given it as it stands.
    return query.answer(read, reply.strip() if text == "None" else text, raw=reply, call=call)


class Floor(Offline):
    """An agent whose answer is only looked up: in the process that writes the run, wherever others work."""

    def __init__(self, name: str, answer: Callable[[ActQuery], DesktopPrediction], identity: str = "") -> None:
        self.name, self.identity, self._answer = name, identity or name, answer

    async def act(self, query: ActQuery) -> DesktopPrediction:
        return self._answer(query)


def _doing(name: str, action: Callable[[ActQuery], tuple[Action, str]]) -> Floor:
    return Floor(name, lambda query: query.answer(*(said := action(query)), raw=said[1]))


@agent("ocr-agent", "does what the memory's words say, on the text of the screen: the offline baseline (alias ocr)")
def _ocr(_tasks: Sequence[DesktopTask], _predictions: Path | None) -> Agent:
    from grounding.benchmarks.desktop.ocr import OcrAgent

    return OcrAgent()


class _Line(msgspec.Struct):
    step: str
    reply: str | None


@agent("replay", "replies recorded elsewhere: --predictions FILE")
def _replay(tasks: Sequence[DesktopTask], path: Path | None) -> Agent:
    """A step without a line is ``missing``."""
    if path is None:
        raise UserError("--grounder replay needs the file of recorded replies: --predictions FILE")
    known = {step.id for task in tasks for step in task.steps}
    expected = '{"step": id, "reply": text or null}'
    recorded = read_recorded(path, _Line, known, expected=expected, value_of=lambda line: line.reply)

    def reply(query: ActQuery) -> DesktopPrediction:
        if query.step_id not in recorded.by_step:
            return query.failed("missing", f"{path.name} has no line for {query.step_id}")
        found = recorded.by_step[query.step_id]
        return query.failed("unparsed", f"{path.name} records no reply") if found is None else replied(query, found)

    return Floor(f"replay:{path.stem}", reply, f"agent replay {recorded.sha256}")


@agent("always-click-center", "clicks the middle of every screen: a floor (alias center)")
def _center(_tasks: Sequence[DesktopTask], _predictions: Path | None) -> Agent:
    def middle(query: ActQuery) -> tuple[Action, str]:
        size = query.screenshot.size
        action = Action(kind="click", at=ModelPoint(space="original_px", x=size.width / 2, y=size.height / 2))
        return action, print_action(action)

    return _doing("always-click-center", middle)


@agent("repeat-last", "does what was done at the step before: a floor")
def _repeat_last(tasks: Sequence[DesktopTask], _predictions: Path | None) -> Agent:
    before = {step.id: earlier.gold for task in tasks for earlier, step in pairwise(task.steps)}
    wait = Action(kind="wait")
    return _doing("repeat-last", lambda query: (found := before.get(query.step_id, wait), print_action(found)))


@agent("oracle", "does what was recorded: the ceiling")
def _oracle(tasks: Sequence[DesktopTask], _predictions: Path | None) -> Agent:
    """It also proves that every recorded action is right by every rule."""
    done = {step.id: (step.gold, step.gold_text) for task in tasks for step in task.steps}
    return _doing("oracle", lambda query: done[query.step_id])


class DesktopFunctionAgent(UserFunction):
    """``FILE.py:NAME``: a function of (image, instruction), and of ``memory`` where its signature has it.

    It returns an action in any spelling that is read, such as ``click (640, 360)``, in pixels of the image.
    """

    context = ("memory",)

    async def act(self, query: ActQuery) -> DesktopPrediction:
        found, failure, call = await self._call(query)
        if failure is None and isinstance(found, str):
            return replied(query, found, call)
        message = f"{self.name} returned {found!r:.200}; expected an action as text, such as 'click (640, 360)'"
        return query.answer(failure=failure or Failure(kind="unparsed", message=message), call=call)

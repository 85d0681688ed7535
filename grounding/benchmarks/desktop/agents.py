"""Agents: a screen, an instruction and a memory in, an action out; without a model and with one."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import msgspec

from grounding.actions.kinds import Action, Unparsed, print_action
from grounding.actions.parsing import parse_reply
from grounding.cards import CardPart, ChatCard, GrounderCard, ImageRule, Json, PlannerCard, find_card, read_cards
from grounding.cards.functions import UserFunction, is_function
from grounding.cards.identity import card_identity
from grounding.cards.places import models_dir
from grounding.data.desktop_records import DesktopPrediction, DesktopTask
from grounding.data.images import picture_sizes, prepare_picture
from grounding.data.recorded import read_recorded
from grounding.errors import Halted, UserError
from grounding.geometry import ModelPoint, Space, point_from_original
from grounding.grounders.base import Answerer, Offline
from grounding.llm.anymodel import find_planner
from grounding.llm.budget import Budget, together
from grounding.llm.chat import ChatModel, ChatOptions, open_chat, render_messages, too_long
from grounding.llm.chat import Exchange as Answer
from grounding.llm.wire import Message
from grounding.options import EvalOptions, PromptStyle
from grounding.records import Call, Failure, FailureKind, ImageSizes, Point, Prediction, Query, Record, Screenshot
from grounding.run.probe.gate import EvalProbe
from grounding.scoring.desktop import FORMAT_FAILED, official_action, to_screen


class ActQuery(Record, frozen=True, kw_only=True):
    """All that an agent may know of a step. ``memory`` is None where it is not told of any."""

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
    """Points come in pixels of the original screenshot. Notches of a wheel and pixels can't be compared."""
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
    """``FILE.py:NAME``: a function of (image, instruction), and of ``memory`` where its signature has it. It returns an
    action in any spelling that is read, such as ``click (640, 360)``, in pixels of the image.
    """

    context = ("memory",)

    async def act(self, query: ActQuery) -> DesktopPrediction:
        found, failure, call = await self._call(query)
        if failure is None and isinstance(found, str):
            return replied(query, found, call)
        message = f"{self.name} returned {found!r:.200}; expected an action as text, such as 'click (640, 360)'"
        return query.answer(failure=failure or Failure(kind="unparsed", message=message), call=call)


MEMORY_LINE = "These are your memories from the last time you performed this task."
"""What the released evaluator puts before the memory (code/evaluate.py in scm62519/PERCU)."""


class AgentPrompt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``feedback`` is put behind its text after a reply in which no action was found."""

    name: str
    title: str
    user: tuple[CardPart, ...]
    feedback: str
    parameters: dict[str, Json]
    source: str = ""
    notes: str = ""


class StyledModel(Record, frozen=True, kw_only=True):
    """A model as it is asked: ``card`` is ``model`` in a style, ``again`` the same after a reply without an action."""

    model: GrounderCard | PlannerCard
    card: ChatCard
    again: ChatCard
    style: PromptStyle
    attempts: int
    feedback: str
    space: Space = "original_px"
    scroll_in_pixels: bool = True


def percu_prompt() -> AgentPrompt:
    return msgspec.yaml.decode((models_dir() / "prompts" / "agents" / "percu.yaml").read_bytes(), type=AgentPrompt)


def asking(model: GrounderCard | PlannerCard, style: PromptStyle, attempts: int | None) -> StyledModel:
    """Put a model's card and a style together.

    In PERCU's style a model that one serves oneself has the released code's parameters; a vendor's model keeps those of
    its card. Raises UserError where the card has no prompt of its own for actions.
    """
    prompt, rule = percu_prompt(), model.action if isinstance(model, GrounderCard) and style == "native" else None
    own: dict[str, Any] = {"system": None, "user": prompt.user, "prefill": None}
    if style == "percu":
        parameters, image = prompt.parameters, ImageRule()
        if isinstance(model, PlannerCard):
            cooler = {"temperature": parameters["temperature"]} if "temperature" in model.takes else {}
            parameters = {**model.parameters, **cooler}
    elif rule is not None:
        own = {"system": rule.system, "user": rule.user, "prefill": None} if rule.user else {}
        parameters = model.parameters if rule.parameters is None else rule.parameters
        image = rule.image or model.image
    else:
        raise UserError(
            f"--style native: the card of {model.name} has no section action; leave --style out for PERCU's prompt"
        )
    card: ChatCard = msgspec.structs.replace(model, **own, image=image, parameters=parameters)
    last = max(at for at, part in enumerate(card.user) if part.text is not None)
    noted = CardPart(text=f"{card.user[last].text}{prompt.feedback}")
    return StyledModel(
        model=model,
        card=card,
        again=msgspec.structs.replace(card, user=(*card.user[:last], noted, *card.user[last + 1 :])),
        style=style,
        attempts=attempts or (3 if style == "percu" else 1),
        feedback=prompt.feedback,
        space="original_px" if rule is None else rule.space,
        scroll_in_pixels=rule is None or rule.scroll == "pixels",
    )


def task_text(query: ActQuery) -> str:
    """Memory and second instruction as the released evaluator joins them, an empty memory too; told none, no line."""
    if query.memory is None:
        return query.instruction
    return f"{MEMORY_LINE}\n{query.memory}\n{query.instruction}"


class DesktopChatAgent:
    def __init__(self, asking: StyledModel, model: ChatModel) -> None:
        self._asking, self._model = asking, model
        self.name = asking.card.name
        self.check, self.aclose, self.max_concurrency = model.check, model.aclose, model.max_concurrency

    @property
    def identity(self) -> str:
        asked = self._asking
        return card_identity(
            self._model.card,
            leave_out=("answer",),
            parameters=self._model.parameters,
            style=asked.style,
            space=asked.space,
            scroll_in_pixels=asked.scroll_in_pixels,
            attempts=asked.attempts,
            feedback=asked.feedback if asked.attempts > 1 else "",
        )

    async def act(self, query: ActQuery) -> DesktopPrediction:
        """Ask until the released agent would find an action in a reply, or, in the model's style, there is one."""
        asked, card = self._asking, self._asking.card
        if long := too_long(card, task_text(query)):
            return query.answer(failure=long)
        try:
            sizes = picture_sizes(query.screenshot.size, card.image)
        except ValueError as error:
            return query.failed("error", f"{query.screenshot.path}: {error}")
        replies, calls, text = list[str](), list[Call](), ""
        read: Action | Failure = Failure(kind="error", message="no reply")
        while len(replies) < asked.attempts:
            try:
                answer = await self._model.send(lambda: self._messages(query, again=bool(replies)), sizes)
            except Halted as reached:
                if not replies:
                    raise
                # What the replies before cost must not be forgotten: only a record keeps it.
                answer = Answer(failure=Failure(kind="error", message=f"no other try: {reached}"))
            calls += [answer.call] if answer.call is not None else []
            if answer.completion is None:
                read, text = answer.failure or read, ""
                break
            replies.append(answer.completion.text)
            whole = (card.prefill or "") + answer.completion.text
            read = read_reply(whole, space=asked.space, sizes=sizes, scroll_in_pixels=asked.scroll_in_pixels)
            # What the released matcher is given: its own cut of the reply, or the action after conversion to pixels.
            text = official_action(whole, sizes.original)
            is_found = text not in ("", "None")
            if asked.style == "native" and (is_found := isinstance(read, Action)):
                text = print_action(read)
            if is_found:
                break
            text = FORMAT_FAILED
        return query.answer(
            read if isinstance(read, Action) else None,
            text,
            raw=replies[-1] if replies else None,
            earlier_raw=tuple(replies[:-1]),
            asked=max(1, len(replies)),
            sizes=sizes,
            failure=read if isinstance(read, Failure) else None,
            call=together(calls),
        )

    def _messages(self, query: ActQuery, *, again: bool) -> tuple[Message, ...]:
        card = self._asking.again if again else self._asking.card
        try:
            picture = prepare_picture(query.screenshot, card.image)
        except (OSError, ValueError) as error:
            raise ValueError(f"{query.screenshot.path}: {error}") from error
        asked = Query(step_id=query.step_id, key=query.key, screenshot=query.screenshot, instruction=task_text(query))
        return render_messages(card, asked, picture)


class Pointing:
    """An agent as the probe asks it: like a grounder, whose place is that of the click which it answers with."""

    def __init__(self, agent: Agent) -> None:
        self.name, self.identity, self._agent = agent.name, agent.identity, agent
        self.check, self.aclose, self.max_concurrency = agent.check, agent.aclose, agent.max_concurrency

    async def ground(self, query: Query) -> Prediction:
        shot, words = query.screenshot, query.instruction
        told = await self._agent.act(ActQuery(step_id=query.step_id, key=query.key, screenshot=shot, instruction=words))
        at = next(iter(told.action.points), None) if told.action is not None else None
        point = None if at is None else Point(x_px=at.x, y_px=at.y)
        no_place = Failure(kind="unparsed", message="the action names no place") if at is None else None
        kept = {name: getattr(told, name) for name in ("step_id", "key", "raw", "sizes", "call")}
        return Prediction(point=point, failure=told.failure or no_place, **kept)


def agent_probe(model: StyledModel, agent: Agent) -> EvalProbe:
    def read(reply: Any) -> ModelPoint:
        return point_from_original(reply.point, model.space, reply.sizes)

    return EvalProbe(model.card, Pointing(agent), lent=True, space=model.space, read=read)


def has_model(name: str) -> bool:
    return entry_of(name) is None and not is_function(name)


def agent_card(options: EvalOptions) -> StyledModel | None:
    """The model behind an agent's name; None for one without. Grounders' cards come before planners'."""
    name, folder = options.grounder, models_dir() / "grounders"
    if not has_model(name):
        for option in ("style", "attempts"):
            if getattr(options, option) != getattr(EvalOptions(), option):
                raise UserError(f"--{option}: the agent {ALIASES.get(name, name)} has no prompt; leave it out")
        return None
    cards = read_cards(folder, GrounderCard)
    is_file = name.endswith((".yaml", ".yml")) or Path(name).is_dir()
    if is_file or any(name in (card.name, card.model, *card.aliases) for card in cards):
        found = find_card(name, folder, GrounderCard, builtin=tuple(AGENTS), kind="agent")
        return asking(found, options.style, options.attempts)
    names = {"flag": "--base-url", "name_flag": "--grounder", "kind": "agent", "listed_by": "grounding list agents"}
    builtin = (*AGENTS, *(card.name for card in cards))
    planner = find_planner(name, " ".join(options.base_url) or None, builtin=builtin, **names)
    return asking(planner, options.style, options.attempts)


def build_agent(
    options: EvalOptions,
    model: StyledModel | None,
    tasks: Sequence[DesktopTask],
    chat: ChatOptions,
    budget: Budget,
    on_retry: Callable[[], None],
) -> tuple[Agent, str]:
    """The agent that a user named, and the address of its server; ``tasks`` are what floors and ceiling look into."""
    name, entry = options.grounder, entry_of(options.grounder)
    if options.predictions is not None and name != "replay":
        raise UserError(f"--predictions is for --grounder replay, and --grounder {name} makes new replies")
    if model is None:
        return DesktopFunctionAgent(name) if entry is None else entry.make(tasks, options.predictions), ""
    opened = open_chat(model.card, chat, flag="--base-url", budget=budget, on_retry=on_retry)
    return DesktopChatAgent(model, opened.model), opened.base_url

"""The agent of a card: a chat model is shown the step, and its reply read as an action; and agents by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.actions import Action, print_action
from grounding.benchmarks.desktop.agents import (
    AGENTS,
    ALIASES,
    ActQuery,
    Agent,
    DesktopFunctionAgent,
    entry_of,
    read_reply,
)
from grounding.cards import CardPart, ChatCard, GrounderCard, ImageRule, Json, PlannerCard, find_card, read_cards
from grounding.cards.functions import is_function
from grounding.cards.identity import card_identity
from grounding.cards.places import models_dir
from grounding.data.desktop_records import DesktopPrediction, DesktopTask
from grounding.data.images import picture_sizes, prepare_picture
from grounding.errors import Halted, UserError
from grounding.geometry import ModelPoint, Space, point_from_original
from grounding.llm.anymodel import find_planner
from grounding.llm.budget import Budget, together
from grounding.llm.chat import ChatModel, ChatOptions, open_chat, render_messages, too_long
from grounding.llm.chat import Exchange as Answer
from grounding.llm.wire import Message
from grounding.options import EvalOptions, PromptStyle
from grounding.records import Call, Failure, Point, Prediction, Query, Record
from grounding.run.probe.gate import EvalProbe
from grounding.scoring.desktop.rules import FORMAT_FAILED, official_action

MEMORY_LINE = "These are your memories from the last time you performed this task."
"""What the released evaluator puts before the memory (code/evaluate.py in scm62519/PERCU)."""

ATTEMPTS: dict[PromptStyle, int] = {"percu": 3, "native": 1}
"""The released agent asks three times in all; no model's own code asks for another format."""

_NOTHING = ("", "None")
"""What the released agent takes for a reply without an action."""


class AgentPrompt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt for every model. ``feedback`` is put behind its text after a reply in which no action was found."""

    name: str
    title: str
    user: tuple[CardPart, ...]
    feedback: str
    parameters: dict[str, Json]
    source: str = ""
    notes: str = ""


class StyledModel(Record, frozen=True, kw_only=True):
    """A model as it is asked: ``card`` is ``model`` with the prompt, picture rule and parameters of the style.

    ``again`` is the same for a reply in which no action was found.
    """

    model: GrounderCard | PlannerCard
    card: ChatCard
    again: ChatCard
    style: PromptStyle
    attempts: int
    feedback: str
    space: Space = "original_px"
    scroll_in_pixels: bool = True


def percu_prompt() -> AgentPrompt:
    """The benchmark's prompt."""
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
            f"--style native: the card of {model.name} has no section action, which says how the model is asked for an "
            "action in its own words; leave --style out for the benchmark's prompt"
        )
    card: ChatCard = msgspec.structs.replace(model, **own, image=image, parameters=parameters)
    last = max(at for at, part in enumerate(card.user) if part.text is not None)
    noted = CardPart(text=f"{card.user[last].text}{prompt.feedback}")
    return StyledModel(
        model=model,
        card=card,
        again=msgspec.structs.replace(card, user=(*card.user[:last], noted, *card.user[last + 1 :])),
        style=style,
        attempts=attempts or ATTEMPTS[style],
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
    """Asks a chat model what to do, again where its reply holds no action."""

    def __init__(self, asking: StyledModel, model: ChatModel) -> None:
        self._asking, self._model = asking, model
        self.name = asking.card.name
        self.check, self.aclose, self.max_concurrency = model.check, model.aclose, model.max_concurrency

    @property
    def identity(self) -> str:
        """Model, prompt, image rule, parameters as sent, space, tries and what is said between them."""
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
        """Ask until a reply holds an action, as often as allowed; every reply is kept, and what each took.

        In PERCU's style a reply holds one where the released agent would find one; in the model's own where it can be
        read at all.
        """
        asked, card = self._asking, self._asking.card
        if long := too_long(card, task_text(query)):
            return query.answer(failure=long)
        try:
            sizes = picture_sizes(query.screenshot.size, card.image)
        except ValueError as error:
            return query.failed("error", f"{query.screenshot.path}: {error}")
        replies: list[str] = []
        calls: list[Call] = []
        read: Action | Failure = Failure(kind="error", message="no reply")
        text = ""
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
            is_found = text not in _NOTHING
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
        """The conversation about a step; ValueError where the picture can't be read, or the model refuses its shape."""
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
        """Where it would click; another action is no place."""
        shot, words = query.screenshot, query.instruction
        told = await self._agent.act(ActQuery(step_id=query.step_id, key=query.key, screenshot=shot, instruction=words))
        at = next(iter(told.action.points), None) if told.action is not None else None
        no_place = Failure(kind="unparsed", message="the action names no place")
        return Prediction(
            step_id=query.step_id,
            key=query.key,
            point=None if at is None else Point(x_px=at.x, y_px=at.y),
            raw=told.raw,
            sizes=told.sizes,
            call=told.call,
            failure=told.failure or (no_place if at is None else None),
        )


def agent_probe(model: StyledModel, agent: Agent) -> EvalProbe:
    """The probe of a run of this agent, whose places are read back into the space that its model answers in."""

    def read(reply: Prediction) -> ModelPoint:
        assert reply.point is not None
        assert reply.sizes is not None
        return point_from_original(reply.point, model.space, reply.sizes)

    return EvalProbe(model.card, Pointing(agent), lent=True, space=model.space, read=read)


# --- an agent by its name ----------------------------------------------------------------------------------------


def has_model(name: str) -> bool:
    """Whether a model stands behind an agent's name, and not a registered agent or a function."""
    return entry_of(name) is None and not is_function(name)


def agent_card(options: EvalOptions) -> StyledModel | None:
    """The model behind an agent's name: a grounder's card, a planner's card, or a path; None for one without a model.

    Models that answer with places come first; one that plans can act in the benchmark's words as well. Raises UserError
    where nothing is called so, the card can't be asked in the style, or an option is for models only.
    """
    name, folder = options.grounder, models_dir() / "grounders"
    if not has_model(name):
        for option in ("style", "attempts"):
            if getattr(options, option) != getattr(EvalOptions(), option):
                raise UserError(f"--{option}: the agent {ALIASES.get(name, name)} has no prompt; leave it out")
        return None
    cards = read_cards(folder, GrounderCard)
    is_file = name.endswith((".yaml", ".yml")) or Path(name).is_dir()
    card: GrounderCard | PlannerCard
    if is_file or any(name in (card.name, card.model, *card.aliases) for card in cards):
        card = find_card(name, folder, GrounderCard, builtin=tuple(AGENTS), kind="agent")
    else:
        card = find_planner(
            name,
            " ".join(options.base_url) or None,
            flag="--base-url",
            name_flag="--grounder",
            builtin=(*AGENTS, *(card.name for card in cards)),
            kind="agent",
            listed_by="grounding list agents",
        )
    return asking(card, options.style, options.attempts)


def build_agent(
    options: EvalOptions,
    model: StyledModel | None,
    tasks: Sequence[DesktopTask],
    chat: ChatOptions,
    budget: Budget,
    on_retry: Callable[[], None],
) -> tuple[Agent, str]:
    """The agent that a user named, registered, a function, or the model of a card; and the address of its server.

    ``model`` is that behind the name, from :func:`agent_card`; ``tasks`` are all of them, which the floors and the
    ceiling look into. Raises UserError where something that it needs is missing; says what.
    """
    name, entry = options.grounder, entry_of(options.grounder)
    if options.predictions is not None and name != "replay":
        raise UserError(
            f"--predictions replays recorded replies and --grounder {name} makes new ones: give one of them"
        )
    if model is None:
        return DesktopFunctionAgent(name) if entry is None else entry.make(tasks, options.predictions), ""
    opened = open_chat(model.card, chat, flag="--base-url", budget=budget, on_retry=on_retry)
    return DesktopChatAgent(model, opened.model), opened.base_url

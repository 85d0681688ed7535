"""Options in, everything that a run over a shop needs out: checked before the first question is asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from grounding import __version__
from grounding.budget import Budget
from grounding.cards import PlannerCard, find_card
from grounding.chat import ChatModel, ChatOptions, open_chat
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.journal import Journal
from grounding.places import models_dir
from grounding.records import Record
from grounding.runfolder import utc_now
from grounding.runid import library_versions, run_id
from grounding.sources.option import ready
from grounding.tokens import text_tokens
from grounding.webagents.personalwab.agents.base import ShopAgent
from grounding.webagents.personalwab.agents.predictions import Predictions, read_predictions, shared_words
from grounding.webagents.personalwab.agents.trained import TrainedAs, trained_as
from grounding.webagents.personalwab.agents.words import meant_type
from grounding.webagents.personalwab.embeddings import KeptEmbeddings
from grounding.webagents.personalwab.functions import WebFunctions
from grounding.webagents.personalwab.memory import Count, Memory
from grounding.webagents.personalwab.options import PREDICTORS, ShopOptions, check_options
from grounding.webagents.personalwab.prompts import ShopPrompts, shop_prompts
from grounding.webagents.personalwab.pumaprompts import puma_prompts
from grounding.webagents.personalwab.records import Episode, ShopDataset, ShopTask, TaskType, TaskView
from grounding.webagents.personalwab.runfiles import ShopAsked, ShopRunInfo, TaskLine
from grounding.webagents.personalwab.selection import select_tasks, selection_text
from grounding.webagents.personalwab.shelf import Shelf
from grounding.webagents.personalwab.signature import shop_signature
from grounding.webagents.personalwab.stage import EpisodeStage
from grounding.webagents.personalwab.users.base import SimulatedUser

if TYPE_CHECKING:
    from pathlib import Path

    from grounding.webagents.personalwab.agents.localmodel import LocalModel

SCRIPTED = "scripted"
AGENT_TEMPERATURE = 0.0
"""What the release asks its agents with, where a model takes one and neither card nor user says otherwise."""

USER_TEMPERATURE = 1.0
USER_MAX_TOKENS = 150
"""What the release asks its simulated user with (``envs/user.py``)."""

LIBRARIES = ("bm25s", "nltk", "regex", "sentence-transformers", "torch", "transformers")


class PreparedShop(Record, frozen=True, kw_only=True):
    """Everything a run needs, checked before the first question is asked.

    ``cards`` are those of the chat models by the names that the options have for them.
    """

    options: ShopOptions
    cards: dict[str, PlannerCard]
    dataset: ShopDataset
    tasks: tuple[ShopTask, ...]
    functions: WebFunctions
    agent: ShopAgent
    user: SimulatedUser | None
    info: ShopRunInfo

    def task_lines(self) -> tuple[TaskLine, ...]:
        """The tasks as the run folder keeps them."""
        lines = []
        for task in self.tasks:
            user = self.dataset.users[task.user_id]
            earlier = sum(one.review.timestamp_ms < task.timestamp_ms for one in user.behaviours)
            product = self.dataset.products[task.target_asin]
            lines.append(TaskLine(task=task, earlier_behaviours=earlier, profile=user.profile, product=product))
        return tuple(lines)


def prepare_shop(
    options: ShopOptions,
    budget: Budget,
    progress: OutcomeProgress,
    *,
    shelf: Shelf | None = None,
    cards: Mapping[str, PlannerCard] | None = None,
) -> PreparedShop:
    """Find everything that a run needs. Asks nothing of any model and writes nothing.

    Args:
        options: What is asked for.
        budget: What may be spent.
        progress: Who is told how far it is.
        shelf: Reads data sets and builds webs; runs that follow one another may share one.
        cards: Cards of chat models by name, where they are known already.

    Raises:
        UserError: something is missing or wrong; says what.
    """
    check_options(options)
    prompts = shop_prompts()
    trained = None if options.model_path is None else trained_as(options.model_path)
    options = _as_trained(options, trained)
    cards = cards or {}
    card = _card(options.model, cards) if options.model is not None else None
    _check_money(options, card)
    user_card = _user_card(options, cards)
    # What is missing at an endpoint is said before anything that takes long.
    model = None if card is None else _open_agent(card, options, budget, progress)
    user_model = None if user_card is None else _open_user(user_card, options, budget, progress)
    local = None if options.model_path is None else _local(options.model_path)
    shelf = shelf or Shelf()
    ready(options.data_dir)
    with progress.phase("reading the data set"):
        dataset = shelf.dataset(options)
    tasks = select_tasks(dataset.tasks, options)
    predictions = _predictions(options, tasks)
    with progress.phase("building the search index and the recommender"):
        web = shelf.web(options, dataset)
    functions = web.functions
    memory = _memory(options, dataset, prompts, text_tokens if local is None else local.count)
    agent: ShopAgent
    if local is not None:
        agent = _puma_local(options, local, memory, prompts, predictions, trained)
    elif model is not None:
        agent = _agent(options, dataset, prompts, memory, model, predictions)
    else:
        agent = _offline(options, dataset, functions, memory)
    user = _user(options, dataset, prompts, user_model)
    asked = ShopAsked(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        select=selection_text(options),
        split=options.split,
        agent=options.agent,
        agent_identity=agent.identity,
        model=card.name if card is not None else (str(options.model_path) if options.model_path else ""),
        base_url=" ".join(options.base_url),
        memory=options.memory_kind,
        memory_length=options.behaviours,
        memory_tokens=options.memory_tokens,
        user=(options.user or SCRIPTED) if user is not None else "",
        user_identity=user.identity if user is not None else "",
        functions_identity=functions.identity,
        search=options.search,
        track=options.track,
        max_steps=options.steps,
        preset=options.preset,
        seed=options.seed or 0,
        version=__version__,
    )
    info = ShopRunInfo(
        run_id=run_id(asked, (asked.dataset, asked.agent, card.name if card else "offline", asked.memory)),
        status="started",
        signature="",
        asked=asked,
        data_dir=str(options.data_dir or ""),
        command=options.command,
        versions=library_versions(LIBRARIES),
        started_at=utc_now(),
        attempt=options.attempt,
        prompt="" if options.agent in ("rules", "oracle") else prompts.label,
        products=len(dataset.products),
        recommended=web.recommended,
    )
    info = msgspec.structs.replace(info, signature=shop_signature(info))
    named = ((options.model, card), (options.user, user_card))
    return PreparedShop(
        options=options,
        cards={name: found for name, found in named if name is not None and found is not None},
        dataset=dataset,
        tasks=tasks,
        functions=functions,
        agent=agent,
        user=user,
        info=info,
    )


def episode_stage(prepared: PreparedShop, journal: Journal[Episode]) -> EpisodeStage:
    """The stage of a run."""
    asked = prepared.info.asked
    return EpisodeStage(
        prepared.agent,
        prepared.functions,
        prepared.user,
        prepared.dataset.products,
        journal,
        track=asked.track,
        max_steps=asked.max_steps,
        shop=prepared.dataset.fingerprint,
    )


def _card(name: str, known: Mapping[str, PlannerCard]) -> PlannerCard:
    if name in known:
        return known[name]
    return find_card(name, models_dir() / "planners", PlannerCard, builtin=(), kind="model")


def _user_card(options: ShopOptions, known: Mapping[str, PlannerCard]) -> PlannerCard | None:
    if options.track == "single" or options.user in (None, SCRIPTED):
        return None
    return _card(str(options.user), known)


def _check_money(options: ShopOptions, card: PlannerCard | None) -> None:
    if options.cost_limit is not None and card is not None and card.price is None:
        raise UserError(f"--cost-limit: the card of {card.name} states no price (field price), so no limit can be kept")
    if options.temperature is not None and (card is None or "temperature" not in card.takes):
        raise UserError(f"--temperature: {options.model or options.agent} takes no temperature; leave it out")


def _open(
    card: PlannerCard,
    options: ShopOptions,
    base_url: str,
    flag: str,
    budget: Budget,
    progress: OutcomeProgress,
    *,
    temperature: float | None,
) -> ChatModel:
    chat = ChatOptions(
        base_url=base_url or None,
        temperature=temperature,
        seed=options.seed,
        max_connections=options.max_connections,
        timeout_s=options.timeout,
        max_retries=options.max_retries,
    )
    return open_chat(card, chat, flag=flag, budget=budget, on_retry=progress.retried).model


def _open_agent(card: PlannerCard, options: ShopOptions, budget: Budget, progress: OutcomeProgress) -> ChatModel:
    temperature = options.temperature
    if temperature is None and "temperature" not in card.parameters:
        temperature = AGENT_TEMPERATURE
    base_url = " ".join(options.base_url)
    return _open(card, options, base_url, "--base-url", budget, progress, temperature=temperature)


def _open_user(card: PlannerCard, options: ShopOptions, budget: Budget, progress: OutcomeProgress) -> ChatModel:
    limit = card.parameters.get("max_tokens")
    if isinstance(limit, int):
        parameters = {**card.parameters, "max_tokens": min(limit, USER_MAX_TOKENS)}
        card = msgspec.structs.replace(card, parameters=parameters)
    base_url = options.user_base_url or ""
    temperature = None if "temperature" in card.parameters else USER_TEMPERATURE
    return _open(card, options, base_url, "--user-base-url", budget, progress, temperature=temperature)


def _local(folder: Path) -> LocalModel:
    from grounding.webagents.personalwab.agents.localmodel import LocalModel

    return LocalModel(folder)


def _as_trained(options: ShopOptions, trained: TrainedAs | None) -> ShopOptions:
    """The memory that a model of PUMA was trained with, where the user asked for no other."""
    if trained is None:
        return options
    length, tokens = options.memory_length, options.memory_tokens
    return msgspec.structs.replace(
        options,
        memory_length=trained.memory_length if length is None else length,
        memory_tokens=trained.memory_tokens if tokens is None else tokens,
    )


def _predictions(options: ShopOptions, tasks: Sequence[ShopTask]) -> Predictions | None:
    if options.functions is None or str(options.functions) in PREDICTORS:
        return None
    found = read_predictions(options.functions, tasks)
    shared = shared_words(tasks)
    if shared:
        print(
            f"grounding: warning: --functions {options.functions}: {shared} tasks have the words of another, and one "
            "prediction between them",
            file=sys.stderr,
        )
    return found


def _memory(options: ShopOptions, dataset: ShopDataset, prompts: ShopPrompts, count: Count) -> Memory:
    kind = options.memory_kind
    return Memory(
        kind,
        dataset,
        prompts,
        length=options.behaviours,
        max_tokens=options.memory_tokens,
        seed=options.seed or 0,
        embed=_embedder() if kind in ("relevant", "task-specific") else None,
        count=count,
        plain=options.agent == "puma-local",
    )


def _embedder() -> KeptEmbeddings:
    # torch is loaded only by runs that need it.
    from grounding.webagents.personalwab.similarity import kept_embeddings

    return kept_embeddings()


def _agent(
    options: ShopOptions,
    dataset: ShopDataset,
    prompts: ShopPrompts,
    memory: Memory,
    model: ChatModel,
    predictions: Predictions | None,
) -> ShopAgent:
    if options.agent in ("react", "reflexion"):
        from grounding.webagents.personalwab.agents.react import ReactAgent

        return ReactAgent(model, memory, prompts, reflects=options.agent == "reflexion")
    if options.agent == "interecagent":
        from grounding.webagents.personalwab.agents.interec import InterecAgent

        return InterecAgent(model, memory, prompts, dataset.products)
    from grounding.webagents.personalwab.agents.functions import FunctionAgent

    return FunctionAgent(model, memory, prompts, predictions=predictions)


def _puma_local(
    options: ShopOptions,
    local: LocalModel,
    memory: Memory,
    prompts: ShopPrompts,
    predictions: Predictions | None,
    trained: TrainedAs | None,
) -> ShopAgent:
    from grounding.webagents.personalwab.agents.parameters import ParameterAgent

    said_by = None if options.functions is None else str(options.functions)
    asks_model = said_by == "model" or (said_by is None and trained is not None and trained.predicts_functions)
    return ParameterAgent(
        local,
        memory,
        prompts,
        _by_words if predictions is None else predictions.of,
        predictor="words" if predictions is None else predictions.identity,
        names=puma_prompts() if asks_model else None,
        shuffle_seed=(options.seed or 0) if options.preset == "official" else None,
    )


def _by_words(view: TaskView) -> TaskType:
    return "review" if view.review_product is not None else meant_type(view.instruction)


def _offline(options: ShopOptions, dataset: ShopDataset, functions: WebFunctions, memory: Memory) -> ShopAgent:
    if options.agent == "oracle":
        from grounding.webagents.personalwab.agents.oracle import Oracle

        return Oracle(dataset, functions)
    from grounding.webagents.personalwab.agents.rules import RuleAgent

    return RuleAgent(memory, dataset)


def _user(
    options: ShopOptions, dataset: ShopDataset, prompts: ShopPrompts, model: ChatModel | None
) -> SimulatedUser | None:
    if options.track == "single":
        return None
    if model is None:
        from grounding.webagents.personalwab.users.scripted import ScriptedUser

        return ScriptedUser(dataset)
    from grounding.webagents.personalwab.users.model import ModelUser

    return ModelUser(model, dataset, prompts)

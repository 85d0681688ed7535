"""Options to a planner and a grounder: the same in a run's own process and on another machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from grounding.budget import Budget
from grounding.cards import GrounderCard, PlannerCard
from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.grounders import BuiltGrounder, build_grounder, card_behind
from grounding.grounders.hf.options import HfOptions
from grounding.options import EvalOptions
from grounding.places import models_dir
from grounding.planners import BuiltPlanner, build_planner
from grounding.records import Session
from grounding.serving.managed import send_as


def chat_options(options: EvalOptions) -> ChatOptions:
    """What a user may set for chat models, as far as planner and grounder have it in common."""
    return ChatOptions(
        temperature=options.temperature,
        seed=options.seed,
        max_connections=options.max_connections,
        timeout_s=options.timeout,
        max_retries=options.max_retries,
        dry=options.dry_run,
    )


def planner_of(
    options: EvalOptions,
    *,
    base_url: str | None,
    budget: Budget,
    on_retry: Callable[[], None],
    card: PlannerCard | None = None,
    max_connections: int | None = None,
) -> BuiltPlanner:
    """The planner that a run's options name.

    Args:
        options: Those of the run.
        base_url: Where it is asked, None for its card's own address.
        budget: The run's money.
        on_retry: Called before each further try.
        card: Taken instead of the one that goes by the name, with the prompt and the model that are in it.
        max_connections: Taken instead of the options' own.

    Raises:
        UserError: nothing is called so, or something it needs is missing; says what.
    """
    chat = chat_options(options)
    return build_planner(
        options.planner,
        plans=options.plans,
        cards=models_dir() / "planners",
        options=msgspec.structs.replace(
            chat, base_url=base_url, max_connections=max_connections or chat.max_connections
        ),
        budget=budget,
        on_retry=on_retry,
        prompt=options.planner_prompt,
        model=options.planner_model,
        ahead=options.plan_ahead,
        card=card,
    )


def grounder_of(
    options: EvalOptions,
    *,
    card: GrounderCard | None,
    base_url: str | None,
    sessions: Sequence[Session],
    budget: Budget,
    on_retry: Callable[[], None],
    max_connections: int | None = None,
) -> BuiltGrounder:
    """The grounder that a run's options name.

    Args:
        options: Those of the run.
        card: As :func:`grounder_card` gives it.
        base_url: Where it is asked, None for its card's own address.
        sessions: The data set's, for grounders that answer out of it; no other looks.
        budget: The run's money.
        on_retry: Called before each further try.
        max_connections: Taken instead of the options' own.

    Raises:
        UserError: nothing is called so, or something it needs is missing; says what.
    """
    chat = chat_options(options)
    return build_grounder(
        options.grounder,
        card=card,
        local=hf_options(options, card),
        predictions=options.predictions,
        sessions=sessions,
        seed=options.seed or 0,
        cards=models_dir() / "grounders",
        options=msgspec.structs.replace(
            chat, base_url=base_url, max_connections=max_connections or chat.max_connections
        ),
        budget=budget,
        on_retry=on_retry,
    )


def grounder_card(options: EvalOptions) -> GrounderCard | None:
    """The card behind the grounder with the user's --send; None where no card stands behind it.

    Raises:
        UserError: nothing is called so, or --send is for a grounder that sends nothing.
    """
    card = None if options.predictions is not None else card_behind(options.grounder, models_dir() / "grounders")
    if card is None and options.send is not None:
        raise UserError(f"--send: {options.grounder} sends no pictures to a server; leave it out")
    return None if card is None else send_as(card, options.send)


def hf_options(options: EvalOptions, card: GrounderCard | None) -> HfOptions | None:
    """How the weights run in this process, where the user or the card asks for that.

    Raises:
        UserError: options for weights contradict the others.
    """
    given = (options.model_path, options.dtype, options.device, options.batch_size)
    in_process = card is not None and card.serving.how == "in-process"
    if options.backend != "hf" and not (in_process and options.backend is None and not options.base_url):
        if any(value is not None for value in given):
            raise UserError(
                "--model-path, --dtype, --device and --batch-size belong to --backend hf, which takes no --base-url"
            )
        return None
    if card is None:
        raise UserError(f"--backend hf runs the model of a card, and {options.grounder} has none: leave it out")
    if options.base_url:
        raise UserError("--backend hf runs the model in this process: leave out --base-url")
    usual = HfOptions()
    return HfOptions(
        model_path=options.model_path or usual.model_path,
        dtype=options.dtype or usual.dtype,
        device=options.device or usual.device,
        batch_size=options.batch_size or usual.batch_size,
    )

"""Options to a grounder, and to how models are asked: the same in a run's own process and on another machine."""

import math
from collections.abc import Callable, Sequence

import msgspec

from grounding.cards import GrounderCard
from grounding.cards.places import models_dir
from grounding.errors import UserError
from grounding.grounders import BuiltGrounder, build_grounder, card_behind
from grounding.grounders.hf.loading import HfOptions
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.options import EvalOptions, RunOptions
from grounding.records import Record, Session
from grounding.serving.managed import send_as

_LEAST = dict.fromkeys(("limit", "max_connections", "max_steps", "memory_tokens", "pages"), 1) | dict.fromkeys(
    ("blocked_retries", "history", "max_retries", "memory_length", "seed", "server_wait"), 0
)
_POSITIVE = {"timeout": "seconds", "max_seconds": "seconds", "cost_limit": "US dollars"}


def check_numbers(options: Record) -> None:
    """Refuse numbers that can't be meant."""
    for name, value in msgspec.structs.asdict(options).items():
        if value is not None and name in _LEAST and value < _LEAST[name]:
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {_LEAST[name]} or more")
        if value is not None and name in _POSITIVE and not (math.isfinite(value) and value > 0):
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {_POSITIVE[name]}, more than 0")


def chat_options(options: RunOptions, base_url: str | None = None) -> ChatOptions:
    return ChatOptions(
        base_url=base_url or None,
        temperature=options.temperature,
        seed=options.seed,
        max_connections=options.max_connections,
        timeout_s=options.timeout,
        max_retries=options.max_retries,
        server_wait_s=options.server_wait,
        dry=options.dry_run,
    )


def grounder_of(
    options: EvalOptions,
    chat: ChatOptions,
    *,
    card: GrounderCard | None,
    sessions: Sequence[Session] = (),
    budget: Budget,
    on_retry: Callable[[], None],
) -> BuiltGrounder:
    """The grounder that a run's options name. ``sessions`` are for grounders that answer out of the data set."""
    return build_grounder(
        options.grounder,
        card=card,
        local=hf_options(options, card),
        predictions=options.predictions,
        sessions=sessions,
        seed=options.seed or 0,
        cards=models_dir() / "grounders",
        options=chat,
        budget=budget,
        on_retry=on_retry,
    )


def open_grounder(name: str, chat: ChatOptions, budget: Budget, on_retry: Callable[[], None]) -> BuiltGrounder:
    """A grounder for pictures that are no data set's: a built-in one, a card's name or path, Set-of-Mark."""
    if name in ("replay", "oracle"):
        raise UserError(f"--grounder {name}: it answers for the steps of a data set; name ocr, som or a model's card")
    return build_grounder(
        name,
        predictions=None,
        sessions=(),
        seed=0,
        cards=models_dir() / "grounders",
        options=chat,
        budget=budget,
        on_retry=on_retry,
    )


def grounder_card(options: EvalOptions) -> GrounderCard | None:
    """The card behind the grounder with the user's --send; None where no card stands behind it."""
    address = " ".join(options.base_url) or None
    card = None
    if options.predictions is None:
        card = card_behind(options.grounder, models_dir() / "grounders", address)
    if card is None and options.send is not None:
        raise UserError(f"--send: {options.grounder} sends no pictures to a server; leave it out")
    return None if card is None else send_as(card, options.send)


def hf_options(options: EvalOptions, card: GrounderCard | None) -> HfOptions | None:
    """How the weights run in this process, where the user or the card asks for that."""
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

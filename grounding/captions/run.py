"""Options in, a history file out: every step of a data set is asked about once, and what was answered is kept."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grounding.budget import Budget
from grounding.captions.captioner import Caption, CaptionStage, captioner_card, identity
from grounding.captions.kept import check_out, empty_file, open_replies, set_aside, with_steps, write_file
from grounding.captions.moments import Moment, moments
from grounding.captions.prompt import DEFAULT_PROMPT, find_prompt
from grounding.cards import PlannerCard, find_card
from grounding.chat import ChatOptions, open_chat
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.interrupts import terminated_like_interrupted
from grounding.loaders import load_dataset
from grounding.loaders.captions import CaptionFile
from grounding.options import Display
from grounding.places import models_dir
from grounding.planners import with_model
from grounding.planners.retirement import has_retired, today_utc, warning
from grounding.records import Record
from grounding.runner import Done, Runner
from grounding.sources.option import ready

INTERRUPTED = "interrupted"
COLOURS = {"captioned": "green", "unparsed": "magenta", "error": "red"}
_FLAG = "--base-url"


class CaptionOptions(Record, frozen=True, kw_only=True):
    """The options of ``grounding caption``; see its ``--help``."""

    dataset: str
    captioner: str
    out: Path
    data_dir: Path | None = None
    questions: str | None = None
    participant: tuple[str, ...] = ()
    prompt: str = DEFAULT_PROMPT
    model: str | None = None
    chat: ChatOptions = ChatOptions()
    cost_limit: float | None = None
    fresh: bool = False
    display: Display | None = None


class Captioned(Record, frozen=True, kw_only=True):
    """What became of a run.

    ``steps`` is the number of all steps; ``captioned``, ``unparsed`` and ``error`` count their last replies, and the
    rest was not asked about. ``asked`` counts the requests of this run that got an answer or failed. ``cost_usd`` is
    what all replies cost together, also those of earlier runs; None where nobody knows. ``stopped`` says why the run
    ended early.
    """

    captioner: str
    steps: int
    captioned: int
    unparsed: int
    error: int
    asked: int
    cost_usd: float | None
    seconds: float
    stopped: str = ""
    set_aside: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether every step was asked about and none is left to be asked again."""
        return self.captioned + self.unparsed == self.steps


def caption_dataset(options: CaptionOptions) -> Captioned:
    """Caption every step of a data set, or go on where an earlier run stopped, and write the history file.

    Raises:
        UserError: something is missing or wrong; nothing was asked yet, or the disk failed (what was answered is kept).
    """
    progress = OutcomeProgress(options.display, COLOURS, ("captioned",))
    budget = Budget(options.cost_limit)
    card = _card(options)
    opened = open_chat(card, options.chat, flag=_FLAG, budget=budget, on_retry=progress.retried)
    ready(options.data_dir)
    with progress.phase("reading the data set"):
        dataset = load_dataset(options.dataset, options.data_dir, questions=options.questions)
    shown = moments(dataset.sessions, options.participant)
    _check_participants(options.participant, [session.participant for session in dataset.sessions])
    prompt = find_prompt(options.prompt, models_dir() / "prompts" / "captions")
    empty = empty_file(
        dataset=dataset.name,
        captioner=card.name,
        prompt=prompt.label,
        identity=identity(prompt, opened.model),
    )
    aside = set_aside(options.out) if options.fresh else None
    check_out(options.out, empty)
    started, asked = time.monotonic(), Counter[str]()

    def told(done: Done) -> None:
        asked[done.source] += 1
        if done.source == "stored":
            progress.kept()

    with open_replies(options.out) as replies:
        budget.take_up(each.call for each in replies if each.call)
        stage = CaptionStage(prompt, opened.model, card, replies)

        def written() -> CaptionFile:
            captions = with_steps(empty, shown, replies, lambda moment: stage.key(moment, None))
            write_file(options.out, captions)
            return captions

        written()  # What is being written here is known from the first moment on, even if this process dies.
        try:
            with terminated_like_interrupted():
                stopped = asyncio.run(_ask(stage, shown, progress, told))
        except (KeyboardInterrupt, asyncio.CancelledError):
            stopped = INTERRUPTED
        except OSError as error:
            raise UserError(
                f"{replies.path}: writing failed: {error.strerror}. What was answered is kept; make room and run the "
                "same command again."
            ) from error
        captions = written()
        known = [each.call.cost_usd for each in replies if each.call and each.call.cost_usd is not None]
    return Captioned(
        captioner=card.name,
        steps=len(shown),
        captioned=sum(step.action is not None for step in captions.steps),
        unparsed=_failed(captions, "unparsed"),
        error=_failed(captions, "error"),
        asked=asked["asked"],
        cost_usd=sum(known) if known else None,
        seconds=time.monotonic() - started,
        stopped=stopped,
        set_aside=aside,
    )


async def _ask(
    stage: CaptionStage,
    shown: Sequence[Moment],
    progress: OutcomeProgress,
    told: Callable[[Done], None],
) -> str:
    def through(_moment: Moment, last: Any) -> None:
        progress.count(last.failure.kind if isinstance(last, Caption) and last.failure else "captioned")

    runner = Runner[Moment]((stage,), on_record=told, on_item=through)
    try:
        if any(stage.journal.settled(moment.step_id, stage.key(moment, None)) is None for moment in shown):
            await stage.model.check()
        with progress.steps(len(shown)):
            stopped = await runner.run(shown)
    finally:
        await stage.model.aclose()
    return stopped.reason if stopped else ""


def _card(options: CaptionOptions) -> PlannerCard:
    """The captioner's card with the prompt for captions; refused where it can't do what is asked.

    Raises:
        UserError: says what is wrong.
    """
    card = find_card(options.captioner, models_dir() / "planners", PlannerCard, builtin=(), kind="planner")
    today, own_address = today_utc(), options.chat.base_url is not None
    if has_retired(card, today) and not own_address:
        instead = f"use --captioner {card.successor}, or " if card.successor else "use "
        raise UserError(
            f"{card.name} ({card.title}) retired on {card.retires}: {card.endpoint.base_url} no longer has "
            f"{card.model}; {instead}another endpoint that has it with {_FLAG} URL"
        )
    told = warning(card, today, own_address=own_address)
    if told:
        print(f"grounding: {told}", file=sys.stderr, flush=True)
    if options.chat.temperature is not None and "temperature" not in card.takes:
        raise UserError(f"--temperature: {card.name} takes no temperature; leave it out")
    if options.cost_limit is not None and card.price is None:
        raise UserError(f"--cost-limit: the card of {card.name} states no price (field price), so no limit can be kept")
    card = with_model(card, options.model, options.chat.base_url, flag=_FLAG, name_flag="--model")
    return captioner_card(card, find_prompt(options.prompt, models_dir() / "prompts" / "captions"))


def _check_participants(wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise UserError(f"--participant {name}: the data set has {', '.join(known)}")


def _failed(captions: CaptionFile, kind: str) -> int:
    return sum(step.failure is not None and step.failure.kind == kind for step in captions.steps)

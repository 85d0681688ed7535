"""A shop in, figures on its profiles out: questions drawn, judged, and the answers kept where they cost money."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from grounding.budget import Budget
from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.interrupts import terminated_like_interrupted
from grounding.journal import Journal
from grounding.lockedfolder import LockedFolder
from grounding.options import Display
from grounding.records import Record
from grounding.webagents.asking import (
    INTERRUPTED,
    Tally,
    last_answer,
    new_progress,
    open_model,
    run_stage,
    tally,
)
from grounding.webagents.personalwab.construction.consistency import (
    ConsistencyFigure,
    Questions,
    Ranking,
    consistency_figures,
    draw_questions,
)
from grounding.webagents.personalwab.construction.judges import (
    ChatJudge,
    Shown,
    consistency_prompts,
    rank_by_likeness,
)
from grounding.webagents.personalwab.loader import read_shop
from grounding.webagents.personalwab.records import ShopDataset

SIMILARITY = "similarity"
FIGURES, REPLIES = "consistency.json", "replies.jsonl"


class JudgeOptions(Record, frozen=True, kw_only=True):
    """The options of ``grounding shop profiles``; see its ``--help``."""

    data_dir: Path
    by: str = SIMILARITY
    out: Path | None = None
    users: int | None = None
    behaviours: int = 20
    seed: int = 0
    model: str | None = None
    chat: ChatOptions = ChatOptions()
    cost_limit: float | None = None
    display: Display | None = None


class Consistency(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The figures, and what they are of."""

    dataset: str
    fingerprint: str
    by: str
    prompts: str
    seed: int
    behaviours: int
    figures: tuple[ConsistencyFigure, ...]
    without_profile: int
    too_few: int
    unparsed: int = 0
    cost_usd: float | None = None


class Judged(Record, frozen=True, kw_only=True):
    """What became of a run; ``tally`` is None where no model was asked."""

    consistency: Consistency
    tally: Tally | None = None
    stopped: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be asked."""
        return not self.stopped and (self.tally is None or self.tally.complete)


def judge_profiles(options: JudgeOptions) -> Judged:
    """Draw the questions, have them judged, and work the figures out.

    Raises:
        UserError: something is missing or wrong, or the disk failed (what was answered is kept).
    """
    progress = new_progress(options.display, "questions")
    with progress.phase("reading the data set"):
        dataset = read_shop(options.data_dir, name=options.data_dir.resolve().name)
    questions = draw_questions(dataset.users, dataset.products, seed=options.seed, limit=options.users)
    shown = Shown(dataset, consistency_prompts(), options.behaviours)
    if options.by == SIMILARITY:
        from grounding.webagents.personalwab.similarity import sentence_model

        with progress.phase("embedding behaviours and products"):
            rankings = rank_by_likeness(questions.asked, shown, sentence_model().encode)
        found = _consistency(options, dataset, questions, rankings, by=sentence_model().identity)
        if options.out is not None:
            folder = _folder(options.out)
            try:
                folder.replace(FIGURES, msgspec.json.format(msgspec.json.encode(found), indent=2))
            finally:
                folder.release()
        return Judged(consistency=found)
    if options.out is None:
        raise UserError(
            f"--by {options.by}: give a folder for the replies with --out, so that nothing is paid for twice"
        )
    return _ask(options, options.out, dataset, questions, shown)


def _ask(options: JudgeOptions, out: Path, dataset: ShopDataset, questions: Questions, shown: Shown) -> Judged:
    budget = Budget(options.cost_limit)
    progress = new_progress(options.display, "questions")
    opened = open_model(
        options.by,
        options.chat,
        model=options.model,
        cost_limit=options.cost_limit,
        budget=budget,
        progress=progress,
        option="--by",
    )
    folder = _folder(out)
    try:
        journal = Journal(out / REPLIES, Ranking)
        try:
            budget.take_up(made.call for made in journal.every() if made.call is not None)
            stage = ChatJudge(opened.model, opened.card, shown, journal)
            stopped = ""

            async def through() -> None:
                nonlocal stopped
                try:
                    stopped = (await run_stage(stage, questions.asked, progress, stage.check)).stopped
                finally:
                    await opened.model.aclose()

            try:
                with terminated_like_interrupted():
                    asyncio.run(through())
            except (KeyboardInterrupt, asyncio.CancelledError):
                stopped = INTERRUPTED
            except OSError as error:
                raise UserError(
                    f"{out / REPLIES}: writing failed: {error.strerror}. What was answered is kept; make room and run "
                    "the same command again."
                ) from error
            counted = tally(stage, questions.asked)
            answers = {one.id: last_answer(stage, one) for one in questions.asked}
            costs = [made.call.cost_usd for made in journal.every() if made.call and made.call.cost_usd is not None]
        finally:
            journal.close()
        rankings = {name: answer for name, answer in answers.items() if answer is not None}
        found = _consistency(options, dataset, questions, rankings, by=f"{opened.card.name} ({opened.card.model})")
        found = msgspec.structs.replace(found, unparsed=counted.unparsed, cost_usd=sum(costs) if costs else None)
        folder.replace(FIGURES, msgspec.json.format(msgspec.json.encode(found), indent=2))
    finally:
        folder.release()
    return Judged(consistency=found, tally=counted, stopped=stopped)


def _folder(out: Path) -> LockedFolder:
    """The folder for what is kept, made and locked.

    Raises:
        UserError: it holds something else, or can't be made.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file: give a folder")
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in (FIGURES, REPLIES)):
        raise UserError(f"--out {out}: holds something else: choose another folder")
    folder = LockedFolder(out, what="the folder", flag="--out")
    folder.create()
    return folder


def _consistency(
    options: JudgeOptions, dataset: ShopDataset, questions: Questions, rankings: Mapping[str, Ranking], *, by: str
) -> Consistency:
    return Consistency(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        by=by,
        prompts=consistency_prompts().label,
        seed=options.seed,
        behaviours=options.behaviours,
        figures=consistency_figures(questions.asked, rankings, seed=options.seed),
        without_profile=questions.without_profile,
        too_few=questions.too_few,
    )

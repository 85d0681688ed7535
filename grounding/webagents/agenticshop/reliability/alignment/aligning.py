"""Raw users and profiles in, figures out: pairs drawn, compared, and the answers kept where they cost money."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from grounding.budget import Budget
from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.interrupts import terminated_like_interrupted
from grounding.journal import Journal
from grounding.lockedfolder import LockedFolder
from grounding.options import Display
from grounding.records import Record
from grounding.webagents.agenticshop.loader import read_curation
from grounding.webagents.agenticshop.records import CurationTask
from grounding.webagents.agenticshop.reliability.alignment.comparing import OVERLAP, ChatComparer, choose_by_overlap
from grounding.webagents.agenticshop.reliability.alignment.figures import AlignmentFigure, alignment_figures
from grounding.webagents.agenticshop.reliability.alignment.pairs import RAW_FILES, Source, draw_pairs
from grounding.webagents.agenticshop.reliability.alignment.records import Choice, Comparison, Draw
from grounding.webagents.agenticshop.reliability.alignment.texts import alignment_prompts, described
from grounding.webagents.agenticshop.scenarios import row_of
from grounding.webagents.asking import INTERRUPTED, Tally, last_answer, new_progress, open_model, run_stage, tally
from grounding.webagents.rawusers import RawUser, read_raw_users

FIGURES, REPLIES = "alignment.json", "choices.jsonl"
NO_MODEL = "none"


class AlignOptions(Record, frozen=True, kw_only=True):
    """The options of ``grounding curation align``; see its ``--help``."""

    raw: Path
    profiles: Path
    by: str = NO_MODEL
    out: Path | None = None
    per_user: int = 1
    source: Source = "all"
    orders: Literal["both", "one"] = "both"
    seed: int = 0
    model: str | None = None
    chat: ChatOptions = ChatOptions()
    cost_limit: float | None = None
    display: Display | None = None


class Alignment(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The figures, and what they are of."""

    dataset: str
    fingerprint: str
    by: str
    prompts: str
    seed: int
    source: Source
    orders: Literal["both", "one"]
    pairs: int
    in_context: int
    same_rating: int
    without_history: int
    too_few: int
    figures: tuple[AlignmentFigure, ...]
    unparsed: int = 0
    cost_usd: float | None = None


class Aligned(Record, frozen=True, kw_only=True):
    """What became of a run; ``tally`` is None where no model was asked."""

    alignment: Alignment
    tally: Tally | None = None
    stopped: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be asked."""
        return not self.stopped and (self.tally is None or self.tally.complete)


def align(options: AlignOptions) -> Aligned:
    """Draw pairs, have them compared, and work the figures out.

    Raises:
        UserError: something is missing or wrong, or the disk failed (what was answered is kept).
    """
    dataset = read_curation(options.profiles)
    histories = read_histories(options.raw)
    drawn = draw_pairs(dataset.tasks, histories, per_user=options.per_user, source=options.source, seed=options.seed)
    if not drawn.pairs:
        raise UserError(
            f"--raw {options.raw}: no pair: {drawn.without_history} users are not in its files, {drawn.same_rating} "
            f"rated everything alike, {drawn.too_few} have fewer than two products to draw from"
        )
    both = options.orders == "both" and options.by != NO_MODEL
    comparisons = make_comparisons(dataset.tasks, histories, drawn, both_orders=both)
    base = Alignment(
        dataset=str(options.profiles),
        fingerprint=dataset.fingerprint,
        by=OVERLAP,
        prompts=alignment_prompts().label,
        seed=options.seed,
        source=options.source,
        orders="both" if both else "one",
        pairs=len(drawn.pairs),
        in_context=sum(pair.in_context for pair in drawn.pairs),
        same_rating=drawn.same_rating,
        without_history=drawn.without_history,
        too_few=drawn.too_few,
        figures=(),
    )
    if options.by != NO_MODEL:
        if options.out is None:
            raise UserError(
                f"--by {options.by}: give a folder for the replies with --out, so that nothing is paid for twice"
            )
        return _ask(options, options.out, base, comparisons)
    figures = alignment_figures(comparisons, choose_by_overlap(comparisons), seed=options.seed)
    found = msgspec.structs.replace(base, figures=figures)
    if options.out is not None:
        folder = _folder(options.out)
        try:
            _write(folder, found)
        finally:
            folder.release()
    return Aligned(alignment=found)


def read_histories(raw: Path) -> dict[str, dict[str, RawUser]]:
    """Raw users by the paper's domain and their id, as far as there are files.

    Raises:
        UserError: there is none of the files, or one is damaged.
    """
    files = {domain: raw / name for domain, name in RAW_FILES.items() if (raw / name).is_file()}
    if not files:
        raise UserError(f"--raw {raw}: none of {', '.join(RAW_FILES.values())} in it; give the folder of raw users")
    return {domain: {user.id: user for user in read_raw_users(path)} for domain, path in files.items()}


def make_comparisons(
    tasks: Sequence[CurationTask],
    histories: Mapping[str, Mapping[str, RawUser]],
    drawn: Draw,
    *,
    both_orders: bool,
) -> tuple[Comparison, ...]:
    """Every question: each pair by each description of its user, in both orders or in the one that was drawn."""
    of_user: dict[tuple[str, str], list[CurationTask]] = {}
    for task in tasks:
        of_user.setdefault((row_of(task.scenario).domain, task.user), []).append(task)
    found = []
    for pair in drawn.pairs:
        user = histories[pair.domain][pair.user]
        second: Literal["lower", "higher"] = "higher" if pair.first == "lower" else "lower"
        for one in described(of_user[pair.domain, pair.user], user, pair):
            for order in (pair.first, second) if both_orders else (pair.first,):
                found.append(
                    Comparison(
                        pair=pair,
                        described=one,
                        lower=user.reviews[pair.lower],
                        higher=user.reviews[pair.higher],
                        order=order,
                    )
                )
    return tuple(found)


def _ask(options: AlignOptions, out: Path, base: Alignment, comparisons: Sequence[Comparison]) -> Aligned:
    budget = Budget(options.cost_limit)
    progress = new_progress(options.display, "comparisons")
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
        journal = Journal(out / REPLIES, Choice)
        try:
            budget.take_up(made.call for made in journal.every() if made.call is not None)
            stage = ChatComparer(opened.model, opened.card, journal)
            stopped = ""

            async def through() -> None:
                nonlocal stopped
                try:
                    stopped = (await run_stage(stage, comparisons, progress, stage.check)).stopped
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
            counted = tally(stage, comparisons)
            answers = {one.id: last_answer(stage, one) for one in comparisons}
            costs = [made.call.cost_usd for made in journal.every() if made.call and made.call.cost_usd is not None]
        finally:
            journal.close()
        choices = {name: answer for name, answer in answers.items() if answer is not None}
        found = msgspec.structs.replace(
            base,
            by=f"{opened.card.name} ({opened.card.model})",
            figures=alignment_figures(comparisons, choices, seed=options.seed),
            unparsed=counted.unparsed,
            cost_usd=sum(costs) if costs else None,
        )
        _write(folder, found)
    finally:
        folder.release()
    return Aligned(alignment=found, tally=counted, stopped=stopped)


def _write(folder: LockedFolder, found: Alignment) -> None:
    folder.replace(FIGURES, msgspec.json.format(msgspec.json.encode(found), indent=2))


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

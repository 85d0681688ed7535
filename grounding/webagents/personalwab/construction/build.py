"""Real reviews in, a shop's folder out: users drawn, profiles and instructions written, the release's files made.

The folder holds, beside the files of the shop: ``made-with.json`` (what it was made of, with what, and how far it is)
and ``work/`` (the drawn users and every reply), from which the same command goes on.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from grounding import __version__
from grounding.budget import Budget
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.interrupts import terminated_like_interrupted
from grounding.journal import Journal
from grounding.lockedfolder import LockedFolder
from grounding.records import Call, Record
from grounding.webagents.asking import (
    INTERRUPTED,
    last_answer,
    new_progress,
    open_model,
    run_stage,
    tally,
)
from grounding.webagents.personalwab.construction.agenticshop import select_from_agenticshop
from grounding.webagents.personalwab.construction.amazon import find_categories, select_from_amazon
from grounding.webagents.personalwab.construction.jobs import instruction_jobs, profile_subjects
from grounding.webagents.personalwab.construction.recipe import (
    BY_MODEL,
    BY_RULES,
    MADE_WITH,
    WORK,
    BuildOptions,
    MadeWith,
    Recipe,
    ShopCounts,
    SourceFile,
    check_folder,
)
from grounding.webagents.personalwab.construction.records import (
    CATEGORIES,
    Job,
    MadeInstruction,
    MadeProfile,
    ProfileSubject,
    Selection,
)
from grounding.webagents.personalwab.construction.stages import InstructionStage, ProfileStage
from grounding.webagents.personalwab.construction.wording import construction_prompts
from grounding.webagents.personalwab.construction.writers import TEMPLATE, ChatWriter, TemplateWriter, Writer
from grounding.webagents.personalwab.construction.writing import write_shop
from grounding.webagents.personalwab.records import Profile


class Built(Record, frozen=True, kw_only=True):
    """What became of a run."""

    made: MadeWith
    asked: int
    seconds: float
    stopped: str = ""
    set_aside: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be asked."""
        return self.made.status == "complete"


def build_shop(options: BuildOptions) -> Built:
    """Make a shop, or go on where an earlier run stopped.

    Raises:
        UserError: something is missing or wrong, or the disk failed (what was answered is kept).
    """
    started = time.monotonic()
    budget = Budget(options.cost_limit)
    progress = new_progress(options.display, "users")
    prompts = construction_prompts(options.prompt)
    source = _source(options)
    opened = None
    if options.writer != TEMPLATE:
        opened = open_model(
            options.writer,
            options.chat,
            model=options.model,
            cost_limit=options.cost_limit,
            budget=budget,
            progress=progress,
            option="--writer",
        )
    recipe = Recipe(
        source=source.kind,
        files=tuple(SourceFile(name=path.name, size_bytes=path.stat().st_size) for path in source.files),
        sampling=options.sampling,
        per_purchase=options.per_purchase,
        profile_from=options.profile_from,
        profile_behaviours=options.profile_behaviours,
        writer=TEMPLATE if opened is None else f"{opened.card.name} ({opened.card.model})",
        prompts=prompts.label,
        parameters={} if opened is None else dict(opened.model.parameters),
    )
    folder = LockedFolder(options.out, what="the shop's folder", flag="--out")
    aside = folder.set_aside() if options.fresh else None
    check_folder(options.out, recipe)
    folder.create()
    try:
        begun = MadeWith(
            status="started",
            recipe=recipe,
            written_by=BY_RULES if opened is None else BY_MODEL,
            version=__version__,
        )
        if not (options.out / MADE_WITH).exists():
            _write_made_with(folder, begun)
        work = options.out / WORK
        work.mkdir(exist_ok=True)
        selection = _selection(options, source, work, progress)
        writer: Writer
        if opened is None:
            writer = TemplateWriter(prompts, selection.products, options.sampling.seed)
        else:
            writer = ChatWriter(opened.model, opened.card, prompts, selection.products)
        made, asked, stopped = _write_all(options, folder, begun, selection, writer, budget, progress)
    finally:
        folder.release()
    return Built(made=made, asked=asked, seconds=time.monotonic() - started, stopped=stopped, set_aside=aside)


class _Source(Record, frozen=True, kw_only=True):
    kind: str
    files: tuple[Path, ...]


def _source(options: BuildOptions) -> _Source:
    if (options.reviews is None) == (options.agenticshop is None):
        raise UserError(
            "give one source: --reviews DIR (JSONL files of Amazon-Reviews-2023) or --agenticshop DIR (AgenticShop's "
            "raw users)"
        )
    if options.reviews is not None:
        found = find_categories(options.reviews, options.category or CATEGORIES)
        return _Source(kind="amazon", files=tuple(path for one in found for path in (one.reviews, one.products)))
    if options.category:
        raise UserError("--category: AgenticShop's raw users lie in files of several categories; leave it out")
    folder = options.agenticshop or Path()
    files = tuple(sorted(folder.glob("*.json"))) if folder.is_dir() else ()
    if not files:
        raise UserError(f"--agenticshop {folder}: no .json files in it; give AgenticShop's folder of raw users")
    return _Source(kind="agenticshop", files=files)


def _selection(options: BuildOptions, source: _Source, work: Path, progress: OutcomeProgress) -> Selection:
    path = work / "selection.json"
    if path.exists():
        try:
            return msgspec.json.decode(path.read_bytes(), type=Selection)
        except msgspec.DecodeError as error:
            raise UserError(f"{path}: damaged ({error}); delete it to have the users drawn again") from None

    def told(words: str) -> None:
        if options.display == "plain":
            print(words, file=sys.stderr, flush=True)

    if source.kind == "amazon" and options.reviews is not None:
        found = find_categories(options.reviews, options.category or CATEGORIES)
        with progress.phase("reading reviews and products"):
            selection = select_from_amazon(found, options.sampling, told)
    else:
        with progress.phase("reading users"):
            selection = select_from_agenticshop(options.agenticshop or Path(), options.sampling)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(msgspec.json.encode(selection))
    temporary.replace(path)
    return selection


def _write_all(
    options: BuildOptions,
    folder: LockedFolder,
    begun: MadeWith,
    selection: Selection,
    writer: Writer,
    budget: Budget,
    progress: OutcomeProgress,
) -> tuple[MadeWith, int, str]:
    subjects = profile_subjects(selection.users, options.profile_from, options.profile_behaviours)
    jobs = instruction_jobs(selection.users, options.per_purchase, options.sampling.seed)
    work = options.out / WORK
    with _Journals(work) as kept:
        budget.take_up(kept.calls())
        first = ProfileStage(writer, selection.products, kept.profiles)
        profiles: dict[str, Profile] = {}
        second = InstructionStage(writer, selection.products, profiles, kept.instructions)
        asked = 0
        stopped = ""

        async def through() -> None:
            nonlocal asked, stopped
            try:
                one = await run_stage(first, subjects, progress, writer.check)
                asked, stopped = one.answers, one.stopped
                profiles.update(_profiles(first, subjects))
                if not stopped:
                    ready = [job for job in jobs if job.user_id in profiles]
                    shown = new_progress(options.display, "instructions")
                    two = await run_stage(second, ready, shown, writer.check)
                    asked, stopped = asked + two.answers, two.stopped
            finally:
                await writer.aclose()

        try:
            with terminated_like_interrupted():
                asyncio.run(through())
        except (KeyboardInterrupt, asyncio.CancelledError):
            stopped = INTERRUPTED
        except OSError as error:
            raise UserError(
                f"{work}: writing failed: {error.strerror}. What was answered is kept; make room and run the same "
                "command again."
            ) from error
        profiles.update(_profiles(first, subjects))
        ready = [job for job in jobs if job.user_id in profiles]
        texts = [(job, found.text) for job in ready if (found := last_answer(second, job)) and found.failure is None]
        write_shop(folder, selection.users, selection.products, profiles, texts)
        described, written = tally(first, subjects), tally(second, ready)
        complete = described.complete and written.complete and not stopped
        known = [call.cost_usd for call in kept.calls() if call.cost_usd is not None]
        made = msgspec.structs.replace(
            begun,
            status="complete" if complete else "partial",
            facts=selection.facts,
            counts=_counts(selection, profiles, jobs, texts),
            profiles=described,
            instructions=written,
            cost_usd=sum(known) if known else None,
        )
        _write_made_with(folder, made)
    return made, asked, stopped


class _Journals:
    """The two files of replies."""

    def __init__(self, work: Path) -> None:
        self.profiles = Journal(work / "profiles.jsonl", MadeProfile)
        self.instructions = Journal(work / "instructions.jsonl", MadeInstruction)

    def __enter__(self) -> _Journals:
        return self

    def __exit__(self, *_: object) -> None:
        self.profiles.close()
        self.instructions.close()

    def calls(self) -> Iterable[Call]:
        """What all replies took, also those that later ones took the place of."""
        for journal in (self.profiles, self.instructions):
            for made in journal.every():
                if made.call is not None:
                    yield made.call


def _profiles(stage: ProfileStage, subjects: Sequence[ProfileSubject]) -> dict[str, Profile]:
    found = {subject.user_id: last_answer(stage, subject) for subject in subjects}
    return {user: made.profile for user, made in found.items() if made is not None and made.profile is not None}


def _counts(
    selection: Selection, profiles: dict[str, Profile], jobs: Sequence[Job], texts: Sequence[tuple[Job, str]]
) -> ShopCounts:
    told = sum(
        job.type == "search" and selection.products[job.behaviour.asin].title.lower() in text.lower()
        for job, text in texts
    )
    return ShopCounts(
        users=len(selection.users),
        users_with_profile=len(profiles),
        products=len(selection.products),
        behaviours=dict(Counter(one.split for user in selection.users for one in user.behaviours)),
        wanted=dict(Counter(f"{job.split}/{job.type}" for job in jobs)),
        instructions=dict(Counter(f"{job.split}/{job.type}" for job, _ in texts)),
        titles_told=told,
    )


def _write_made_with(folder: LockedFolder, made: MadeWith) -> None:
    folder.replace(MADE_WITH, msgspec.json.format(msgspec.json.encode(made), indent=2))

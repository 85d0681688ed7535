"""Raw histories in, a folder of users out: drawn, written stage by stage, checked, in the release's files.

The folder holds, beside those files: ``made-with.json`` (what they were made of, with what, what the checks found) and
``work/`` (every reply), from which the same command goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grounding import __version__
from grounding.budget import Budget
from grounding.errors import UserError
from grounding.interrupts import terminated_like_interrupted
from grounding.lockedfolder import LockedFolder
from grounding.records import Record
from grounding.webagents.agenticshop.checklist import lint_checklist, lint_tasks
from grounding.webagents.agenticshop.construction.journals import Journals
from grounding.webagents.agenticshop.construction.making import Making, Mended
from grounding.webagents.agenticshop.construction.profiles import all_tasks, write_profiles
from grounding.webagents.agenticshop.construction.recipe import (
    BY_MODEL,
    BY_RULES,
    MADE_WITH,
    WORK,
    Checked,
    ConstructOptions,
    MadeWith,
    Recipe,
    SourceFile,
    check_folder,
)
from grounding.webagents.agenticshop.construction.records import Checklist, Domain, Subject
from grounding.webagents.agenticshop.construction.subjects import find_files, seeds_in_history, subjects_of
from grounding.webagents.agenticshop.construction.template import TEMPLATE, TemplateWriter
from grounding.webagents.agenticshop.construction.wording import ConstructionPrompts, construction_prompts
from grounding.webagents.agenticshop.construction.writers import ChatWriter, Writer
from grounding.webagents.agenticshop.pairing import check_pairing
from grounding.webagents.agenticshop.records import CurationTask
from grounding.webagents.asking import INTERRUPTED, Opened, new_progress, open_model


class Constructed(Record, frozen=True, kw_only=True):
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


def construct(options: ConstructOptions) -> Constructed:
    """Make files of users, or go on where an earlier run stopped.

    Raises:
        UserError: something is missing or wrong, or the disk failed (what was answered is kept).
    """
    started = time.monotonic()
    budget = Budget(options.cost_limit)
    prompts = construction_prompts(options.prompt)
    files = find_files(options.raw, options.scenario)
    subjects = subjects_of(
        files, seed=options.seed, users=options.users, reviews=options.reviews, official=options.official
    )
    writer, recipe = _writer(options, prompts, budget, files)
    folder = LockedFolder(options.out, what="the folder of users", flag="--out")
    aside = folder.set_aside() if options.fresh else None
    check_folder(options.out, recipe)
    folder.create()
    try:
        (options.out / WORK).mkdir(exist_ok=True)
        begun = MadeWith(
            status="started",
            recipe=recipe,
            written_by=BY_RULES if options.writer == TEMPLATE else BY_MODEL,
            version=__version__,
            skipped=subjects.skipped,
        )
        if not (options.out / MADE_WITH).exists():
            _write(folder, begun)
        mend = options.mend and writer.can_mend and not options.official
        with Journals(options.out / WORK) as kept:
            budget.take_up(kept.calls())
            making = Making(subjects.subjects, writer, kept, mend=mend)
            _carry_through(making, options)
            made = _finish(folder, begun, making, subjects.subjects, tuple(domain for domain, _ in files), prompts)
            known = [call.cost_usd for call in kept.calls() if call.cost_usd is not None]
        made = msgspec.structs.replace(made, cost_usd=sum(known) if known else None)
        _write(folder, made)
    finally:
        folder.release()
    return Constructed(
        made=made,
        asked=making.asked,
        seconds=time.monotonic() - started,
        stopped=making.stopped,
        set_aside=aside,
    )


def _carry_through(making: Making, options: ConstructOptions) -> None:
    try:
        with terminated_like_interrupted():
            asyncio.run(making.through(options.display))
    except (KeyboardInterrupt, asyncio.CancelledError):
        making.stopped = INTERRUPTED
    except OSError as error:
        raise UserError(
            f"{options.out / WORK}: writing failed: {error.strerror}. What was answered is kept; make room and run the "
            "same command again."
        ) from error
    making.collect()


def _finish(
    folder: LockedFolder,
    begun: MadeWith,
    making: Making,
    subjects: Sequence[Subject],
    domains: Sequence[Domain],
    prompts: ConstructionPrompts,
) -> MadeWith:
    """Write the files of what there is, and check them."""
    checklists, mended = making.checklists()
    wanted = set(begun.recipe.scenarios)
    scenarios = {one.name: tuple(of for of in one.scenarios if not wanted or of in wanted) for one in domains}
    tasks = all_tasks(subjects, scenarios, making.contexts, making.needs, checklists, prompts.open_query)
    write_profiles(folder, tasks, domains)
    tallies = making.tallies()
    whole = all(one.complete for one in tallies.values()) and not making.stopped
    return msgspec.structs.replace(
        begun,
        status="complete" if whole else "partial",
        written=dict(Counter(task.scenario for task in tasks)),
        asked=tallies,
        checked=_checked(subjects, tasks, making.first, mended),
    )


def _writer(
    options: ConstructOptions, prompts: ConstructionPrompts, budget: Budget, files: Sequence[tuple[Domain, Path]]
) -> tuple[Writer, Recipe]:
    writer: Writer = TemplateWriter(options.seed, prompts.open_need)
    main = queries = None
    if options.writer == TEMPLATE:
        if options.query_writer is not None:
            raise UserError("--query-writer: needs a model with --writer as well")
    else:
        main = _opened(options, options.writer, options.model, budget, "--writer")
        queries = main
        if options.query_writer is not None:
            queries = _opened(options, options.query_writer, options.query_model, budget, "--query-writer")
        writer = ChatWriter(main, queries, prompts)
    recipe = Recipe(
        files=tuple(SourceFile(name=path.name, size_bytes=path.stat().st_size) for _, path in files),
        scenarios=options.scenario,
        users=options.users,
        reviews=options.reviews,
        seed=options.seed,
        official=options.official,
        mend=options.mend,
        writer=TEMPLATE if main is None else f"{main.card.name} ({main.card.model})",
        query_writer="" if queries is None else f"{queries.card.name} ({queries.card.model})",
        prompts=prompts.label,
        parameters={} if main is None else dict(main.model.parameters),
    )
    return writer, recipe


def _opened(options: ConstructOptions, name: str, model: str | None, budget: Budget, option: str) -> Opened:
    return open_model(
        name,
        options.chat,
        model=model,
        cost_limit=options.cost_limit,
        budget=budget,
        progress=new_progress(options.display, "users"),
        option=option,
    )


def _checked(
    subjects: Sequence[Subject], tasks: Sequence[CurationTask], first: Mapping[str, Checklist], mended: Mended
) -> Checked:
    reports = check_pairing(tasks)
    return Checked(
        pairs=sum(len(report.fits) for report in reports),
        doubts=tuple(doubt for report in reports for doubt in report.doubts),
        seeds=sum(one.seed is not None for one in subjects),
        seeds_in_history=seeds_in_history(subjects),
        lint=lint_tasks(tasks),
        flagged_before=sum(len({flag.item for flag in lint_checklist(one)}) for one in first.values()),
        asked_again=mended.asked,
        mended=mended.better,
    )


def _write(folder: LockedFolder, made: MadeWith) -> None:
    folder.replace(MADE_WITH, msgspec.json.format(msgspec.json.encode(made), indent=2))

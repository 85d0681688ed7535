"""The whole error split of a run: its wrong steps, what each source says of them, and the files. Knows every room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from grounding.analysis.labels import (
    ErrorSplit,
    Labels,
    Opinion,
    ReferenceInfo,
    Wrongs,
    WrongStep,
    agreements,
    kind_counts,
    read_labels,
    read_wrongs,
    split_of,
    splits_by_participant,
)
from grounding.analysis.showing import keep_pictures, step_lines, write_split
from grounding.benchmarks.clicks.judging import (
    SOURCE,
    Judge,
    Judged,
    ask_judge,
    check_reference_run,
    open_judge,
    read_prompt,
    read_reference_answers,
    reference_opinions,
)
from grounding.benchmarks.clicks.regrounding import Overrides, Regrounded, grounder_setup, reground
from grounding.data import reference_plans
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.records import Record
from grounding.run.display import Progress
from grounding.run.folder import RunFolder, RunInfo

FOLDER = "error_split"


class JudgeChoice(Record, frozen=True, kw_only=True):
    """Which model judges, what it is told, how it is reached and what it may cost."""

    card: str
    prompt: str
    model: str | None = None
    options: ChatOptions
    cost_limit_usd: float | None = None


class Sources(Record, frozen=True, kw_only=True):
    """Who is to say which part was wrong; see ``grounding blame --help``."""

    reference: Path | None = None
    reference_run: Path | None = None
    no_reference: bool = False
    judge: JudgeChoice | None = None
    labels: tuple[Path, ...] = ()
    pictures: bool = False
    overrides: Overrides = Overrides()


class SplitResult(Record, frozen=True, kw_only=True):
    """The split, and whether the user broke off the grounding of the reference."""

    split: ErrorSplit
    interrupted: bool = False


def split_errors(path: Path, sources: Sources) -> SplitResult:
    """Ask every source that was named about the misses of a run, compare them, and write both files.

    Raises:
        UserError: the folder holds no run or another process is at work in it; no source is named and the data set
            has no reference; or a source can't be used. Says what to do.
    """
    _check(sources)
    folder = RunFolder(path)
    info = folder.read_info()
    folder.lock()
    try:
        wrongs = read_wrongs(folder)
        labels = read_labels(sources.labels, wrongs.asked, _step_ids(folder)) if sources.labels else None
        progress = Progress(sources.overrides.display)
        budget = Budget(sources.judge.cost_limit_usd if sources.judge else None)
        judge = _judge(sources.judge, budget, progress) if sources.judge else None
        regrounded = _reference(folder, info, wrongs, sources)
        judged = _judged(judge, path, wrongs.asked, budget, progress) if judge and wrongs.asked else None
        notes = _pictures(path, wrongs.asked) if sources.pictures else ()
        opinions = _opinions(wrongs, regrounded, judged, labels)
        split = _split(info, wrongs, opinions, sources, regrounded, judged, labels, notes)
        write_split(path, split, step_lines(wrongs.steps, opinions))
    finally:
        folder.release()
    return SplitResult(split=split, interrupted=regrounded is not None and regrounded.interrupted)


def _check(sources: Sources) -> None:
    given = [
        flag
        for flag, value in (
            ("--reference", sources.reference),
            ("--reference-run", sources.reference_run),
            ("--no-reference", sources.no_reference),
        )
        if value
    ]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} contradict each other: give one of them")
    if sources.judge is None:
        return
    limit, options = sources.judge.cost_limit_usd, sources.judge.options
    if limit is not None and not limit > 0:
        raise UserError(f"--cost-limit {limit}: expected US dollars, more than 0")
    if options.timeout_s is not None and not (math.isfinite(options.timeout_s) and options.timeout_s > 0):
        raise UserError(f"--timeout {options.timeout_s}: expected seconds, more than 0")
    if options.max_connections is not None and options.max_connections < 1:
        raise UserError(f"--max-connections {options.max_connections}: expected 1 or more")
    if options.max_retries < 0 or options.server_wait_s < 0:
        raise UserError("--max-retries, --server-wait: expected 0 or more")


def _step_ids(folder: RunFolder) -> dict[str, None]:
    return {step.id: None for session in folder.read_sessions() for step in session.steps}


def _reference(folder: RunFolder, info: RunInfo, wrongs: Wrongs, sources: Sources) -> Regrounded | None:
    """What the reference says; None where there is none and another source is named."""
    if sources.reference_run is not None:
        other = RunFolder(sources.reference_run)
        check_reference_run(folder, info, other, wrongs.asked)
        return Regrounded(
            answers=read_reference_answers(other, wrongs.asked),
            info=ReferenceInfo(runs=(str(other.path),)),
        )
    plans = sources.reference
    if plans is None and not sources.no_reference:
        plans = reference_plans(sources.overrides.dataset or grounder_setup(info).dataset)
    if plans is not None:
        return reground(folder, info, wrongs.asked, plans, sources.overrides)
    if sources.judge is None and not sources.labels:
        raise UserError(
            f"nobody is named who could say what was wrong with the misses of {folder.path}: the data set "
            f"{info.asked.dataset} comes with no reference instructions. Give some (--reference FILE), a run over such "
            "(--reference-run FOLDER), a judge (--judge CARD) or people's labels (--labels FILE)"
            if not sources.no_reference
            else "--no-reference leaves nobody to say what was wrong: give --judge CARD or --labels FILE"
        )
    return None


def _judge(choice: JudgeChoice, budget: Budget, progress: Progress) -> Judge:
    prompt = read_prompt(choice.prompt)
    return open_judge(choice.card, prompt, choice.options, model=choice.model, budget=budget, on_retry=progress.retried)


def _judged(judge: Judge, path: Path, wrongs: Sequence[WrongStep], budget: Budget, progress: Progress) -> Judged:
    with progress.phase(f"asking {judge.source} about {len(wrongs)} misses"):
        return ask_judge(judge, wrongs, path / FOLDER, budget)


def _pictures(path: Path, wrongs: Sequence[WrongStep]) -> tuple[str, ...]:
    folder = path / FOLDER / "pictures"
    problems = keep_pictures(folder, wrongs)
    return (f"{len(wrongs) - len(problems)} framed screenshots are in {folder}", *problems)


def _opinions(
    wrongs: Wrongs, regrounded: Regrounded | None, judged: Judged | None, labels: Labels | None
) -> dict[str, tuple[Opinion, ...]]:
    """What each source says, one opinion for each step that is asked about, in the order of the sources."""
    found: dict[str, tuple[Opinion, ...]] = {}
    if regrounded is not None:
        found[SOURCE] = reference_opinions(wrongs.asked, regrounded.answers)
    if judged is not None:
        found[judged.source] = judged.opinions
    if labels is not None:
        found.update(labels.opinions)
    return found


def _split(
    info: RunInfo,
    wrongs: Wrongs,
    opinions: dict[str, tuple[Opinion, ...]],
    sources: Sources,
    regrounded: Regrounded | None,
    judged: Judged | None,
    labels: Labels | None,
    notes: tuple[str, ...],
) -> ErrorSplit:
    to_come = any(wrong.may_change for wrong in wrongs.steps) or any(
        opinion.said == "error" for given in opinions.values() for opinion in given
    )
    if info.asked.planner == "none":
        note = "no planner: the plan is the user's own words, and reasoning is what they leave to be understood"
        notes = (note, *notes)
    if judged is not None and judged.info.plans_cut:
        notes = (*notes, f"{judged.info.plans_cut} plans were too long for the judge and shown up to a limit")
    return ErrorSplit(
        run_id=info.run_id,
        signature=info.signature,
        status="partial" if to_come else "complete",
        scored=wrongs.scored,
        hits=wrongs.hits,
        wrong=kind_counts(wrongs.steps),
        splits=tuple(split_of(source, given) for source, given in opinions.items()),
        agreement=agreements(opinions),
        participants=splits_by_participant(wrongs.asked, opinions),
        reference=None if regrounded is None else regrounded.info,
        judge=None if judged is None else judged.info,
        labels=tuple(map(str, sources.labels)),
        notes=(*notes, *(labels.notes if labels is not None else ())),
    )

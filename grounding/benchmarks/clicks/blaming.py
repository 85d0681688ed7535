"""The error split of a run: its wrong steps, what each source says of them, and the files.

A reference is asked by grounding the wrong steps once more: by the same grounder, with reference instructions. The
grounder is put together again from the options that the run keeps, and checked against what the run keeps of the
grounder's identity before anything is asked.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding.analysis.labels import (
    ErrorSplit,
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
from grounding.benchmarks.clicks.benchmark import evaluate
from grounding.benchmarks.clicks.judging import (
    SOURCE,
    ReferenceAnswer,
    ask_judge,
    check_reference_run,
    differences,
    open_judge,
    read_prompt,
    read_reference_answers,
    reference_opinion,
)
from grounding.benchmarks.clicks.preparation import prepare
from grounding.cards.functions import is_function
from grounding.cards.places import models_dir
from grounding.data import reference_plans
from grounding.errors import UserError
from grounding.grounders import card_behind
from grounding.grounders.som.card import find_som_card
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.options import Display, EvalOptions
from grounding.planners import read_plans
from grounding.records import Record
from grounding.run.building import check_numbers
from grounding.run.display import Progress
from grounding.run.folder import GrounderSetup, RunFolder, RunInfo
from grounding.run.runner import INTERRUPTED

FOLDER, REFERENCE = "error_split", "reference"


class BlameOptions(Record, frozen=True, kw_only=True):
    reference: Path | None = None
    reference_run: Path | None = None
    no_reference: bool = False
    dataset: str | None = None
    data_dir: Path | None = None
    grounder: str | None = None
    base_url: tuple[str, ...] = ()
    judge: str | None = None
    judge_base_url: str | None = None
    judge_model: str | None = None
    judge_prompt: str = "error-split"
    cost_limit: float | None = None
    labels: tuple[Path, ...] = ()
    pictures: bool = False
    max_connections: int | None = None
    timeout: float | None = None
    max_retries: int = 5
    server_wait: float = 600.0
    display: Display | None = None

    def check(self) -> None:
        """Refuse what can't be meant. Raises UserError: says which options, and why."""
        check_numbers(self)
        flags = ("reference", "reference_run", "no_reference")
        given = [f"--{name.replace('_', '-')}" for name in flags if getattr(self, name)]
        if len(given) > 1:
            raise UserError(f"{' and '.join(given)} contradict each other: give one of them")
        if self.judge is None and (self.judge_base_url is not None or self.cost_limit is not None):
            raise UserError("--judge-base-url and --cost-limit belong to a judge: name one with --judge CARD")


def split_errors(path: Path, options: BlameOptions) -> tuple[ErrorSplit, bool]:
    """Ask every source that was named about the misses of a run, compare them, and write both files.

    Returns:
        The split, and whether the user broke off the asking.

    Raises:
        UserError: the folder holds no run or another process is at work in it; no source is named and the data set
            has no reference; or a source can't be used. Says what to do.
    """
    options.check()
    folder = RunFolder(path)
    info = folder.read_info()
    folder.lock()
    try:
        return _split_errors(folder, info, options)
    finally:
        folder.release()


def _split_errors(folder: RunFolder, info: RunInfo, options: BlameOptions) -> tuple[ErrorSplit, bool]:
    wrongs, path = read_wrongs(folder), folder.path
    step_ids = {step.id: None for session in folder.read_sessions() for step in session.steps}
    labels = read_labels(options.labels, wrongs.asked, step_ids) if options.labels else None
    progress, budget = Progress(options.display), Budget(options.cost_limit)
    judge = judged = None
    if options.judge is not None:
        chat = ChatOptions(
            base_url=options.judge_base_url,
            max_connections=options.max_connections,
            timeout_s=options.timeout,
            max_retries=options.max_retries,
            server_wait_s=options.server_wait,
        )
        prompt = read_prompt(options.judge_prompt)
        judge = open_judge(
            options.judge, prompt, chat, model=options.judge_model, budget=budget, on_retry=progress.retried
        )
    reference = _reference(folder, info, wrongs, options)
    if judge is not None and wrongs.asked:
        with progress.phase(f"asking {judge.source} about {len(wrongs.asked)} misses"):
            judged = ask_judge(judge, wrongs.asked, path / FOLDER, budget)
    notes: list[str] = []
    if info.asked.planner == "none":
        notes.append("no planner: the plan is the user's own words, and reasoning is what they leave to be understood")
    if options.pictures:
        pictures = path / FOLDER / "pictures"
        problems = keep_pictures(pictures, wrongs.asked)
        notes += [f"{len(wrongs.asked) - len(problems)} framed screenshots are in {pictures}", *problems]
    opinions: dict[str, tuple[Opinion, ...]] = {}  # One for each step that is asked about, in the sources' order.
    if reference is not None:
        answers = reference.answers
        opinions[SOURCE] = tuple(reference_opinion(wrong, answers.get(wrong.step.id)) for wrong in wrongs.asked)
    if judged is not None:
        opinions[judged.source] = judged.opinions
        if cut := judged.info.plans_cut:
            notes.append(f"{cut} plans were too long for the judge and shown up to a limit")
    if labels is not None:
        opinions.update(labels.opinions)
        notes += labels.notes
    may_change = any(wrong.may_change for wrong in wrongs.steps)
    has_errors = any(opinion.said == "error" for given in opinions.values() for opinion in given)
    split = ErrorSplit(
        run_id=info.run_id,
        signature=info.signature,
        status="partial" if may_change or has_errors else "complete",
        scored=wrongs.scored,
        hits=wrongs.hits,
        wrong=kind_counts(wrongs.steps),
        splits=tuple(split_of(source, given) for source, given in opinions.items()),
        agreement=agreements(opinions),
        participants=splits_by_participant(wrongs.asked, opinions),
        reference=None if reference is None else reference.info,
        judge=None if judged is None else judged.info,
        labels=tuple(map(str, options.labels)),
        notes=tuple(notes),
    )
    write_split(path, split, step_lines(wrongs.steps, opinions))
    by_judge = judged is not None and judged.info.stopped == INTERRUPTED
    return split, by_judge or (reference is not None and reference.interrupted)


def _reference(folder: RunFolder, info: RunInfo, wrongs: Wrongs, options: BlameOptions) -> Regrounded | None:
    """What the reference says; None where there is none and another source is named."""
    if options.reference_run is not None:
        other = RunFolder(options.reference_run)
        check_reference_run(folder, info, other, wrongs.asked)
        answers = read_reference_answers(other, wrongs.asked)
        return Regrounded(answers=answers, info=ReferenceInfo(runs=(str(other.path),)))
    plans = options.reference
    if plans is None and not options.no_reference:
        plans = reference_plans(options.dataset or grounder_setup(info).dataset)
    if plans is not None:
        return reground(folder, info, wrongs.asked, plans, options)
    if options.judge is None and not options.labels:
        raise UserError(
            f"nobody is named who could say what was wrong with the misses of {folder.path}: the data set "
            f"{info.asked.dataset} comes with no reference instructions. Give some (--reference FILE), a run over such "
            "(--reference-run FOLDER), a judge (--judge CARD) or people's labels (--labels FILE)"
            if not options.no_reference
            else "--no-reference leaves nobody to say what was wrong: give --judge CARD or --labels FILE"
        )
    return None


# --- reference instructions ------------------------------------------------------------------------------------------


class Regrounded(Record, frozen=True, kw_only=True):
    """The answers to the reference instructions by step id, and where they are kept."""

    answers: dict[str, ReferenceAnswer]
    info: ReferenceInfo
    interrupted: bool = False


def reground(
    run: RunFolder, info: RunInfo, wrongs: Sequence[WrongStep], plans: Path, given: BlameOptions
) -> Regrounded:
    """Ground those wrong steps again for which the file has an instruction other than the plan itself.

    The answers are a run of their own below the run's folder: the same call again asks nothing twice. Raises UserError:
    the file or the grounder is not there, or data and grounder are not the run's; says what differs.
    """
    texts = read_plans(plans)
    found = {
        wrong.step.id: ReferenceAnswer(text=texts[wrong.step.id])
        for wrong in wrongs
        if texts.get(wrong.step.id, "").strip()
    }
    again = [wrong for wrong in wrongs if wrong.step.id in found and found[wrong.step.id].text != wrong.plan]
    found |= _answered_before(_kept_runs(run), info, again, texts)
    left = [wrong for wrong in again if found[wrong.step.id].verdict is None]
    interrupted = False
    if left:
        options = reference_options(run, info, left, plans, given)
        _check_same(info, left, options)
        scored = evaluate(options)
        interrupted = scored.info.stopped == INTERRUPTED
        found |= read_reference_answers(RunFolder(scored.folder), left)
    about = ReferenceInfo(plans=str(plans), runs=tuple(str(folder.path) for folder in _kept_runs(run)))
    return Regrounded(answers=found, info=about, interrupted=interrupted)


def _kept_runs(run: RunFolder) -> list[RunFolder]:
    return [RunFolder(path.parent) for path in sorted((run.path / FOLDER / REFERENCE).glob("*/run.json"))]


def _answered_before(
    kept: Sequence[RunFolder], info: RunInfo, wrongs: Sequence[WrongStep], texts: Mapping[str, str]
) -> dict[str, ReferenceAnswer]:
    """What earlier reference runs hold for these steps: of the same grounder, data and words, and no error. A run that
    went on has other misses than before; those that it had before are not asked about again.
    """
    found = {}
    for run in kept:
        steps = {step.id: step for session in run.read_sessions() for step in session.steps}
        covered = [wrong for wrong in wrongs if wrong.step.id in steps]
        if differences(info.asked, run.read_info().asked, covered, steps):
            continue
        for step_id, answer in read_reference_answers(run, covered).items():
            settled = answer.verdict is not None and answer.verdict.outcome != "error"
            if settled and answer.text == texts[step_id]:
                found[step_id] = answer
    return found


def reference_options(
    run: RunFolder, info: RunInfo, wrongs: Sequence[WrongStep], plans: Path, given: BlameOptions
) -> EvalOptions:
    """The options of ``grounding eval`` that ground these steps with other words. Raises UserError: the run's answers
    were recorded elsewhere, or by a function that the user has to name again.
    """
    asked, setup = info.asked, grounder_setup(info)
    if setup.predictions is not None or setup.grounder == "replay":
        raise UserError(
            f"{run.path}: the run's answers were recorded elsewhere (--predictions), so its grounder can't be asked "
            "again. Record answers to the reference instructions too, score them with grounding eval, and give that "
            "run: --reference-run FOLDER"
        )
    history = asked.history if "{history}" in asked.grounder_identity else 0  # The planner alone may have been told.
    grounder, address = given.grounder or setup.grounder, given.base_url or setup.base_url
    if given.grounder is None and is_function(grounder):
        # A folder from elsewhere must not make this machine run code that it names.
        raise UserError(f"{run.path}: the run's grounder is a function of your own: name it, --grounder {grounder}")
    kept: dict[str, Any] = {
        name: getattr(setup, name) for name in GrounderSetup.__struct_fields__ if name in EvalOptions.__struct_fields__
    }
    return EvalOptions(
        **{
            **kept,
            "dataset": given.dataset or setup.dataset,
            "data_dir": given.data_dir or (Path(setup.data_dir) if setup.data_dir else None),
            "grounder": grounder,
            "base_url": address,
            # The planner of the run may have been the one who took it.
            "temperature": setup.temperature if _takes_temperature(grounder, address) else None,
            "history": history,
            "history_scope": asked.history_scope if history else "session",
            "history_file": setup.history_file if history else None,
            "plans": plans,
            "participant": tuple(dict.fromkeys(wrong.step.participant for wrong in wrongs)),
            "sample_id": tuple(wrong.step.id for wrong in wrongs),
            "max_connections": given.max_connections,
            "timeout": given.timeout,
            "max_retries": given.max_retries,
            "server_wait": given.server_wait,
            "no_report": True,
            "no_probe": True,  # The identity is that of a grounder that was probed before the run.
            "log_dir": run.path / FOLDER / REFERENCE,
            "command": f"grounding blame {shlex.quote(str(run.path))}",
        }
    )


def grounder_setup(info: RunInfo) -> GrounderSetup:
    """How to come by the run's data and grounder; of a run of an older version only what its names tell."""
    asked = info.asked
    return info.setup or GrounderSetup(dataset=asked.dataset, grounder=asked.grounder.partition(":")[0])


def _takes_temperature(grounder: str, address: Sequence[str]) -> bool:
    found = card_behind(grounder, models_dir() / "grounders", " ".join(address) or None)
    card = found or find_som_card(grounder, models_dir() / "pipelines")
    return card is not None and "temperature" in card.takes


def _check_same(info: RunInfo, wrongs: Sequence[WrongStep], options: EvalOptions) -> None:
    prepared = prepare(options, Budget(None), Progress(options.display))
    steps = {step.id: step for session in prepared.dataset.sessions for step in session.steps}
    found = differences(info.asked, prepared.asked, wrongs, steps)
    if found:
        raise UserError(
            "the wrong steps can't be grounded again as the run did it:\n"
            + "\n".join(f"- {difference}" for difference in found)
            + "\nSay what has moved (--grounder CARD, --data-dir DIR), or give a run of the same grounder over "
            "reference instructions: --reference-run FOLDER"
        )

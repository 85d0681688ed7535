"""The wrong steps of a run, grounded once more: by the same grounder, with reference instructions.

The grounder is put together again from the options that the run keeps, and checked against what the run keeps of the
grounder's identity before anything is asked.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding.analysis.labels import ReferenceInfo, WrongStep
from grounding.benchmarks.clicks.benchmark import evaluate
from grounding.benchmarks.clicks.judging import ReferenceAnswer, differences, read_reference_answers, reference_folder
from grounding.benchmarks.clicks.preparation import prepare
from grounding.cards.functions import is_function
from grounding.cards.places import models_dir
from grounding.errors import UserError
from grounding.grounders import card_behind
from grounding.grounders.som.card import find_som_card
from grounding.llm.budget import Budget
from grounding.options import Display, EvalOptions
from grounding.planners import read_plans
from grounding.records import Record
from grounding.run.display import Progress
from grounding.run.folder import GrounderSetup, RunFolder, RunInfo
from grounding.run.runner import INTERRUPTED
from grounding.serving.managed import MANAGED


class Overrides(Record, frozen=True, kw_only=True):
    """What the user says anew; None and () leave a thing as the run had it."""

    dataset: str | None = None
    data_dir: Path | None = None
    grounder: str | None = None
    base_url: tuple[str, ...] = ()
    max_connections: int | None = None
    timeout: float | None = None
    max_retries: int = 5
    server_wait: float = 600.0
    display: Display | None = None


class Regrounded(Record, frozen=True, kw_only=True):
    """The answers to the reference instructions by step id, and where they are kept."""

    answers: dict[str, ReferenceAnswer]
    info: ReferenceInfo
    interrupted: bool = False


def reground(
    run: RunFolder, info: RunInfo, wrongs: Sequence[WrongStep], plans: Path, overrides: Overrides
) -> Regrounded:
    """Ground those wrong steps again for which the file has an instruction other than the plan itself.

    The answers are a run of their own below the run's folder: the same call again asks nothing twice.

    Raises:
        UserError: the file or the grounder is not there, or data and grounder are not the run's; says what differs.
    """
    texts = read_plans(plans)
    found = {
        wrong.step.id: ReferenceAnswer(step_id=wrong.step.id, text=texts[wrong.step.id])
        for wrong in wrongs
        if texts.get(wrong.step.id, "").strip()
    }
    again = [wrong for wrong in wrongs if wrong.step.id in found and found[wrong.step.id].text != wrong.plan]
    found |= _answered_before(run, info, again, texts)
    left = [wrong for wrong in again if found[wrong.step.id].verdict is None]
    interrupted = False
    if left:
        options = reference_options(run, info, left, plans, overrides)
        progress = Progress(overrides.display)
        _check_same(info, left, options, progress)
        scored = evaluate(options)
        interrupted = scored.info.stopped == INTERRUPTED
        found |= read_reference_answers(RunFolder(scored.folder), left)
    return Regrounded(
        answers=found,
        info=ReferenceInfo(plans=str(plans), runs=tuple(str(folder.path) for folder in _kept_runs(run))),
        interrupted=interrupted,
    )


def _kept_runs(run: RunFolder) -> list[RunFolder]:
    """The reference runs below a run's folder."""
    return [RunFolder(path.parent) for path in sorted(reference_folder(run.path).glob("*/run.json"))]


def _answered_before(
    run: RunFolder, info: RunInfo, wrongs: Sequence[WrongStep], texts: Mapping[str, str]
) -> dict[str, ReferenceAnswer]:
    """What earlier reference runs hold for these steps: of the same grounder, data and words, and no error.

    A run that went on has other misses than before; those that it had before are not asked about again.
    """
    found = {}
    for kept in _kept_runs(run):
        steps = {step.id: step for session in kept.read_sessions() for step in session.steps}
        covered = [wrong for wrong in wrongs if wrong.step.id in steps]
        if differences(info.asked, kept.read_info().asked, covered, steps):
            continue
        for step_id, answer in read_reference_answers(kept, covered).items():
            settled = answer.verdict is not None and answer.verdict.outcome != "error"
            if settled and answer.text == texts[step_id]:
                found[step_id] = answer
    return found


def reference_options(
    run: RunFolder, info: RunInfo, wrongs: Sequence[WrongStep], plans: Path, overrides: Overrides
) -> EvalOptions:
    """The options of ``grounding eval`` that ground these steps with other words.

    Raises:
        UserError: the run's answers were recorded elsewhere, or by a function that the user has to name again.
    """
    asked, setup = info.asked, grounder_setup(info)
    if setup.predictions is not None or setup.grounder == "replay":
        raise UserError(
            f"{run.path}: the run's answers were recorded elsewhere (--predictions), so its grounder can't be asked "
            "again. Record answers to the reference instructions too, score them with grounding eval, and give that "
            "run: --reference-run FOLDER"
        )
    history = asked.history if "{history}" in asked.grounder_identity else 0  # The planner alone may have been told.
    grounder, address = overrides.grounder or setup.grounder, overrides.base_url or setup.base_url
    if overrides.grounder is None and is_function(grounder):
        # A folder from elsewhere must not make this machine run code that it names.
        raise UserError(f"{run.path}: the run's grounder is a function of your own: name it, --grounder {grounder}")
    given: dict[str, Any] = {
        name: getattr(setup, name) for name in GrounderSetup.__struct_fields__ if name in EvalOptions.__struct_fields__
    }
    return EvalOptions(
        **{
            **given,
            "dataset": overrides.dataset or setup.dataset,
            "data_dir": overrides.data_dir or (Path(setup.data_dir) if setup.data_dir else None),
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
            "max_connections": overrides.max_connections,
            "timeout": overrides.timeout,
            "max_retries": overrides.max_retries,
            "server_wait": overrides.server_wait,
            "no_report": True,
            "no_probe": True,  # The identity is that of a grounder that was probed before the run.
            "log_dir": reference_folder(run.path),
            "command": f"grounding blame {shlex.quote(str(run.path))}",
        }
    )


def grounder_setup(info: RunInfo) -> GrounderSetup:
    """How to come by the run's data and grounder; for a run of an older version, what can be told from its names."""
    if info.setup is not None:
        return info.setup
    asked = info.asked
    return GrounderSetup(
        dataset=asked.dataset,
        data_dir=info.data_dir or None,
        questions=asked.questions or None,
        history_file=asked.history_file or None,
        grounder=asked.grounder.partition(":")[0],
        base_url=tuple(each for each in asked.base_url.split(" ") if each not in ("", MANAGED)),
        seed=asked.seed or None,
    )


def _takes_temperature(grounder: str, address: Sequence[str]) -> bool:
    found = card_behind(grounder, models_dir() / "grounders", " ".join(address) or None)
    card = found or find_som_card(grounder, models_dir() / "pipelines")
    return card is not None and "temperature" in card.takes


def _check_same(info: RunInfo, wrongs: Sequence[WrongStep], options: EvalOptions, progress: Progress) -> None:
    """Prepare the second run and compare it with the first, before anything is asked."""
    prepared = prepare(options, Budget(None), progress)
    steps = {step.id: step for session in prepared.dataset.sessions for step in session.steps}
    found = differences(info.asked, prepared.asked, wrongs, steps)
    if found:
        raise UserError(
            "the wrong steps can't be grounded again as the run did it:\n"
            + "\n".join(f"- {difference}" for difference in found)
            + "\nSay what has moved (--grounder CARD, --data-dir DIR), or give a run of the same grounder over "
            "reference instructions: --reference-run FOLDER"
        )

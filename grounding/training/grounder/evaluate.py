"""A fold's held-out steps, asked of the base model and of the tuned one by the evaluation itself."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.options import EvalOptions
from grounding.records import Record
from grounding.runfolder import RunFolder, RunInfo
from grounding.scorebook import Scored, read_run, scored_tasks
from grounding.serving import ServerOptions, check_servable, check_weights, running_servers, server_command
from grounding.serving.command import LOOPBACK
from grounding.serving.machine import consecutive_ports
from grounding.training.grounder.asked import GrounderTraining
from grounding.training.grounder.pooled import FoldScores
from grounding.training.grounder.records import GrounderRecipe
from grounding.training.grounder.split import Split

EVALUATION = "evaluation"

Evaluate = Callable[[EvalOptions], Scored]
"""``grounding eval`` with these options, to a scored run folder; what is answered already is not asked again."""


class Evaluated(Record, frozen=True, kw_only=True):
    """Both runs over a fold's held-out steps; ``tuned`` is None where the base's was broken off."""

    base: Scored
    tuned: Scored | None

    @property
    def stopped(self) -> str:
        """Why one of them stopped early, or nothing."""
        return self.base.info.stopped or (self.tuned.info.stopped if self.tuned is not None else "")

    @property
    def is_complete(self) -> bool:
        """Whether every held-out step has an answer of both."""
        return self.tuned is not None and {self.base.summary.status, self.tuned.summary.status} == {"complete"}


class EvaluationPlan(Record, frozen=True, kw_only=True):
    """What is evaluated: the asked card on the weights that were tuned, and the tuned card.

    ``base_card`` is the card that the user named, with its own prompt: what there was before the training.
    ``checkpoint`` is the folder of the weights.
    """

    asked: GrounderTraining
    recipe: GrounderRecipe
    split: Split
    fold: Path
    base_card: GrounderCard
    checkpoint: Path
    tuned_card: GrounderCard
    adapter: Path


def evaluate_fold(plan: EvaluationPlan, evaluate: Evaluate) -> Evaluated:
    """Evaluate both, the base first. Runs that are complete are read from their folders and nothing is started.

    Raises:
        UserError: as for the evaluation, and where a server is asked for and can't be started.
    """
    done = _done(plan)
    if done is not None:
        return done
    with _served(plan, plan.base_card, plan.tuned_card) as address:
        base = evaluate(eval_options(plan, plan.asked.card, plan.base_card, address))
        if base.info.stopped or address == "" or plan.tuned_card.adapter is not None:
            tuned = None if base.info.stopped else _tuned(plan, evaluate, address)
            return Evaluated(base=base, tuned=tuned)
    with _served(plan, plan.tuned_card, plan.tuned_card) as address:
        return Evaluated(base=base, tuned=_tuned(plan, evaluate, address))


def _tuned(plan: EvaluationPlan, evaluate: Evaluate, address: str) -> Scored:
    return evaluate(eval_options(plan, str(plan.adapter), plan.tuned_card, address))


def _done(plan: EvaluationPlan) -> Evaluated | None:
    """Both runs, where an earlier attempt by the same backend completed them."""
    found = {}
    for run in _earlier_runs(plan):
        wanted = {plan.base_card.name: "base", plan.tuned_card.name: "tuned"}.get(run.asked.grounder)
        setup = run.setup
        if wanted and run.status == "complete" and setup is not None and setup.backend == plan.asked.backend:
            found[wanted] = read_run(plan.fold / EVALUATION / run.run_id)
    return Evaluated(base=found["base"], tuned=found["tuned"]) if len(found) == 2 else None


def _earlier_runs(plan: EvaluationPlan) -> list[RunInfo]:
    folders = sorted((plan.fold / EVALUATION).glob("*/run.json"))
    return [RunFolder(path.parent).read_info() for path in folders]


def _port(plan: EvaluationPlan) -> int | None:
    """The port of an earlier attempt, where nobody has it now: an evaluation of another address is another run."""
    for run in _earlier_runs(plan):
        port = urlsplit(run.asked.base_url).port
        if port is None:
            continue
        try:
            return consecutive_ports(LOOPBACK, 1, port)[0]
        except UserError:
            return None
    return None


@contextmanager
def _served(plan: EvaluationPlan, first: GrounderCard, adapted: GrounderCard) -> Iterator[str]:
    """The address of a server; "" where the models run in this process. An adapter's server answers as its base too."""
    if plan.asked.backend == "hf":
        yield ""
        return
    card = adapted if adapted.adapter is not None else first
    options = ServerOptions(
        command=server_command(plan.asked.server_command),
        port=_port(plan),
        model=None if card.weights is not None else str(plan.checkpoint),
    )
    check_servable(card)
    check_weights(card, options)
    log = plan.fold / EVALUATION / "server.log"
    with running_servers(card, options, log, live=False, quiet=plan.asked.display == "none") as fleet:
        yield " ".join(fleet.base_urls)


def eval_options(plan: EvaluationPlan, grounder: str, card: GrounderCard, address: str) -> EvalOptions:
    """The options of ``grounding eval`` for one of the two; its command stands in its ``run.json``."""
    asked, here = plan.asked, not address
    whole = all(held.kind == "participant" for held in plan.split.held_out)
    history = plan.recipe.history if card.uses_history else None
    options = EvalOptions(
        dataset=asked.dataset,
        data_dir=asked.data_dir,
        questions=asked.questions,
        grounder=grounder,
        backend="hf" if here else "server",
        model_path=asked.model if here and card is plan.base_card else None,
        dtype=plan.recipe.precision.dtype if here else None,
        device=asked.device if here else None,
        batch_size=asked.batch_size if here else None,
        base_url=() if here else tuple(address.split()),
        history=history,
        history_scope=plan.recipe.history_scope if history else "session",
        history_file=asked.history_file if history else None,
        participant=plan.split.test.participants if whole else (),
        limit=asked.test_limit if whole else None,
        sample_id=() if whole else plan.split.test.step_ids,
        seed=asked.seed,
        no_probe=True,  # The card is the asked one, or it with other weights: nothing new about its coordinates.
        log_dir=plan.fold / EVALUATION,
        display=asked.display,
    )
    return _with_command(options)


_FLAGS = (
    *("dataset", "data_dir", "questions", "grounder", "backend", "model_path", "dtype", "device", "batch_size"),
    *("base_url", "history", "history_scope", "history_file", "participant", "limit", "sample_id", "seed", "log_dir"),
)


def _with_command(options: EvalOptions) -> EvalOptions:
    import msgspec

    usual = EvalOptions()
    words = ["grounding", "eval", "--no-probe"]
    for name in _FLAGS:
        value = getattr(options, name)
        if value != getattr(usual, name):
            words += [f"--{name.replace('_', '-')}", *(map(str, value) if isinstance(value, tuple) else [str(value)])]
    return msgspec.structs.replace(options, command=shlex.join(words))


def fold_scores(name: str, evaluated: Evaluated) -> FoldScores:
    """Both runs' scored tasks.

    Raises:
        UserError: the stored steps are missing or damaged.
        ValueError: the tuned model was not asked.
    """
    if evaluated.tuned is None:
        raise ValueError("the tuned model was not evaluated")
    return FoldScores(name=name, base=scored_tasks(evaluated.base), tuned=scored_tasks(evaluated.tuned))

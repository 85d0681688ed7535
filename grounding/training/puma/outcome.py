"""What a training of PUMA came to: each model's preference and its figures in the web (``summary.json``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from grounding.records import Record
from grounding.training.puma.evaluate import EvaluatedModel
from grounding.training.puma.learning import PairFile
from grounding.training.puma.plan import VariantPlan
from grounding.training.puma.records import Preference, PreferenceChange
from grounding.webagents.personalwab.scores import ShopEstimate, ShopFigures
from grounding.webagents.personalwab.verdicts import ShopRule


class KindFigures(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Function and result accuracy over the tasks of one type, or over all (``overall``)."""

    kind: str
    tasks: int
    function: ShopEstimate
    result: ShopEstimate


class ModelOutcome(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One model. ``model`` and ``run`` are folders below the run's own, "" where there is none.

    The base model has the name ``base`` and no variant. ``figures`` are of the reading that the recipe scores by.
    """

    name: str
    variant: str = ""
    memory_tokens: int = 0
    model: str = ""
    run: str = ""
    pairs: PairFile | None = None
    before: Preference | None = None
    after: Preference | None = None
    figures: tuple[KindFigures, ...] = ()


class PumaSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``summary.json`` of a training of PUMA."""

    schema: Literal[1] = 1
    status: Literal["complete", "partial"]
    signature: str
    reading: ShopRule
    models: tuple[ModelOutcome, ...]
    labels_without: int = 0
    labels_cost_usd: float | None = None
    stopped: str = ""


def trained_outcome(
    plan: VariantPlan, model: Path, folder: Path, pairs: PairFile | None, change: PreferenceChange | None
) -> ModelOutcome:
    """What training alone says of a model."""
    return ModelOutcome(
        name=plan.name,
        variant=plan.variant,
        memory_tokens=plan.tokens,
        model=below(model, folder),
        pairs=pairs,
        before=None if change is None else change.before,
        after=None if change is None else change.after,
    )


def kind_figures(evaluated: EvaluatedModel, rule: ShopRule) -> tuple[KindFigures, ...]:
    """A model's figures by type and over all."""
    scores = evaluated.scored.summary.scores[rule]
    groups: Sequence[tuple[str, ShopFigures]] = (*scores.types.items(), ("overall", scores.overall))
    return tuple(
        KindFigures(kind=kind, tasks=one.tasks, function=one.function, result=one.result) for kind, one in groups
    )


def below(path: Path, folder: Path) -> str:
    """A path as it is named below a folder."""
    return path.resolve().relative_to(folder.resolve()).as_posix()

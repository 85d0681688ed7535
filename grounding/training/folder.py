"""The folder of a training run: what was asked, the stages, and what came out.

``run.json`` says what was asked, ``recipe.yaml`` how it trained, ``split.json`` on what; ``stages/<name>/`` is all of a
stage, ``adapter/`` what the evaluation takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from grounding.describedfolder import DescribedFolder, benchmark_of
from grounding.errors import UserError
from grounding.records import Record
from grounding.training.loop.records import Launch, StageResult
from grounding.training.records import StageInfo

BENCHMARK: Literal["training"] = "training"

TrainingKind = Literal["grounder", "puma"]


class TrainingAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change what is trained; its hash is the run's id.

    ``card`` is the grounder's card or the base model's name; ``identity`` the canonical text of card, prompts and
    base weights, ``recipe`` that of the whole recipe with its overrides. ``split`` says in words what is held out,
    ``select`` which part of the data is used at all. ``launch`` is here since the number of devices changes the sums.
    """

    kind: TrainingKind
    card: str
    identity: str
    model: str
    dataset: str
    fingerprint: str
    select: str
    split: str
    recipe_name: str
    recipe: str
    seed: int
    launch: Launch
    version: str


class TrainingInfo(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``. A run that died is the one whose status is still ``started``."""

    schema: Literal[1] = 1
    benchmark: Literal["training"] = BENCHMARK
    run_id: str
    status: Literal["started", "complete", "partial"]
    signature: str
    asked: TrainingAsked
    stages: tuple[StageInfo, ...]
    data_dir: str
    command: str
    versions: dict[str, str]
    started_at: str
    wall_s: float = 0.0
    stopped: str = ""


class TrainingFolder(DescribedFolder[TrainingInfo]):
    """The folder of one training run."""

    info_type = TrainingInfo
    kind = "a training run"

    def stage_folder(self, name: str) -> Path:
        """Where a stage keeps everything of its own."""
        return self.path.resolve() / "stages" / name

    def note_stage(self, name: str, result: StageResult) -> TrainingInfo:
        """Write how far a stage has come into ``run.json``; returns its new content.

        Raises:
            UserError: the run has no such stage, or ``run.json`` can't be read or written.
        """
        info = self.read_info()
        if name not in {stage.name for stage in info.stages}:
            known = ", ".join(stage.name for stage in info.stages) or "none"
            raise UserError(f"{self.path}: the run has no stage {name} (it has {known})")
        stages = tuple(_come(stage, result) if stage.name == name else stage for stage in info.stages)
        info = msgspec.structs.replace(info, stages=stages)
        self.write_info(info)
        return info


def _come(stage: StageInfo, result: StageResult) -> StageInfo:
    return msgspec.structs.replace(
        stage, status=result.status, step=result.step, steps=result.steps, wall_s=result.wall_s
    )


def is_training_run(path: Path) -> bool:
    """Whether a folder is that of a training run; False also where it is no run folder at all."""
    return benchmark_of(path) == BENCHMARK

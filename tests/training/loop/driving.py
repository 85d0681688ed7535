"""Stages run in this process, and in processes that are ended while they run."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.process import BaseProcess
from pathlib import Path

from grounding.training.loop.records import Launch, StagePlan, StageResult
from training.loop import builders

_PRELOADED = (
    "peft",
    "torch.utils.tensorboard",
    "trl.trainer.dpo_trainer",
    "trl.trainer.grpo_trainer",
    "trl.trainer.sft_trainer",
    "grounding.training.loop.stage",
)


def run(plan: StagePlan, build: str, launch: Launch | None = None) -> StageResult:
    """Run a stage here, with nothing shown."""
    from grounding.training.loop.stage import run_stage

    return run_stage(plan, getattr(builders, build), launch=launch, display="none")


def start(plan: StagePlan, build: str, folder: Path, **environment: str) -> BaseProcess:
    """Run a stage in a process of its own, whose output goes to the files ``out`` and ``err`` of a folder."""
    context = multiprocessing.get_context("forkserver")
    # Imports what all of them need once, and is no child of this process, which has threads.
    context.set_forkserver_preload(list(_PRELOADED))
    process = context.Process(target=_in_child, args=(plan, build, folder, environment))
    process.start()
    return process


def run_and_die(plan: StagePlan, build: str, variable: str, step: int) -> int | None:
    """Run a stage in a process that is killed at a step (see ``builders``); returns its exit code."""
    process = start(plan, build, Path(plan.folder).parent, **{variable: str(step)})
    process.join()
    return process.exitcode


def _in_child(plan: StagePlan, build: str, folder: Path, environment: dict[str, str]) -> None:
    from grounding.training.loop.stage import run_stage

    os.environ.update(environment)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
    result = run_stage(plan, getattr(builders, build), display="plain")
    print(result.status, result.step)

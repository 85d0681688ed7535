"""Run one stage of training, or go on with it: ``run_stage``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.attended import INTERRUPTED
from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.options import Display
from grounding.training.extras import needs_training
from grounding.training.loop.arguments import CHECKPOINTS
from grounding.training.loop.checkpoints import clear_torn, last_whole
from grounding.training.loop.here import OUTPUT, train_here
from grounding.training.loop.launching import run_workers
from grounding.training.loop.progress import StageProgress
from grounding.training.loop.records import Builder, Launch, StagePlan, StageResult
from grounding.training.loop.stagefile import StageFile, read_result, write_result, write_stage
from grounding.training.loop.stopping import StopSwitch

_STOPPING = "stopping after this step, which is saved (again: stop at once, back at the last checkpoint)"


def run_stage(
    plan: StagePlan, build: Builder, *, launch: Launch | None = None, display: Display | None = None
) -> StageResult:
    """Train a stage to its end, from its last whole checkpoint where there is one; a complete stage is left as it is.

    Args:
        plan: The stage; its folder holds everything that ``build`` needs, and is held by one process.
        build: Makes the trainer.
        launch: On how many devices; None for this process alone.
        display: How progress is shown; None for a bar on a terminal and nothing elsewhere.

    Returns:
        What came of it: ``complete``, or ``partial`` where the user broke it off (Ctrl-C, SIGTERM). The first of those
        lets the step end and saves; a second one ends at once, and the last checkpoint stands.

    Raises:
        UserError: an earlier attempt had other settings, memory ran out, the loss is not a number, the disk is full,
            or anything else went wrong; what was saved is kept.
    """
    needs_training()
    launch = launch or Launch()
    folder = LockedFolder(Path(plan.folder), what="the stage's folder", flag="--log-dir")
    folder.create()
    try:
        write_stage(folder, StageFile(plan=plan, launch=launch))
        before = read_result(folder.path)
        if before is not None and before.status == "complete" and (folder.path / OUTPUT).is_dir():
            return msgspec.structs.replace(before, output=str(folder.path / OUTPUT))
        progress = StageProgress(display, plan.name)
        _tell_where_it_goes_on(folder.path / CHECKPOINTS, plan, progress)
        return _attend(plan, build, launch, progress)
    finally:
        folder.release()


def _tell_where_it_goes_on(checkpoints: Path, plan: StagePlan, progress: StageProgress) -> None:
    torn = clear_torn(checkpoints)
    if torn:
        progress.tell(f"stage {plan.name}: {', '.join(torn)} was not written to its end and is passed over")
    checkpoint = last_whole(checkpoints)
    if checkpoint is not None:
        progress.tell(f"stage {plan.name}: goes on after step {checkpoint.mark.step}")


def _attend(plan: StagePlan, build: Builder, launch: Launch, progress: StageProgress) -> StageResult:
    switch, folder = StopSwitch(lambda: progress.say(_STOPPING)), Path(plan.folder)
    try:
        with switch.watched(), progress.shown():
            if launch.is_here:
                return train_here(plan, build, stop=lambda: switch.asked, deferring=switch.deferring, progress=progress)
            run_workers(folder, build, launch, on_cpu=_on_cpu(plan), stop=switch, progress=progress)
    except KeyboardInterrupt:
        return _broken_off(plan)
    result = read_result(folder)
    if result is None:
        raise UserError(f"{folder}: the workers ended without a result; see log.txt there")
    return result


def _broken_off(plan: StagePlan) -> StageResult:
    """What there is of a stage that was ended in the middle of a step, or before the first."""
    folder = Path(plan.folder)
    before, checkpoint = read_result(folder), last_whole(folder / CHECKPOINTS)
    step, wall_s = (checkpoint.mark.step, checkpoint.mark.wall_s) if checkpoint is not None else (0, 0.0)
    if before is None:
        before = StageResult(status="partial", step=0, steps=0, epoch=0.0, wall_s=0.0, output=None)
    result = msgspec.structs.replace(
        before, status="partial", step=step, wall_s=wall_s, output=None, stopped=INTERRUPTED
    )
    write_result(plan, result)
    return result


def _on_cpu(plan: StagePlan) -> bool:
    import torch

    return plan.device == "cpu" or not torch.accelerator.is_available()

"""Train a stage in this process, be it the only one or one of several workers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import msgspec

from grounding.attended import INTERRUPTED
from grounding.errors import UserError
from grounding.training.loop.arguments import CHECKPOINTS, stage_arguments
from grounding.training.loop.callback import StepWatch, callback, no_number
from grounding.training.loop.checkpoints import Checkpoint, last_whole
from grounding.training.loop.devices import check_spread, device_name, own_libraries, peak_memory_bytes, place
from grounding.training.loop.failures import failures_of
from grounding.training.loop.progress import StageProgress
from grounding.training.loop.quiet import LOG, quiet_libraries
from grounding.training.loop.recorder import StageRecorder
from grounding.training.loop.records import Builder, StageContext, StagePlan, StageResult
from grounding.training.loop.stagefile import write_result
from grounding.training.loop.trainerstate import load_between_steps
from grounding.training.records import MetricsLine, SampleLine

OUTPUT = "output"

_NOT_FOR_OUTPUT = ("training_args.bin", "README.md")
"""Files that trainers leave beside a model: a pickle, and a text about it that names folders of this machine."""


def train_here(
    plan: StagePlan,
    build: Builder,
    *,
    stop: Callable[[], bool],
    deferring: Callable[[], AbstractContextManager[None]] = nullcontext,
    progress: StageProgress | None,
) -> StageResult:
    """Train a stage from its last whole checkpoint to its end, or until somebody stops it; writes ``result.json``.

    Args:
        plan: The stage.
        build: Makes the trainer.
        stop: Whether somebody wants to stop; asked after every step.
        deferring: Inside this a wish to stop waits for the end of a step.
        progress: Shows what happens; None in a worker.

    Raises:
        UserError: whatever went wrong.
    """
    folder = Path(plan.folder)
    with quiet_libraries(folder / LOG), own_libraries():
        process, processes = place()
        checkpoint = last_whole(folder / CHECKPOINTS)
        if checkpoint is not None and checkpoint.mark.processes != processes:
            raise UserError(
                f"stage {plan.name}: it was begun with {checkpoint.mark.processes} processes, now there are "
                f"{processes}: use as many, or begin again with --fresh"
            )
        recorder = StageRecorder(folder, checkpoint.mark if checkpoint else None) if process == 0 else None
        try:
            sinks = _Sinks(plan, recorder, progress)
            context = _context(plan, sinks, process, processes, checkpoint)
            with failures_of(plan.name, folder, doing="it was set up"):
                trainer = _trainer(plan, build, context)
                sinks.trainer = trainer
            with failures_of(plan.name, folder, doing="training"), deferring():
                return _train(plan, trainer, recorder, checkpoint, stop, sinks)
        finally:
            if recorder is not None:
                recorder.close()


class _Sinks:
    """Where a builder's own figures and generations go."""

    def __init__(self, plan: StagePlan, recorder: StageRecorder | None, progress: StageProgress | None) -> None:
        self._plan, self._recorder, self._progress = plan, recorder, progress
        self.trainer: Any = None

    def sample(self, line: SampleLine) -> None:
        training = self.trainer is None or self.trainer.model.training
        step = 0 if self.trainer is None else self.trainer.state.global_step + (1 if training else 0)
        wanted = not training or step % self._plan.sample_every_steps == 0 or step == 1
        if self._recorder is None or not wanted:
            return
        line = msgspec.structs.replace(line, step=step, kind="train" if training else "held_out")
        self._recorder.sample(line)
        if self._progress is not None:
            self._progress.sample(line)

    def held_out(self, line: MetricsLine) -> None:
        if self._recorder is not None:
            self._recorder.metrics(msgspec.structs.replace(line, kind="held_out", seconds=self._recorder.seconds))

    def show(self, line: MetricsLine, steps: int) -> None:
        if self._progress is not None:
            self._progress.metrics(line, steps)


def _context(
    plan: StagePlan, sinks: _Sinks, process: int, processes: int, checkpoint: Checkpoint | None
) -> StageContext:
    import torch

    on_cpu = plan.device == "cpu" or not torch.accelerator.is_available()
    return StageContext(
        plan=plan,
        folder=Path(plan.folder),
        arguments=stage_arguments(plan, on_cpu=on_cpu),
        process=process,
        processes=processes,
        sample_sink=sinks.sample,
        held_out_sink=sinks.held_out,
        resumed_step=checkpoint.mark.step if checkpoint else 0,
    )


def _trainer(plan: StagePlan, build: Builder, context: StageContext) -> Any:
    import torch
    from transformers import set_seed
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    if plan.deterministic and not context.arguments["use_cpu"]:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.benchmark = False
    # The first weights of an adapter are drawn here, in a resumed run too (its checkpoint then takes their place).
    set_seed(plan.seed)
    trainer = build(context)
    for shown in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(shown)
    trainer.create_model_card = lambda *_args, **_more: None
    check_spread(trainer)
    return trainer


def _train(
    plan: StagePlan,
    trainer: Any,
    recorder: StageRecorder | None,
    checkpoint: Checkpoint | None,
    stop: Callable[[], bool],
    sinks: _Sinks,
) -> StageResult:
    def result(state: Any, status: Literal["partial", "complete"], **more: str) -> StageResult:
        device = trainer.accelerator.device
        return StageResult(
            status=status,
            step=state.global_step,
            steps=state.max_steps,
            epoch=float(state.epoch or 0.0),
            wall_s=recorder.seconds if recorder is not None else 0.0,
            output=more.get("output"),
            stopped=more.get("stopped", ""),
            processes=trainer.accelerator.num_processes,
            device=device_name(device),
            peak_memory_bytes=peak_memory_bytes(device),
        )

    watch = StepWatch(
        plan,
        trainer,
        recorder,
        Path(checkpoint.path) if checkpoint is not None else None,
        stop=stop,
        note=lambda state: write_result(plan, result(state, "partial")),
        show=sinks.show,
    )
    trainer.add_callback(callback(watch))
    _stop_at_no_number(plan, trainer)
    trainer.args.eval_on_start = plan.held_out_at_ends and checkpoint is None and trainer.eval_dataset is not None
    if checkpoint is not None:
        load_between_steps(trainer, Path(checkpoint.path), trainer.accelerator.process_index)
    trainer.train(resume_from_checkpoint=checkpoint.path if checkpoint else None)
    if watch.stopped:
        ended = result(trainer.state, "partial", stopped=INTERRUPTED)
    else:
        ended = result(trainer.state, "complete", output=_write_output(plan, trainer))
    if recorder is not None:
        write_result(plan, ended)
    return ended


def _stop_at_no_number(plan: StagePlan, trainer: Any) -> None:
    """Stop before weights are moved by a loss that is no number."""
    step = trainer.training_step

    def checked(*args: Any, **more: Any) -> Any:
        loss = step(*args, **more)
        if not bool(loss.isfinite().all()):
            raise UserError(no_number(plan, "loss", trainer.state.global_step + 1))
        return loss

    trainer.training_step = checked


def _write_output(plan: StagePlan, trainer: Any) -> str:
    """Write the model or adapter beside its place, and move it there when it is whole."""
    output, new = Path(plan.folder) / OUTPUT, Path(plan.folder) / f".{OUTPUT}.new"
    first = trainer.accelerator.is_main_process
    if first:
        shutil.rmtree(new, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    if trainer.is_fsdp_enabled:
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(str(new))
    trainer.accelerator.wait_for_everyone()
    if first:
        for name in _NOT_FOR_OUTPUT:
            (new / name).unlink(missing_ok=True)
        if output.exists():
            shutil.rmtree(output)
        new.replace(output)
    trainer.accelerator.wait_for_everyone()
    return str(output)

"""What the loop does at every step of a trainer: write the record, save, stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grounding.errors import UserError
from grounding.training.loop.checkpoints import mark_whole, rotate
from grounding.training.loop.lines import is_summary, metrics_line, not_a_number
from grounding.training.loop.recorder import StageRecorder
from grounding.training.loop.records import StagePlan
from grounding.training.loop.trainerstate import save_between_steps, set_data_order, take_back_adapter
from grounding.training.records import MetricsLine


class StepWatch:
    """The loop's own part of a step; ``callback`` makes it known to a trainer.

    Args:
        plan: The stage.
        trainer: Its trainer.
        recorder: Where to write; None in all processes but the first.
        resumed: The checkpoint that training goes on from, if any.
        stop: Whether the user wants to stop.
        note: Is told the trainer's state at the beginning and after every checkpoint.
        show: Is told every line of figures, and how many steps there are in all.
    """

    def __init__(
        self,
        plan: StagePlan,
        trainer: Any,
        recorder: StageRecorder | None,
        resumed: Path | None,
        *,
        stop: Callable[[], bool],
        note: Callable[[Any], None],
        show: Callable[[MetricsLine, int], None],
    ) -> None:
        self._plan, self._trainer, self._recorder, self._resumed = plan, trainer, recorder, resumed
        self._stop, self._note, self._show = stop, note, show
        self._saved_at = time.monotonic()
        self._processes = trainer.accelerator.num_processes
        self.stopped = False

    def train_begin(self, state: Any) -> None:
        """Before the first step of this attempt, when a checkpoint has been read.

        Raises:
            UserError: the adapter is not the one that was saved.
        """
        if self._resumed is not None:
            take_back_adapter(self._trainer, self._resumed)
        if self._recorder is not None:
            self._note(state)

    def epoch_begin(self, loader: Any, epoch: float | None) -> None:
        """Before an epoch's examples are taken: their order is that of the epoch."""
        set_data_order(loader, int(epoch or 0))

    def step_end(self, state: Any, control: Any) -> None:
        """After a step: decide, in all processes alike, whether to measure, to save and to stop."""
        saving = self._plan.saving
        late = saving.every_minutes is not None and time.monotonic() - self._saved_at >= 60 * saving.every_minutes
        stop, by_time = self._agreed(self._stop(), late)
        last = state.global_step >= state.max_steps
        by_steps = saving.every_steps is not None and state.global_step % saving.every_steps == 0
        if stop and not last:
            self.stopped = True
            control.should_training_stop = True
        if last and self._plan.held_out_at_ends and self._trainer.eval_dataset is not None:
            control.should_evaluate = True
        # After the last step the output is written: a checkpoint would be of no use, since trainers can't go on from
        # the end. Killed in between, the run goes on from the checkpoint before.
        control.should_save = not last and (by_steps or by_time or stop)

    def log(self, logs: Mapping[str, Any], state: Any) -> None:
        """Figures of a step.

        Raises:
            UserError: the loss is no number, or the disk failed.
        """
        if is_summary(logs):
            return
        held_out = any(name.startswith("eval_") for name in logs)
        bad = None if held_out or self._plan.precision.dtype == "float16" else not_a_number(logs)
        if bad is not None:
            raise UserError(no_number(self._plan, bad, state.global_step))
        if self._recorder is not None:
            line = metrics_line(logs, step=state.global_step, seconds=self._recorder.seconds)
            self._recorder.metrics(line)
            self._show(line, state.max_steps)

    def saved(self, state: Any) -> None:
        """A checkpoint was written by the trainer: add what it leaves out, and mark it as whole."""
        checkpoint = Path(self._trainer.args.output_dir) / f"checkpoint-{state.global_step}"
        save_between_steps(self._trainer, checkpoint, self._trainer.accelerator.process_index)
        self._trainer.accelerator.wait_for_everyone()
        if self._recorder is not None:
            # A pickle of the trainer's arguments: nothing needs it, and reading one runs code.
            (checkpoint / "training_args.bin").unlink(missing_ok=True)
            self._recorder.sync()
            mark_whole(
                checkpoint,
                step=state.global_step,
                processes=self._processes,
                wall_s=self._recorder.seconds,
                metrics_bytes=self._recorder.metrics_bytes,
                samples_bytes=self._recorder.samples_bytes,
            )
            rotate(checkpoint.parent, self._plan.saving.keep)
            self._note(state)
        self._saved_at = time.monotonic()

    def _agreed(self, *wishes: bool) -> list[bool]:
        """What any of the processes wants, all want: they must go the same way."""
        if self._processes == 1:
            return list(wishes)
        import torch

        votes = torch.tensor([int(wish) for wish in wishes], device=self._trainer.accelerator.device)
        return [bool(votes_for) for votes_for in self._trainer.accelerator.reduce(votes, reduction="sum").tolist()]


def no_number(plan: StagePlan, what: str, step: int) -> str:
    """The sentence about a loss or gradient that is infinite or no number."""
    name = "the loss" if what == "loss" else "the norm of the gradient"
    return (
        f"stage {plan.name}: {name} at step {step} is not a finite number; training stopped, since no later step could "
        "mend the weights. Lower optimisation.learning_rate or optimisation.max_gradient_norm, or use "
        "precision.dtype=float32, and begin again with --fresh; the checkpoints before that step are kept."
    )


def callback(watch: StepWatch) -> Any:
    """A ``transformers.TrainerCallback`` that tells the watch what happens."""
    from transformers import TrainerCallback

    class LoopCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Passes on what the loop has to know."""

        def on_train_begin(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
            """Before the first step."""
            watch.train_begin(state)

        def on_epoch_begin(self, _args: Any, state: Any, _control: Any, **more: Any) -> None:
            """Before the examples of an epoch are taken."""
            watch.epoch_begin(more.get("train_dataloader"), state.epoch)

        def on_step_end(self, _args: Any, state: Any, control: Any, **_more: Any) -> Any:
            """After a step of the optimiser."""
            watch.step_end(state, control)
            return control

        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_more: Any) -> None:
            """When figures are there."""
            watch.log(logs or {}, state)

        def on_save(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
            """After the trainer wrote its checkpoint."""
            watch.saved(state)

    return LoopCallback()


def parent_is_gone(parent: int | None) -> bool:
    """Whether the process that commands this one has ended (it can't be asked to stop any more)."""
    if parent is None:
        return False
    try:
        os.kill(parent, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False

"""The training of one stage in this process: from its last whole checkpoint to its end, every step on record.

A process may be killed while it writes a checkpoint. Its mark is written last; what has none is cleared away. Lines of
metrics behind the checkpoint are cut off, so that in the end they are those of a run without a break.
"""

import contextlib
import errno
import gc
import math
import os
import resource
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from grounding.atomic import atomic_write, flush_to_disk, flush_tree
from grounding.errors import UserError
from grounding.grounders.hf.loading import ran_out_of_memory
from grounding.run.runner import INTERRUPTED
from grounding.training.records import (
    CHECKPOINTS,
    LOG,
    METRICS,
    OUTPUT,
    RESULT,
    TENSORBOARD,
    Metrics,
    StageResult,
    TrainStage,
    read_lines,
    write_record,
)
from grounding.training.trl_private import load_between_steps, save_between_steps, set_data_order, take_back_adapter

MARK = "whole"  # The file that makes a checkpoint whole.
KEPT = "What was saved is kept: the same command goes on from the last checkpoint."

Build = Callable[[TrainStage, Path, dict[str, Any]], Any]
"""Makes a stage's trainer of its folder and the arguments of ``transformers.TrainingArguments``; at a module's top
level, since other processes call it by its name."""


def whole_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    found = [path.parent for path in (folder / CHECKPOINTS).glob(f"checkpoint-*/{MARK}")]
    return sorted((int(path.name.rpartition("-")[2]), path) for path in found)


class MemoryRanOut(UserError):
    """A stage needs more memory than there is."""


_FULL = ("no space left", "disk quota", "file too large", "pytorchstreamwriter failed", "os error 28")


@contextlib.contextmanager
def failures_told(stage: str, folder: Path) -> Iterator[None]:
    """Turn whatever goes wrong inside the block into a sentence; the traceback goes into the stage's log. Raises
    UserError: for every error that is none already. An interrupt passes.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # Libraries raise anything; all of it is told and logged.
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(traceback.format_exc())
        first, said = (str(error).strip().splitlines() or ["no message"])[0][:500], str(error).lower()
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if ran_out_of_memory(error):
            raise MemoryRanOut(
                f"stage {stage}: memory ran out ({first}). A smaller optimisation.batch with more "
                "optimisation.accumulation needs less for the same step; so do precision.gradient_checkpointing, fewer "
                f"generations, or LoRA of a lower rank; --dry-run tries them. {KEPT}"
            ) from error
        what = f"failed: {type(error).__name__}: {first} (details: {folder / LOG})"
        if full or any(words in said for words in _FULL):
            what = f"the disk is full ({folder}): {first}. Make room, or keep fewer checkpoints (saving.keep)"
        raise UserError(f"stage {stage}: {what}. {KEPT}") from error


@contextlib.contextmanager
def _kept_apart(log: Path) -> Iterator[None]:
    """Send what libraries print to a file, and leave their global state as it was, so that another stage may follow."""
    import huggingface_hub.constants
    import torch
    from accelerate.state import AcceleratorState, GradientState

    # Usage reports that libraries send over the network are off for good.
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True
    deterministic = torch.are_deterministic_algorithms_enabled()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    terminal = [(number, os.dup(number)) for number in (1, 2)]
    try:
        with (
            log.open("a", encoding="utf-8") as file,
            contextlib.redirect_stdout(file),
            contextlib.redirect_stderr(file),
        ):
            for number, _ in terminal:
                os.dup2(file.fileno(), number)
            yield
    finally:
        for number, before in terminal:
            os.dup2(before, number)
            os.close(before)
        torch.use_deterministic_algorithms(deterministic)
        if os.environ.get("WORLD_SIZE", "1") == "1":
            AcceleratorState._reset_state(reset_partial_state=True)
            GradientState._reset_state()
        free_memory()


def free_memory() -> None:
    """Give a trainer's memory back; it hangs on itself in circles."""
    gc.collect()
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        sys.modules["torch"].cuda.empty_cache()


def on_cpu_only(stage: TrainStage) -> bool:
    """Whether a stage runs on processors: by wish, or since there is nothing else."""
    import torch

    return stage.device == "cpu" or not torch.accelerator.is_available()


def train(
    folder: Path, stage: TrainStage, build: Build, stop: Callable[[], bool], show: Callable[[Metrics], None]
) -> StageResult:
    """Train a stage in this process, from its last whole checkpoint where there is one; writes ``result.json``. Raises
    UserError: whatever went wrong.
    """
    with failures_told(stage.name, folder), _kept_apart(folder / LOG):
        return _Loop(folder, stage, stop, show).run(build)


class _Loop:
    """One attempt at a stage: its trainer, and what is done at every step of it. The methods ``_on_...`` are those of
    ``transformers.TrainerCallback``.
    """

    def __init__(
        self, folder: Path, stage: TrainStage, stop: Callable[[], bool], show: Callable[[Metrics], None]
    ) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._folder, self._stage, self._stop, self._show = folder, stage, stop, show
        step, self._resumed = [(-1, None), *whole_checkpoints(folder)][-1]
        self._first, self._stopped = os.environ.get("RANK", "0") == "0", False
        self._started = time.monotonic()
        if not self._first:
            return
        if self._resumed is None:
            shutil.rmtree(folder / TENSORBOARD, ignore_errors=True)
        # The record is taken back to where it was at the checkpoint, and goes on from there.
        lines = [line for line in read_lines(folder / METRICS, dict[str, Any]) if line["step"] <= step]
        atomic_write(folder / METRICS, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        self._started -= lines[-1]["seconds"] if lines else 0
        self._metrics = (folder / METRICS).open("ab", buffering=0)
        self._board = SummaryWriter(str(folder / TENSORBOARD), purge_step=None if self._resumed is None else step + 1)

    def run(self, build: Build) -> StageResult:
        import torch
        from transformers import set_seed

        stage, resumed, on_cpu = self._stage, self._resumed, on_cpu_only(self._stage)
        if not on_cpu:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.backends.cudnn.benchmark = False
        # The first weights of an adapter are drawn here, in a resumed run too (its checkpoint then takes their place).
        set_seed(stage.seed)
        trainer = self._trainer = build(stage, self._folder, stage_arguments(self._folder, stage, on_cpu=on_cpu))
        self._attend(trainer)
        trainer.args.eval_on_start = trainer.eval_dataset is not None and resumed is None
        if resumed is not None:
            load_between_steps(trainer, resumed)
        trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
        if not self._stopped:
            self._write_output()
        device = trainer.accelerator.device
        cuda = device.type == "cuda"
        peak = torch.cuda.max_memory_allocated(device) if cuda else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result = StageResult(
            status="partial" if self._stopped else "complete",
            step=trainer.state.global_step,
            steps=trainer.state.max_steps,
            wall_s=time.monotonic() - self._started,
            stopped=INTERRUPTED if self._stopped else "",
            processes=trainer.accelerator.num_processes,
            device=torch.cuda.get_device_name(device) if cuda else device.type,
            peak_memory_bytes=peak if cuda else peak * 1024,
        )
        if self._first:
            write_record(self._folder / RESULT, result)
            self._board.close()
            self._metrics.close()
        return result

    def _attend(self, trainer: Any) -> None:
        from transformers import TrainerCallback
        from transformers.trainer_callback import PrinterCallback, ProgressCallback

        for shown in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(shown)
        told: Any = TrainerCallback()
        told.on_train_begin, told.on_epoch_begin = self._on_train_begin, self._on_epoch_begin
        told.on_step_end, told.on_log, told.on_save = self._on_step_end, self._on_log, self._on_save
        trainer.add_callback(told)
        trainer.create_model_card = lambda *_args, **_more: None
        step = trainer.training_step

        def checked(*args: Any, **more: Any) -> Any:
            """Stop before weights are moved by a loss that is no number."""
            loss = step(*args, **more)
            if not bool(loss.isfinite().all()):
                raise UserError(
                    f"stage {self._stage.name}: the loss at step {trainer.state.global_step + 1} is not a finite "
                    "number; no later step could mend the weights. Lower optimisation.learning_rate or "
                    "optimisation.max_gradient_norm, or use precision.dtype=float32, and begin again with --fresh; the "
                    "checkpoints before that step are kept."
                )
            return loss

        trainer.training_step = checked

    def _on_train_begin(self, *_said: Any, **_more: Any) -> None:
        if self._resumed is not None:
            take_back_adapter(self._trainer, self._resumed)

    def _on_epoch_begin(self, _args: Any, state: Any, _control: Any, **more: Any) -> None:
        set_data_order(more.get("train_dataloader"), int(state.epoch or 0))

    def _on_step_end(self, _args: Any, state: Any, control: Any, **_more: Any) -> Any:
        every, last, stop = self._stage.saving.every_steps, state.global_step >= state.max_steps, self._stop()
        if self._trainer.accelerator.num_processes > 1:
            # What any of the processes wants, all want: they must go the same way.
            import torch

            vote = torch.tensor(int(stop), device=self._trainer.accelerator.device)
            stop = bool(self._trainer.accelerator.reduce(vote, reduction="sum"))
        if stop and not last:
            self._stopped = control.should_training_stop = True
        if last and self._trainer.eval_dataset is not None:
            control.should_evaluate = True
        # After the last step the output is written: a checkpoint would be of no use, since trainers can't go on from
        # the end. Killed in between, the run goes on from the checkpoint before.
        control.should_save = not last and (stop or (every is not None and state.global_step % every == 0))
        return control

    def _on_log(self, _args: Any, state: Any, _control: Any, logs: Mapping[str, Any], **_more: Any) -> None:
        """Figures of a step; not what a trainer logs once, after the last step."""
        if "train_runtime" in logs or not self._first:
            return
        seconds = round(time.monotonic() - self._started, 3)
        line = metrics_line(logs, step=state.global_step, steps=state.max_steps, seconds=seconds)
        self._metrics.write(msgspec.json.encode(line) + b"\n")
        for name, value in line.items():
            if name not in ("step", "steps", "seconds", "kind", "epoch"):
                self._board.add_scalar(f"{line['kind']}/{name}", value, line["step"])
        self._show(line)

    def _on_save(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
        """A checkpoint was written by the trainer: add what it leaves out, and mark it as whole."""
        path = self._folder / CHECKPOINTS / f"checkpoint-{state.global_step}"
        save_between_steps(self._trainer, path)
        self._trainer.accelerator.wait_for_everyone()
        if self._first:
            # A pickle of the trainer's arguments: nothing needs it, and reading one runs code.
            (path / "training_args.bin").unlink(missing_ok=True)
            self._board.flush()
            flush_tree(path)
            flush_to_disk(self._folder / METRICS)
            atomic_write(path / MARK, b"")
            for _, old in whole_checkpoints(self._folder)[: -self._stage.saving.keep]:
                (old / MARK).unlink()
                shutil.rmtree(old)

    def _write_output(self) -> None:
        trainer, output, new = self._trainer, self._folder / OUTPUT, self._folder / f".{OUTPUT}.new"
        if self._first:
            shutil.rmtree(new, ignore_errors=True)
        trainer.accelerator.wait_for_everyone()
        if trainer.is_fsdp_enabled:
            trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
        trainer.save_model(str(new))
        trainer.accelerator.wait_for_everyone()
        if self._first:
            for name in ("training_args.bin", "README.md"):  # A pickle, and a text that names folders of this machine.
                (new / name).unlink(missing_ok=True)
            flush_tree(new)
            shutil.rmtree(output, ignore_errors=True)
            new.replace(output)
        trainer.accelerator.wait_for_everyone()


def stage_arguments(folder: Path, stage: TrainStage, *, on_cpu: bool) -> dict[str, Any]:
    """Arguments of ``transformers.TrainingArguments``, which SFTConfig, DPOConfig and GRPOConfig take too.

    Nothing is shown or reported by the trainer itself, and it saves when the loop says so. Infinite losses are not
    filtered, since they stop the run.
    """
    rule, precision, held_out = stage.optimisation, stage.precision, stage.held_out
    return {
        "output_dir": str(folder / CHECKPOINTS),
        "learning_rate": rule.learning_rate,
        "num_train_epochs": rule.epochs,
        "max_steps": rule.max_steps or -1,
        "per_device_train_batch_size": rule.batch,
        "per_device_eval_batch_size": rule.batch if held_out is None else held_out.batch,
        "gradient_accumulation_steps": rule.accumulation,
        "warmup_steps": rule.warmup if rule.warmup < 1 else 0.999999,
        "lr_scheduler_type": rule.schedule,
        "weight_decay": rule.weight_decay,
        "max_grad_norm": rule.max_gradient_norm,
        "optim": rule.optimiser,
        "seed": stage.seed,
        "data_seed": stage.seed,
        "bf16": precision.dtype == "bfloat16",
        "fp16": precision.dtype == "float16",
        "gradient_checkpointing": precision.gradient_checkpointing,
        "gradient_checkpointing_kwargs": {"use_reentrant": False} if precision.gradient_checkpointing else None,
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "eval_strategy": "no" if held_out is None else "steps",
        "eval_steps": None if held_out is None else held_out.every_steps,
        "remove_unused_columns": False,
        "dataloader_pin_memory": not on_cpu,
        "ddp_find_unused_parameters": False,
        "use_cpu": on_cpu,
    }


_SPEEDS = {"step_time", "runtime", "model_preparation_time", "step"}
_SPEEDS |= {f"{what}_per_second" for what in ("samples", "steps", "tokens")}
"""They differ between two runs of the same; ``seconds`` says it."""


def metrics_line(logs: Mapping[str, Any], *, step: int, steps: int, seconds: float) -> Metrics:
    held_out = any(name.startswith("eval_") for name in logs)
    line: Metrics = {"step": step, "steps": steps, "kind": "held_out" if held_out else "train", "seconds": seconds}
    for name, value in logs.items():
        plain = name.removeprefix("eval_") if held_out else name
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if number and plain not in _SPEEDS:
            line[plain] = float(value)
    return line

"""What a stage of training is told, and what comes of it: ``stage.json`` and ``result.json`` of its folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.records import Method, MetricsLine, Optimisation, Precision, SampleLine, Saving, StageName


class StagePlan(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All that the loop has to know of a stage; what is trained on which examples is the builder's business.

    ``folder`` is the stage's own folder, absolute. ``examples`` says how many examples there are to train on, of GRPO
    prompts. ``generations`` is how many completions GRPO draws of one prompt, 1 for other methods.
    ``held_out_every_steps``: how often the held-out examples are measured, None never (the builder gives the trainer
    an ``eval_dataset`` where it is set); they are also measured before the first step and after the last where
    ``held_out_at_ends``. ``sample_every_steps``: how often generations are kept in ``samples.jsonl``.
    ``device``: where it runs; None takes an accelerator where there is one. ``deterministic``: on an accelerator use
    the algorithms that give the same bits every time, where there are such; a CPU has no others.
    """

    folder: str
    name: StageName
    method: Method
    optimisation: Optimisation
    saving: Saving
    precision: Precision
    seed: int
    examples: int
    generations: int = 1
    held_out_every_steps: int | None = None
    held_out_at_ends: bool = True
    sample_every_steps: int = 1
    device: Literal["cpu"] | None = None
    deterministic: bool = True


class Launch(Record, frozen=True, kw_only=True, omit_defaults=False):
    """On how many devices a stage runs.

    One process without a configuration trains inside the calling process; everything else is started by
    ``accelerate launch``. ``accelerate_config`` is a file made by ``accelerate config`` (DeepSpeed, FSDP, many
    machines), absolute, and ``accelerate_sha256`` the hash of its bytes; ``processes`` wins over what it says.
    """

    processes: int | None = None
    accelerate_config: str | None = None
    accelerate_sha256: str = ""

    @property
    def is_here(self) -> bool:
        """Whether the calling process does the work itself."""
        return self.accelerate_config is None and self.processes in (None, 1)


def launch_of(processes: int | None, accelerate_config: Path | None) -> Launch:
    """What ``--processes`` and ``--accelerate-config`` ask for.

    Raises:
        UserError: there are no processes, or the file can't be read.
    """
    if processes is not None and processes < 1:
        raise UserError(f"--processes {processes}: expected 1 or more")
    if accelerate_config is None:
        return Launch(processes=processes)
    try:
        content = accelerate_config.read_bytes()
    except OSError as error:
        raise UserError(f"--accelerate-config {accelerate_config}: can't be read: {error.strerror}") from error
    return Launch(
        processes=processes,
        accelerate_config=str(accelerate_config.resolve()),
        accelerate_sha256=hashlib.sha256(content).hexdigest(),
    )


class StageResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What came of a stage. ``partial``: broken off by the user; the same call goes on with it.

    ``step`` of ``steps`` optimiser steps are done, in ``wall_s`` seconds over all attempts (those that were lost with
    a kill are not counted). ``output`` is the folder with the adapter or model, absolute; None while partial.
    ``stopped`` says why it is partial. ``peak_memory_bytes``: the most that was allocated on one accelerator, or on
    the CPU the peak size of the process; of this attempt.
    """

    status: Literal["partial", "complete"]
    step: int
    steps: int
    epoch: float
    wall_s: float
    output: str | None
    stopped: str = ""
    processes: int = 1
    device: str = "cpu"
    peak_memory_bytes: int = 0


@dataclass(frozen=True)
class StageContext:
    """What the loop gives to a builder of a trainer.

    A builder is a function at the top level of a module, ``build(context) -> trainer``, and takes everything else from
    the stage's folder, since other processes call it too. It makes the configuration by
    ``GRPOConfig(**context.arguments, ...)`` (its own arguments may add to these, not contradict them), leaves the
    trainer's callbacks alone, and hands over what the model writes.

    Attributes:
        plan: The stage.
        folder: Its folder.
        arguments: Keyword arguments of TRL's configuration classes (those of ``transformers.TrainingArguments``).
        process: Which of the processes this is, from 0.
        processes: How many there are.
        sample_sink: Takes a generation with its rewards; written by the first process only, at the steps asked for.
        held_out_sink: Takes figures on held-out examples that the trainer's own evaluation doesn't measure.
        resumed_step: After which step it goes on; 0 where it begins.
    """

    plan: StagePlan
    folder: Path
    arguments: dict[str, Any]
    process: int
    processes: int
    sample_sink: Callable[[SampleLine], None]
    held_out_sink: Callable[[MetricsLine], None]
    resumed_step: int = 0


Builder = Callable[[StageContext], Any]
"""Makes the trainer of a stage (a ``transformers.Trainer``)."""

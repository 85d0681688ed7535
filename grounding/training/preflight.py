"""Will it fit? Two steps of a stage at the longest example, run for real in a process of their own and measured.

Where memory runs out, changes of the recipe that need less are tried, one after another, until it fits.
"""

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from grounding.console import say
from grounding.records import Record
from grounding.training.examples import GrounderExample
from grounding.training.grounder import OpenedTraining, stage_of
from grounding.training.loop import MemoryRanOut
from grounding.training.recipes import GrounderRecipe, Method, Saving, read_recipe, stage_methods
from grounding.training.records import METRICS, TrainStage, read_lines
from grounding.training.stage import run_stage

STEPS = 2  # The first step warms up; the second one takes what the others take.


class Measured(Record, frozen=True, kw_only=True):
    """What a step took on the first device: bytes at most, of how many there are, seconds, and tokens of a pass."""

    peak_bytes: int
    total_bytes: int
    device: str
    seconds: float
    tokens: float


def stage_fits(
    console: Console,
    make: Callable[[Sequence[str]], TrainStage],
    longest: Record,
    overrides: Sequence[str],
    examples: int,
) -> bool:
    """Measure a stage and print what it takes, and with what changes it fits; returns whether it fits as it is."""
    more: tuple[str, ...] = ()
    for way in ("", *smaller(make(overrides))):
        more = (*more, *way.split())
        stage = make((*overrides, *more))
        changed = f" with --set {' '.join(more)}" if more else ""
        found = measure(stage, longest)
        if found is not None:
            rule = stage.optimisation
            replies = 1 if stage.grpo is None else stage.grpo.generations
            a_step = rule.batch * rule.accumulation * (stage.processes or 1)
            steps = rule.max_steps or max(1.0, examples * replies * rule.epochs / a_step)
            say(
                console,
                f"stage {stage.name}: it fits{changed}: {found.peak_bytes / 2**30:.2f} of "
                f"{found.total_bytes / 2**30:.1f} GiB on {found.device} at the longest example, {found.tokens:,.0f} "
                f"tokens a pass, {found.seconds:.3g} s a step, at most about {found.seconds * steps / 3600:.2g} h for "
                f"{steps:,.0f} steps",
            )
            return not more
        say(console, f"stage {stage.name}: memory runs out{changed}")
    say(console, f"stage {stage.name}: nothing that was tried fits; use a smaller model or a larger device")
    return False


def measure(stage: TrainStage, longest: Record) -> Measured | None:
    """Run ``STEPS`` steps in a process of their own; None where memory ran out. Raises UserError where they fail."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        try:
            return process.submit(_measure, stage, longest).result()
        except BrokenProcessPool:  # A system that has no memory left kills the process.
            return None


def _measure(stage: TrainStage, longest: Record) -> Measured | None:
    import psutil
    import torch

    # One pass is measured; of GRPO one for each round of replies, since a round is written at once.
    rule, passes = stage.optimisation, 1
    if stage.grpo is not None:
        at_once = stage.grpo.generate_at_once
        passes = rule.accumulation if at_once is None else max(1, at_once // rule.batch)
    short = msgspec.structs.replace(rule, max_steps=STEPS, accumulation=passes)
    trial = msgspec.structs.replace(stage, optimisation=short, saving=Saving(every_steps=None), held_out=None)
    copies = [longest] * (STEPS * rule.batch * passes * (stage.processes or 1))
    with tempfile.TemporaryDirectory(prefix="grounding-preflight-") as name:
        try:
            result = run_stage(Path(name), trial, copies, display="none")
        except MemoryRanOut:
            return None
        first, last = read_lines(Path(name) / METRICS, dict[str, Any])
    cuda = stage.device != "cpu" and torch.cuda.is_available()
    total = torch.cuda.get_device_properties(0).total_memory if cuda else psutil.virtual_memory().total
    return Measured(
        peak_bytes=result.peak_memory_bytes,
        total_bytes=total,
        device=result.device,
        seconds=(last["seconds"] - first["seconds"]) * rule.accumulation / passes,
        tokens=last.get("num_tokens", 0) - first.get("num_tokens", 0),
    )


def smaller(stage: TrainStage) -> Iterator[str]:
    """Changes of a recipe that need less memory, the mildest first."""
    rule = stage.optimisation
    if not stage.precision.gradient_checkpointing:
        yield "precision.gradient_checkpointing=true"
    if rule.batch > 1:
        kept = rule.batch * rule.accumulation
        yield f"{stage.method}.optimisation.batch=1 {stage.method}.optimisation.accumulation={kept}"
    if stage.method == "grpo":
        yield "grpo.generate_at_once=8 grpo.generations=8"
    if stage.lora is None:
        yield "lora.rank=32"


def grounder_fits(console: Console, opened: OpenedTraining) -> bool:
    """Measure every stage of a grounder's training with the longest example of all folds."""
    longest, fold = max(
        ((max(fold.train, key=_length), fold) for fold in opened.folds), key=lambda found: _length(found[0])
    )

    def fits(method: Method) -> bool:
        def make(overrides: Sequence[str]) -> TrainStage:
            recipe, _ = read_recipe(opened.options.recipe, GrounderRecipe, overrides)
            if method == "grpo":  # From the checkpoint itself: the stage before has not been trained.
                recipe = msgspec.structs.replace(recipe, sft=None)
            return stage_of(opened, method, opened.run.path / fold.below, recipe)

        return stage_fits(console, make, longest, opened.options.overrides, len(fold.train))

    return all([fits(method) for method in stage_methods(opened.recipe)])


def _length(example: GrounderExample) -> int:
    """How long an example's prompt is, about in tokens: a fourth of the letters, and squares of 28 pixels."""
    size = example.query.screenshot.size
    return len(msgspec.json.encode(example.query)) // 4 + size.width * size.height // 28**2

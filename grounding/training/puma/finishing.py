"""A trained model's folder as the agent takes it: merged weights or adapters, the tokenizer, and ``puma.json``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal

import msgspec

from grounding.training.puma.models import load_tokenizer, merge
from grounding.training.puma.plan import VariantPlan
from grounding.training.records import Precision
from grounding.webagents.personalwab.agents.trained import FILE, TrainedAs


def finish_model(
    target: Path,
    plan: VariantPlan,
    *,
    tuned: str,
    output: str,
    base: str,
    kind: Literal["merged", "adapter"],
    precision: Precision,
    memory_length: int,
    dataset: str,
) -> Path:
    """Write the folder of one model; one that is whole already is left as it is.

    Args:
        target: Where to.
        plan: Which model it is.
        tuned: The folder of the model after SFT.
        output: That of DPO's output, "" where there was none.
        base: The base model's name.
        kind: Whether adapters are merged. A model without DPO is whole in either case.
        precision: In what numbers the weights lie.
        memory_length: How many behaviours it is told.
        dataset: What it was trained on.
    """
    if (target / FILE).is_file():
        return target
    new = target.with_name(f".{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.parent.mkdir(parents=True, exist_ok=True)
    if not output:
        _copy(Path(tuned), new)
    elif kind == "adapter" or not (Path(output) / "adapter_config.json").is_file():
        _copy(Path(output), new)
        load_tokenizer(tuned).save_pretrained(new)
    else:
        merge(tuned, Path(output), new, precision)
    stages = ("sft",) if not output else ("sft", "dpo")
    said = TrainedAs(
        variant=plan.variant,
        memory_length=memory_length,
        memory_tokens=plan.tokens,
        predicts_functions=True,
        stages=stages,
        dataset=dataset,
        base=base,
    )
    (new / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(said), indent=2) + b"\n")
    shutil.rmtree(target, ignore_errors=True)
    new.replace(target)
    return target


def _copy(source: Path, target: Path) -> None:
    """The files of a folder under another name too: linked where the disk can, since weights are large."""
    target.mkdir(parents=True)
    for file in sorted(path for path in source.iterdir() if path.is_file()):
        try:
            os.link(file, target / file.name)
        except OSError:
            shutil.copy2(file, target / file.name)

"""PUMA's stages as the loop runs them: a stage's folder in, TRL's trainer out.

A stage's folder holds ``model.json`` (what it begins with), ``examples.jsonl`` and ``held_out.jsonl``; nothing else is
known to a builder, so that every process of a run can call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.loop.records import StageContext
from grounding.training.puma.models import load_model, load_tokenizer, lora_config
from grounding.training.puma.records import PreferencePair, SftExample, StageModel

MODEL, EXAMPLES, HELD_OUT = "model.json", "examples.jsonl", "held_out.jsonl"
LineT = TypeVar("LineT", bound=Record)


def write_stage(folder: Path, model: StageModel, examples: Sequence[Record], held_out: Sequence[Record]) -> None:
    """Write what a stage's builder reads. Files that hold the same already are left alone.

    Raises:
        UserError: an earlier attempt at the stage had other examples, or the disk failed.
    """
    files = {
        MODEL: msgspec.json.format(msgspec.json.encode(model), indent=2) + b"\n",
        EXAMPLES: _lines(examples),
        HELD_OUT: _lines(held_out),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = folder / name
            if path.exists() and path.read_bytes() == content:
                continue
            if path.exists() and (folder / "checkpoints").exists():
                raise UserError(f"{path}: this stage began with other content; start over with --fresh")
            new = folder / f".{name}.new"
            new.write_bytes(content)
            new.replace(path)
    except OSError as error:
        raise UserError(f"{folder}: can't be written: {error.strerror}") from None


def read_lines(path: Path, line_type: type[LineT]) -> list[LineT]:
    """The records of a file of lines."""
    decoder = msgspec.json.Decoder(line_type)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def build_sft(context: StageContext) -> Any:
    """The trainer of the SFT: prompt and completion, with the loss on the completion alone."""
    from trl import SFTConfig, SFTTrainer

    model = _stage_model(context.folder)
    dataset = _dataset([_sft_row(one) for one in read_lines(context.folder / EXAMPLES, SftExample)])
    held_out = [_sft_row(one) for one in read_lines(context.folder / HELD_OUT, SftExample)]
    return SFTTrainer(
        model=load_model(model.base, model.precision),
        args=SFTConfig(**context.arguments, max_length=model.max_tokens, completion_only_loss=True),
        train_dataset=dataset,
        eval_dataset=_dataset(held_out) if held_out else None,
        processing_class=load_tokenizer(model.base),
        peft_config=lora_config(model.lora),
    )


def build_dpo(context: StageContext) -> Any:
    """The trainer of DPO; the reference is the model that it begins with (with LoRA: without its adapters)."""
    from trl import DPOConfig, DPOTrainer

    model = _stage_model(context.folder)
    dataset = _dataset([_dpo_row(one) for one in read_lines(context.folder / EXAMPLES, PreferencePair)])
    held_out = [_dpo_row(one) for one in read_lines(context.folder / HELD_OUT, PreferencePair)]
    return DPOTrainer(
        model=load_model(model.base, model.precision),
        args=DPOConfig(**context.arguments, max_length=model.max_tokens, beta=model.beta),
        train_dataset=dataset,
        eval_dataset=_dataset(held_out) if held_out else None,
        processing_class=load_tokenizer(model.base),
        peft_config=lora_config(model.lora),
    )


def _stage_model(folder: Path) -> StageModel:
    return msgspec.json.decode((folder / MODEL).read_bytes(), type=StageModel)


def _sft_row(example: SftExample) -> dict[str, str]:
    return {"prompt": example.prompt, "completion": example.completion}


def _dpo_row(pair: PreferencePair) -> dict[str, str]:
    return {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}


def _dataset(rows: Sequence[dict[str, str]]) -> Any:
    import datasets

    library: Any = datasets
    return library.Dataset.from_list(list(rows))


def _lines(records: Sequence[Record]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in records)

"""The folder ``adapter/`` of a training run: what came out of the last stage, and its card."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec

from grounding.cards import GrounderCard, read_card
from grounding.errors import UserError
from grounding.training.adapters.cards import TunedFrom, tuned_card
from grounding.tuned import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CARD_FILE, adapter_facts, checkpoint_sha256

_HEAD = "# Written by grounding train. The folder can be moved and is a grounder: grounding eval --grounder FOLDER\n"
_NAMES_THE_BASE = "base_model_name_or_path"
_OF_WEIGHTS = ("config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json")
"""What of a model's folder belongs to the weights; everything else is how texts and pictures are prepared."""


def write_tuned(folder: Path, output: Path, tuned: TunedFrom, *, base: Path) -> GrounderCard:
    """Make the folder of a tuned model from the output of a stage, whole or not at all.

    Low-rank weights are copied. Whole weights are linked where the file system can, and get the tokenizer, template and
    picture settings of the base: those in the output served the training.

    Args:
        folder: Where to; what is there is replaced.
        output: The output of the last stage.
        tuned: What the card says.
        base: The folder of the checkpoint that was tuned.

    Returns:
        The card, as the evaluation reads it.

    Raises:
        UserError: the output holds no weights, or the disk failed.
    """
    new = folder.with_name(f".{folder.name}.new")
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        if (output / ADAPTER_WEIGHTS).is_file():
            shutil.copyfile(output / ADAPTER_WEIGHTS, new / ADAPTER_WEIGHTS)
            (new / ADAPTER_CONFIG).write_bytes(_portable(output / ADAPTER_CONFIG, tuned))
            facts = adapter_facts(new)
            card = tuned_card(tuned, sha256=facts.sha256, rank=facts.rank)
        elif (output / "config.json").is_file() and any(output.glob("*.safetensors")):
            _gather(new, output, base)
            card = tuned_card(tuned, sha256=checkpoint_sha256(new), rank=None)
        else:
            raise UserError(f"{output}: holds neither {ADAPTER_WEIGHTS} nor a model; train again with --fresh")
        (new / CARD_FILE).write_text(card_text(card), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        new.replace(folder)
    except OSError as error:
        raise UserError(f"{folder}: the tuned model can't be written: {error.strerror}") from error
    return read_card(folder / CARD_FILE, GrounderCard)


def _portable(config: Path, tuned: TunedFrom) -> bytes:
    """PEFT's configuration without a folder of the machine that trained."""
    try:
        said: dict[str, Any] = msgspec.json.decode(config.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UserError(f"{config}: damaged: {error}; train again with --fresh") from error
    base = tuned.card.adapter.base if tuned.card.adapter is not None else tuned.card.model
    return msgspec.json.format(msgspec.json.encode(said | {_NAMES_THE_BASE: base}), indent=2)


def _gather(new: Path, output: Path, base: Path) -> None:
    def of_weights(path: Path) -> bool:
        return any(path.match(pattern) for pattern in _OF_WEIGHTS)

    for path in sorted(output.iterdir()):
        if path.is_file() and of_weights(path):
            _link(path, new / path.name)
    for path in sorted(base.iterdir()):
        if path.is_file() and not of_weights(path) and path.suffix in (".json", ".jinja", ".txt", ".model"):
            shutil.copyfile(path, new / path.name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # Another file system, or one without links.
        shutil.copyfile(source, target)


# --- the card as text ---------------------------------------------------------------------------------------------


def card_text(card: GrounderCard) -> str:
    """A card as YAML, in the order of its fields; what has its default value is left out."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts of several lines as such."""

    def text(dumper: yaml.SafeDumper, value: str) -> Any:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    fields = msgspec.to_builtins(card)
    return _HEAD + yaml.dump(fields, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)

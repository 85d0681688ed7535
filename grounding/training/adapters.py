"""What a training of a grounder leaves for the evaluation: weights in a folder with a card beside them."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec

from grounding.atomic import flush_tree
from grounding.cards import GrounderCard, WeightsRule, read_card
from grounding.cards.tuned import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CARD_FILE, adapter_facts, checkpoint_sha256
from grounding.errors import UserError
from grounding.training.records import read_record, write_record

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_CHARS = 80
_HASH_CHARS = 8


def slug(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text).strip("-.")[:_MOST_CHARS] or "tuned"


_HEAD = b"# Written by grounding train. The folder can be moved and is a grounder: grounding eval --grounder FOLDER\n"
_OF_WEIGHTS = ("config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json")
"""What of a model's folder belongs to the weights; everything else is how texts and pictures are prepared."""


def write_tuned(folder: Path, output: Path, card: GrounderCard, *, base: Path) -> GrounderCard:
    """Make the folder of a tuned model from the output of a stage, whole or not at all.

    Low-rank weights are copied. Whole weights are linked where the file system can, and get the tokenizer, template and
    picture settings of the base: those in the output served the training.

    Args:
        folder: Where to; it may be moved later.
        output: What the stage left.
        card: The tuned model's card, whose ``adapter`` says what was tuned. Its name gets a part of the weights' hash,
            so that a server that has others under the same folder is found out.
        base: The folder of the weights that were tuned.

    Returns:
        The card, as the evaluation reads it.

    Raises UserError: the output holds no weights, or the disk failed.
    """
    new, rule = folder.with_name(f".{folder.name}.new"), card.adapter
    assert rule is not None, "the card says what was tuned"
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        fields: dict[str, Any]
        if (output / ADAPTER_WEIGHTS).is_file():
            shutil.copyfile(output / ADAPTER_WEIGHTS, new / ADAPTER_WEIGHTS)
            # PEFT's configuration without a folder of the machine that trained.
            said = read_record(output / ADAPTER_CONFIG, dict[str, Any]) | {"base_model_name_or_path": rule.base}
            write_record(new / ADAPTER_CONFIG, said)
            facts = adapter_facts(new)
            sha256, fields = facts.sha256, {}
            fields["adapter"] = msgspec.structs.replace(rule, sha256=facts.sha256, rank=facts.rank)
        elif (output / "config.json").is_file() and any(output.glob("*.safetensors")):
            for path in {path for pattern in _OF_WEIGHTS for path in output.glob(pattern)}:
                link(path, new / path.name)
            for path in sorted(base.iterdir()):
                of_weights = any(path.match(pattern) for pattern in _OF_WEIGHTS)
                if not of_weights and path.suffix in (".json", ".jinja", ".txt", ".model"):
                    shutil.copyfile(path, new / path.name)
            sha256 = checkpoint_sha256(new)
            fields = {"adapter": None, "weights": WeightsRule(sha256=sha256)}
        else:
            raise UserError(f"{output}: holds neither {ADAPTER_WEIGHTS} nor a model; train again with --fresh")
        name = f"{card.name}-{sha256[:_HASH_CHARS]}"
        content = msgspec.yaml.encode(msgspec.structs.replace(card, name=name, model=name, **fields))
        (new / CARD_FILE).write_bytes(_HEAD + content)
        flush_tree(new)
        shutil.rmtree(folder, ignore_errors=True)
        new.replace(folder)
    except OSError as error:
        raise UserError(f"{folder}: the tuned model can't be written: {error.strerror}") from error
    return read_card(folder / CARD_FILE, GrounderCard)


def link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)

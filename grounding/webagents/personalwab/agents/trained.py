"""What a model's folder says of how it was trained: ``puma.json``, written by training, read by the agent.

A model that was trained with a memory of 256 tokens is to be told one of 256 tokens, and one that has learnt which
function an instruction asks for is to be asked. Options of the user win over what stands here.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.records import Record

FILE = "puma.json"


class TrainedAs(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a model of PUMA was trained.

    ``variant`` is the row of the paper's table 5. ``memory_length`` is in behaviours, 0 for a model without memory,
    ``memory_tokens`` in tokens of its own tokenizer. ``predicts_functions`` says whether it has learnt to name the
    function of an instruction. ``stages`` are the methods it went through, ``dataset`` what it was trained on.
    """

    variant: str
    memory_length: int
    memory_tokens: int
    predicts_functions: bool
    stages: tuple[str, ...]
    dataset: str
    base: str


def trained_as(folder: Path) -> TrainedAs | None:
    """Read what a model's folder says of its training; None where it says nothing.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=TrainedAs)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: damaged ({error}); delete it to use the model without it") from None

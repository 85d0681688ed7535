"""What can change the answer of a model that runs in this process, as canonical text."""

from __future__ import annotations

import msgspec

from grounding.cards import ChatCard, Json
from grounding.grounders.hf.options import HfOptions

_NEVER_CHANGES_AN_ANSWER = (
    "title",
    "aliases",
    "endpoint",
    "price",
    "max_connections",
    "timeout_s",
    "source",
    "notes",
    "takes",
    "serving",
    "published",
    "disagreements",
    "revision",  # Part of the checkpoint's own identity, where it counts.
)


def hf_identity(card: ChatCard, options: HfOptions, parameters: dict[str, Json], checkpoint: str) -> str:
    """Canonical text of card, parameters, weights and number format.

    The batch size is not part of it: neighbours in a batch change an answer by rounding only. Nor is the device.
    """
    fields = {name: value for name, value in msgspec.to_builtins(card).items() if name not in _NEVER_CHANGES_AN_ANSWER}
    fields.update(parameters=parameters, backend="hf", dtype=options.dtype, checkpoint=checkpoint)
    return msgspec.json.encode(fields, order="sorted").decode()

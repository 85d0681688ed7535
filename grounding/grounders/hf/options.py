"""What a user may set for a model that runs in this process, and the one error that running it can end in."""

from __future__ import annotations

from typing import Literal

from grounding.errors import UserError
from grounding.records import Record

INSTALL = "pip install 'grounding[hf]'"
INSTALL_PEFT = "pip install 'grounding[hf]' peft"

Dtype = Literal["bfloat16", "float16", "float32"]


class HfOptions(Record, frozen=True, kw_only=True):
    """How and where a model's weights are run.

    ``model_path`` is a folder or an id on the Hugging Face hub; empty for the card's own. ``device`` is torch's name
    for it; ``auto`` is the GPU where there is one. ``wait_ms`` is how long a batch that isn't full waits for more.
    """

    model_path: str = ""
    dtype: Dtype = "bfloat16"
    device: str = "auto"
    batch_size: int = 8
    wait_ms: float = 5.0

    def checked(self) -> HfOptions:
        """The same options.

        Raises:
            UserError: a number is out of range.
        """
        if self.batch_size < 1:
            raise UserError(f"the batch size must be 1 or more, not {self.batch_size}")
        if self.wait_ms < 0:
            raise UserError(f"the wait for a fuller batch can't be negative: {self.wait_ms} ms")
        return self


class ModelFailed(Exception):
    """A model could not answer; the message says why. It becomes a failure in the record, never a traceback."""


class OutOfMemory(ModelFailed):
    """The device has no room for what was asked; a smaller batch or picture may fit."""

"""The wording of PUMA's own model beside that of the agents: the question for a function, and that for a label.

A file of its own, so that the label of the agents' wording stays what it is.
"""

from __future__ import annotations

import hashlib
from functools import cache

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.records import TaskType
from grounding.webagents.personalwab.verdicts import FUNCTION_OF


class PumaPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The texts. ``function`` asks for a function, ``search_label`` a chat model for a query."""

    name: str
    version: int
    source: str
    function: str
    search_label: str

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


@cache
def puma_prompts() -> PumaPrompts:
    """The wording of the release.

    Raises:
        UserError: the file is missing from this installation, or damaged.
    """
    path = models_dir() / "prompts" / "personalwab" / "puma.yaml"
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=PumaPrompts)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: can't be read: {error}") from None


def function_prompt(prompts: PumaPrompts, instruction: str) -> str:
    """The question which function an instruction asks for."""
    return fill(prompts.function, instruction=instruction)


def named_function(text: str) -> TaskType | None:
    """The type of task whose function a text begins with; None where it names none."""
    said = text.strip()
    return next((kind for kind, name in FUNCTION_OF.items() if said.startswith(name)), None)

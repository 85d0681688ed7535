"""What captioners and judges share: a prompt that is a named and versioned file."""

import hashlib
from typing import Annotated, Any, TypeVar

import msgspec

from grounding.cards import prompt_file
from grounding.cards.places import models_dir
from grounding.errors import UserError
from grounding.records import Record


class NamedPrompt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    system: str | None = None
    source: str = ""

    def label_over(self, *messages: Any) -> str:
        """Name, version and hash, such as ``consecutive.1@0123abcd``: other words are another prompt."""
        content = msgspec.json.encode((self.system, *messages))
        return f"{self.name}.{self.version}@{hashlib.sha256(content).hexdigest()[:8]}"


PromptT = TypeVar("PromptT", bound=NamedPrompt)


def find_prompt(name: str, kind: type[PromptT], folder: str, *, flag: str) -> PromptT:
    """The prompt that a user means: the name of a bundled one or the path of a file (.yaml). Raises UserError: nothing
    is called so, the file can't be read, is not YAML, or a field is wrong.
    """
    path = prompt_file(name, models_dir() / "prompts" / folder, flag=flag)
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UserError(f"{path}: the prompt can't be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        fields = ", ".join(kind.__struct_fields__)
        raise UserError(f"{path}: {error}. A prompt for {folder} has the fields {fields}") from error

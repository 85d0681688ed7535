"""A causal language model from a folder: goes on with a text, on this machine."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.personalwab.extras import needs

MAX_NEW_TOKENS = 256
ADAPTER = "adapter_config.json"


class Continuation(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a model wrote after a prompt, without it."""

    text: str
    input_tokens: int
    output_tokens: int


class TextModel(Protocol):
    """Goes on with a text."""

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change what it writes."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def write(self, prompt: str, *, max_new_tokens: int = MAX_NEW_TOKENS) -> Continuation:
        """Go on with a prompt."""
        ...


class LocalModel:
    """A causal language model of ``transformers``, or adapters to one, from a folder.

    A folder of adapters names its base model (``base_model_name_or_path`` of ``adapter_config.json``), which is loaded
    too; the adapters are merged into it.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(f"--model-path {folder}: no such folder; give the one of a causal language model")
        with needs("torch", "transformers", "peft"):
            import torch

            try:
                self._tokenizer, model = load_causal(folder)
            except (OSError, ValueError, KeyError) as error:
                raise UserError(f"--model-path {folder}: no model that can be loaded: {str(error)[:300]}") from None
        self._torch = torch
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self.identity = f"local:{folder_hash(folder)};greedy;{MAX_NEW_TOKENS}"

    def count(self, text: str) -> int:
        """Tokens of a text, with those that the tokenizer puts around it."""
        return len(self._tokenizer(text)["input_ids"])

    def write(self, prompt: str, *, max_new_tokens: int = MAX_NEW_TOKENS) -> Continuation:
        """Go on greedily."""
        read = self._tokenizer(prompt, return_tensors="pt").to(self._model.device)
        read.pop("token_type_ids", None)
        with self._torch.no_grad():
            made = self._model.generate(**read, max_new_tokens=max_new_tokens, do_sample=False, num_beams=1)
        before = read["input_ids"].shape[1]
        text = self._tokenizer.decode(made[0][before:], skip_special_tokens=True)
        return Continuation(text=text, input_tokens=before, output_tokens=int(made.shape[1]) - before)


def load_causal(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the model of a folder, on the CPU; adapters are merged into their base.

    Raises:
        OSError: a file is not there. ValueError, KeyError: it is of no model that is known.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    if not (folder / ADAPTER).is_file():
        return tokenizer, AutoModelForCausalLM.from_pretrained(folder)
    from peft import PeftConfig, PeftModel

    base = PeftConfig.from_pretrained(str(folder)).base_model_name_or_path
    if not base:
        raise ValueError(f"{folder / ADAPTER} names no base model (base_model_name_or_path)")
    model: Any = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), str(folder))
    return tokenizer, model.merge_and_unload()


def folder_hash(folder: Path) -> str:
    """Sixteen hex digits over the names and bytes of a folder's files."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(file.name.encode() + b"\0")
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:16]

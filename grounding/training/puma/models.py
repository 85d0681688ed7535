"""The weights of PUMA's stages: model and tokenizer loaded, adapters made, and adapters merged into their base."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.records import LoraRule, Precision

DONE = "merged.json"
_WANTED = ("*.json", "*.safetensors", "*.txt", "*.jinja", "*.model")


class Merged(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``merged.json``, written last: what was merged into what."""

    base: str
    adapter: str


def base_folder(model: str) -> Path:
    """The folder of a base model, downloaded where it is a name on the hub and not on this disk yet.

    Raises:
        UserError: it can't be had, or is no checkpoint.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UserError(f"--model {model}: no config.json there: not the folder of a model")
        return path.resolve()
    if path.exists() or model.startswith((".", "/", "~")) or model.count("/") != 1:
        raise UserError(
            f"--model {model}: neither a folder nor a name on the hub such as meta-llama/Llama-2-7b-chat-hf"
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, allow_patterns=list(_WANTED)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"--model {model}: can't be downloaded: {reason[:300]}; give a folder") from None


def load_tokenizer(model: str) -> Any:
    """The tokenizer of a model's folder, with a token to pad with.

    Raises:
        UserError: there is none that can be loaded, or it has no end of text.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"--model {model}: no tokenizer that can be loaded: {str(error)[:300]}") from None
    if tokenizer.eos_token is None:
        raise UserError(f"--model {model}: its tokenizer has no end of text (eos_token), which training needs")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(model: str, precision: Precision | None = None) -> Any:
    """The causal language model of a folder or of the hub, on the CPU.

    Args:
        model: Folder or name.
        precision: In what numbers the weights are to lie; None for those of its files.

    Raises:
        UserError: there is none that can be loaded.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    dtype: Any = "auto" if precision is None else getattr(torch, precision.dtype)
    try:
        return AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"--model {model}: no causal language model that can be loaded: {str(error)[:300]}") from None


def lora_config(rule: LoraRule | None) -> Any:
    """PEFT's configuration of a rule; None trains every weight."""
    if rule is None:
        return None
    from peft import LoraConfig, TaskType

    return LoraConfig(
        r=rule.rank,
        lora_alpha=rule.alpha,
        lora_dropout=rule.dropout,
        target_modules=rule.targets if isinstance(rule.targets, str) else list(rule.targets),
        modules_to_save=list(rule.also_train) or None,
        bias="none",
        task_type=TaskType.CAUSAL_LM,
    )


def merge(base: str, stage_output: Path, target: Path, precision: Precision) -> Path:
    """Make a whole model of a stage's output, which may be one already; returns its folder.

    A merge that was broken off is made again; a finished one of the same parts is left as it is.
    """
    import msgspec

    wanted = Merged(base=base, adapter=str(stage_output))
    done = target / DONE
    if done.is_file() and msgspec.json.decode(done.read_bytes(), type=Merged) == wanted:
        return target
    if not (stage_output / "adapter_config.json").is_file():
        return stage_output
    from peft import PeftModel

    shutil.rmtree(target, ignore_errors=True)
    model: Any = PeftModel.from_pretrained(load_model(base, precision), str(stage_output))
    whole = model.merge_and_unload()
    whole.save_pretrained(target)
    load_tokenizer(base).save_pretrained(target)
    done.write_bytes(msgspec.json.encode(wanted))
    return target


def device() -> str:
    """Where work beside training is done: an accelerator where there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"

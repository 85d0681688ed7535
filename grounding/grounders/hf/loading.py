"""A checkpoint folder to a model and its processor in memory. Blocks; torch and transformers are imported here."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grounding.cards import ChatCard, Family
from grounding.errors import UserError
from grounding.grounders.hf.options import INSTALL, INSTALL_PEFT, HfOptions, ModelFailed, OutOfMemory
from grounding.tuned import ADAPTER_WEIGHTS, tensor_names

POINTER_PREFIX = "multi_patch_pointer_head."
"""Where GUI-Actor's checkpoints keep what plain Qwen-VL has no place for."""

_MODEL_TYPES: dict[Family, str] = {"qwen2_vl": "qwen2_vl", "qwen2_5_vl": "qwen2_5_vl", "qwen3_vl": "qwen3_vl"}
_NEEDED = ("torch", "torchvision", "transformers")
_MANY = 3


@dataclass
class Loaded:
    """A model in memory. ``end_ids`` are the tokens that end an answer."""

    model: Any
    processor: Any
    end_ids: tuple[int, ...]
    pad_id: int

    @property
    def patch_px(self) -> int:
        """Side of a vision patch in pixels."""
        return int(self.processor.image_processor.patch_size)

    @property
    def merge(self) -> int:
        """How many patches across and down become one token."""
        return int(self.processor.image_processor.merge_size)


def require_packages() -> None:
    """Nothing, where all that running a model needs is installed.

    Raises:
        UserError: names what is missing and how to install it.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"running a model in this process needs {', '.join(missing)}: {INSTALL}")


def load(folder: Path, card: ChatCard, options: HfOptions, *, extra_weights: str = "") -> Loaded:
    """Load a checkpoint of the card's family for inference.

    ``extra_weights`` is the prefix of weights in the checkpoint that are not the plain model's and are read elsewhere.

    An adapter of the card is put on the checkpoint's weights, in their number format, and not merged into them: as
    vLLM runs it.

    Raises:
        UserError: packages are missing, the checkpoint is of another family, incomplete or damaged, or doesn't fit.
    """
    require_packages()
    if card.adapter is not None:
        _require_peft(card)
    _check_family(folder, card)
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForImageTextToText, AutoProcessor
    from transformers.utils import logging

    # Its bars and tables would be drawn over the run's own progress; what they say is checked below.
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    device = _device(options.device)
    placed = {"device_map": {"": device}} if device != "cpu" and importlib.util.find_spec("accelerate") else {}
    try:
        with failures_typed():
            processor = AutoProcessor.from_pretrained(folder)
            model, found = AutoModelForImageTextToText.from_pretrained(
                folder,
                dtype=getattr(torch, options.dtype),
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # They are named and refused below.
                **placed,
            )
            model = model.to(device).eval()
    except (ModelFailed, SafetensorError, OSError, ValueError, ImportError) as error:
        raise UserError(f"{folder}: the model can't be loaded: {error}") from error
    _check_weights(folder, found, extra_weights)
    if card.adapter is not None:
        model = _with_adapter(model, card, Path(card.adapter.path))
    return _finished(model, processor)


def _require_peft(card: ChatCard) -> None:
    if importlib.util.find_spec("peft") is None:
        raise UserError(f"{card.name} is an adapter, which needs peft to run in this process: {INSTALL_PEFT}")


def _with_adapter(model: Any, card: ChatCard, folder: Path) -> Any:
    """The model with low-rank weights beside its own, on its device."""
    import warnings

    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import SafetensorError

    try:
        # What PEFT only warns of, weights that are missing, is found and refused below.
        with failures_typed(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adapted = PeftModel.from_pretrained(
                model, folder, torch_device=str(model.device), autocast_adapter_dtype=False
            )
            wanted = set(get_peft_model_state_dict(adapted))
    except (ModelFailed, SafetensorError, OSError, ValueError, TypeError, KeyError, ImportError) as error:
        raise UserError(f"{folder}: the adapter can't be put on {card.checkpoint}: {error}") from error
    stored = set(tensor_names(folder / ADAPTER_WEIGHTS))
    for names, what in ((wanted - stored, "lacks"), (stored - wanted, "has weights that the model has no place for:")):
        if names:
            raise UserError(f"{folder}: the adapter {what} {_some(sorted(names))}: it is for another model")
    return adapted.get_base_model().eval()


def _finished(model: Any, processor: Any) -> Loaded:
    """Take what ends an answer from the checkpoint's generation config, and drop the rest of that file.

    ``generate`` fills what it isn't told from there: Qwen's checkpoints hold a repetition penalty of 1.05 and sampling.
    """
    from transformers import GenerationConfig

    ends = model.generation_config.eos_token_id
    listed = [ends] if isinstance(ends, int) else list(ends or [])
    own = processor.tokenizer.eos_token_id
    end_ids = tuple(dict.fromkeys([*listed, *([own] if own is not None else [])]))
    pad_id = processor.tokenizer.pad_token_id
    pad_id = pad_id if pad_id is not None else end_ids[0]
    model.generation_config = GenerationConfig(eos_token_id=list(end_ids), pad_token_id=pad_id)
    return Loaded(model=model, processor=processor, end_ids=end_ids, pad_id=pad_id)


def _device(wanted: str) -> str:
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise UserError(f"--device {wanted}: torch knows no such device; try cpu, cuda or cuda:1") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"--device {wanted}: torch {torch.__version__} sees no GPU here")
    return wanted


def _check_family(folder: Path, card: ChatCard) -> None:
    expected = _MODEL_TYPES.get(card.family) if card.family is not None else None
    if expected is None:
        raise UserError(
            f"card {card.name} is of the family {card.family or '(none stated)'}; models of "
            f"{', '.join(_MODEL_TYPES)} can run in this process"
        )
    try:
        found = json.loads((folder / "config.json").read_bytes()).get("model_type")
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{folder / 'config.json'}: can't be read: {error}") from error
    if found != expected:
        raise UserError(f"{folder}: the checkpoint is a {found}, and card {card.name} is for {expected}")


def _check_weights(folder: Path, found: dict[str, Any], extra: str) -> None:
    """Refuse weights that transformers would quietly replace by random ones, or leave out."""
    for kind, what in (("missing_keys", "lacks"), ("mismatched_keys", "has of another shape")):
        names = sorted(str(name) for name in found.get(kind) or ())
        if names:
            raise UserError(f"{folder}: the checkpoint {what} {_some(names)}: not the weights of this architecture")
    spare = sorted(str(name) for name in found.get("unexpected_keys") or ())
    left = [name for name in spare if not (extra and name.startswith(extra))]
    if any(name.startswith(POINTER_PREFIX) for name in left):
        raise UserError(
            f"{folder}: the checkpoint has a pointer head; as a plain language model it names no place. "
            "Take a card of GUI-Actor."
        )
    if left:
        raise UserError(f"{folder}: the checkpoint has weights that the model has no place for: {_some(left)}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MANY]) + (f" and {len(names) - _MANY} more" if len(names) > _MANY else "")


@contextmanager
def failures_typed() -> Iterator[None]:
    """Turn what torch raises into a failure with a message; the only exceptions that it has are RuntimeErrors.

    Raises:
        OutOfMemory: the device is full.
        ModelFailed: anything else that went wrong inside torch.
    """
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemory(_memory(error)) from error
    except RuntimeError as error:
        # The allocator for main memory has no exception of its own.
        if "can't allocate memory" in str(error) or "out of memory" in str(error):
            raise OutOfMemory(_memory(error)) from error
        raise ModelFailed(f"torch failed: {str(error).strip() or type(error).__name__}") from error


def _memory(error: BaseException) -> str:
    first = (str(error).strip() or "out of memory").splitlines()[0][:200]
    return f"out of memory: {first}. A smaller --batch-size, --dtype bfloat16 or the card's max_pixels may help"

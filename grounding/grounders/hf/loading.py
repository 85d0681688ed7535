"""A checkpoint folder to a model and its processor in memory. Blocks; torch and transformers are imported here."""

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from grounding.cards import ChatCard, Family, Json
from grounding.cards.identity import card_identity, hub_folder
from grounding.cards.tuned import ADAPTER_WEIGHTS, check_base, named_base, tensor_names, update_sampled
from grounding.errors import UserError, install
from grounding.records import Record

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

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise UserError(f"the batch size must be 1 or more, not {self.batch_size}")


class ModelFailed(Exception):
    """A model could not answer; the message says why. It becomes a failure in the record, never a traceback."""


def hf_identity(card: ChatCard, options: HfOptions, parameters: dict[str, Json], checkpoint: str) -> str:
    """Canonical text of card, parameters, weights and number format.

    The batch size is not part of it: neighbours in a batch change an answer by rounding only. Nor is the device. The
    card's revision is part of the checkpoint's own identity, where it counts.
    """
    return card_identity(
        card,
        leave_out=("revision",),
        parameters=parameters,
        backend="hf",
        dtype=options.dtype,
        checkpoint=checkpoint,
    )


WANTED = ("*.json", "*.safetensors", "*.txt", "*.jinja", "*.model")
_DESCRIPTION = ("config.json",)


def local_folder(model_path: str) -> Path | None:
    """The folder that a user's path means; None where it is an id on the hub. Raises UserError: it is written like a
    path and there is no such folder, or it holds no checkpoint.
    """
    path = Path(model_path).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UserError(f"--model-path {model_path}: no config.json there: not a checkpoint folder")
        return path
    if path.exists() or model_path.startswith((".", "/", "~", "\\")) or model_path.count("/") != 1:
        raise UserError(f"--model-path {model_path}: neither a folder nor an id such as Qwen/Qwen2.5-VL-7B-Instruct")
    return None


def fetch(card: ChatCard, options: HfOptions, *, weights: bool = True) -> Path:
    """The folder with the checkpoint, downloaded from the hub where it is not on this disk yet. Blocks. Without
    ``weights`` its ``config.json`` is enough. Raises UserError: it can't be had.
    """
    wanted = options.model_path or card.checkpoint
    folder = _local(card, options)
    if folder is not None:
        check_base(card, folder)
        return folder
    # A user's path of this form was refused above; a card may name one of the models of a repository.
    inside = hub_folder(wanted)
    wanted_files = WANTED if weights else _DESCRIPTION
    patterns = [f"{inside.folder}/{pattern}" if inside else pattern for pattern in wanted_files]
    revision = None if options.model_path else card.checkpoint_revision
    found = from_hub(inside.repository if inside else wanted, patterns, revision=revision)
    folder = found / inside.folder if inside else found
    if weights:
        check_base(card, folder)
    return folder


def from_hub(repository: str, patterns: Sequence[str] = WANTED, *, revision: str | None = None) -> Path:
    """The folder of a repository's files on this disk, downloaded from the hub where they are not there yet. Blocks.
    Raises UserError: they can't be had.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise UserError(f"running {repository} here needs torch and transformers: {install('hf')}") from error
    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=list(patterns)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"{repository} can't be had from the Hugging Face hub: {reason}. Give a folder with --model-path."
        ) from error


def _local(card: ChatCard, options: HfOptions) -> Path | None:
    if options.model_path:
        return local_folder(options.model_path)
    path = Path(card.checkpoint).expanduser()
    if card.adapter is not None and path.is_absolute() and not (path / "config.json").is_file():
        raise UserError(
            f"{card.name}: its adapter was trained on {named_base(card.adapter)}, and no checkpoint lies there any "
            "more. Say where it is now with --model-path FOLDER"
        )
    if hub_folder(card.checkpoint) and not path.is_dir():
        return None
    return local_folder(card.checkpoint)


def checkpoint_identity(card: ChatCard, options: HfOptions) -> str:
    """What names the weights: hub id and revision, or for a folder a hash over its files.

    Whole for the JSON files; for weights their sizes and 16 samples of 64 KiB of each, since hashing gigabytes would
    take minutes and a change of training shows everywhere.
    """
    wanted = options.model_path or card.checkpoint
    folder = _local(card, options)
    if folder is None:
        return f"{wanted}@{'main' if options.model_path else card.checkpoint_revision}"
    check_base(card, folder)
    digest = hashlib.sha256()
    files = (path for path in sorted(folder.iterdir()) if path.is_file())
    update_sampled(digest, (path for path in files if any(path.match(pattern) for pattern in WANTED)))
    return digest.hexdigest()[:16]


def weight_files(folder: Path, prefix: str) -> dict[str, Path]:
    """The tensors of a checkpoint whose names begin with a prefix, and the file that each is in.

    Both layouts are known: one file, or shards with ``model.safetensors.index.json``. Empty if there are none. Raises
    UserError: the folder has no safetensors, or its index is damaged.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            listed = msgspec.json.decode(index.read_bytes(), type=dict[str, msgspec.Raw])
            shards = msgspec.json.decode(listed.get("weight_map", msgspec.Raw(b"{}")), type=dict[str, str])
        except (OSError, msgspec.DecodeError) as error:
            raise UserError(f"{index}: can't be read: {error}") from error
        return {name: folder / file for name, file in shards.items() if name.startswith(prefix)}
    single = folder / "model.safetensors"
    if not single.is_file():
        raise UserError(f"{folder}: holds no model.safetensors and no model.safetensors.index.json")
    return {name: single for name in tensor_names(single) if name.startswith(prefix)}


POINTER_PREFIX = "multi_patch_pointer_head."  # Where GUI-Actor's checkpoints keep what plain Qwen-VL has no place for.
_MODEL_TYPES: dict[Family, str] = {"qwen2_vl": "qwen2_vl", "qwen2_5_vl": "qwen2_5_vl", "qwen3_vl": "qwen3_vl"}
_NEEDED = ("qwen_vl_utils", "torch", "torchvision", "transformers")
_MANY = 3


@dataclass
class Loaded:
    model: Any
    processor: Any
    end_ids: tuple[int, ...]
    pad_id: int

    @property
    def merge(self) -> int:
        return int(self.processor.image_processor.merge_size)


def require_packages() -> None:
    """Nothing, where all that running a model needs is installed. Raises UserError: names what is missing and how to
    install it.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"running a model in this process needs {', '.join(missing)}: {install('hf')}")


def load(folder: Path, card: ChatCard, options: HfOptions, *, extra_weights: str = "") -> Loaded:
    """Load a checkpoint of the card's family for inference.

    ``extra_weights`` is the prefix of weights in the checkpoint that are not the plain model's and are read elsewhere.

    An adapter of the card is put on the checkpoint's weights, in their number format, and not merged into them: as vLLM
    runs it. Raises UserError: packages are missing, the checkpoint is of another family, incomplete or damaged, or
    doesn't fit.
    """
    require_packages()
    if card.adapter is not None and importlib.util.find_spec("peft") is None:
        raise UserError(f"{card.name} is an adapter, which needs peft to run in this process: {install('hf')}")
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
    """Take what ends an answer from the checkpoint's generation config, and drop the rest of that file. ``generate``
    fills what it isn't told from there: Qwen's checkpoints hold a repetition penalty of 1.05 and sampling.
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


_NO_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory", "defaultcpuallocator")


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether a device or main memory was full, for whose allocator torch has no exception of its own."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(no in said for no in _NO_MEMORY))


@contextmanager
def failures_typed() -> Iterator[None]:
    """Turn what torch raises into a failure with a message; the only exceptions that it has are RuntimeErrors. Raises
    ModelFailed: the device is full, or anything else went wrong inside torch.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        said = str(error).strip() or type(error).__name__
        if ran_out_of_memory(error):
            first = said.splitlines()[0][:200]
            said = f"out of memory: {first}. A smaller --batch-size, --dtype bfloat16 or the card's max_pixels may help"
            raise ModelFailed(said) from error
        raise ModelFailed(f"torch failed: {said}") from error

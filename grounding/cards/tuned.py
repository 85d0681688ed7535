"""The files of a tuned model: what its card says of them held against what lies there. Knows no torch.

A card beside an adapter (low-rank weights as PEFT stores them) or beside whole weights names a folder relative to
itself. Here that becomes a folder on this disk, and the hash of what is in it.
"""

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grounding.cards.schema import AdapterRule, ChatCard
from grounding.errors import UserError
from grounding.records import Record

CARD_FILE = "card.yaml"
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"

# What vLLM's `--max-lora-rank` takes (`MaxLoRARanks` in vllm/config/lora.py; 1 is there since 0.11 only).
VLLM_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
_SAMPLES = 16
_SAMPLE_BYTES = 64 * 1024
_LONGEST_HEADER = 100 << 20
# Fields of PEFT's configuration that change no answer.
_WHERE_ONLY = ("base_model_name_or_path", "revision", "inference_mode", "peft_version")
CardT = TypeVar("CardT", bound=ChatCard)


class AdapterFacts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What PEFT's files say of an adapter. ``rank`` is the largest of its layers'. ``whole`` are modules stored in full
    beside the low-rank weights; ``in_vision`` says whether some of the weights belong to the vision tower. ``unusual``
    names what vLLM can't run.
    """

    rank: int
    whole: tuple[str, ...]
    in_vision: bool
    unusual: tuple[str, ...]
    sha256: str


def resolve(card: CardT, card_path: Path) -> CardT:
    """The card with the folders of its weights on this disk, and the hashes of what is there; others as they are."""
    if card.weights is not None:
        folder = _folder(card_path, card.weights.path, "weights.path", "config.json")
        found = checkpoint_sha256(folder)
        _check_same(card_path, "weights.sha256", card.weights.sha256, found, folder)
        rule = msgspec.structs.replace(card.weights, path=str(folder), sha256=found)
        return msgspec.structs.replace(card, weights=rule)
    if card.adapter is None:
        return card
    folder = _folder(card_path, card.adapter.path, "adapter.path", ADAPTER_CONFIG)
    facts = adapter_facts(folder)
    _check_same(card_path, "adapter.sha256", card.adapter.sha256, facts.sha256, folder)
    if card.adapter.rank not in (None, facts.rank):
        raise UserError(
            f"{card_path}: field adapter.rank: {card.adapter.rank}, and {folder / ADAPTER_CONFIG} says {facts.rank}"
        )
    adapter = msgspec.structs.replace(card.adapter, path=str(folder), sha256=facts.sha256, rank=facts.rank)
    return msgspec.structs.replace(card, adapter=adapter)


def _folder(card_path: Path, given: str, field: str, wanted: str) -> Path:
    folder = (card_path.parent / Path(given).expanduser()).absolute()
    if not (folder / wanted).is_file():
        raise UserError(f"{card_path}: field {field}: there is no {wanted} in {folder}")
    return folder


def _check_same(card_path: Path, field: str, stated: str, found: str, folder: Path) -> None:
    if stated and stated != found:
        raise UserError(
            f"{card_path}: field {field}: the files in {folder} are not those that the card was written for (stated "
            f"{stated[:12]}…, found {found[:12]}…). Put the right ones there, or take the field out of the card"
        )


# --- adapters -----------------------------------------------------------------------------------------------------


def adapter_facts(folder: Path) -> AdapterFacts:
    """Read what PEFT stored, without the weights themselves."""
    try:
        stamps = tuple(
            (status.st_size, status.st_mtime_ns)
            for status in ((folder / name).stat() for name in (ADAPTER_CONFIG, ADAPTER_WEIGHTS))
        )
    except OSError as error:
        raise UserError(f"{error.filename}: can't be read: {error.strerror}") from error
    return _facts(folder, stamps)


@functools.lru_cache(maxsize=32)
def _facts(folder: Path, _stamps: tuple[tuple[int, int], ...]) -> AdapterFacts:
    path = folder / ADAPTER_CONFIG
    try:
        config: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        rank = max([int(config["r"]), *map(int, (config.get("rank_pattern") or {}).values())])
    except (OSError, msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not the configuration of a LoRA adapter: {error}") from error
    if config.get("peft_type") != "LORA":
        raise UserError(f"{path}: the adapter is of the kind {config.get('peft_type')}, expected LORA")
    names = tensor_names(folder / ADAPTER_WEIGHTS)
    unusual = [
        name
        for name, usual in (("use_dora", False), ("lora_bias", False), ("bias", "none"), ("layer_replication", None))
        if config.get(name, usual) not in (usual, None)
    ]
    counted = {name: value for name, value in config.items() if name not in _WHERE_ONLY}
    digest = hashlib.sha256(msgspec.json.encode(counted, order="sorted"))
    with (folder / ADAPTER_WEIGHTS).open("rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return AdapterFacts(
        rank=rank,
        whole=tuple(config.get("modules_to_save") or ()),
        in_vision=any(".visual." in name or ".vision_" in name for name in names),
        unusual=tuple(unusual),
        sha256=digest.hexdigest(),
    )


def max_lora_rank(rank: int) -> int | None:
    """The least value of vLLM's ``--max-lora-rank`` that an adapter of this rank fits in; None where none does."""
    return next((allowed for allowed in VLLM_RANKS if rank <= allowed), None)


def tensor_names(path: Path) -> tuple[str, ...]:
    """The names of the tensors in a safetensors file, from its header."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > _LONGEST_HEADER:
                raise UserError(f"{path}: not a safetensors file: its header would be {length} bytes long")
            header = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: not a safetensors file: {error}") from error
    return tuple(name for name in header if name != "__metadata__")


# --- checkpoints --------------------------------------------------------------------------------------------------


def checkpoint_sha256(folder: Path) -> str:
    """What tells one model's weights from another's: a hash over config.json and the safetensors of a folder. The same
    wherever the folder lies, and whatever tokenizer or template lies beside the weights.
    """
    digest = hashlib.sha256()
    update_sampled(digest, [folder / "config.json", *sorted(folder.glob("*.safetensors"))])
    return digest.hexdigest()


def update_sampled(digest: Any, paths: Iterable[Path]) -> None:
    """Feed files into a hash: names, sizes, and the content, of large files 16 samples of 64 KiB each. Hashing
    gigabytes would take minutes, and a change of training shows everywhere.
    """
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            if size <= _SAMPLES * _SAMPLE_BYTES:
                digest.update(file.read())
                continue
            for place in range(_SAMPLES):
                file.seek(place * (size - _SAMPLE_BYTES) // (_SAMPLES - 1))
                digest.update(file.read(_SAMPLE_BYTES))


def check_base(card: ChatCard, folder: Path) -> None:
    """Make sure that an adapter is put on the weights that it was trained on."""
    adapter = card.adapter
    if adapter is None or not adapter.base_sha256:
        return
    found = checkpoint_sha256(folder)
    if found != adapter.base_sha256:
        raise UserError(
            f"{card.name}: its adapter was trained on {named_base(adapter)}, and the checkpoint in {folder} is another "
            f"(config.json and weights: expected {adapter.base_sha256[:12]}…, found {found[:12]}…). On other weights "
            "it would answer something else: give the checkpoint that it was trained on, --model-path of `grounding "
            "eval --backend hf` and --model of `grounding serve`"
        )


def named_base(adapter: AdapterRule) -> str:
    there = f" (weights in {adapter.checkpoint})" if adapter.checkpoint not in ("", adapter.base) else ""
    return f"{adapter.base}{there}"

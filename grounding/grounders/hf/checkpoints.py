"""Where a model's files are, and what tells one checkpoint from another. No torch here."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.grounders.hf.options import INSTALL, HfOptions
from grounding.hub import hub_folder
from grounding.tuned import check_base, named_base, update_sampled

_WANTED = ("*.json", "*.safetensors", "*.txt", "*.jinja", "*.model")
_DESCRIPTION = ("config.json",)


def local_folder(model_path: str) -> Path | None:
    """The folder that a user's path means; None where it is an id on the hub.

    Raises:
        UserError: it is written like a path and there is no such folder, or it holds no checkpoint.
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
    """The folder with the checkpoint, downloaded from the hub where it is not on this disk yet. Blocks.

    Args:
        card: The model's card.
        options: What the user wants instead of the card's weights.
        weights: Whether the weights are wanted; without them ``config.json`` is enough.

    Raises:
        UserError: it can't be had.
    """
    wanted = options.model_path or card.checkpoint
    folder = _local(card, options)
    if folder is not None:
        check_base(card, folder)
        return folder
    # A user's path of this form was refused above; a card may name one of the models of a repository.
    inside = hub_folder(wanted)
    wanted_files = _WANTED if weights else _DESCRIPTION
    patterns = [f"{inside.folder}/{pattern}" if inside else pattern for pattern in wanted_files]
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise UserError(f"running {wanted} in this process needs torch and transformers: {INSTALL}") from error
    revision = None if options.model_path else card.checkpoint_revision
    try:
        repository = inside.repository if inside else wanted
        found = Path(snapshot_download(repository, revision=revision, allow_patterns=patterns))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"{wanted} can't be had from the Hugging Face hub: {reason}. Give a folder with --model-path."
        ) from error
    folder = found / inside.folder if inside else found
    if weights:
        check_base(card, folder)
    return folder


def _local(card: ChatCard, options: HfOptions) -> Path | None:
    """The folder with the weights; None where they are on the hub."""
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
    update_sampled(digest, (path for path in files if any(path.match(pattern) for pattern in _WANTED)))
    return digest.hexdigest()[:16]


def weight_files(folder: Path, prefix: str) -> dict[str, Path]:
    """The tensors of a checkpoint whose names begin with a prefix, and the file that each is in.

    Both layouts are known: one file, or shards with ``model.safetensors.index.json``. Empty if there are none.

    Raises:
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
    with single.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = file.read(length)
    try:
        names = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        raise UserError(f"{single}: damaged: {error}") from error
    return {name: single for name in names if name.startswith(prefix)}

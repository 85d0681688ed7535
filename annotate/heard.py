"""What recognisers heard at a step, from the folder's ``transcriptions_*.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from annotate.records import Entry
from grounding.errors import UserError
from grounding.loaders.folders import match_name, natural_key
from grounding.loaders.sequences import instruction_indices

CORRECTED = "transcriptions_GT.json"


def choose_transcripts(folder: Path, wanted: str = "") -> Path | None:
    """The transcriptions file to show: the one asked for, else a recogniser's first one, else the corrected one.

    Raises:
        UserError: the one that was asked for is not there.
    """
    names = sorted((path.name for path in folder.glob("transcriptions_*.json")), key=natural_key)
    if wanted:
        found = match_name(wanted, names)
        if found is None:
            listed = f"there are {', '.join(names)}" if names else "there is none at all"
            raise UserError(f"{folder}: has no transcriptions file {wanted}: {listed}")
        return folder / found
    machine = [name for name in names if name.casefold() != CORRECTED.casefold()]
    return folder / (machine or names)[0] if names else None


def read_transcripts(path: Path, entries: Sequence[Entry]) -> Mapping[str, str]:
    """The text heard at each picture; texts of several clips over one picture follow each other.

    A file that names no steps belongs to them by place: one text a step, or one an instruction, whichever count fits.
    An instruction is a run of equal text within a task, as everywhere in the toolkit.

    Raises:
        UserError: the file can't be read, or it names no steps and fits neither count.
    """
    from grounding.asr import transcripts

    clips = transcripts.read_transcripts(path)
    texts: dict[str, list[str]] = {}
    if any(clip.steps for clip in clips):
        for clip in clips:
            for image in clip.steps:
                texts.setdefault(image, []).append(clip.text)
    else:
        for image, place in zip((entry.image for entry in entries), _places(path, len(clips), entries), strict=True):
            texts.setdefault(image, []).append(clips[place].text)
    return {image: " ".join(dict.fromkeys(found)) for image, found in texts.items()}


def read_typed(folder: Path) -> Mapping[str, str]:
    """What people typed at pictures without a recording: items of ``transcriptions_GT.json`` that have no ``audio``.

    Raises:
        UserError: the file can't be read.
    """
    from grounding.asr import transcripts

    path = folder / CORRECTED
    items = transcripts.read_transcripts(path) if path.exists() else ()
    return {image: item.text for item in items if not item.audio for image in item.steps}


def _places(path: Path, count: int, entries: Sequence[Entry]) -> Sequence[int]:
    """For every step, the position of its clip among as many clips."""
    if count == len(entries):
        return range(count)
    tasks = [entry.task for entry in entries]
    indices = instruction_indices(tasks, [entry.instruction for entry in entries])
    order: dict[tuple[str | int, int], int] = {}
    places = [order.setdefault(key, len(order)) for key in zip(tasks, indices, strict=True)]
    if len(order) != count:
        raise UserError(
            f"{path}: its {count} texts name no steps, and there are {len(entries)} steps and {len(order)} "
            "instructions: add steps, the pictures that each text was spoken over"
        )
    return places

"""The clips of a participant's folder, and the steps that each of them was said for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from annotate.transcripts.corrections import Corrected, machine_files, read_corrected, read_machine
from grounding.asr.transcripts import find_clips
from grounding.errors import UserError
from grounding.loaders.realwebassist import QUESTIONS
from grounding.loaders.sequences import instruction_indices

AUDIO = "audio"


def folder_clips(folder: Path) -> list[Corrected]:
    """All clips of a participant's folder with the words that count so far.

    Which steps a clip belongs to is what ``transcriptions_GT.json`` says, else a recogniser's file, else the order: one
    recording for each instruction. Where none of them tells, the clips have no steps.

    Raises:
        UserError: There are no recordings, or a file is none of transcripts, or names a recording elsewhere.
    """
    corrected = {one.audio: one for one in read_corrected(folder) if one.audio}
    machine: dict[str, Corrected] = {}
    for path in machine_files(folder):
        for heard in read_machine(path):
            if heard.audio:
                machine.setdefault(heard.audio, Corrected(audio=heard.audio, steps=heard.steps, text=heard.text))
    names = list(dict.fromkeys([*corrected, *machine]))
    found = _recordings(folder)
    for name in found:
        if name not in names:
            names.append(name)
    clips = [corrected.get(name) or machine.get(name) or Corrected(audio=name) for name in names]
    for one in clips:
        clip_path(folder, one.audio)
    if not clips:
        raise UserError(f"{folder}: there is no recording: expected files in the folder {AUDIO}, one an instruction")
    return _by_order(folder, clips)


def clip_path(folder: Path, audio: str) -> Path:
    """Where a clip is.

    Raises:
        UserError: The name leads out of the folder.
    """
    inner = PurePosixPath(audio.replace("\\", "/"))
    path = folder / inner
    if inner.is_absolute() or ".." in inner.parts or not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{folder}: the recording {audio!r} leads out of the participant's folder")
    return path


def _recordings(folder: Path) -> list[str]:
    place = folder / AUDIO
    if not place.is_dir() or not any(place.iterdir()):
        return []
    return [Path(one.path).relative_to(folder).as_posix() for one in find_clips([place])]


def _by_order(folder: Path, clips: Sequence[Corrected]) -> list[Corrected]:
    """Clips without steps get those of the instructions, where there are as many of the ones as of the others."""
    if any(one.steps for one in clips):
        return list(clips)
    instructions = _instructions(folder / QUESTIONS)
    if len(instructions) != len(clips):
        return list(clips)
    return [
        msgspec.structs.replace(one, steps=steps, text=one.text or text)
        for one, (text, steps) in zip(clips, instructions, strict=True)
    ]


def _instructions(questions: Path) -> list[tuple[str, tuple[str, ...]]]:
    """The instructions of a questions file with the screenshots of their steps; none where it cannot be read."""
    try:
        items: Any = msgspec.json.decode(questions.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return []
    tasks = [str(item.get("task", f"unknown_{index}")) for index, item in enumerate(items)]
    texts = [str(item.get("instruction", "")) for item in items]
    groups: dict[tuple[str, int], list[int]] = {}
    for index, key in enumerate(zip(tasks, instruction_indices(tasks, texts), strict=True)):
        groups.setdefault(key, []).append(index)
    return [
        (texts[found[0]], tuple(str(items[index].get("final_image", "")) for index in found))
        for found in groups.values()
    ]

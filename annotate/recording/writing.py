"""A cut recording as a participant folder in the release layout, which the box annotator and the evaluation open.

::

    FOLDER/questions_with_task_updated.json    one item per step; no bounding_box: to be drawn; null: not a click
    FOLDER/images/1.png                        the screen before each action, as recorded
    FOLDER/audio/1.flac                        one clip per instruction, in order, mono, at the recording's own rate
    FOLDER/transcriptions_pocketsphinx.json    what the machine heard
    FOLDER/transcriptions_GT.json              which clip goes with which steps, and the words that count
    FOLDER/cuts.json                           the cut itself, to go on with
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from annotate.recording.plan_file import save_plan
from annotate.recording.records import CutPlan, CutStep, Instruction
from annotate.recording.sound import read_sound
from annotate.recording.video import Recording
from annotate.saving import SaveFailed, in_words, replace_file
from annotate.transcripts.corrections import Corrected, machine_file, write_corrected
from grounding.asr.records import Word
from grounding.asr.transcripts import Transcript, write_transcripts
from grounding.errors import UserError
from grounding.loaders.realwebassist import QUESTIONS
from grounding.records import Record

MARGIN_S = 0.2
"""What a clip has before and after the words; never into the words of another instruction."""
NO_CLICK = frozenset({"type", "scroll"})


class Written(Record, frozen=True, kw_only=True):
    """What was written: how many of each, and where."""

    folder: Path
    steps: int
    clips: int


def write_participant(
    plan: CutPlan,
    recording: Recording,
    folder: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[str, float, float], None],
) -> Written:
    """Write everything; the questions file comes last, so that a folder that has one is whole.

    Args:
        plan: The cut.
        recording: What it is a cut of.
        folder: The participant's folder; it is made where it is not there.
        overwrite: Replace the steps that the folder has already. The questions file from before is kept beside it,
            as ``.previous``; boxes that were drawn since are in that one only.
        progress: Told how many steps are done, of how many.

    Raises:
        UserError: The folder has steps already, or there is nothing to write, or something cannot be read or written.
    """
    if not plan.steps:
        raise UserError(f"nothing to write for {plan.video}: no step was found; cut it by hand, or record an action")
    questions = folder / QUESTIONS
    if questions.exists() and not overwrite:
        raise UserError(
            f"{questions} is there already, and boxes may have been drawn in it: choose another folder, or replace it "
            "with --overwrite"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_pictures(plan.steps, recording, folder / "images", progress)
        carried = carried_instructions(plan)
        clips = _write_clips(carried, plan, recording, folder / "audio")
        _write_texts(plan, carried, clips, folder)
        save_plan(folder, plan)
        previous = questions.with_name(f"{questions.name}.previous")
        replace_file(questions, question_items(plan), previous=previous)
        _remove_stale(folder / "images", ".png", len(plan.steps))
        _remove_stale(folder / "audio", ".flac", len(carried))
    except OSError as error:
        raise SaveFailed(in_words(error, Path(error.filename) if error.filename else folder)) from None
    return Written(folder=folder, steps=len(plan.steps), clips=len(clips))


def carried_instructions(plan: CutPlan) -> list[Instruction]:
    """The instructions that steps carry out, in the order in which the steps do."""
    by_id = {one.id: one for one in plan.instructions}
    order = dict.fromkeys(step.instruction for step in plan.steps if step.instruction is not None)
    return [by_id[number] for number in order]


def question_items(plan: CutPlan) -> bytes:
    """The questions file: one item per step, in the form of the release, and where in the recording it is from.

    A click has no ``bounding_box`` yet, which means that nobody has looked; typing and scrolling have null.
    """
    wording = {one.id: one.wording for one in plan.instructions}
    items = []
    for number, step in enumerate(plan.steps, 1):
        item: dict[str, Any] = {"task": step.task} if step.task else {}
        item |= {
            "instruction": "" if step.instruction is None else wording[step.instruction],
            "action": step.action,
            "final_image": image_name(number),
        }
        if step.action in NO_CLICK:
            item["bounding_box"] = None
        item["recording"] = _origin(plan, step)
        items.append(item)
    return msgspec.json.format(msgspec.json.encode(items), indent=1) + b"\n"


def clip_bounds(instruction: Instruction, others: Sequence[Instruction], duration_s: float) -> tuple[float, float]:
    """From when to when a clip goes: the words with a margin, as far as nobody's other words are in it."""
    ends = [one.end_s for one in others if one.end_s <= instruction.start_s]
    starts = [one.start_s for one in others if one.start_s >= instruction.end_s]
    start_s = max([instruction.start_s - MARGIN_S, 0.0, *ends])
    return start_s, min([instruction.end_s + MARGIN_S, duration_s, *starts])


def image_name(number: int) -> str:
    """The screenshot of a step, counted from 1."""
    return f"images/{number}.png"


def _origin(plan: CutPlan, step: CutStep) -> dict[str, Any]:
    origin: dict[str, Any] = {
        "video": Path(plan.video).name,
        "screenshot_s": round(step.screenshot_s, 3),
        "action_s": round(step.action_s, 3),
    }
    if step.pointer is not None:
        origin["pointer"] = {"x": round(step.pointer.x_px), "y": round(step.pointer.y_px)}
    return origin


def _write_pictures(
    steps: Sequence[CutStep], recording: Recording, images: Path, progress: Callable[[str, float, float], None]
) -> None:
    from PIL import Image

    images.mkdir(exist_ok=True)
    times = [step.screenshot_s for step in steps]
    written = 0
    for (_, picture), number in zip(recording.pictures_at(times), range(1, len(times) + 1), strict=False):
        into = io.BytesIO()
        # The fastest packing: a PNG of a screen is small at any level.
        Image.fromarray(picture).save(into, "PNG", compress_level=3)
        replace_file(images / f"{number}.png", into.getvalue())
        written = number
        progress("writing", number, len(times))
    if written < len(times):
        raise UserError(
            f"{recording.path} has no readable picture at {times[written]:.2f} s, for step {written + 1}: drop that "
            "step or move it to another time"
        )


def _write_clips(
    carried: Sequence[Instruction], plan: CutPlan, recording: Recording, audio: Path
) -> Mapping[int, tuple[str, tuple[float, float]]]:
    """Name and bounds of each instruction's clip; an instruction that was typed by hand, of no length, has none."""
    import soundfile

    if not recording.facts.has_audio:
        return {}
    clips: dict[int, tuple[str, tuple[float, float]]] = {}
    for number, one in enumerate(carried, 1):
        if one.end_s <= one.start_s:
            continue
        bounds = clip_bounds(one, plan.instructions, plan.duration_s)
        sound = read_sound(recording.path, rate_hz=None, start_s=bounds[0], end_s=bounds[1])
        if sound is None or not len(sound.samples):
            continue
        audio.mkdir(exist_ok=True)
        into = io.BytesIO()
        soundfile.write(into, sound.samples, sound.rate_hz, format="FLAC", subtype="PCM_16")
        replace_file(audio / f"{number}.flac", into.getvalue())
        clips[one.id] = (f"audio/{number}.flac", bounds)
    return clips


def _write_texts(
    plan: CutPlan,
    carried: Sequence[Instruction],
    clips: Mapping[int, tuple[str, tuple[float, float]]],
    folder: Path,
) -> None:
    machine, counting = [], []
    for one in carried:
        if one.id not in clips:
            continue
        name, (start_s, end_s) = clips[one.id]
        steps = tuple(image_name(n) for n, step in enumerate(plan.steps, 1) if step.instruction == one.id)
        words = tuple(_on_clip(word, start_s, end_s - start_s) for word in one.words)
        machine.append(Transcript(audio=name, steps=steps, text=one.heard, words=words))
        counting.append(Corrected(audio=name, steps=steps, text=one.wording, checked=one.text is not None))
    if counting:
        write_corrected(folder, counting)
    if machine and plan.recogniser:
        write_transcripts(folder / machine_file(plan.recogniser), machine)


def _on_clip(word: Word, start_s: float, seconds: float) -> Word:
    return Word(
        text=word.text,
        start_s=round(min(max(0.0, word.start_s - start_s), seconds), 3),
        end_s=round(min(max(0.0, word.end_s - start_s), seconds), 3),
        probability=word.probability,
    )


def _remove_stale(folder: Path, suffix: str, keep: int) -> None:
    """Remove what an earlier, longer cut left: files that are numbered higher than the last one."""
    for path in folder.glob(f"*{suffix}"):
        if path.stem.isdecimal() and int(path.stem) > keep:
            path.unlink()

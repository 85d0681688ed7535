"""How a recording is cut: steps and instructions, what a person does to them, and what is written of them.

Times are seconds by the recording's own time stamps. Edits are pure functions; steps stay in order of time, and what
was said stays in the plan though no step carries it out. The cut is kept in ``cuts.json``. Written it is a participant
folder in the release layout, which the box annotator and the evaluation open: what the machine heard is in
``transcriptions_pocketsphinx.json``, which clip goes with which steps and the words that count in
``transcriptions_GT.json``. An item without ``bounding_box`` is to be drawn, null is not a click.
"""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.data.speech import Transcript, write_transcripts
from grounding.errors import UserError
from grounding.records import Point, Record

from ..core.journal import SaveFailed, in_words, replace_file, write_list
from ..core.words import ClipWords, CorrectedFile, machine_file
from .video import Recording

LEAST_GAP_S = 0.01
PLAN_FILE = "cuts.json"
MARGIN_S = 0.2  # What a clip has before and after the words; never into the words of another instruction.


class Instruction(Record, frozen=True, kw_only=True):
    """What was said for one or several steps: where in the recording, what a machine ``heard``, a person's ``text``.
    Where start and end are the same it was never said, but typed.
    """

    id: int
    start_s: float
    end_s: float
    heard: str = ""
    text: str | None = None

    @property
    def wording(self) -> str:
        """What counts: the person's words where there are some, else the machine's."""
        return self.heard if self.text is None else self.text

    @property
    def is_spoken(self) -> bool:
        return self.end_s > self.start_s


class CutStep(Record, frozen=True, kw_only=True):
    """One step: the screen that the user saw, at ``screenshot_s``, before the action that began at ``action_s``.
    ``action`` is ``click``, ``type`` or ``scroll``; ``instruction`` an id; ``pointer`` is in recorded pixels.
    """

    screenshot_s: float
    action_s: float
    action: str = "click"
    instruction: int | None = None
    pointer: Point | None = None


class CutPlan(Record, frozen=True, kw_only=True):
    """Steps and all that was said, in order of time; ``notes`` are sentences for the user."""

    video: str
    sha256: str
    duration_s: float
    recogniser: str = ""
    steps: tuple[CutStep, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    notes: tuple[str, ...] = ()

    def instruction(self, number: int | None) -> Instruction | None:
        return next((one for one in self.instructions if one.id == number), None)


def same_words(plan: CutPlan, index: int) -> CutPlan:
    """The step carries out what the step before it does."""
    return _with_step(plan, index, instruction=plan.steps[index - 1].instruction) if index else plan


def drop(plan: CutPlan, index: int) -> CutPlan:
    return _with_steps(plan, (*plan.steps[:index], *plan.steps[index + 1 :]))


def merge_with_next(plan: CutPlan, index: int) -> CutPlan:
    """A step with the next: the first one's screen and action, and for all steps of either the words of both."""
    if index >= len(plan.steps) - 1:
        return plan
    one, other = (plan.instruction(step.instruction) for step in plan.steps[index : index + 2])
    if one is None and other is not None:
        plan = _with_step(plan, index, instruction=other.id)
    elif one is not None and other is not None and one.id != other.id:
        one, other = sorted((one, other), key=lambda each: each.start_s)
        corrected = one.text is not None or other.text is not None
        joined = replace(
            one,
            end_s=max(one.end_s, other.end_s),
            heard=f"{one.heard} {other.heard}".strip(),
            text=f"{one.wording} {other.wording}".strip() if corrected else None,
        )
        steps = [replace(step, instruction=one.id) if step.instruction == other.id else step for step in plan.steps]
        others = tuple(each for each in plan.instructions if each.id != other.id)
        plan = _with_steps(_put(replace(plan, instructions=others), joined), steps)
    return drop(plan, index + 1)


def split_at(plan: CutPlan, time_s: float) -> CutPlan:
    """A new step whose screenshot is that of a time, for the instruction of the step before it."""
    time_s = min(max(0.0, time_s), plan.duration_s)
    if any(abs(step.screenshot_s - time_s) < LEAST_GAP_S for step in plan.steps):
        return plan
    before = [step for step in plan.steps if step.screenshot_s < time_s]
    after = plan.steps[len(before) :]
    said = next((step.instruction for step in (*before[-1:], *after)), None)
    return _with_steps(plan, (*before, CutStep(screenshot_s=time_s, action_s=time_s, instruction=said), *after))


def retime(plan: CutPlan, index: int, screenshot_s: float) -> CutPlan:
    """The step's screenshot is that of another time, between those of the steps before and after it."""
    times_s = [-LEAST_GAP_S, *(step.screenshot_s for step in plan.steps), plan.duration_s + LEAST_GAP_S]
    time_s = max(times_s[index] + LEAST_GAP_S, min(screenshot_s, times_s[index + 2] - LEAST_GAP_S))
    return _with_step(plan, index, screenshot_s=time_s, action_s=max(time_s, plan.steps[index].action_s))


def write_words(plan: CutPlan, index: int, text: str) -> CutPlan:
    """A person's words for all steps of a step's instruction; a step that has none gets one, typed, of no length."""
    found = plan.instruction(plan.steps[index].instruction)
    if found is not None:
        return _put(plan, replace(found, text=None if text == found.heard else text))
    at_s, free = plan.steps[index].screenshot_s, max((one.id for one in plan.instructions), default=-1) + 1
    return _with_step(_put(plan, Instruction(id=free, start_s=at_s, end_s=at_s, text=text)), index, instruction=free)


def _with_step(plan: CutPlan, index: int, **fields: float | None) -> CutPlan:
    return _with_steps(plan, (*plan.steps[:index], replace(plan.steps[index], **fields), *plan.steps[index + 1 :]))


def _with_steps(plan: CutPlan, steps: Iterable[CutStep]) -> CutPlan:
    steps = tuple(steps)
    carried = {step.instruction for step in steps}
    told = tuple(one for one in plan.instructions if one.id in carried or one.is_spoken)
    return replace(plan, steps=steps, instructions=told)


def _put(plan: CutPlan, new: Instruction) -> CutPlan:
    others = [one for one in plan.instructions if one.id != new.id]
    return replace(plan, instructions=tuple(sorted([*others, new], key=lambda one: (one.start_s, one.id))))


def read_plan(folder: Path) -> CutPlan | None:
    """The cut that is kept in a folder; None where there is none. Raises UserError: it is none, or can't be read."""
    path = folder / PLAN_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=CutPlan)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no cut of a recording ({error}): remove it to start anew") from None


def save_plan(folder: Path, plan: CutPlan) -> None:
    """Write the cut, whole or not at all. Raises SaveFailed: it cannot be written; the file is as it was."""
    path = folder / PLAN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    except OSError as error:
        raise SaveFailed(f"{in_words(error, path)}; what you did is still in this window") from None


def write_participant(plan: CutPlan, recording: Recording, folder: Path, *, overwrite: bool = False) -> str:
    """Write everything and say how much; the questions file comes last, so that a folder that has one is whole.

    With ``overwrite``, a questions file that is there is kept beside it, as ``.previous``. Raises UserError: the folder
    has steps already, or there is nothing to write, or something cannot be read or written.
    """
    from PIL import Image

    if not plan.steps:
        raise UserError(f"nothing to write for {plan.video}: no step was found; cut it by hand, or record an action")
    questions = folder / QUESTIONS
    if questions.exists() and not overwrite:
        raise UserError(
            f"{questions} is there already, and boxes may have been drawn in it: choose another folder, or replace it "
            "with --overwrite"
        )
    items: list[dict[str, Any]] = []
    try:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        for number, step in enumerate(plan.steps, 1):
            said, into = plan.instruction(step.instruction), io.BytesIO()
            # The fastest packing: a PNG of a screen is small at any level.
            Image.fromarray(recording.picture_at(step.screenshot_s)).save(into, "PNG", compress_level=3)
            replace_file(folder / f"images/{number}.png", into.getvalue())
            item: dict[str, Any] = {"instruction": said.wording if said else "", "action": step.action}
            item["final_image"] = f"images/{number}.png"
            if step.action in ("type", "scroll"):
                item["bounding_box"] = None
            times = {"screenshot_s": round(step.screenshot_s, 3), "action_s": round(step.action_s, 3)}
            item["recording"] = {"video": Path(plan.video).name, **times}
            if step.pointer is not None:
                item["recording"]["pointer"] = {"x": round(step.pointer.x_px), "y": round(step.pointer.y_px)}
            items.append(item)
        clips = _write_clips(plan, recording, folder)
        save_plan(folder, plan)
        replace_file(questions, write_list(items), previous=questions.with_name(f"{questions.name}.previous"))
        # What an earlier, longer cut left is numbered higher than the last one.
        instructions = len({step.instruction for step in plan.steps} - {None})
        for pattern, most in (("images/*.png", len(plan.steps)), ("audio/*.flac", instructions)):
            for path in folder.glob(pattern):
                if path.stem.isdecimal() and int(path.stem) > most:
                    path.unlink()
    except OSError as error:
        raise SaveFailed(in_words(error, Path(error.filename) if error.filename else folder)) from None
    return f"{len(plan.steps)} steps and {clips} clips"


def clip_bounds(instruction: Instruction, others: Sequence[Instruction], duration_s: float) -> tuple[float, float]:
    """From when to when a clip goes: the words with a margin, as far as nobody's other words are in it."""
    ends = [one.end_s for one in others if one.end_s <= instruction.start_s]
    starts = [one.start_s for one in others if one.start_s >= instruction.end_s]
    start_s = max([instruction.start_s - MARGIN_S, 0.0, *ends])
    return start_s, min([instruction.end_s + MARGIN_S, duration_s, *starts])


def _write_clips(plan: CutPlan, recording: Recording, folder: Path) -> int:
    import soundfile

    sound = recording.sound(rate_hz=None)
    machine: list[Transcript] = []
    counting: list[ClipWords] = []
    carried = filter(None, (plan.instruction(number) for number in dict.fromkeys(s.instruction for s in plan.steps)))
    for number, one in enumerate(carried, 1):
        start_s, end_s = clip_bounds(one, plan.instructions, plan.duration_s)
        if sound is None or not one.is_spoken or not len((part := sound.between(start_s, end_s)).samples):
            continue
        name, into = f"audio/{number}.flac", io.BytesIO()
        (folder / "audio").mkdir(exist_ok=True)
        soundfile.write(into, part.samples, part.rate_hz, format="FLAC", subtype="PCM_16")
        replace_file(folder / name, into.getvalue())
        steps = tuple(f"images/{n}.png" for n, step in enumerate(plan.steps, 1) if step.instruction == one.id)
        machine.append(Transcript(audio=name, steps=steps, text=one.heard))
        counting.append(ClipWords(audio=name, steps=steps, text=one.wording, checked=one.text is not None))
    if counting:
        CorrectedFile(folder).write_anew(counting)
    if machine and plan.recogniser:
        write_transcripts(folder / machine_file(plan.recogniser), machine)
    return len(counting)

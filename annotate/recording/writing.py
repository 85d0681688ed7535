"""A cut recording as a participant folder in the release layout, which the box annotator and the evaluation open.

The cut itself lies beside it in ``cuts.json``; what the machine heard is in ``transcriptions_pocketsphinx.json``, which
clip goes with which steps and the words that count in ``transcriptions_GT.json``. An item without ``bounding_box`` is
to be drawn, null is not a click.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.data.speech import Transcript, write_transcripts
from grounding.errors import UserError

from ..core.journal import SaveFailed, in_words, replace_file, write_list
from ..core.words import ClipWords, CorrectedFile, machine_file
from .plan import CutPlan, Instruction, save_plan
from .video import Recording

MARGIN_S = 0.2  # What a clip has before and after the words; never into the words of another instruction.


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

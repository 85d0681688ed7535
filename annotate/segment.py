"""``python -m annotate segment VIDEO``: a screen recording in, steps out, corrected in a window or as proposed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from annotate.recording.plan_file import PLAN_FILE, read_plan
from annotate.recording.propose import file_sha256, propose
from annotate.recording.records import CutPlan
from annotate.recording.video import Recording
from annotate.recording.writing import write_participant
from grounding.asr.recogniser import DEFAULT, Recogniser, open_recogniser
from grounding.asr.store import TranscriptStore, transcript_store_dir
from grounding.errors import UserError

SEGMENT_EXAMPLES = """Examples:

`annotate segment session.mkv` finds the steps, and opens them in a window to be corrected and written.

`annotate segment session.mkv --no-window --out data/7 --asr whisper:turbo` writes them as they were found.
"""
NO_RECOGNISER = "none"


def segment_command(
    video: Path,
    *,
    out: Path | None = None,
    asr: str = DEFAULT,
    task: str = "",
    window: bool = True,
    fresh: bool = False,
    overwrite: bool = False,
) -> int:
    """Cut a screen recording into steps: a screenshot before each action, and the words that were said for it.

    What was found, and what you do to it in the window, is kept in `cuts.json` in the folder: a second call goes on
    from there. Writing makes the folder one that `annotate` opens for drawing boxes.

    Args:
        video: The recording: MP4, MKV, MOV, WebM, with or without sound, of any frame rate.
        out: The participant's folder to write [default: one named after the recording, beside it].
        asr: Who hears the instructions: `pocketsphinx`, `whisper:turbo`, … or `none`.
        task: Label of the task, for all steps; the window can begin another one at any step.
        window: Open the steps in a window. With `--no-window` they are written as found.
        fresh: Look at the recording anew instead of going on with what is kept.
        overwrite: Without a window: replace the steps that the folder has already.
    """
    folder = out if out is not None else video.with_suffix("")
    if folder.is_file():
        raise UserError(f"{folder} is a file: name a folder with --out")
    recording = Recording(video)
    recogniser = None if asr == NO_RECOGNISER else open_recogniser(asr)
    if window:
        from annotate.recording.window.opening import require_display

        require_display()
    plan = None if fresh else kept_plan(folder, video)
    if plan is None:
        plan = _find(recording, recogniser, task)
    _say(plan)
    if window:
        from annotate.recording.window.opening import open_window

        return open_window(plan, recording, folder, recogniser=recogniser)
    progress = TerminalProgress()
    written = write_participant(plan, recording, folder, overwrite=overwrite, progress=progress)
    progress.end()
    print(f"{written.steps} steps and {written.clips} clips in {written.folder}; draw the boxes: annotate {folder}")
    return 0


def kept_plan(folder: Path, video: Path) -> CutPlan | None:
    """The cut of this very recording that is kept in a folder; None where there is none.

    Raises:
        UserError: The folder keeps the cut of another recording.
    """
    plan = read_plan(folder)
    if plan is None:
        return None
    if plan.sha256 != file_sha256(video):
        raise UserError(
            f"{folder / PLAN_FILE} is the cut of another recording ({plan.video}): choose another folder with --out, "
            "or look at this recording anew with --fresh"
        )
    # The same bytes may lie elsewhere today.
    return msgspec.structs.replace(plan, video=str(video))


def _find(recording: Recording, recogniser: Recogniser | None, task: str) -> CutPlan:
    progress = TerminalProgress()
    store = TranscriptStore(transcript_store_dir())
    plan = propose(recording, recogniser=recogniser, store=store, task=task, progress=progress)
    progress.end()
    return plan


def _say(plan: CutPlan) -> None:
    said = sum(1 for step in plan.steps if step.instruction is not None)
    print(f"{len(plan.steps)} steps in {plan.duration_s:.1f} s, {said} of them after words")
    if plan.unused:
        print(f"{len(plan.unused)} pieces of speech lead to no step")
    for note in plan.notes:
        print(f"note: {note}", file=sys.stderr)
    if plan.broke is not None:
        print(
            f"warning: the recording breaks off at {plan.broke.at_s:.2f} s ({plan.broke.message}): these are the steps "
            "up to there",
            file=sys.stderr,
        )


class TerminalProgress:
    """One line on standard error that is written over, twice a second at most; nothing where that is no terminal."""

    def __init__(self) -> None:
        self._last = 0.0
        self._shown = False

    def __call__(self, what: str, done: float, of: float) -> None:
        """Say how far it is: seconds of the recording, or things of so many."""
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._last < 0.5:
            return
        self._last, self._shown = now, True
        share = f" ({done / of:.0%})" if of > 0 else ""
        unit = " s" if what == "looking" else ""
        print(f"\r{what}: {done:.0f}{f' of {of:.0f}' if of > 0 else ''}{unit}{share}  ", end="", file=sys.stderr)

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            print(file=sys.stderr)
            self._shown = False

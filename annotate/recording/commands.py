"""``grounding annotate segment VIDEO`` cuts a screen recording into steps."""

import sys
from pathlib import Path

from msgspec.structs import replace

from grounding.asr.recogniser import open_recogniser
from grounding.asr.transcribe import TranscriptStore, transcript_store_dir
from grounding.console import EXIT_OK
from grounding.data.speech import DEFAULT_RECOGNISER, file_sha256
from grounding.errors import UserError

from ..display import require_display


def segment_command(
    video: Path, *, out: Path | None = None, asr: str = DEFAULT_RECOGNISER, window: bool = True, overwrite: bool = False
) -> int:
    """Cut a screen recording into steps: a screenshot before each action, and the words that were said for it.

    What was found, and what you do to it in the window, is kept in `cuts.json` in the folder: a second call goes on
    from there. Writing makes the folder one that `annotate` opens for drawing boxes.

    Args:
        video: The recording: MP4, MKV, MOV, WebM, with or without sound, of any frame rate.
        out: The participant's folder to write [default: one named after the recording, beside it].
        asr: Who hears the instructions: `pocketsphinx`, `whisper:turbo`, … or `none`.
        window: Open the steps in a window. With `--no-window` they are written as found.
        overwrite: Without a window: replace the steps that the folder has already.
    """
    from .plan import PLAN_FILE, read_plan, write_participant
    from .propose import propose
    from .video import Recording

    folder = out if out is not None else video.with_suffix("")
    recording = Recording(video)
    recogniser = None if asr == "none" else open_recogniser(asr)
    if window:
        require_display()
    plan = read_plan(folder)
    if plan is not None and plan.sha256 != file_sha256(video):
        raise UserError(
            f"{folder / PLAN_FILE} is the cut of another recording ({plan.video}): remove it, or give --out"
        )
    if plan is None:
        print(f"looking at {video} and hearing it …", file=sys.stderr)
        plan = propose(recording, recogniser=recogniser, store=TranscriptStore(transcript_store_dir()))
    # The same bytes may lie elsewhere today.
    plan = replace(plan, video=str(video))
    said = sum(step.instruction is not None for step in plan.steps)
    print(f"{len(plan.steps)} steps in {plan.duration_s:.1f} s, {said} of them after words")
    for note in plan.notes:
        print(f"note: {note}", file=sys.stderr)
    if window:
        from .window import CutWindow

        CutWindow(plan, recording, folder).root.mainloop()
        return EXIT_OK
    written = write_participant(plan, recording, folder, overwrite=overwrite)
    print(f"{written} in {folder}; draw the boxes: annotate {folder}")
    return EXIT_OK

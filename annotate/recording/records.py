"""What passes between the parts of this room: times in a recording, changes of its screen, speech, and steps.

Times are seconds from the recording's start, as its own time stamps say, never frame numbers: the frame rate may vary.
Pixels are those of the recorded picture, origin at the top left.
"""

from __future__ import annotations

from typing import Literal

from grounding.asr.records import Word
from grounding.records import Box, Point, Record


class VideoFacts(Record, frozen=True, kw_only=True):
    """What the file says of itself. ``duration_s`` is None where it says nothing, as a file that was never closed."""

    path: str
    width_px: int
    height_px: int
    codec: str
    duration_s: float | None = None
    mean_fps: float | None = None
    has_audio: bool = False


class Break(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where a recording stops before its end, and what says so."""

    at_s: float
    message: str


ChangeKind = Literal["change", "typing", "scroll", "playing"]
"""``change``: the screen became another one, or a part of it. ``typing``: characters were added one by one.
``scroll``: the same content moved up or down. ``playing``: a part began to move and went on, such as a video."""

Doubt = Literal["hover", "animation"]
"""``hover``: small, and under way while the pointer moved. ``animation``: comes back at regular times."""


class ScreenChange(Record, frozen=True, kw_only=True):
    """One change of the screen, from a settled screen to the next settled one.

    ``before_s`` is the time stamp of the last frame that does not show it, ``onset_s`` of the first frame that does,
    ``settled_s`` of the last frame that still changed. ``box`` holds all that changed, ``share`` is the share of the
    screen's pixels that did. ``pointer`` is where the pointer's upper left corner was when it began, where it had been
    seen; ``rested_s`` for how long it had not moved by then. ``doubt`` says why it is no action of the user, empty for
    one that may be.
    """

    before_s: float
    onset_s: float
    settled_s: float
    kind: ChangeKind
    share: float
    box: Box
    pointer: Point | None = None
    rested_s: float = 0.0
    doubt: Doubt | Literal[""] = ""


class Utterance(Record, frozen=True, kw_only=True):
    """A stretch of speech between two silences, and what was heard in it.

    Words have times from the start of the recording. Without a recogniser ``text`` is empty and ``failure`` is, too;
    ``failure`` is why a recogniser gave nothing, in words.
    """

    start_s: float
    end_s: float
    text: str = ""
    words: tuple[Word, ...] = ()
    failure: str = ""


class Instruction(Record, frozen=True, kw_only=True):
    """What was said for one or several steps: where in the recording, what a machine heard, and what a person wrote.

    ``heard`` is never changed by a person; ``text`` is None until somebody corrected it. Words have times of the
    recording. Where start and end are the same it was never said, but typed for a step by hand.
    """

    id: int
    start_s: float
    end_s: float
    heard: str = ""
    words: tuple[Word, ...] = ()
    text: str | None = None

    @property
    def wording(self) -> str:
        """What counts: the person's words where there are some, else the machine's."""
        return self.heard if self.text is None else self.text


class CutStep(Record, frozen=True, kw_only=True):
    """One step: the screen that the user saw, at ``screenshot_s``, before the action that began at ``action_s``.

    ``instruction`` is the id of an instruction, None where nothing was said before the action. ``pointer`` is where
    the pointer was, if it was seen. ``action`` is ``click``, ``type`` or ``scroll``, or what a person wrote.
    """

    screenshot_s: float
    action_s: float
    action: str = "click"
    task: str = ""
    instruction: int | None = None
    pointer: Point | None = None


class CutPlan(Record, frozen=True, kw_only=True):
    """How a recording is cut: its steps in order of time, and the instructions that they carry out.

    ``recogniser`` is the name of what heard the instructions, empty for none. ``broke`` is where the recording stopped
    before its end. ``unused`` is speech that no step carries out, such as words after the last action.
    """

    video: str
    sha256: str
    duration_s: float
    recogniser: str = ""
    steps: tuple[CutStep, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    unused: tuple[int, ...] = ()
    broke: Break | None = None
    notes: tuple[str, ...] = ()

"""The records of a desktop benchmark: tasks of recorded steps in, an agent's answers beside them.

Points and rectangles are in pixels of the step's screenshot, origin at the top left.
"""

from __future__ import annotations

from typing import Literal

from grounding.actions import Action
from grounding.geometry import ModelPoint
from grounding.records import Box, Call, Failure, ImageSizes, Record, Screenshot

DesktopTaskKind = Literal["preference", "routine"]
"""PERCU's two kinds (section 3.2 of the paper): what a user likes, and how a user works."""


class DesktopStep(Record, frozen=True, kw_only=True):
    """One screen and what the recorded person did on it.

    ``thought`` is what PERCU gives an agent as its memory: the words that go with the recorded action.
    ``gold_text`` is the action as the file has it, which the released evaluator compares; ``gold`` is the same, read.
    ``element`` and ``rect`` say what the action began on, as far as the recorder knew; None where it did not.
    ``other_users`` are actions that are right for the screen and wrong for this user, where the data mark them.
    """

    id: str
    screenshot: Screenshot
    gold: Action
    gold_text: str
    thought: str = ""
    first_instruction: str = ""
    second_instruction: str = ""
    element: str | None = None
    rect: Box | None = None
    other_users: tuple[Action, ...] = ()


class DesktopTask(Record, frozen=True, kw_only=True):
    """A recorded task: its steps in order, never none.

    ``kind`` is None for a trajectory that belongs to neither kind. ``category`` is the group that the task is averaged
    in: the data's own, else its kind. ``description`` is the task in words, where a file beside the steps has it.
    """

    id: str
    kind: DesktopTaskKind | None = None
    category: str = ""
    description: str = ""
    steps: tuple[DesktopStep, ...]


class DesktopDataset(Record, frozen=True, kw_only=True):
    """A loaded desktop data set. ``fingerprint`` is a hash of its content, the same wherever the files lie.

    ``warnings``, ``oddities`` and ``departs`` are as those of :class:`grounding.records.Dataset`.
    """

    name: str
    fingerprint: str
    tasks: tuple[DesktopTask, ...]
    warnings: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()
    departs: tuple[str, ...] = ()


class DesktopPrediction(Record, frozen=True, kw_only=True):
    """What an agent would do on a step, or the reason why it would do nothing.

    ``action`` has its points in pixels of the screenshot. ``action_text`` is the text that the released evaluator would
    compare: what :func:`official_action` of the rules takes from the reply. ``raw`` is the reply itself,
    ``earlier_raw`` are those before it, in order, where an agent was asked again because they held no action.
    ``asked`` counts the replies that were asked for, the first included.
    """

    step_id: str
    key: str
    action: Action | None
    action_text: str
    raw: str | None = None
    earlier_raw: tuple[str, ...] = ()
    asked: int = 1
    sizes: ImageSizes | None = None
    failure: Failure | None = None
    call: Call | None = None


def is_inside(point: ModelPoint, rect: Box) -> bool:
    """Whether a point in pixels of the screenshot is in a rectangle or on its edge."""
    return rect.left_px <= point.x <= rect.right_px and rect.top_px <= point.y <= rect.bottom_px

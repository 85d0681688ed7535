"""The records of a desktop benchmark; points and rectangles are in pixels of the step's screenshot."""

from typing import Literal

from grounding.actions.kinds import Action
from grounding.geometry import ModelPoint
from grounding.records import Box, Call, Failure, ImageSizes, Record, Screenshot

DesktopTaskKind = Literal["preference", "routine"]


class DesktopStep(Record, frozen=True, kw_only=True):
    """One screen and what the recorded person did on it.

    ``thought`` is what PERCU gives an agent as its memory. ``gold_text`` is the action as the file has it, which the
    released evaluator compares; ``gold`` is the same, read. ``element`` and ``rect`` say what the action began on.
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
    """A recorded task: its steps in order, never none. ``category`` is the group that it is averaged in."""

    id: str
    kind: DesktopTaskKind | None = None
    category: str = ""
    description: str = ""
    steps: tuple[DesktopStep, ...]


class DesktopDataset(Record, frozen=True, kw_only=True):
    """``fingerprint`` is a hash of the content, the same wherever the files lie."""

    name: str
    fingerprint: str
    tasks: tuple[DesktopTask, ...]
    warnings: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()
    departs: tuple[str, ...] = ()


class DesktopPrediction(Record, frozen=True, kw_only=True):
    """``action_text`` is what the released evaluator compares; ``earlier_raw`` are replies without an action."""

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
    """Whether a point is in a rectangle or on its edge."""
    return rect.left_px <= point.x <= rect.right_px and rect.top_px <= point.y <= rect.bottom_px

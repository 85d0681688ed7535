"""What is shown and chosen in the window: the plan, the step, the cursor's time. Knows no widget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from annotate.recording import edits
from annotate.recording.plan_file import PlanHistory, save_plan
from annotate.recording.records import CutPlan, CutStep, Instruction
from annotate.recording.video import Recording

Listener = Callable[[], object]


class CutSession:
    """Everything that the parts of the window ask and tell each other.

    Attributes:
        recording: What is cut.
        folder: Where the cut is kept and the participant is written.
        index: Position of the chosen step; 0 where there is none.
        cursor_s: The time at which the next split would be, and which is shown.
        status: Shows a line of text.
    """

    def __init__(self, plan: CutPlan, recording: Recording, folder: Path) -> None:
        save_plan(folder, plan)
        self.history = PlanHistory(folder, plan)
        self.recording, self.folder = recording, folder
        self.index = 0
        self.cursor_s = plan.steps[0].screenshot_s if plan.steps else 0.0
        self.status: Callable[[str], object] = lambda _text: None
        self._on_plan: list[Listener] = []
        self._on_step: list[Listener] = []
        self._on_cursor: list[Listener] = []
        self._before_change: list[Listener] = []
        self._finishing = False

    @property
    def plan(self) -> CutPlan:
        """The cut as it is now."""
        return self.history.plan

    @property
    def step(self) -> CutStep | None:
        """The chosen step; None where there is none."""
        return self.plan.steps[self.index] if self.index < len(self.plan.steps) else None

    @property
    def instruction(self) -> Instruction | None:
        """The instruction of the chosen step."""
        step = self.step
        if step is None or step.instruction is None:
            return None
        return edits.instruction_of(self.plan, step.instruction)

    def watch(
        self,
        *,
        on_plan: Listener | None = None,
        on_step: Listener | None = None,
        on_cursor: Listener | None = None,
        before_change: Listener | None = None,
    ) -> None:
        """Be told of a changed plan, of another chosen step, of a moved cursor, and before typed text is lost."""
        for listeners, listener in (
            (self._on_plan, on_plan),
            (self._on_step, on_step),
            (self._on_cursor, on_cursor),
            (self._before_change, before_change),
        ):
            if listener is not None:
                listeners.append(listener)

    def choose(self, index: int, *, cursor: bool = True) -> None:
        """Choose a step, and put the cursor at its screenshot."""
        self.finish_typing()
        self.index = min(max(0, index), max(0, len(self.plan.steps) - 1))
        self._tell(self._on_step)
        step = self.step
        if cursor and step is not None:
            self.move_cursor(step.screenshot_s)

    def move_cursor(self, time_s: float) -> None:
        """Put the cursor at a time."""
        self.cursor_s = min(max(0.0, time_s), self.plan.duration_s)
        self._tell(self._on_cursor)

    def change(self, plan: CutPlan, what: str, *, joined: bool = False, keep: bool = True) -> None:
        """Make this the plan; say so where it changed nothing.

        Raises:
            SaveFailed: It could not be kept on the disk; it is the plan in the window.
        """
        try:
            changed = self.history.change(plan, what, joined=joined, keep=keep)
        finally:
            self.index = min(self.index, max(0, len(self.plan.steps) - 1))
            self._tell(self._on_plan)
        self.status(f"{what} · kept" if changed else f"{what}: nothing to change here")

    def undo(self) -> None:
        """Take back the last change."""
        self.finish_typing()
        self._stepped("undone", "nothing left to undo", self.history.undo())

    def redo(self) -> None:
        """Do again what was taken back."""
        self.finish_typing()
        self._stepped("done again", "nothing left to do again", self.history.redo())

    def finish_typing(self) -> None:
        """Put half typed text into the plan."""
        if not self._finishing:
            self._finishing = True
            try:
                self._tell(self._before_change)
            finally:
                self._finishing = False

    def _stepped(self, done: str, nothing: str, what: str | None) -> None:
        self.index = min(self.index, max(0, len(self.plan.steps) - 1))
        if what is not None:
            self._tell(self._on_plan)
        self.status(nothing if what is None else f"{done}: {what}")

    @staticmethod
    def _tell(listeners: list[Listener]) -> None:
        for listener in tuple(listeners):
            listener()

"""The file in which a cut is kept while a person works on it, and the history that can be undone."""

from __future__ import annotations

from pathlib import Path

import msgspec

from annotate.recording.records import CutPlan
from annotate.saving import SaveFailed, in_words, replace_file
from grounding.errors import UserError

PLAN_FILE = "cuts.json"


def read_plan(folder: Path) -> CutPlan | None:
    """The cut that is kept in a folder; None where there is none.

    Raises:
        UserError: The file is there and is none, or cannot be read.
    """
    path = folder / PLAN_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return msgspec.json.decode(content, type=CutPlan)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no cut of a recording ({error}): remove it to start anew") from None


def save_plan(folder: Path, plan: CutPlan) -> None:
    """Write the cut, whole or not at all.

    Raises:
        SaveFailed: It cannot be written; the file is as it was.
    """
    path = folder / PLAN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    except OSError as error:
        raise SaveFailed(f"{in_words(error, path)}; what you did is still in this window") from None


class PlanHistory:
    """A plan with all its earlier states; each change is written at once."""

    def __init__(self, folder: Path, plan: CutPlan) -> None:
        self.folder = folder
        self.plan = plan
        self._undone: list[tuple[str, CutPlan]] = []
        self._done: list[tuple[str, CutPlan]] = []

    def change(self, plan: CutPlan, what: str, *, joined: bool = False, keep: bool = True) -> bool:
        """Make this the plan, and write it; False where it is what was there.

        Args:
            plan: The new one.
            what: What was done, for undo, such as "drop step".
            joined: Part of the change before it of the same name, such as a drag that goes on: undone together.
            keep: Write it now; without, ``keep`` has to be called once the drag is over.

        Raises:
            SaveFailed: It could not be written; it is the plan all the same.
        """
        if plan == self.plan:
            return False
        if not (joined and self._done and self._done[-1][0] == what):
            self._done.append((what, self.plan))
        self._undone.clear()
        self.plan = plan
        if keep:
            self.keep()
        return True

    def keep(self) -> None:
        """Write the plan as it is.

        Raises:
            SaveFailed: It cannot be written.
        """
        save_plan(self.folder, self.plan)

    def undo(self) -> str | None:
        """Take back the last change; what it was, None where there is none left."""
        return self._step(self._done, self._undone)

    def redo(self) -> str | None:
        """Do again what was taken back last; what it was, None where nothing was."""
        return self._step(self._undone, self._done)

    def _step(self, source: list[tuple[str, CutPlan]], target: list[tuple[str, CutPlan]]) -> str | None:
        if not source:
            return None
        what, plan = source.pop()
        target.append((what, self.plan))
        self.plan = plan
        self.keep()
        return what

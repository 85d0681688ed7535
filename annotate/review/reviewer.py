"""A person going through a run: which case is shown, what was said of it, and the file that it is written to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from annotate.review.cases import ReviewCase, ReviewFilter, filtered, read_cases
from grounding.errors import UserError
from grounding.errorsplit.labels import Label, LabelName, is_labeller
from grounding.report.html.triage import LABELS_FILE, MOST_NOTE, append_label, read_triage
from grounding.runfolder import utc_now

ACCEPTED = "accepted: the step is annotated well and the click is wrong"
"""The note of a case that was looked at and accepted as the miss that it is, without saying whose fault it was."""

CLICK_RIGHT = "the click is right, too"
"""The note of a case whose annotation leaves out the place that was clicked."""


class Reviewer:
    """One labeller and one run. Labels are on disk when a method returns.

    Attributes:
        run: The run's folder.
        labeller: Who labels.
        cases: Every scored step, in session order.
        filter: Which of them are gone through.
    """

    def __init__(self, run: Path, labeller: str) -> None:
        """Read the run and what was said of it.

        Raises:
            UserError: there is no run, a file is damaged, or the labeller can't be called so.
        """
        if not is_labeller(labeller):
            raise UserError(
                f"--annotator {labeller!r}: labels need the name of who gives them: 1 to 64 letters, digits, blanks, "
                "'.', '_', '-' or '@', no blank first or last"
            )
        self.run, self.labeller = run, labeller
        self.cases = read_cases(run)
        self.filter = ReviewFilter()
        self._by_step = {case.step.id: case for case in self.cases}
        self._said: dict[str, tuple[Label, ...]] = {}
        self._undo: list[tuple[str, Label | None]] = []
        self.refresh()

    @property
    def file(self) -> Path:
        """Where the labels are."""
        return self.run / LABELS_FILE

    def refresh(self) -> None:
        """Read what others have said since.

        Raises:
            UserError: a line of the file is no label.
        """
        said: dict[str, list[Label]] = {}
        for label in read_triage(self.run).labels:
            said.setdefault(label.step, []).append(label)
        self._said = {step: tuple(labels) for step, labels in said.items()}

    def case(self, step_id: str) -> ReviewCase | None:
        """The case of a step; None where the run did not score it."""
        return self._by_step.get(step_id)

    def labels(self, step_id: str) -> tuple[Label, ...]:
        """What everybody says of a step now."""
        return self._said.get(step_id, ())

    def mine(self, step_id: str) -> Label | None:
        """What the labeller says of a step now."""
        return next((label for label in self.labels(step_id) if label.labeller == self.labeller), None)

    def left(self) -> tuple[ReviewCase, ...]:
        """The cases that the filter leaves."""
        return filtered(self.cases, self.filter, self._said, self.labeller)

    def neighbour(self, step_id: str | None, direction: int) -> ReviewCase | None:
        """The case after (1) or before (-1) a step that the filter leaves; the step itself need not be among them.

        None at the end. Without a step it is the first or the last case.
        """
        places = {case.step.id: place for place, case in enumerate(self.cases)}
        left = self.left()
        if direction < 0:
            left = left[::-1]
        if step_id is None or step_id not in places:
            return next(iter(left), None)
        here = places[step_id]
        return next((case for case in left if (places[case.step.id] - here) * direction > 0), None)

    def label(self, step_id: str, name: LabelName, note: str = "") -> Label:
        """Say something of a step; the last word of a labeller counts.

        Raises:
            UserError: the step is none of the run's, the note is too long, or the file can't be written.
        """
        before = self.mine(step_id)
        label = self._append(step_id, name, note)
        self._undo.append((step_id, before))
        return label

    def withdraw(self, step_id: str) -> bool:
        """Take back what the labeller said of a step; False where that is nothing.

        Raises:
            UserError: the file can't be written.
        """
        if self.mine(step_id) is None:
            return False
        self.label(step_id, "withdrawn")
        return True

    def undo(self) -> str | None:
        """Undo the last label of this sitting by saying again what was said before it; the step's id, or None.

        Raises:
            UserError: the file can't be written; then it can be tried again.
        """
        if not self._undo:
            return None
        step_id, before = self._undo[-1]
        if before is None:
            self._append(step_id, "withdrawn", "")
        else:
            self._append(step_id, before.label, before.note)
        self._undo.pop()
        return step_id

    def progress(self, cases: Iterable[ReviewCase]) -> tuple[int, int]:
        """How many of some cases the labeller has labelled, and how many there are."""
        found = [self.mine(case.step.id) is not None for case in cases]
        return sum(found), len(found)

    def _append(self, step_id: str, name: LabelName, note: str) -> Label:
        case = self.case(step_id)
        if case is None:
            raise UserError(f"step {step_id} was not scored in {self.run}; only scored steps are labelled")
        note = note.strip()
        if len(note) > MOST_NOTE:
            raise UserError(f"a note may have {MOST_NOTE} characters, this one has {len(note)}")
        label = Label(step=step_id, label=name, labeller=self.labeller, note=note, plan=case.plan, at=utc_now())
        try:
            append_label(self.run, label)
        except OSError as error:
            raise UserError(f"{self.file}: the label can't be written: {error.strerror or error}") from error
        others = tuple(one for one in self.labels(step_id) if one.labeller != self.labeller)
        self._said[step_id] = others if name == "withdrawn" else (*others, label)
        return label

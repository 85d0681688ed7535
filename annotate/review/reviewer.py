"""A person going through a run: its scored steps, where they lie in the data, and what is said of them."""

import getpass
from collections.abc import Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from grounding.analysis.labels import Label, LabelName, is_labeller
from grounding.data.fields import IMAGE_FIELD, Problem, read_json_list
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.data.samples import step_ids
from grounding.errors import UserError
from grounding.records import Box, Record, Step, Verdict
from grounding.report.html.triage import LABELS_FILE, MOST_NOTE, append_label, read_triage
from grounding.run.folder import RunFolder, utc_now
from grounding.scoring.scored import judge


class ReviewCase(Record, frozen=True, kw_only=True):
    """One scored step of a run. ``raw`` is the grounder's reply as it came, ``box`` the one that it answered with."""

    step: Step
    verdict: Verdict
    plan: str | None = None
    box: Box | None = None
    raw: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.verdict.outcome != "hit"


def read_cases(run: Path) -> tuple[ReviewCase, ...]:
    """The scored steps of a run, judged anew from the stored answers. Raises UserError: no run, or a damaged one."""
    folder = RunFolder(run)
    folder.read_info()
    cases = []
    with closing(folder.plans(read_only=True)) as plans, closing(folder.predictions(read_only=True)) as predictions:
        for step in (step for session in folder.read_sessions() for step in session.steps if step.region is not None):
            plan, answer = plans.last(step.id), predictions.last(step.id)
            case = ReviewCase(
                step=step,
                verdict=judge(step, plan, answer),
                plan=None if plan is None else plan.text,
                box=None if answer is None else answer.box,
                raw="" if answer is None or answer.raw is None else answer.raw,
            )
            cases.append(case)
    return tuple(cases)


class Reviewer:
    """One labeller and one run; ``cases`` are all scored steps. Labels are on disk when a method returns."""

    def __init__(self, run: Path, labeller: str) -> None:
        self.run, self.labeller = run, labeller
        self.cases = read_cases(run)
        self._said: dict[str, tuple[Label, ...]] = {}
        for label in read_triage(run):
            self._said[label.step] = (*self._said.get(label.step, ()), label)

    def case(self, step_id: str) -> ReviewCase | None:
        return next((case for case in self.cases if case.step.id == step_id), None)

    def said(self, step_id: str) -> tuple[Label, ...]:
        return self._said.get(step_id, ())

    def mine(self, step_id: str) -> Label | None:
        return next((label for label in self.said(step_id) if label.labeller == self.labeller), None)

    def wrong(self) -> list[ReviewCase]:
        return [case for case in self.cases if case.is_wrong]

    def neighbour(self, step_id: str, direction: int) -> ReviewCase | None:
        """The next wrong case after (1) or before (-1) a step, which need not be a case; None at the end."""
        places = {case.step.id: place for place, case in enumerate(self.cases)}
        here = places.get(step_id, -1 if direction > 0 else len(places))
        return next((one for one in self.wrong()[::direction] if (places[one.step.id] - here) * direction > 0), None)

    def label(self, step_id: str, name: LabelName, note: str = "") -> None:
        """Say something of a step; ``withdrawn`` takes it back. Raises UserError: too long a note, or not written."""
        note, case = note.strip(), self.case(step_id)
        if len(note) > MOST_NOTE:
            raise UserError(f"a note may have {MOST_NOTE} characters, this one has {len(note)}")
        plan = None if case is None else case.plan
        label = Label(step=step_id, label=name, labeller=self.labeller, note=note, plan=plan, at=utc_now())
        try:
            append_label(self.run, label)
        except OSError as error:
            where = self.run / LABELS_FILE
            raise UserError(f"{where}: the label can't be written: {error.strerror or error}") from error
        others = tuple(one for one in self.said(step_id) if one.labeller != self.labeller)
        self._said[step_id] = others if name == "withdrawn" else (*others, label)


@lru_cache
def reviewer_of(run: Path, annotator: str) -> Reviewer:
    """The reviewer of a run, one for all windows; without a name, the one that the machine knows. Raises UserError:
    there is no run, a file is damaged, or the labeller can't be called so.
    """
    try:
        annotator = annotator or getpass.getuser()
    except (OSError, KeyError):
        annotator = ""
    if not is_labeller(annotator):
        raise UserError(
            f"--annotator {annotator!r}: labels need the name of who gives them: 1 to 64 letters, digits, blanks, "
            "'.', '_', '-' or '@', no blank first or last"
        )
    return Reviewer(run, annotator)


def find_folders(steps: Sequence[Step], data: Path | None) -> dict[str, Path]:
    """The folder of each participant. Raises UserError: one has none; says what was looked for where."""
    found: dict[str, Path] = {}
    shots = {step.participant: Path(step.screenshot.path) for step in reversed(steps)}
    for participant, shot in reversed(shots.items()):
        places = [*shot.parents][:3] if data is None else [data / participant, *([data] if len(shots) == 1 else [])]
        folder = next((place for place in places if (place / QUESTIONS).is_file()), None)
        if folder is None:
            where = ", ".join(map(str, places))
            raise UserError(
                f"the steps of participant {participant} can't be found: no {QUESTIONS} in {where}. Review shows runs "
                "over folders in the layout of RealWebAssist; say where they are with --data DIR"
            )
        found[participant] = folder.resolve()
    return found


def index_in_file(folder: Path, step_id: str, participant: str) -> int | None:
    """The place of a step in a participant's questions file, read anew; None where it is not there."""
    problems: list[Problem] = []
    items = read_json_list(folder / QUESTIONS, problems) or []
    images = [str(item.get(IMAGE_FIELD, "")) if isinstance(item, dict) else "" for item in items]
    ids = step_ids(participant, images)
    return ids.index(step_id) if step_id in ids else None


def first_place(run: Path, data: Path | None, annotator: str) -> tuple[Path, int, str]:
    """Folder and place of the first miss without a label, and who labels. Raises UserError: nothing to review."""
    reviewer = reviewer_of(run.resolve(), annotator)
    if not reviewer.cases:
        raise UserError(f"{run}: no step of this run was scored, so there is nothing to review")
    folders = find_folders([case.step for case in reviewer.cases], data)
    wrong = reviewer.wrong()
    unlabelled = [case for case in wrong if reviewer.mine(case.step.id) is None]
    first = (unlabelled or wrong or reviewer.cases)[0].step
    folder = folders[first.participant]
    index = index_in_file(folder, first.id, first.participant)
    if index is None:
        raise UserError(
            f"{folder / QUESTIONS} has no step {first.id}: the run was over other data; say where they are with --data"
        )
    return folder, index, reviewer.labeller

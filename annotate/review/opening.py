"""Where a review begins, and one reviewer for all windows that it opens."""

from __future__ import annotations

import getpass
from pathlib import Path

from annotate.review.places import find_folders, index_in_file
from annotate.review.reviewer import Reviewer
from grounding.errors import UserError
from grounding.errorsplit.labels import is_labeller
from grounding.loaders.realwebassist import QUESTIONS
from grounding.records import Record

_sittings: dict[tuple[Path, str], Reviewer] = {}
"""Another participant's folder is opened in a new window; what is filtered and can be undone goes along."""


class Place(Record, frozen=True, kw_only=True):
    """A participant's folder, a step in it, and who labels."""

    folder: Path
    index: int
    labeller: str


def reviewer_of(run: Path, annotator: str) -> Reviewer:
    """The reviewer of a run in this process.

    Raises:
        UserError: there is no run, a file is damaged, or the labeller can't be called so.
    """
    key = (run.resolve(), labeller_name(annotator))
    if key not in _sittings:
        _sittings[key] = Reviewer(run, key[1])
    return _sittings[key]


def labeller_name(annotator: str) -> str:
    """The annotator's name, or the one that the machine knows.

    Raises:
        UserError: no name is given and the machine knows none.
    """
    if annotator:
        return annotator
    try:
        name = getpass.getuser()
    except (OSError, KeyError) as error:
        raise UserError("labels need the name of who gives them: --annotator NAME") from error
    if not is_labeller(name):
        raise UserError(f"labels need the name of who gives them, and {name!r} is none: --annotator NAME")
    return name


def first_place(run: Path, data: Path | None, questions: str | None, annotator: str) -> Place:
    """The first wrong step of a run that has no label yet, or else its first wrong step, or else its first.

    Raises:
        UserError: there is no run or nothing in it to review, or its data can't be found.
    """
    reviewer = reviewer_of(run, annotator)
    if not reviewer.cases:
        raise UserError(f"{run}: no step of this run was scored, so there is nothing to review")
    name = questions or QUESTIONS
    folders = find_folders([case.step for case in reviewer.cases], data, name)
    wrong = [case for case in reviewer.cases if case.is_wrong]
    unlabelled = [case for case in wrong if reviewer.mine(case.step.id) is None]
    first = (unlabelled or wrong or reviewer.cases)[0]
    folder = folders.of(first.step)
    index = index_in_file(folder, name, first.step.id, first.step.participant)
    if index is None:
        raise UserError(
            f"{folder / name} has no step {first.step.id}: the run was over other data; say where they are with --data"
        )
    return Place(folder=folder, index=index, labeller=reviewer.labeller)

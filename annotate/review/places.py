"""Where the steps of a run lie in the data: the participant's folder and the place in its questions file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from annotate.records import Entry
from grounding.errors import UserError
from grounding.loaders.items import IMAGE_FIELD
from grounding.loaders.json_lists import read_json_list
from grounding.loaders.problems import Problem
from grounding.loaders.sequences import step_ids
from grounding.records import Record, Region, Step


class Folders(Record, frozen=True, kw_only=True):
    """The participants' folders that a run's steps are from, by participant."""

    by_participant: dict[str, Path]

    def of(self, step: Step) -> Path:
        """The folder of a step's participant."""
        return self.by_participant[step.participant]


def find_folders(steps: Sequence[Step], data: Path | None, questions: str) -> Folders:
    """The folders of all participants of a run.

    Args:
        steps: The run's steps.
        data: The folder of participants' folders, or that of the run's only participant; None for where the run's
            screenshots are.
        questions: The name of the questions file, whose presence makes a folder a participant's.

    Raises:
        UserError: a participant has no such folder; says what was looked for where.
    """
    found: dict[str, Path] = {}
    participants = dict.fromkeys(step.participant for step in steps)
    for participant in participants:
        if data is not None:
            places = [data / participant, data] if len(participants) == 1 else [data / participant]
        else:
            shot = next(Path(step.screenshot.path) for step in steps if step.participant == participant)
            places = list(shot.parents)[:3]
        folder = next((place for place in places if (place / questions).is_file()), None)
        if folder is None:
            where = ", ".join(map(str, places))
            raise UserError(
                f"the steps of participant {participant} can't be found: no {questions} in {where}. Review shows runs "
                "over folders in the layout of RealWebAssist; say where they are with --data DIR"
            )
        found[participant] = folder.resolve()
    return Folders(by_participant=found)


def entry_ids(participant: str, entries: Sequence[Entry]) -> list[str]:
    """The step id of every entry, as runs know it."""
    return step_ids(participant, [entry.image for entry in entries])


def index_of(step_id: str, participant: str, entries: Sequence[Entry]) -> int | None:
    """The place of a step among the entries of its participant's file; None where it is not there any more."""
    ids = entry_ids(participant, entries)
    return ids.index(step_id) if step_id in ids else None


def index_in_file(folder: Path, questions: str, step_id: str, participant: str) -> int | None:
    """The place of a step in a participant's questions file, read anew; None where it is not there."""
    problems: list[Problem] = []
    items = read_json_list(folder / questions, problems) or []
    images = [str(item.get(IMAGE_FIELD, "")) if isinstance(item, dict) else "" for item in items]
    ids = step_ids(participant, images)
    return ids.index(step_id) if step_id in ids else None


def has_changed(region: Region, entry: Entry) -> bool:
    """Whether the annotation of a step is another than the one that the run was scored with."""
    then = {(box.left_px, box.top_px, box.right_px, box.bottom_px) for box in region.boxes}
    now = {(box.x_px, box.y_px, box.x_px + box.width_px, box.y_px + box.height_px) for box in entry.boxes}
    return then != now

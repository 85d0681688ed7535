"""The release layout of RealWebAssist: a folder in; a data set out, or everything that is wrong with it.

::

    1/questions_with_task_updated.json     a JSON list, one item per step
    1/images/12.png                        the screenshots that the items name
    1/extracted_actions_GT.json            the history, one entry per item (read when asked for)
    2/...                                  one folder per participant
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from grounding.data.fields import IMAGE_FIELD, Problem, read_json_list, read_rows, shorten
from grounding.data.folders import ImageLocator, ParticipantFolder, find_participants
from grounding.data.history import choose_history_file, read_history
from grounding.data.images import ImageFault
from grounding.data.layouts import layout
from grounding.data.samples import Sample, build_dataset, step_ids
from grounding.records import Dataset, Region

NAME = "realwebassist"
QUESTIONS = "questions_with_task_updated.json"  # The one questions file that the official evaluator opens.


@layout(NAME)
def load(
    data_dir: Path,
    *,
    questions: str = QUESTIONS,
    history: str | None = None,
    participants: Collection[str] = (),
    name: str = NAME,
    deep: bool = False,
) -> Dataset:
    """Load a data set in the release layout.

    Participants come in natural order, steps in the order of the questions file, scored or not. File names are found
    whatever their case; ``Dataset.history_file`` is the name that was looked for.

    Args:
        data_dir: The folder that holds the participants' folders, or the parent of that folder, or the folder of one
            participant.
        questions: Name of the questions file in each participant's folder.
        history: Name of the history file in each participant's folder; ``auto`` for ``extracted_actions_gt.json`` or,
            if no participant has that, ``extracted_actions.json``; ``if-present`` for the same or none.
        participants: Names of the participants to load; empty for all.
        name: Name of the data set, for the record.
        deep: Decode every screenshot, too.

    Raises:
        DatasetProblems: Something is wrong; every problem is in it, in order of participant, file and item.
    """
    problems: list[Problem] = []
    oddities: list[Problem] = []
    folders = find_participants(Path(data_dir), questions, participants, problems)
    history_file = choose_history_file(history, folders)
    samples = [
        sample for folder in folders for sample in _samples(folder, Path(data_dir), history_file, problems, oddities)
    ]
    files = [str(folder.path / folder.questions) for folder in folders]

    def order(problem: Problem) -> tuple[int, ...]:
        own = next((n for n, folder in enumerate(folders) if Path(problem.file).is_relative_to(folder.path)), -1)
        return own, problem.file not in files, -1 if problem.item is None else problem.item

    return build_dataset(
        samples,
        problems,
        name=name,
        convention="xywh",
        deep=deep,
        oddities=oddities,
        history_file=history_file or "",
        order=order,
    )


def _samples(
    folder: ParticipantFolder,
    data_dir: Path,
    history_file: str | None,
    problems: list[Problem],
    oddities: list[Problem],
) -> Iterator[Sample]:
    file = str(folder.path / folder.questions)
    items = read_json_list(folder.path / folder.questions, problems)
    rows = read_rows(items or (), file, problems, oddities)
    expected = None if items is None else len(items)
    entries = [] if history_file is None else read_history(folder, history_file, expected, problems, oddities)
    locator = ImageLocator(folder.path, data_dir)
    for row, step_id in zip(rows, step_ids(folder.participant, [row.image for row in rows]), strict=True):
        image = locator.locate(row.image) if row.image else None
        if isinstance(image, ImageFault):
            value, what = shorten(row.image), image.what
            problems.append(Problem(file=file, item=row.item, field=IMAGE_FIELD, value=value, what=what, fix=image.fix))
        elif image is not None:
            yield Sample(
                file=file,
                item=row.item,
                field="bounding_box",
                id=step_id,
                participant=folder.participant,
                image=image,
                instruction=row.instruction,
                region=None if row.boxes is None else Region(boxes=tuple(named.box for named in row.boxes)),
                task=row.task,
                action=row.action,
                history_entry=entries[row.item] if row.item < len(entries) else None,
            )

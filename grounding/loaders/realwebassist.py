"""The release layout of RealWebAssist: a folder in; a data set out, or everything that is wrong with it.

::

    1/questions_with_task_updated.json     a JSON list, one item per step
    1/images/12.png                        the screenshots that the items name
    1/extracted_actions_GT.json            the history, one entry per item (read when asked for)
    2/...                                  one folder per participant
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from grounding.loaders.assembly import Pool, build_session
from grounding.loaders.boxes import check_inside
from grounding.loaders.fingerprint import fingerprint
from grounding.loaders.folders import ParticipantFolder, find_participants
from grounding.loaders.history import choose_history_file, read_history
from grounding.loaders.image_paths import ImageLocator
from grounding.loaders.images import ImageFault, ImageInfo, probe_images
from grounding.loaders.items import IMAGE_FIELD, Row, read_rows
from grounding.loaders.json_lists import read_json_list
from grounding.loaders.problems import DatasetProblems, Problem, shorten
from grounding.loaders.sequences import id_clashes, step_ids
from grounding.records import Dataset, HistoryEntry, Record

NAME = "realwebassist"
QUESTIONS = "questions_with_task_updated.json"
"""The one questions file that the official evaluator opens."""


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
            if no participant has that, ``extracted_actions.json``; None for no history.
        participants: Names of the participants to load; empty for all.
        name: Name of the data set, for the record.
        deep: Decode every screenshot, too, instead of looking at its header and end alone.

    Raises:
        DatasetProblems: Something is wrong; every problem is in it, in order of participant, file and item.
    """
    reading = _read(Path(data_dir), questions, history, participants, deep)
    if reading.problems:
        raise DatasetProblems(reading.problems)
    images = {file: found for file, found in reading.images.items() if isinstance(found, ImageInfo)}
    pool = Pool()
    sessions = tuple(
        build_session(source.folder.participant, source.rows, list(source.files.values()), images, source.entries, pool)
        for source in reading.sources
    )
    return Dataset(
        name=name, fingerprint=fingerprint(sessions), sessions=sessions, history_file=reading.history_file or ""
    )


def check(
    data_dir: Path,
    *,
    questions: str = QUESTIONS,
    history: str | None = None,
    participants: Collection[str] = (),
    deep: bool = True,
) -> list[Problem]:
    """Everything that would keep ``load`` from loading the data set, in order of participant, file and item."""
    return list(_read(Path(data_dir), questions, history, participants, deep).problems)


class _Source(Record, frozen=True, kw_only=True):
    """What one participant's files say. ``files`` has the screenshot of every row, by item, where it can be named."""

    folder: ParticipantFolder
    questions_file: str
    rows: list[Row]
    files: dict[int, Path]
    entries: list[HistoryEntry] | None


class _Reading(Record, frozen=True, kw_only=True):
    """All that was read of a data set, and all that is wrong with it."""

    sources: list[_Source]
    images: dict[Path, ImageInfo | ImageFault]
    history_file: str | None
    problems: list[Problem]


def _read(data_dir: Path, questions: str, history: str | None, participants: Collection[str], deep: bool) -> _Reading:
    problems: list[Problem] = []
    folders = find_participants(data_dir, questions, participants, problems)
    history_file = choose_history_file(history, folders)
    sources = []
    for folder in folders:
        found: list[Problem] = []
        sources.append(_read_source(folder, data_dir, history_file, found))
        problems += found
    files = list(dict.fromkeys(file for source in sources for file in source.files.values()))
    images = dict(zip(files, probe_images(files, deep=deep), strict=True))
    reported: set[Path] = set()
    for source in sources:
        _check_images(source, images, reported, problems)
        _check_ids(source, problems)
    return _Reading(sources=sources, images=images, history_file=history_file, problems=_in_order(problems, sources))


def _read_source(
    folder: ParticipantFolder, data_dir: Path, history_file: str | None, problems: list[Problem]
) -> _Source:
    path = folder.path / folder.questions
    items = read_json_list(path, problems)
    rows = [] if items is None else read_rows(items, str(path), problems)
    locator = ImageLocator(folder.path, data_dir)
    files: dict[int, Path] = {}
    for row in rows:
        if not row.image:
            continue
        file = locator.locate(row.image)
        if isinstance(file, ImageFault):
            problems.append(_image_problem(str(path), row, file.what, file.fix))
        else:
            files[row.item] = file
    expected = None if items is None else len(items)
    entries = None if history_file is None else read_history(folder, history_file, expected, problems)
    return _Source(folder=folder, questions_file=str(path), rows=rows, files=files, entries=entries)


def _check_images(
    source: _Source, images: Mapping[Path, ImageInfo | ImageFault], reported: set[Path], problems: list[Problem]
) -> None:
    for row in source.rows:
        file = source.files.get(row.item)
        if file is None:
            continue
        image = images[file]
        if isinstance(image, ImageInfo):
            for named in row.boxes or ():
                check_inside(named, image.size, source.questions_file, row.item, problems)
        elif file not in reported:
            # Many items may share a screenshot; it is broken once.
            reported.add(file)
            problems.append(_image_problem(source.questions_file, row, f"the file {image.what}", image.fix))


def _check_ids(source: _Source, problems: list[Problem]) -> None:
    rows = [row for row in source.rows if row.item in source.files]
    for clash in id_clashes(step_ids(source.folder.participant, [row.image for row in rows])):
        earlier = rows[clash.earlier_item]
        what = f"duplicate id: gives the step id {clash.id}, which item {earlier.item} ({earlier.image}) has already"
        problems.append(
            _image_problem(source.questions_file, rows[clash.item], what, "give the screenshots different names")
        )


def _image_problem(file: str, row: Row, what: str, fix: str) -> Problem:
    return Problem(file=file, item=row.item, field=IMAGE_FIELD, value=shorten(row.image), what=what, fix=fix)


def _in_order(problems: Sequence[Problem], sources: Sequence[_Source]) -> list[Problem]:
    """By participant; within one the questions file first, item by item; what concerns no participant before all."""
    rank = {source.questions_file: 2 * index for index, source in enumerate(sources)}
    for index, source in enumerate(sources):
        for name in source.folder.files:
            rank.setdefault(str(source.folder.path / name), 2 * index + 1)
        rank.setdefault(str(source.folder.path), 2 * index + 1)
    return sorted(problems, key=lambda one: (rank.get(one.file, -1), -1 if one.item is None else one.item))

"""The release layout of RealWebAssist: a folder per participant, a JSON list of steps in it, pictures in ``images/``.

A plain folder of pictures is a sheet of steps that are all ``todo``. Problems of the fields are found by the readers of
:mod:`grounding.data`, so that what passes here can be loaded.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from grounding.data.fields import IMAGE_FIELD, Problem, read_rows
from grounding.data.folders import ParticipantFolder, find_participants
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.data.samples import id_clashes, step_ids
from grounding.errors import UserError

from ..core.folders import find
from ..core.journal import read_list, write_list
from ..core.native import BOXES, ODD, new_item, read_item, write_item
from ..core.records import AnnotatedStep
from ..core.words import words_of_steps
from .labels import Finding, LabelFolder, LabelItem, LabelPlace, Named


def read(source: LabelFolder, root: Path) -> Iterator[tuple[str, LabelItem]]:
    """The steps of each participant in the order of the file; of a plain folder of pictures, in natural order. Raises
    UserError: there are no participants and no pictures, or a questions file is no JSON list.
    """
    problems: list[Problem] = []
    folders = find_participants(root, QUESTIONS, (), problems)
    if not folders:
        for image in find(root, QUESTIONS).pictures:
            yield "", source.item(AnnotatedStep(image=image), [], LabelPlace(file=str(root / image)), root / image)
        return
    source.findings += [Finding(kind="field", problem=one) for one in problems]
    for folder in folders:
        yield from ((folder.participant, item) for item in _items(source, folder))


def write(items: Sequence[Named], folder: Path) -> None:
    """Write a questions file for each participant, or one straight into the new folder where the sheet has no name."""
    values: dict[PurePosixPath, list[object]] = {}
    for named in items:
        # The picture's place is PARTICIPANT/images/…
        at = PurePosixPath(named.path.parts[0]) if named.sheet else PurePosixPath()
        entry = replace(named.item.entry, image=str(named.path.relative_to(at)), transcript="")
        values.setdefault(at, []).append(write_item(named.item.native or new_item(entry), entry))
    for at, steps in values.items():
        (folder / at).mkdir(parents=True, exist_ok=True)
        (folder / at / QUESTIONS).write_bytes(write_list(steps))


def _items(source: LabelFolder, folder: ParticipantFolder) -> list[LabelItem]:
    file = folder.path / folder.questions
    try:
        values, _ = read_list(file.read_bytes(), file)
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from error
    natives = [read_item(value) for value in values]
    problems: list[Problem] = []
    # A step without boxes is to do; oddities are said by the check in its own words.
    read_rows([{BOXES: None, **one} if isinstance(one, dict) else one for one in values], str(file), problems, [])
    damaged = {problem.item for problem in problems}
    source.findings += [Finding(kind="field", problem=one) for one in problems]
    for index, field in ((index, field) for index, native in enumerate(natives) for field in native.odd):
        source.report(LabelPlace(file=str(file), item=index, field=field), ODD, "correct it or take it out")
    try:
        said = words_of_steps(folder.path, [item.entry for item in natives])
    except UserError as error:
        at_file, _, what = str(error).partition(": ")
        source.report(LabelPlace(file=at_file), what, "correct the file, or make it again")
        said = {}
    items = []
    for index, native in enumerate(natives):
        at, entry = LabelPlace(file=str(file), item=index), native.entry
        several = native.is_object and isinstance(native.value.get(BOXES), list)
        boxes = [(box, replace(at, field=f"{BOXES}[{box.source}]" if several else BOXES)) for box in entry.boxes]
        picture = source.find(entry.image, [folder.path], at, IMAGE_FIELD) if entry.image.strip() else None
        if entry.image in said:
            entry = replace(entry, transcript=said[entry.image][0])
        items.append(source.item(entry, boxes, at, picture, damaged=index in damaged, native=native))
    named = [item for item in items if item.entry.image.strip()]
    ids = step_ids(folder.participant, [str(PurePosixPath(item.entry.image)) for item in named])
    for clash in id_clashes(ids):
        earlier, item = named[clash.earlier_item], named[clash.item]
        what = f"gives the step id {clash.id}, which {earlier.place} ({earlier.entry.image}) has already"
        source.report(item.place, what, "give the screenshots different names", field=IMAGE_FIELD)
    return items

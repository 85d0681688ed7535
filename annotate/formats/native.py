"""The release layout of RealWebAssist: a folder per participant, a JSON list of steps in it, pictures in ``images/``.

Boxes are ``x``, ``y`` (top left), ``width``, ``height`` in pixels of the upright picture; the right edge is
``x + width`` and belongs to the box when a click is judged. No ``bounding_box``: ``todo``. ``null``: ``no-click``. A
plain folder of pictures is a sheet of steps that are all ``todo``.

Reading and writing of the file itself is :mod:`annotate.native_file`'s, which keeps fields that it does not know.
Problems of the fields are found by the readers of :mod:`grounding.loaders`, so that what passes here can be loaded.
Other files of a participant's folder (audio, history, transcripts) stay where they are; they are counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from annotate.folders import find
from annotate.formats.paths import IMAGES, Namer, locate, safe_name
from annotate.formats.records import Item, Place, Sheet
from annotate.formats.source import Source
from annotate.formats.target import Target, name_items
from annotate.heard import choose_transcripts, read_transcripts
from annotate.json_text import members
from annotate.native_file import item_layout, new_native, read_native, write_native
from annotate.native_item import ANNOTATION, BOXES, ORDER, write_item
from annotate.native_item import Item as NativeItem
from annotate.records import Entry
from grounding.errors import UserError
from grounding.loaders.folders import find_participants
from grounding.loaders.image_paths import ImageLocator
from grounding.loaders.images import ImageFault
from grounding.loaders.items import IMAGE_FIELD, read_rows
from grounding.loaders.problems import Problem, shorten
from grounding.loaders.realwebassist import QUESTIONS
from grounding.loaders.sequences import id_clashes, step_ids


def is_native(root: Path, questions: str = QUESTIONS) -> bool:
    """Whether a folder holds participants' folders, or is one."""
    problems: list[Problem] = []
    return bool(find_participants(root, questions, (), problems))


def is_plain(root: Path, questions: str = QUESTIONS) -> bool:
    """Whether a folder has pictures to annotate and no steps yet."""
    try:
        return bool(find(root, questions).pictures)
    except UserError:
        # Whoever reads the folder says what is missing.
        return False


def read(source: Source, root: Path, questions: str = QUESTIONS) -> list[Sheet]:
    """The steps of each participant in the order of the file; of a plain folder of pictures, in natural order.

    Raises:
        UserError: there are no participants and no pictures, or a questions file is no JSON list.
    """
    problems: list[Problem] = []
    folders = find_participants(root, questions, (), problems)
    if not folders:
        return [_plain_sheet(source, root, find(root, questions).pictures)]
    source.problems += problems
    sheets = []
    for folder in folders:
        file = folder.path / folder.questions
        items = _items(source, folder.path, root, file, folder.participant)
        # Natural order over folders is kept; the folder of a single participant is named, too.
        sheets.append(Sheet(name=folder.participant, folder=folder.path, items=tuple(items)))
        others = [name for name in folder.files if name != folder.questions]
        source.losses.add("other files", "lost", "history, audio and the like stay where they are", len(others))
    return sheets


def write(sheets: Sequence[Sheet], target: Target, questions: str = QUESTIONS) -> None:
    """Write a folder per participant, or straight into the new folder where the sheet has no name."""
    namer = Namer(by_stem=True)
    for sheet in sheets:
        folder = PurePosixPath(safe_name(sheet.name)) if sheet.name else PurePosixPath()
        entries, originals = [], []
        for named in name_items(sheet, namer, target.losses):
            inner = named.path.relative_to(named.path.parts[0]) if sheet.name else named.path
            image = PurePosixPath(IMAGES, inner)
            target.place(named.item, folder / image)
            entries.append(msgspec.structs.replace(named.item.entry, image=str(image), transcript=""))
            originals.append(named.item.native)
        target.losses.add(
            "field transcript",
            "lost",
            "the native layout has transcripts in files of their own",
            sum(bool(item.entry.transcript) for item in sheet.items),
        )
        file = new_native(
            [Entry(image="") if original else entry for entry, original in zip(entries, originals, strict=True)]
        )
        layout = item_layout(file)
        texts = [
            write_item(original or place.item, entry, layout)
            for entry, original, place in zip(entries, originals, file.places, strict=True)
        ]
        path = target.folder / folder / questions
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(write_native(file, texts, [place.gap for place in file.places]))


def unknown_fields(native: NativeItem) -> tuple[str, ...]:
    """The fields of a step that this program does not know, those of its boxes included."""
    if not native.is_object:
        return ()
    value = json.loads(native.text)
    boxes = value.get(BOXES)
    inner = boxes if isinstance(boxes, list) else [boxes]
    of_boxes = {key for box in inner if isinstance(box, dict) for key in box} - {"x", "y", "width", "height", "type"}
    own = [member.key for member in members(native.text) if member.key not in ORDER]
    return (*own, *(f"{BOXES}.{key}" for key in sorted(of_boxes)))


def _plain_sheet(source: Source, root: Path, pictures: Sequence[str]) -> Sheet:
    items = [source.item(Entry(image=image), [], Place(file=str(root / image)), root / image) for image in pictures]
    return Sheet(name="", folder=root, items=tuple(items))


def _items(source: Source, folder: Path, root: Path, file: Path, participant: str) -> list[Item]:
    try:
        native = read_native(file.read_bytes(), file)
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from error
    before = len(source.problems)
    _check_fields(source, [place.item for place in native.places], file)
    damaged = {problem.item for problem in source.problems[before:]}
    locator = ImageLocator(folder, root)
    heard = _heard(source, folder, [place.item.entry for place in native.places])
    items = []
    for index, place in enumerate(native.places):
        at = Place(file=str(file), item=index)
        entry = msgspec.structs.replace(place.item.entry, transcript=heard.get(place.item.entry.image, ""))
        picture = _picture(source, locator, entry.image, at)
        several = place.item.is_object and isinstance(json.loads(place.item.text).get(BOXES), list)
        boxes = [
            (box, Place(file=str(file), item=index, field=f"{BOXES}[{box.source}]" if several else BOXES))
            for box in entry.boxes
        ]
        damage = index in damaged
        items.append(source.item(entry, boxes, at, picture, damaged=damage, native=place.item))
    _check_ids(source, items, participant)
    return items


def _heard(source: Source, folder: Path, entries: Sequence[Entry]) -> Mapping[str, str]:
    """What a recogniser heard at each picture, as the window shows it; nothing where there are no transcripts."""
    file = choose_transcripts(folder)
    if file is None:
        return {}
    try:
        return read_transcripts(file, entries)
    except UserError as error:
        what = str(error).removeprefix(f"{file}: ")
        source.problems.append(Place(file=str(file)).problem(what, "correct the file, or make it again"))
        return {}


def _check_fields(source: Source, items: Sequence[NativeItem], file: Path) -> None:
    """What the loader would refuse, but for what a check says in its own words: sizes, blanks, steps to do."""
    values = [_without_checked(json.loads(item.text)) for item in items]
    read_rows(values, str(file), source.problems)
    for item in items:
        for issue in item.issues:
            if issue.field.startswith(ANNOTATION):
                place = Place(file=str(file), item=issue.index)
                source.problems.append(place.problem(issue.what, "correct it or take it out", field=issue.field))


def _without_checked(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    copy = dict(value)
    copy.setdefault(BOXES, None)
    for field in ("instruction", IMAGE_FIELD):
        if isinstance(copy.get(field), str):
            copy[field] = copy[field].strip() or "-"
    boxes = copy[BOXES]
    if isinstance(boxes, list):
        copy[BOXES] = [_positive(box) for box in boxes]
    elif isinstance(boxes, dict):
        copy[BOXES] = _positive(boxes)
    return copy


def _positive(box: Any) -> Any:
    if not isinstance(box, dict):
        return box
    lengths = {name: box[name] for name in ("width", "height") if isinstance(box.get(name), int | float)}
    return {**box, **{name: 1 for name, length in lengths.items() if -1e9 <= length <= 0 and length is not False}}


def _picture(source: Source, locator: ImageLocator, image: str, place: Place) -> Path | None:
    if not image.strip():
        source.problems.append(
            place.problem("names no picture", "name the screenshot, like images/12.png", field=IMAGE_FIELD)
        )
        return None
    found = locate(locator, image)
    if isinstance(found, ImageFault):
        source.problems.append(place.problem(found.what, found.fix, field=IMAGE_FIELD, value=shorten(image)))
        return None
    return found


def _check_ids(source: Source, items: Sequence[Item], participant: str) -> None:
    named = [item for item in items if item.entry.image.strip()]
    images = [str(PurePosixPath(item.entry.image)) for item in named]
    for clash in id_clashes(step_ids(participant, images)):
        earlier = named[clash.earlier_item]
        what = f"gives the step id {clash.id}, which item {earlier.place.item} ({earlier.entry.image}) has already"
        item = named[clash.item]
        value = shorten(item.entry.image)
        source.problems.append(
            item.place.problem(what, "give the screenshots different names", field=IMAGE_FIELD, value=value)
        )

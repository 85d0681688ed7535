"""YOLO, as Ultralytics trains on it and labelImg writes it: one text file per picture, one line per box.

A line is ``class x_center y_center width height``: the class counts from 0, the other four are divided by the upright
picture's width and height (centre and size of the box, from 0 to 1). Pixels are found with the picture's true size;
an edge within 0.02 pixels of a whole one is taken for it, since six decimals, which labelImg writes, say no more.

Written are ``images/<participant>/1.png`` and ``labels/<participant>/1.txt`` (Ultralytics finds labels by putting
``labels`` in the place of ``images``), ``data.yaml`` for Ultralytics, and ``classes.txt`` both beside it and in each
folder of labels, where labelImg looks for it. No label file: ``todo``. An empty one: ``no-click``, a background
picture to other tools. Nothing else of a step is kept.

Read is any such folder: labels in ``labels`` for pictures in ``images``, or beside the pictures (Darknet, labelImg).
Names of the classes come from ``data.yaml`` (``names`` as a list or by number), ``classes.txt`` or ``obj.names``. Lines
with more numbers are polygons (the box around them is taken) or, with six, end with a confidence, which is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import yaml

from annotate.formats.classes import CLASSES, class_of, kind_of
from annotate.formats.numbers import around, between, is_whole, pixel_text, snapped
from annotate.formats.paths import IMAGES, Namer, safe_name, split_sheet
from annotate.formats.pictures import walk, walk_pictures
from annotate.formats.records import Finding, Item, Place, Sheet
from annotate.formats.source import Source
from annotate.formats.target import Target, all_items, one_per_picture
from annotate.records import Entry, MarkedBox
from grounding.loaders.images import ImageFault
from grounding.loaders.problems import shorten
from grounding.records import Size

LABELS = "labels"
CLASS_FILES = ("data.yaml", "dataset.yaml", "classes.txt", "obj.names")
MAX_TEXT_BYTES = 4_000_000
_LEAST_TOLERANCE_PX, _TOLERANCE_SHARE = 0.02, 2e-6
_LINE = "write it as: class x_center y_center width height"


def read(source: Source, root: Path) -> list[Sheet]:
    """The steps of a YOLO folder, in natural order of the pictures' paths."""
    names = _class_names(source, root)
    pictures = walk_pictures(root)
    source.pictures.prefetch(pictures)
    taken: set[Path] = set()
    items: dict[str, list[Item]] = {}
    for picture in pictures:
        labels = _labels_of(root, picture)
        taken.add(labels)
        sheet, path = split_sheet(_below_pictures(picture.relative_to(root)))
        item = _item(source, path, picture, labels, names)
        items.setdefault(safe_name(sheet), []).append(item)
    _report_orphans(source, root, taken)
    return [Sheet(name=name, folder=root / name, items=tuple(found)) for name, found in items.items()]


def write(sheets: Sequence[Sheet], target: Target) -> None:
    """Write pictures, labels, ``data.yaml`` and ``classes.txt``."""
    namer = Namer(by_stem=True, taken=("classes",))
    folders = {PurePosixPath()}
    for sheet in sheets:
        for named in one_per_picture(sheet, namer, target.losses):
            target.place(named.item, PurePosixPath(IMAGES, named.path))
            label = PurePosixPath(LABELS, named.path).with_suffix(".txt")
            folders.add(label.parent)
            if named.item.entry.state != "todo" and named.item.size is not None:
                target.write(label, "".join(_line(box, named.item.size) for box in named.item.entry.boxes))
    for folder in sorted(folders):
        target.write(folder / "classes.txt", "".join(f"{name}\n" for name in CLASSES))
    # Without "path", Ultralytics takes the folder of this file; with "." it takes the one that it is started in.
    target.write(
        "data.yaml",
        yaml.safe_dump({"train": IMAGES, "val": IMAGES, "names": dict(enumerate(CLASSES))}, sort_keys=False),
    )
    items = all_items(sheets)
    target.losses.add_states(items, {"no-click": "an empty label file; others see a background picture"}, "changed")
    target.losses.add_states(items, {"todo": "no label file; others see a background picture"}, "changed")
    target.losses.add_fields(items, "lost", "YOLO holds boxes and classes alone")
    fractions = sum(not is_whole(box) for item in items for box in item.entry.boxes)
    target.losses.add("boxes between pixels", "changed", "read back to a thousandth of a pixel", fractions)


def _line(box: MarkedBox, size: Size) -> str:
    numbers = (
        (box.x_px + box.width_px / 2) / size.width,
        (box.y_px + box.height_px / 2) / size.height,
        box.width_px / size.width,
        box.height_px / size.height,
    )
    return f"{CLASSES.index(class_of(box.kind))} {' '.join(f'{number:.10f}' for number in numbers)}\n"


def _labels_of(root: Path, picture: Path) -> Path:
    """The label file of a picture: in ``labels`` instead of the last ``images`` of its path, or else beside it."""
    parts = list(picture.relative_to(root).parts)
    places = [index for index, part in enumerate(parts[:-1]) if part.casefold() == IMAGES]
    beside = picture.with_suffix(".txt")
    if not places:
        return beside
    parts[places[-1]] = LABELS
    mirrored = root.joinpath(*parts).with_suffix(".txt")
    return mirrored if mirrored.exists() or not beside.exists() else beside


def _below_pictures(path: Path) -> Path:
    """The path without its folder ``images``: Ultralytics' ``images/train``, Roboflow's ``train/images``."""
    parts = list(path.parts)
    for index, part in enumerate(parts[:-1]):
        if part.casefold() == IMAGES:
            return Path(*parts[:index], *parts[index + 1 :])
    return path


def _item(source: Source, path: str, picture: Path, labels: Path, names: dict[int, str] | None) -> Item:
    place = Place(file=str(labels))
    entry = Entry(image=path)
    text = _read_text(source, labels, place)
    if text is None:
        return source.item(entry, [], place if labels.exists() else Place(file=str(picture)), picture)
    size = source.pictures.size(picture)
    if isinstance(size, ImageFault):
        # The fault itself is reported with those of all pictures.
        return source.item(entry, [], place, picture, damaged=True)
    boxes: list[tuple[MarkedBox, Place]] = []
    damaged = False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        at = Place(file=str(labels), line=number)
        box = _box(source, line, at, size, names)
        if box is None:
            damaged = True
        else:
            boxes.append((box, at))
    looked_at = entry if boxes or damaged else Entry(image=path, state="no-click")
    return source.item(looked_at, boxes, place, picture, damaged=damaged)


def _box(source: Source, line: str, place: Place, size: Size, names: dict[int, str] | None) -> MarkedBox | None:
    first, *rest = line.split()
    values = [pixel_text(one) for one in rest]
    numbers = [one for one in values if one is not None]
    if not first.isdecimal() or len(first) > 6 or len(numbers) != len(values) or len(values) < 4:
        source.problems.append(place.problem("is not a class and four numbers", _LINE, value=shorten(line)))
        return None
    if len(values) > 5 and len(values) % 2:
        source.problems.append(place.problem("has an odd number of coordinates", _LINE, value=shorten(line)))
        return None
    if max(abs(number) for number in numbers[:4]) > 2:
        what = "has pixels where shares of the picture's width and height belong"
        source.problems.append(place.problem(what, _LINE, value=shorten(line)))
        return None
    kind = kind_of(_name(source, int(first), place, names), source.losses)
    if len(values) > 5:
        source.losses.add("polygon", "changed", "the box around it is taken")
        points = [(x * size.width, y * size.height) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        return _snapped(around(points), size, kind=kind)
    if len(values) == 5:
        source.losses.add("confidence", "lost", "the sixth number of a line is a model's")
    x, y, width, height = numbers[:4]
    left, top = (x - width / 2) * size.width, (y - height / 2) * size.height
    return _snapped(between(left, top, left + width * size.width, top + height * size.height), size, kind=kind)


def _snapped(box: MarkedBox, size: Size, *, kind: str) -> MarkedBox:
    across = max(_LEAST_TOLERANCE_PX, _TOLERANCE_SHARE * size.width)
    down = max(_LEAST_TOLERANCE_PX, _TOLERANCE_SHARE * size.height)
    return between(
        snapped(box.x_px, across),
        snapped(box.y_px, down),
        snapped(box.x_px + box.width_px, across),
        snapped(box.y_px + box.height_px, down),
        kind=kind,  # type: ignore[arg-type]
    )


def _name(source: Source, index: int, place: Place, names: dict[int, str] | None) -> str:
    if names is None:
        return f"number {index}"
    if index not in names:
        what = f"has the class {index}, which the list of {len(names)} classes does not name"
        source.problems.append(place.problem(what, "add it to data.yaml or classes.txt"))
    return names.get(index, f"number {index}")


def _class_names(source: Source, root: Path) -> dict[int, str] | None:
    """The names of the classes by number; None where no file names them."""
    for folder in (root, root / LABELS, *sorted(path.parent for path in root.glob("*/*/classes.txt"))):
        for name in CLASS_FILES:
            file = folder / name
            if not file.is_file():
                continue
            place = Place(file=str(file))
            text = _read_text(source, file, place)
            if text is None:
                return None
            if file.suffix != ".yaml":
                return dict(enumerate(line.strip() for line in text.splitlines() if line.strip()))
            return _yaml_names(source, text, place)
    return None


def _yaml_names(source: Source, text: str, place: Place) -> dict[int, str] | None:
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        source.problems.append(place.problem(f"is not YAML: {' '.join(str(error).split())}", "correct it"))
        return None
    names = content.get("names") if isinstance(content, dict) else None
    numbered = dict(enumerate(names)) if isinstance(names, list) else names
    # Lists inside the list could be aliases of each other, whose text has no end.
    if isinstance(numbered, dict) and all(
        str(index).isdecimal() and isinstance(name, str | int | float) for index, name in numbered.items()
    ):
        return {int(index): str(name) for index, name in numbered.items()}
    what = "must have the classes under names, as a list or by number"
    source.problems.append(place.problem(what, "add them", field="names"))
    return None


def _read_text(source: Source, file: Path, place: Place) -> str | None:
    """The text of a file; None where there is none, and after a problem."""
    if not file.exists():
        return None
    try:
        if file.stat().st_size > MAX_TEXT_BYTES:
            source.problems.append(place.problem(f"is larger than {MAX_TEXT_BYTES:,} bytes", "see what it is"))
            return None
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        source.problems.append(place.problem(f"cannot be read as text ({error})", "see to the file"))
        return None


def _report_orphans(source: Source, root: Path, taken: set[Path]) -> None:
    for file in walk(root, frozenset({".txt"})):
        if file not in taken and file.name not in CLASS_FILES and LABELS in file.relative_to(root).parts[:-1]:
            problem = Place(file=str(file)).problem(
                "labels a picture that is not there", "add it, or take the file out"
            )
            source.findings.append(Finding(kind="orphan-label", problem=problem))

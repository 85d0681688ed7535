"""COCO, as its detection annotations have it (cocodataset.org, "Data format"): one JSON file for all pictures.

``bbox`` is ``[x, y, width, height]`` in pixels, origin 0 at the outer edge of the first pixel, floats allowed: the
numbers of this program. The right edge is ``x + width``. ``images`` lists every picture, ``annotations`` the boxes,
``categories`` the classes; boxes point at pictures and classes by id.

Written are ``annotations.json`` and ``images/<participant>/…`` beside it, ``file_name`` being the path from the JSON
file. A step is an image record: steps that share a picture are several with the same ``file_name``. What COCO has no
place for (state, instruction, task …) stands under the image's key ``grounding``, which other tools pass over; a file
without that key gives the state ``todo`` to pictures without boxes.

Read is any such file: the path of a picture is tried from the file's folder, from ``images`` in it and beside it, and
from the folder above. Polygons of a ``segmentation`` are left aside when there is a ``bbox``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from annotate.formats.classes import CLASSES, class_of, kind_of
from annotate.formats.numbers import between, pixel_number, whole
from annotate.formats.own_fields import KEY, OwnFields, own_fields, read_own_fields
from annotate.formats.paths import IMAGES, Namer, safe_name, split_sheet
from annotate.formats.records import Item, Place, Sheet
from annotate.formats.source import Source, json_text, read_json, stated_size
from annotate.formats.target import Target, all_items, name_items
from annotate.records import Entry, MarkedBox
from grounding.errors import UserError
from grounding.loaders.problems import Problem, shorten

FILE = "annotations.json"
_ADVICE = "correct it, or export the file again"


def is_coco(value: object) -> bool:
    """Whether a decoded JSON file looks like COCO's detection annotations."""
    return isinstance(value, dict) and isinstance(value.get("images"), list) and "annotations" in value


def read(source: Source, file: Path) -> list[Sheet]:
    """The steps of a COCO file, in the order of its images.

    Raises:
        UserError: the file is no COCO file at all.
    """
    try:
        content = read_json(file)
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
    if not is_coco(content):
        raise UserError(f"{file}: expected a COCO file, an object with the lists images, annotations and categories")
    categories = _categories(content.get("categories"))
    boxes = _boxes(source, file, content["annotations"], categories, _ids(content["images"]))
    items: dict[str, list[Item]] = {}
    for index, image in enumerate(content["images"]):
        read_one = _item(source, file, index, image, boxes)
        if read_one is not None:
            sheet, item = read_one
            items.setdefault(sheet, []).append(item)
    return [Sheet(name=name, folder=file.parent / name, items=tuple(found)) for name, found in items.items()]


def write(sheets: Sequence[Sheet], target: Target) -> None:
    """Write ``annotations.json`` and the pictures."""
    namer = Namer(by_stem=False)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for sheet in sheets:
        for named in name_items(sheet, namer, target.losses):
            item, path = named.item, PurePosixPath(IMAGES, named.path)
            target.place(item, path)
            images.append(
                {
                    "id": len(images) + 1,
                    "file_name": str(path),
                    "width": item.size.width if item.size else 0,
                    "height": item.size.height if item.size else 0,
                    KEY: own_fields(item.entry, sheet.name),
                }
            )
            for box in item.entry.boxes:
                annotations.append(_annotation(box, len(annotations) + 1, len(images)))
    categories = [{"id": index, "name": name, "supercategory": ""} for index, name in enumerate(CLASSES, start=1)]
    info = {"description": "Boxes on screenshots, written by grounding's annotation program", "version": "1.0"}
    target.write(
        FILE, json_text({"info": info, "images": images, "annotations": annotations, "categories": categories})
    )
    items = all_items(sheets)
    note = f"under the image's key {KEY}"
    target.losses.add_states(items, {"no-click": f"{note}; others see a picture without boxes"}, "own field")
    target.losses.add_states(items, {"todo": f"{note}; others see a picture without boxes"}, "own field")
    target.losses.add_fields(items, "own field", note)


def _annotation(box: MarkedBox, number: int, image: int) -> dict[str, Any]:
    return {
        "id": number,
        "image_id": image,
        "category_id": CLASSES.index(class_of(box.kind)) + 1,
        "bbox": [whole(value) for value in (box.x_px, box.y_px, box.width_px, box.height_px)],
        "area": whole(box.width_px * box.height_px),
        "segmentation": [],
        "iscrowd": 0,
    }


def _categories(value: object) -> dict[object, str]:
    records = value if isinstance(value, list) else []
    return {_key(one.get("id")): str(one.get("name", "")) for one in records if isinstance(one, dict)}


def _key(identifier: object) -> object:
    """An id to look up by: numbers and texts, as files in the wild have both; nothing else is one."""
    return identifier if isinstance(identifier, int | str) and not isinstance(identifier, bool) else None


def _ids(images: Sequence[object]) -> set[object]:
    return {_key(image.get("id")) for image in images if isinstance(image, dict)} - {None}


class _Boxes:
    """The boxes of each picture by its id, and the ids of pictures with a box that could not be read."""

    def __init__(self) -> None:
        self.by_image: dict[object, list[tuple[MarkedBox, Place]]] = {}
        self.damaged: set[object] = set()


def _boxes(
    source: Source, file: Path, records: object, categories: Mapping[object, str], images: set[object]
) -> _Boxes:
    found = _Boxes()
    if not isinstance(records, list):
        place = Place(file=str(file), field="annotations")
        source.problems.append(place.problem("must be a list", _ADVICE, value=shorten(records)))
    for index, record in enumerate(records if isinstance(records, list) else []):
        place = Place(file=str(file), item=index, field=f"annotations[{index}]")
        if not isinstance(record, dict):
            source.problems.append(place.problem("must be an object", _ADVICE, value=shorten(record)))
            continue
        image = _key(record.get("image_id"))
        if image not in images:
            source.problems.append(
                place.problem(
                    "names an image that the file does not list",
                    _ADVICE,
                    field="image_id",
                    value=shorten(record.get("image_id")),
                )
            )
            continue
        box = _box(source, record, place, categories)
        if box is None:
            found.damaged.add(image)
        else:
            found.by_image.setdefault(image, []).append((box, place))
    return found


def _box(source: Source, record: dict[str, Any], place: Place, categories: Mapping[object, str]) -> MarkedBox | None:
    value = record.get("bbox")
    numbers = [pixel_number(one) for one in value] if isinstance(value, list) and len(value) == 4 else [None]
    x, y, width, height = numbers if len(numbers) == 4 else (None, None, None, None)
    if x is None or y is None or width is None or height is None:
        what = "must be a list of four numbers, [x, y, width, height]"
        source.problems.append(place.problem(what, _ADVICE, field="bbox", value=shorten(value)))
        return None
    if record.get("iscrowd"):
        source.losses.add("mark iscrowd", "lost", "a box of a crowd is taken as any other box")
    if record.get("segmentation"):
        source.losses.add("segmentation", "lost", "only bbox is read")
    category = categories.get(_key(record.get("category_id")))
    if category is None:
        what, value = "is not the id of a category", shorten(record.get("category_id"))
        source.problems.append(place.problem(what, "add the category", field="category_id", value=value))
    kind = kind_of(category, source.losses) if category is not None else ""
    return between(x, y, x + width, y + height, kind=kind)


def _item(source: Source, file: Path, index: int, image: object, boxes: _Boxes) -> tuple[str, Item] | None:
    place = Place(file=str(file), item=index, field=f"images[{index}]")
    name = image.get("file_name") if isinstance(image, dict) else None
    if not isinstance(image, dict) or not isinstance(name, str):
        what = "must be an object with a file_name"
        source.problems.append(place.problem(what, _ADVICE, value=shorten(image)))
        return None
    own = _own(source, image.get(KEY), place)
    base = file.parent
    folders = [base, base / IMAGES, base.parent / IMAGES, base.parent]
    picture = source.find(name, [one for one in folders if one.is_relative_to(source.root)], place, "file_name")
    sheet, path = split_sheet(Path(_below_images(name)))
    if own.participant:
        sheet = safe_name(own.participant)
        path = _without_first(_below_images(name), sheet)
    key = _key(image.get("id"))
    item = source.item(
        own.onto(Entry(image=path)),
        boxes.by_image.get(key, []),
        place,
        picture,
        stated=stated_size(image.get("width"), image.get("height")),
        damaged=key in boxes.damaged,
    )
    return sheet, item


def _own(source: Source, value: object, place: Place) -> OwnFields:
    if value is None:
        return OwnFields()
    try:
        return read_own_fields(value)
    except UserError as error:
        problem: Problem = place.problem(str(error), "correct it or take the key out", field=KEY, value=shorten(value))
        source.problems.append(problem)
        return OwnFields()


def _below_images(name: str) -> str:
    """The path below the folder ``images``, where it begins with that."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", ".", "..")]
    return "/".join(parts[1:] if len(parts) > 1 and parts[0] == IMAGES else parts) or name


def _without_first(path: str, first: str) -> str:
    parts = PurePosixPath(path).parts
    return "/".join(parts[1:]) if len(parts) > 1 and parts[0] == first else path

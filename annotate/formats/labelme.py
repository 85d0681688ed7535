"""labelme: one JSON file per picture, beside it and of the same name.

A rectangle has two opposite corners in ``points``, in any order, as floats in pixels of the upright picture, origin 0
at the outer edge of the first pixel: the edges of this program, ``x`` to ``x + width``. ``imagePath`` is the path from
the JSON file; ``imageData`` (the picture in base64) may be null, and is never written nor decoded here.

Written are ``<participant>/1.png`` and ``<participant>/1.json``. No JSON file: ``todo``. One without shapes:
``no-click``. What labelme has no place for stands under the key ``grounding``, which labelme keeps when it saves.

Read are such files anywhere below a folder. A polygon or a circle becomes the box around it; points, lines and masks
are left out. Class names other than ``text`` and ``icon`` are counted as lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from annotate.formats.classes import class_of, kind_of
from annotate.formats.numbers import around, pixel_number
from annotate.formats.own_fields import KEY, OwnFields, own_fields, read_own_fields
from annotate.formats.paths import IMAGES, Namer, is_file, safe_name, split_sheet
from annotate.formats.pictures import natural_path, walk, walk_pictures
from annotate.formats.records import Item, Place, Sheet
from annotate.formats.source import Source, json_text, read_json, stated_size
from annotate.formats.target import Named, Target, all_items, one_per_picture
from annotate.records import Entry, MarkedBox
from grounding.errors import UserError
from grounding.loaders.problems import shorten

VERSION = "5.5.0"
"""The version of labelme whose fields are written."""

_ADVICE = "correct it, or save the file again with labelme"


def is_labelme(value: object) -> bool:
    """Whether a decoded JSON file looks like labelme's."""
    return isinstance(value, dict) and isinstance(value.get("shapes"), list) and "imagePath" in value


def read(source: Source, root: Path) -> list[Sheet]:
    """The steps of a folder of labelme files, in natural order of the pictures' paths.

    Pictures without a JSON file come with them; JSON files of another kind are passed over.
    """
    found: dict[Path, tuple[str, Item]] = {}
    lost: list[Item] = []
    for file in walk(root, frozenset({".json"})):
        place = Place(file=str(file))
        try:
            content = read_json(file)
        except UserError as error:
            source.problems.append(place.problem(str(error), _ADVICE))
            continue
        if not is_labelme(content):
            continue
        sheet, item = _item(source, root, file, content)
        if item.picture is None:
            lost.append(item)
        elif item.picture in found:
            what = f"labels {item.picture}, which {found[item.picture][1].place.file} labels already"
            source.problems.append(place.problem(what, "keep one of the two files", field="imagePath"))
        else:
            found[item.picture] = (sheet, item)
    for picture in walk_pictures(root):
        if picture not in found:
            sheet, path = split_sheet(_below_images(picture.relative_to(root)))
            item = source.item(Entry(image=path), [], Place(file=str(picture)), picture)
            found[picture] = (safe_name(sheet), item)
    items: dict[str, list[Item]] = {}
    for picture in sorted(found, key=lambda path: natural_path(path.relative_to(root))):
        items.setdefault(found[picture][0], []).append(found[picture][1])
    for item in lost:
        items.setdefault("", []).append(item)
    return [Sheet(name=name, folder=root / name, items=tuple(several)) for name, several in items.items()]


def write(sheets: Sequence[Sheet], target: Target) -> None:
    """Write pictures and JSON files."""
    namer = Namer(by_stem=True)
    for sheet in sheets:
        for named in one_per_picture(sheet, namer, target.losses):
            target.place(named.item, named.path)
            if named.item.entry.state != "todo" or _says_anything(named.item.entry):
                target.write(named.path.with_suffix(".json"), json_text(_content(named, sheet.name)))
    items = all_items(sheets)
    note = f"under the key {KEY}"
    target.losses.add_states(items, {"no-click": "a JSON file without shapes"}, "own field")
    target.losses.add_states(items, {"todo": "no JSON file, or our own word in it"}, "own field")
    target.losses.add_fields(items, "own field", note)


def _says_anything(entry: Entry) -> bool:
    return entry != Entry(image=entry.image)


def _content(named: Named, sheet: str) -> dict[str, Any]:
    entry, size = named.item.entry, named.item.size
    return {
        "version": VERSION,
        "flags": {},
        "shapes": [_shape(box) for box in entry.boxes],
        "imagePath": named.path.name,
        "imageData": None,
        "imageHeight": size.height if size else None,
        "imageWidth": size.width if size else None,
        KEY: own_fields(entry, sheet),
    }


def _shape(box: MarkedBox) -> dict[str, Any]:
    right, bottom = box.x_px + box.width_px, box.y_px + box.height_px
    return {
        "label": class_of(box.kind),
        "points": [[float(box.x_px), float(box.y_px)], [float(right), float(bottom)]],
        "group_id": None,
        "description": "",
        "shape_type": "rectangle",
        "flags": {},
        "mask": None,
    }


def _item(source: Source, root: Path, file: Path, content: dict[str, Any]) -> tuple[str, Item]:
    place = Place(file=str(file))
    written = content["imagePath"]
    picture = None
    if isinstance(written, str):
        # labelme itself falls back to the picture's bare name beside the file.
        bare = PurePosixPath(written.replace("\\", "/")).name
        picture = _beside(file, bare) or source.find(written, [file.parent], place, "imagePath")
    else:
        what = "must be the picture's path"
        source.problems.append(place.problem(what, _ADVICE, field="imagePath", value=shorten(written)))
    own = _own(source, content.get(KEY), place)
    sheet, path = split_sheet(_below_images(picture.relative_to(root))) if picture else ("", file.stem)
    boxes, damaged = _boxes(source, content["shapes"], place)
    flags = content.get("flags")
    for flag in flags if isinstance(flags, dict) else {}:
        source.losses.add(f"flag {shorten(flag)}", "lost", "a step has no flags here")
    entry = own.onto(Entry(image=path, state="no-click" if own.state is None else "todo"))
    stated = stated_size(content.get("imageWidth"), content.get("imageHeight"))
    item = source.item(entry, boxes, place, picture, stated=stated, damaged=damaged)
    return safe_name(own.participant or sheet), item


def _beside(file: Path, name: str) -> Path | None:
    picture = file.parent / name
    return picture if name not in ("", "..") and is_file(picture) and not picture.is_symlink() else None


def _below_images(path: Path) -> Path:
    parts = list(path.parts)
    return Path(*parts[1:]) if len(parts) > 1 and parts[0] == IMAGES else path


def _own(source: Source, value: object, place: Place) -> OwnFields:
    if value is None:
        return OwnFields()
    try:
        return read_own_fields(value)
    except UserError as error:
        source.problems.append(
            place.problem(str(error), "correct it or take the key out", field=KEY, value=shorten(value))
        )
        return OwnFields()


def _boxes(source: Source, shapes: list[Any], place: Place) -> tuple[list[tuple[MarkedBox, Place]], bool]:
    boxes: list[tuple[MarkedBox, Place]] = []
    damaged = False
    for index, shape in enumerate(shapes):
        at = Place(file=place.file, field=f"shapes[{index}]")
        kind = shape.get("shape_type") or "polygon" if isinstance(shape, dict) else ""
        points = _points(shape.get("points")) if isinstance(shape, dict) else None
        if kind in ("point", "line", "linestrip", "points", "mask"):
            source.losses.add(f"shape {kind}", "lost", "only rectangles, polygons and circles become boxes")
            continue
        if points is None or not _can_be(kind, points):
            what = "must be a rectangle with two corners, a circle with two points or a polygon with three or more"
            source.problems.append(at.problem(what, _ADVICE, value=shorten(shape)))
            damaged = True
            continue
        if kind != "rectangle":
            source.losses.add(f"shape {kind}", "changed", "the box around it is taken")
        label = shape.get("label")
        name = kind_of(label if isinstance(label, str) else "", source.losses)
        corners = _circle(points) if kind == "circle" else points
        boxes.append((around(corners, kind=name), at))
    return boxes, damaged


def _can_be(kind: object, points: list[tuple[float, float]]) -> bool:
    if kind in ("rectangle", "circle"):
        return len(points) == 2 or (kind == "rectangle" and len(points) == 4)
    return kind == "polygon" and len(points) > 2


def _circle(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    (x, y), edge = points
    radius = math.dist((x, y), edge)
    return [(x - radius, y - radius), (x + radius, y + radius)]


def _points(value: object) -> list[tuple[float, float]] | None:
    points = []
    for point in value if isinstance(value, list) else []:
        numbers = [pixel_number(one) for one in point] if isinstance(point, list) else []
        if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
            return None
        points.append((numbers[0], numbers[1]))
    return points or None

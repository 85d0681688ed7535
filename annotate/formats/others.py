"""The formats of other tools: COCO, YOLO and Pascal VOC.

Each holds boxes in its own way; the three states of a step, and its words where the format has a place for them, are
held as each section says. (The package ``supervision`` reads all three too, but of one flat folder at a time, with
edges as float32, and ends at the first line that is wrong, so that a check could not name the others.)
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import yaml
from msgspec.structs import replace

from grounding.data.images import ImageFault
from grounding.errors import UserError
from grounding.records import Size

from ..core.folders import SUFFIXES
from ..core.records import AnnotatedStep, MarkedBox
from .labels import (
    CLASSES,
    KEY,
    LabelFolder,
    LabelItem,
    LabelPlace,
    Named,
    between,
    class_index,
    kind_of,
    own_fields,
    pixel_numbers,
    read_own,
    read_text,
    safe_name,
    sheet_of,
    stated_size,
    walk,
    whole,
)  # fmt: skip

Found = Iterator[tuple[str, LabelItem]]
Boxes = list[tuple[MarkedBox, LabelPlace]]


def write_file(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8", newline="\n")


# --- COCO ---------------------------------------------------------------------------------------------------------
#
# Detection annotations (cocodataset.org, "Data format"), one JSON file for all pictures: ``bbox`` is ``[x, y, width,
# height]`` in pixels from 0, floats allowed, the numbers of this program. A step is an image record: steps that share a
# picture are several with the same ``file_name``. What COCO has no place for stands under the image's key
# ``grounding``; without it a picture without boxes is to do. A picture is looked for beside the file, in ``images``
# there and beside it, and in the folder above.


class _CocoImage(msgspec.Struct):
    id: int | str
    file_name: str
    width: float | None = None
    height: float | None = None
    grounding: Any = None


class _CocoBox(msgspec.Struct):
    image_id: int | str
    bbox: tuple[float, float, float, float]
    category_id: int | str | None = None


class _CocoClass(msgspec.Struct):
    id: int | str
    name: str


class _Coco(msgspec.Struct):
    images: list[_CocoImage]
    annotations: list[_CocoBox]
    categories: list[_CocoClass] = []


def read_coco(source: LabelFolder, file: Path) -> Found:
    """The steps of a COCO file, in the order of its images. Raises UserError: the file is none, or a record of it."""
    try:
        content = msgspec.json.decode(read_text(file), type=_Coco)
    except (UserError, msgspec.DecodeError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read as a COCO file: {error}") from error
    known = {image.id for image in content.images}
    classes = {one.id: one.name for one in content.categories}
    boxes: dict[int | str, Boxes] = {}
    for index, one in enumerate(content.annotations):
        place = LabelPlace(file=str(file), item=index, field=f"annotations[{index}]")
        if one.image_id not in known:
            source.report(place, "names an image that the file does not list", field="image_id", value=one.image_id)
            continue
        if one.category_id not in classes:
            what = "is not the id of a category"
            source.report(place, what, "add the category", field="category_id", value=one.category_id)
        kind = kind_of(classes[one.category_id]) if one.category_id in classes else ""
        x, y, width, height = one.bbox
        boxes.setdefault(one.image_id, []).append((between(x, y, x + width, y + height, kind), place))
    base = file.parent
    for index, image in enumerate(content.images):
        place = LabelPlace(file=str(file), item=index, field=f"images[{index}]")
        folders = [base, base / "images", base.parent / "images", base.parent]
        picture = source.find(image.file_name, folders, place, "file_name")
        sheet, path = sheet_of(image.file_name)
        entry, participant = read_own(source, image.grounding, AnnotatedStep(image=path), place)
        if participant and safe_name(participant) != sheet:
            sheet, entry = safe_name(participant), replace(entry, image=f"{sheet}/{path}" if sheet else path)
        stated = stated_size(image.width, image.height)
        yield sheet, source.item(entry, boxes.get(image.id, []), place, picture, stated=stated)


def write_coco(items: Sequence[Named], folder: Path) -> None:
    images: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for named in items:
        size = named.item.size or Size(width=0, height=0)
        image = {"id": len(images) + 1, "file_name": str(named.path), "width": size.width, "height": size.height}
        images.append({**image, KEY: own_fields(named)})
        for box in named.item.entry.boxes:
            place = [whole(value) for value in box.place]
            boxes.append({
                "id": len(boxes) + 1, "image_id": len(images), "category_id": class_index(box) + 1, "bbox": place,
                "area": whole(place[2] * place[3]), "segmentation": [], "iscrowd": 0,
            })  # fmt: skip
    classes = [{"id": index, "name": name, "supercategory": ""} for index, name in enumerate(CLASSES, start=1)]
    info = {"description": "Boxes on screenshots, written by grounding's annotation program", "version": "1.0"}
    content = {"info": info, "images": images, "annotations": boxes, "categories": classes}
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_file(folder / "annotations.json", f"{text}\n")


# --- YOLO ---------------------------------------------------------------------------------------------------------
#
# As Ultralytics trains on it and labelImg writes it: a text file per picture, a line ``class x_center y_center width
# height`` per box, the class from 0, the others divided by the upright picture's width and height. Labels lie in
# ``labels`` for pictures in ``images``, or beside the pictures. No file: to do. An empty one: not a click. Names of the
# classes are in ``data.yaml`` (``names`` as a list or by number) or ``classes.txt``. A sixth
# number is a model's confidence, which is dropped; lines of polygons are refused. An edge within 0.02 pixels of a whole
# one is taken for it, since six decimals, which labelImg writes, say no more.

CLASS_FILES = ("data.yaml", "classes.txt")


def read_yolo(source: LabelFolder, root: Path) -> Found:
    """The steps of a YOLO folder, in natural order of the pictures' paths."""
    names = _class_names(source, root)
    labels = {picture: _labels_of(root, picture) for picture in walk(root, *SUFFIXES)}
    if labels:
        source.look(*labels)
    for file in walk(root, ".txt"):
        inside = "labels" in file.relative_to(root).parts[:-1]
        if inside and file not in labels.values() and file.name not in CLASS_FILES:
            what, fix = "labels a picture that is not there", "add it, or take the file out"
            source.report(LabelPlace(file=str(file)), what, fix, kind="orphan-label")
    for picture, file in labels.items():
        sheet, path = sheet_of(picture.relative_to(root))
        yield sheet, _yolo_item(source, path, picture, file, names)


def _labels_of(root: Path, picture: Path) -> Path:
    """The label file of a picture: in ``labels`` instead of the last ``images`` of its path, or else beside it."""
    parts = list(picture.relative_to(root).parts)
    beside = picture.with_suffix(".txt")
    if "images" not in parts[:-1]:
        return beside
    parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    mirrored = root.joinpath(*parts).with_suffix(".txt")
    return mirrored if mirrored.exists() or not beside.exists() else beside


def _yolo_item(
    source: LabelFolder, path: str, picture: Path, labels: Path, names: Mapping[int, str] | None
) -> LabelItem:
    if not labels.exists():
        return source.item(AnnotatedStep(image=path), [], LabelPlace(file=str(picture)), picture)
    entry, place, size = AnnotatedStep(image=path, state="no-click"), LabelPlace(file=str(labels)), source.look(picture)
    boxes: Boxes = []
    try:
        lines = [(number, line) for number, line in enumerate(read_text(labels).splitlines(), start=1) if line.strip()]
    except UserError as error:
        source.report(place, str(error))
        return source.item(entry, [], place, picture, damaged=True)
    for number, line in lines:
        at = LabelPlace(file=str(labels), line=number)
        if isinstance(size, ImageFault):  # It is reported with those of all formats.
            break
        try:
            boxes.append((_yolo_box(source, line, at, size, names), at))
        except ValueError as error:
            source.report(at, str(error), "write it as: class x_center y_center width height", value=line)
    return source.item(entry, boxes, place, picture, damaged=len(boxes) < len(lines))


def _yolo_box(
    source: LabelFolder, line: str, place: LabelPlace, size: Size, names: Mapping[int, str] | None
) -> MarkedBox:
    """The box of a line. Raises ValueError: it is none; the message says why."""
    first, *rest = line.split()
    numbers = pixel_numbers(rest, len(rest)) or []
    if not first.isdecimal() or len(first) > 6 or len(numbers) not in (4, 5):
        raise ValueError("is not a class and four numbers")
    if max(abs(number) for number in numbers[:4]) > 2:
        raise ValueError("has pixels where shares of the picture's width and height belong")
    index = int(first)
    if names is not None and index not in names:
        what = f"has the class {index}, which the list of {len(names)} classes does not name"
        source.report(place, what, "add it to data.yaml or classes.txt")
    kind = kind_of((names or {}).get(index, f"number {index}"))
    x, y, width, height = numbers[:4]
    edges = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    left, right = (_snapped(edges[at], size.width) for at in (0, 2))
    top, bottom = (_snapped(edges[at], size.height) for at in (1, 3))
    return between(left, top, right, bottom, kind)


def _snapped(share: float, length_px: int) -> float:
    """Pixels: the next whole one where it is within what six decimals say, else to a thousandth of a pixel."""
    nearest = round(share * length_px)
    near = abs(share * length_px - nearest) <= max(0.02, 2e-6 * length_px)
    return nearest if near else whole(round(share * length_px, 3))


def _class_names(source: LabelFolder, root: Path) -> Mapping[int, str] | None:
    folders = (root, root / "labels")
    file = next((folder / name for folder in folders for name in CLASS_FILES if (folder / name).is_file()), None)
    if file is None:
        return None
    try:
        text = read_text(file)
        if file.suffix != ".yaml":
            return dict(enumerate(line.strip() for line in text.splitlines() if line.strip()))
        content = yaml.safe_load(text)
        names = content.get("names") if isinstance(content, dict) else None
        # Lists inside the list could be aliases of each other, whose text has no end.
        return msgspec.convert(dict(enumerate(names)) if isinstance(names, list) else names, type=dict[int, str])
    except (UserError, yaml.YAMLError, RecursionError, msgspec.ValidationError) as error:
        what = f"must have the classes under names, as a list or by number ({' '.join(str(error).split())[:200]})"
        source.report(LabelPlace(file=str(file)), what, field="names")
        return None


def write_yolo(items: Sequence[Named], folder: Path) -> None:
    for named in items:
        entry, size = named.item.entry, named.item.size
        if entry.state != "todo" and size is not None:
            label = folder.joinpath("labels", *named.path.parts[1:]).with_suffix(".txt")
            write_file(label, "".join(_yolo_line(box, size) for box in entry.boxes))
    write_file(folder / "classes.txt", "".join(f"{name}\n" for name in CLASSES))
    # Without "path", Ultralytics takes the folder of this file; with "." it takes the one that it is started in.
    content = {"train": "images", "val": "images", "names": dict(enumerate(CLASSES))}
    write_file(folder / "data.yaml", yaml.safe_dump(content, sort_keys=False))


def _yolo_line(box: MarkedBox, size: Size) -> str:
    x, y = box.centre.x_px / size.width, box.centre.y_px / size.height
    numbers = (x, y, box.width_px / size.width, box.height_px / size.height)
    return f"{class_index(box)} {' '.join(f'{number:.10f}' for number in numbers)}\n"


# --- Pascal VOC ---------------------------------------------------------------------------------------------------
#
# One XML file per picture. A box is ``xmin``, ``ymin``, ``xmax``, ``ymax``, and the same numbers mean two things: the
# challenge's own files count pixels from 1 with both ends inside the box, so that the left edge is ``xmin - 1``;
# labelImg and most tools after it write edges from 0. ``source/annotation`` says which: ``PASCAL VOC2007`` and the like
# are the challenge's, all others edges from 0, as written here. (labelImg writes 1 instead of 0, which nobody can tell
# from a true 1 afterwards.) No XML file: to do. One without objects: not a click. ``verified="yes"`` of labelImg is
# kept. The absolute ``path`` is never followed. A file with a document type is refused, and with it every entity:
# entities are how a small file is made to grow without end or to name other files.

_EDGES = ("xmin", "ymin", "xmax", "ymax")


def read_voc(source: LabelFolder, root: Path) -> Found:
    """The steps of a VOC folder, in natural order of the pictures' paths; pictures without XML come with them."""
    found: dict[Path, tuple[str, LabelItem]] = {}
    lost: list[tuple[str, LabelItem]] = []
    for file in walk(root, ".xml"):
        place = LabelPlace(file=str(file))
        try:
            text = read_text(file)
            if "<!DOCTYPE" in text:
                raise UserError("declares a document type (<!DOCTYPE …>), which label files do not need")
            document = ElementTree.fromstring(text)
        except (UserError, ElementTree.ParseError, LookupError, ValueError) as error:
            what = str(error) if isinstance(error, UserError) else f"is not XML that can be read: {error}"
            source.report(place, what)
            continue
        sheet, item = _voc_item(source, root, place, document)
        if item.picture is None:
            lost.append(("", item))
        elif item.picture in found:
            what = f"labels {item.picture}, which {found[item.picture][1].place.file} labels already"
            source.report(place, what, "keep one of the two files")
        else:
            found[item.picture] = sheet, item
    for picture in walk(root, *SUFFIXES):
        sheet, path = sheet_of(picture.relative_to(root))
        todo = sheet, source.item(AnnotatedStep(image=path), [], LabelPlace(file=str(picture)), picture)
        yield found.pop(picture, todo)
    # Those whose pictures are not there.
    yield from (*found.values(), *lost)


def _voc_item(
    source: LabelFolder, root: Path, place: LabelPlace, document: ElementTree.Element
) -> tuple[str, LabelItem]:
    folder = Path(place.file).parent
    folders, parts = [folder, root / "JPEGImages", root / "images", root], folder.relative_to(root).parts
    for index, part in enumerate(parts):
        if part.casefold() in ("annotations", "labels"):
            # The picture lies in the mirror of the file's folder, or beside the file itself.
            mirrors = [root.joinpath(*parts[:index], name, *parts[index + 1 :]) for name in ("JPEGImages", "images")]
            folders = [*mirrors, *folders]
    picture = source.find(_text(document, "filename"), folders, place, "filename")
    sheet, path = sheet_of(picture.relative_to(root) if picture else _text(document, "filename") or "picture")
    first = 1 if _text(document, "source/annotation").casefold().startswith("pascal voc") else 0
    boxes: Boxes = []
    objects = document.findall("object")
    for index, one in enumerate(objects):
        at = replace(place, field=f"object[{index}]")
        numbers = pixel_numbers([_text(one, f"bndbox/{name}") for name in _EDGES])
        if numbers is None:
            source.report(at, "must have xmin, ymin, xmax and ymax", field="bndbox")
            continue
        left, top, right, bottom = numbers
        boxes.append((between(left - first, top - first, right, bottom, kind_of(_text(one, "name"))), at))
    entry = AnnotatedStep(image=path, state="no-click", verified=document.get("verified") == "yes")
    stated = stated_size(_text(document, "size/width"), _text(document, "size/height"))
    return sheet, source.item(entry, boxes, place, picture, stated=stated, damaged=len(boxes) < len(objects))


def _text(element: ElementTree.Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def write_voc(items: Sequence[Named], folder: Path) -> None:
    for named in items:
        if named.item.entry.state != "todo":
            file = folder.joinpath("Annotations", *named.path.parts[1:]).with_suffix(".xml")
            write_file(file, _voc_document(named))


def _voc_document(named: Named) -> str:
    entry, size = named.item.entry, named.item.size or Size(width=0, height=0)
    root = ElementTree.Element("annotation", {"verified": "yes"} if entry.verified else {})

    def put(parent: ElementTree.Element, **texts: object) -> None:
        for name, text in texts.items():
            ElementTree.SubElement(parent, name).text = str(text)

    put(root, folder=named.path.parent.name, filename=named.path.name)
    put(ElementTree.SubElement(root, "source"), database="Unknown", annotation="edges from 0")
    put(ElementTree.SubElement(root, "size"), width=size.width, height=size.height, depth=3)
    put(root, segmented=0)
    for box in entry.boxes:
        one, at = ElementTree.SubElement(root, "object"), box.box
        put(one, name=CLASSES[class_index(box)], pose="Unspecified", truncated=0, difficult=0)
        edges = (at.left_px, at.top_px, at.right_px, at.bottom_px)
        numbers = (f"{value:.6f}".rstrip("0").rstrip(".") for value in edges)
        put(ElementTree.SubElement(one, "bndbox"), **dict(zip(_EDGES, numbers, strict=True)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode") + "\n"

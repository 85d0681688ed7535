"""Pascal VOC, as its development kit and labelImg have it: one XML file per picture.

A box is ``xmin``, ``ymin``, ``xmax``, ``ymax``, and the same numbers mean two things in the wild:

- ``devkit``: the challenge counts pixels from 1 and both ends belong to the box: ``xmin=1, xmax=W`` is the whole width.
  The left edge is ``xmin - 1``, the right edge ``xmax``.
- ``labelimg``: labelImg and most tools after it write edges from 0: the left edge is ``xmin``, the right edge ``xmax``.
  labelImg writes 1 instead of 0, which nobody can tell from a true 1 afterwards; this program writes 0.

A file says which it is in ``source/annotation``: ours by our own words there, the challenge's by ``PASCAL VOC2007`` and
the like. All others, labelImg's among them, are taken as ``labelimg``; ``--voc-edges`` says otherwise.

Written are ``JPEGImages/<participant>/1.png`` and ``Annotations/<participant>/1.xml``. No XML file: ``todo``. One
without objects: ``no-click``. ``verified="yes"`` of labelImg is kept; nothing else of a step is.

Read are XML files below ``Annotations``, or beside the pictures; the picture is the one that ``filename`` names, looked
for beside the XML file and in ``JPEGImages`` and ``images``. The absolute ``path`` is never followed. A file with a
document type is refused (see :mod:`annotate.formats.safe_xml`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import escape

from annotate.formats.classes import class_of, kind_of
from annotate.formats.numbers import between, is_whole, pixel_text
from annotate.formats.paths import IMAGES, Namer, is_file, safe_name, split_sheet
from annotate.formats.pictures import natural_path, walk, walk_pictures
from annotate.formats.records import Item, Place, Sheet, VocEdges
from annotate.formats.safe_xml import Element, read_xml
from annotate.formats.source import Source, stated_size
from annotate.formats.target import Named, Target, all_items, one_per_picture
from annotate.records import Entry, MarkedBox
from grounding.errors import UserError
from grounding.loaders.problems import shorten

ANNOTATIONS, PICTURES = "Annotations", "JPEGImages"
SAID: dict[VocEdges, str] = {"labelimg": "edges from 0", "devkit": "pixels from 1, both ends inside"}
"""What ``source/annotation`` of our own files says."""

_CHALLENGE = "pascal voc"
_ADVICE = "correct it, or export the file again"


def read(source: Source, root: Path) -> list[Sheet]:
    """The steps of a VOC folder, in natural order of the pictures' paths; pictures without XML come with them."""
    found: dict[Path, Item] = {}
    lost: list[Item] = []
    for file in walk(root, frozenset({".xml"})):
        item = _item(source, root, file)
        if item is None:
            continue
        if item.picture is None:
            lost.append(item)
        elif item.picture in found:
            what = f"labels {item.picture}, which {found[item.picture].place.file} labels already"
            source.problems.append(item.place.problem(what, "keep one of the two files"))
        else:
            found[item.picture] = item
    for picture in walk_pictures(root):
        if picture not in found:
            path = split_sheet(_below_pictures(picture.relative_to(root)))[1]
            found[picture] = source.item(Entry(image=path), [], Place(file=str(picture)), picture)
    items: dict[str, list[Item]] = {}
    for picture in sorted(found, key=lambda path: natural_path(path.relative_to(root))):
        sheet, path = split_sheet(_below_pictures(picture.relative_to(root)))
        items.setdefault(safe_name(sheet), []).append(found[picture])
    for item in lost:
        items.setdefault("", []).append(item)
    return [Sheet(name=name, folder=root / name, items=tuple(several)) for name, several in items.items()]


def write(sheets: Sequence[Sheet], target: Target) -> None:
    """Write pictures and XML files."""
    namer = Namer(by_stem=True)
    for sheet in sheets:
        for named in one_per_picture(sheet, namer, target.losses):
            target.place(named.item, PurePosixPath(PICTURES, named.path))
            if named.item.entry.state != "todo":
                file = PurePosixPath(ANNOTATIONS, named.path).with_suffix(".xml")
                target.write(file, _document(named, target.voc_edges))
    items = all_items(sheets)
    target.losses.add_states(items, {"no-click": "an XML file without objects"}, "changed")
    target.losses.add_states(items, {"todo": "no XML file"}, "changed")
    target.losses.add_fields(items, "lost", "VOC holds boxes and classes alone", kept=("verified",))
    unseen = sum(item.entry.verified and item.entry.state == "todo" for item in items)
    target.losses.add("field verified", "lost", "without boxes there is no XML file to say it in", unseen)
    fractions = sum(not is_whole(box) for item in items for box in item.entry.boxes)
    target.losses.add("boxes between pixels", "changed", "decimals, which many tools cut off", fractions)


def _document(named: Named, edges: VocEdges) -> str:
    item = named.item
    size = item.size
    objects = "".join(_object(box, edges) for box in item.entry.boxes)
    verified = ' verified="yes"' if item.entry.verified else ""
    folder = named.path.parent.name or PICTURES
    return (
        f"<annotation{verified}>\n"
        f"  <folder>{escape(folder)}</folder>\n"
        f"  <filename>{escape(named.path.name)}</filename>\n"
        f"  <source>\n    <database>Unknown</database>\n    <annotation>{SAID[edges]}</annotation>\n  </source>\n"
        f"  <size>\n    <width>{size.width if size else 0}</width>\n    <height>{size.height if size else 0}</height>\n"
        f"    <depth>3</depth>\n  </size>\n  <segmented>0</segmented>\n{objects}</annotation>\n"
    )


def _object(box: MarkedBox, edges: VocEdges) -> str:
    first = 1 if edges == "devkit" else 0
    corners = {
        "xmin": box.x_px + first,
        "ymin": box.y_px + first,
        "xmax": box.x_px + box.width_px,
        "ymax": box.y_px + box.height_px,
    }
    lines = "".join(f"      <{name}>{_number(value)}</{name}>\n" for name, value in corners.items())
    return (
        f"  <object>\n    <name>{class_of(box.kind)}</name>\n    <pose>Unspecified</pose>\n"
        f"    <truncated>0</truncated>\n    <difficult>0</difficult>\n    <bndbox>\n{lines}    </bndbox>\n  </object>\n"
    )


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _item(source: Source, root: Path, file: Path) -> Item | None:
    place = Place(file=str(file))
    try:
        document = read_xml(file)
    except UserError as error:
        source.problems.append(place.problem(str(error), _ADVICE))
        return None
    if document.name != "annotation":
        what = f"is XML of another kind: its root is {shorten(document.name)}, not annotation"
        source.problems.append(place.problem(what, "take it out of the folder"))
        return None
    picture = _picture(source, root, file, document, place)
    path = split_sheet(_below_pictures(picture.relative_to(root)))[1] if picture else document.value("filename") or ""
    boxes, damaged = _boxes(source, document, place)
    entry = Entry(image=path, state="no-click", verified=document.attributes.get("verified") == "yes")
    width, height = (pixel_text(document.value("size", side) or "") for side in ("width", "height"))
    stated = stated_size(width, height)
    return source.item(entry, boxes, place, picture, stated=stated, damaged=damaged)


def _picture(source: Source, root: Path, file: Path, document: Element, place: Place) -> Path | None:
    name = document.value("filename") or ""
    if name and not PurePosixPath(name).suffix:
        # Some files of the challenge's makers and of tools after it leave the suffix out.
        name = next(
            (f"{name}{end}" for end in (".jpg", ".png", ".jpeg", ".webp") if _beside(root, file, name, end)), name
        )
    return source.find(name, _folders(root, file), place, "filename")


def _beside(root: Path, file: Path, name: str, suffix: str) -> bool:
    return any(is_file(folder / f"{name}{suffix}") for folder in _folders(root, file))


def _folders(root: Path, file: Path) -> list[Path]:
    """Where a picture may lie: in the mirror of the XML file's folder, and beside the file itself."""
    parts = list(file.parent.relative_to(root).parts)
    mirrors = []
    for index in reversed(range(len(parts))):
        if parts[index].casefold() in (ANNOTATIONS.casefold(), "labels"):
            for name in (PICTURES, IMAGES):
                mirrors.append(root.joinpath(*parts[:index], name, *parts[index + 1 :]))
    return [*mirrors, file.parent, root / PICTURES, root / IMAGES, root]


def _below_pictures(path: Path) -> Path:
    parts = list(path.parts)
    for index, part in enumerate(parts[:-1]):
        if part in (PICTURES, IMAGES):
            return Path(*parts[:index], *parts[index + 1 :])
    return path


def _boxes(source: Source, document: Element, place: Place) -> tuple[list[tuple[MarkedBox, Place]], bool]:
    edges = source.voc_edges or _edges(document)
    boxes: list[tuple[MarkedBox, Place]] = []
    damaged = False
    objects = [child for child in document.children if child.name == "object"]
    for index, one in enumerate(objects):
        at = Place(file=place.file, field=f"object[{index}]")
        numbers = [pixel_text(one.value("bndbox", name) or "") for name in ("xmin", "ymin", "xmax", "ymax")]
        left, top, right, bottom = numbers
        if left is None or top is None or right is None or bottom is None:
            source.problems.append(at.problem("must have xmin, ymin, xmax and ymax", _ADVICE, field="bndbox"))
            damaged = True
            continue
        first = 1 if edges == "devkit" else 0
        kind = kind_of(one.value("name") or "", source.losses)
        for mark in ("difficult", "truncated", "occluded"):
            if one.value(mark) not in (None, "", "0"):
                source.losses.add(f"mark {mark}", "lost", "a box has no such mark here")
        boxes.append((between(left - first, top - first, right, bottom, kind=kind), at))
    return boxes, damaged


def _edges(document: Element) -> VocEdges:
    said = document.value("source", "annotation") or ""
    return "devkit" if said == SAID["devkit"] or said.casefold().startswith(_CHALLENGE) else "labelimg"

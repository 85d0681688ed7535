"""Which format a folder or file is in, by what lies there; never a guess between two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from annotate.formats import coco, csv_file, labelme, native
from annotate.formats.pictures import walk, walk_pictures
from annotate.formats.records import FormatName
from annotate.formats.source import read_json
from annotate.formats.yolo import CLASS_FILES
from grounding.errors import UserError

_LOOKED_AT = 20
_MAX_BYTES = 300_000_000


def detect(path: Path) -> FormatName:
    """The format of a folder, or of a file (COCO, CSV).

    Raises:
        UserError: there is nothing there, nothing that is known, or signs of several formats.
    """
    if path.is_file():
        return _of_file(path)
    if not path.is_dir():
        raise UserError(f"{path}: there is no such file or folder")
    if native.is_native(path):
        return "native"
    signs: dict[FormatName, Callable[[Path], bool]] = {
        "coco": lambda root: bool(coco_files(root)),
        "labelme": _has_labelme,
        "voc": lambda root: bool(walk(root, frozenset({".xml"}))),
        "csv": lambda root: bool(tables(root)),
        "yolo": _has_yolo,
    }
    found = [name for name, holds in signs.items() if holds(path)]
    if len(found) > 1:
        raise UserError(f"{path}: looks like {' and '.join(found)}; say which with --from")
    if found:
        return found[0]
    if native.is_plain(path):
        return "native"
    raise UserError(
        f"{path}: expected participants' folders, pictures, or labels as COCO, YOLO, Pascal VOC, labelme or CSV; there "
        "is none of them"
    )


def coco_files(root: Path) -> list[Path]:
    """The COCO files of a folder: in itself, and in ``annotations``."""
    candidates = [*sorted(root.glob("*.json")), *sorted(root.glob("[Aa]nnotations/*.json"))]
    return [file for file in candidates[:_LOOKED_AT] if _json_is(file, coco.is_coco)]


def tables(root: Path) -> list[Path]:
    """The tables of a folder that have the columns of one of the two kinds."""
    headers = {file: csv_file.read_header(file) for file in sorted(root.glob("*.csv"))[:_LOOKED_AT]}
    return [file for file, header in headers.items() if csv_file.is_ours(header) or csv_file.is_tensorflow(header)]


def _of_file(path: Path) -> FormatName:
    match path.suffix.casefold():
        case ".csv":
            return "csv"
        case ".json":
            if _json_is(path, coco.is_coco):
                return "coco"
            raise UserError(f"{path}: is no COCO file; give the folder for any other format")
        case _:
            raise UserError(f"{path}: expected a folder, a COCO file (.json) or a table (.csv)")


def _json_is(file: Path, holds: Callable[[object], bool]) -> bool:
    try:
        return file.stat().st_size <= _MAX_BYTES and holds(read_json(file))
    except (OSError, UserError):
        # Not this format; whoever reads the file says what is wrong with it.
        return False


def _has_labelme(root: Path) -> bool:
    return any(_json_is(file, labelme.is_labelme) for file in walk(root, frozenset({".json"}))[:_LOOKED_AT])


def _has_yolo(root: Path) -> bool:
    if any((root / name).is_file() for name in CLASS_FILES):
        return True
    pictures = {picture.with_suffix("").name for picture in walk_pictures(root)}
    return any(file.stem in pictures for file in walk(root, frozenset({".txt"})))

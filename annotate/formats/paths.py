"""Paths that label files name, kept inside the folder that was opened; and names for the files that are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from grounding.loaders.image_paths import ImageLocator
from grounding.loaders.images import ImageFault

IMAGES = "images"
_MARKS = frozenset({"images", "labels", "annotations", "jpegimages"})


class Finder:
    """Finds the pictures that the label files below one folder name. Nothing outside that folder is looked at.

    Args:
        root: The folder that was opened.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._locator = ImageLocator(root, root)

    def find(self, written: str, folders: Sequence[Path]) -> Path | ImageFault:
        """The file that ``written`` names, seen from the first of ``folders`` where there is one.

        Backslashes are taken for ``/``, as labels made on Windows have them. A path may climb with ``..`` as long as
        it stays inside the root. Where no folder has such a file, the path as seen from the first one comes back, for
        the message.
        """
        plain = written.replace("\\", "/")
        if not plain.strip() or "\0" in plain or not _is_text(plain):
            return ImageFault(what="names no picture", fix="give the picture's path, like images/12.png")
        if plain.startswith("/") or (len(plain) > 1 and plain[1] == ":"):
            return ImageFault(
                what="must be a path inside the folder, not an absolute one", fix="write it like images/12.png"
            )
        refused: ImageFault | None = None
        missing: Path | None = None
        for folder in folders:
            inner = _inside(folder.relative_to(self._root), plain)
            if inner is None:
                refused = refused or ImageFault(
                    what=f"leads out of {self._root}",
                    fix="put the picture inside that folder, or open the folder that holds both",
                )
                continue
            found = locate(self._locator, str(inner))
            if isinstance(found, ImageFault):
                refused = refused or found
            elif is_file(found):
                return found
            else:
                missing = missing or found
        return missing or refused or ImageFault(what="names no picture", fix="correct the path")


class Namer:
    """Gives every picture of a sheet a path in the new folder: its own path, made safe and unlike all others.

    Args:
        by_stem: Names must differ by more than their suffix, because each gets a label file of the same name.
        taken: Names without suffix that no picture may have.
    """

    def __init__(self, *, by_stem: bool, taken: Iterable[str] = ()) -> None:
        self._by_stem = by_stem
        self._reserved = frozenset(name.casefold() for name in taken)
        self._used: set[str] = set()
        self._names: dict[tuple[str, str], PurePosixPath] = {}

    def name(self, sheet: str, image: str) -> PurePosixPath:
        """The path of a picture below the new folder of pictures; always the same for the same picture."""
        key = (sheet, image)
        if key not in self._names:
            self._names[key] = self._unused(
                PurePosixPath(*([_inner(safe_name(sheet))] if sheet else []), *_plain_parts(image))
            )
        return self._names[key]

    def _unused(self, path: PurePosixPath) -> PurePosixPath:
        candidate, number = path, 2
        while self._mark(candidate) in self._used or candidate.stem.casefold() in self._reserved:
            candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
            number += 1
        self._used.add(self._mark(candidate))
        return candidate

    def _mark(self, path: PurePosixPath) -> str:
        # Not every file system tells A.png from a.png.
        return str(path.with_suffix("") if self._by_stem else path).casefold()


def locate(locator: ImageLocator, written: str) -> Path | ImageFault:
    """The file that a path names, as :meth:`ImageLocator.locate` has it; a path that no file can have is a fault."""
    try:
        return locator.locate(written)
    except (OSError, RuntimeError) as error:
        # Too long a name, or links that lead in a circle.
        reason = error.strerror if isinstance(error, OSError) else "links that lead in a circle"
        return ImageFault(what=f"cannot be a file's path ({reason})", fix="write it like images/12.png")


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    try:
        return path.is_file()
    except OSError:
        # Too long a name, for one.
        return False


def split_sheet(path: Path) -> tuple[str, str]:
    """The sheet that a picture belongs to by its path below the folder of pictures, and its path inside the sheet.

    The first folder is the sheet; a picture in no folder belongs to the sheet without a name.
    """
    parts = path.parts
    return (parts[0], "/".join(parts[1:])) if len(parts) > 1 else ("", path.name)


def safe_name(name: str) -> str:
    """A name that is read again on any system, unchanged where it is one already; "" for "" alone."""
    clean = "".join(letter if letter.isprintable() and letter not in '/\\:*?"<>|' else "_" for letter in name)
    if clean and not clean.strip(". "):
        return "_"
    # Folders and files with such names are passed over wherever labels are read.
    return f"x{clean}" if clean.startswith((".", "__")) else clean


def _plain_parts(image: str) -> list[str]:
    """The parts of a picture's path without a leading ``images``, each of them safe."""
    parts = [safe_name(part) for part in PurePosixPath(image.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    parts = parts[1:] if len(parts) > 1 and parts[0] == IMAGES else parts or ["picture"]
    return [*(_inner(part) for part in parts[:-1]), parts[-1]]


def _inner(folder: str) -> str:
    """A folder's name that is not the one by which formats tell pictures from labels."""
    return f"{folder}_" if folder.casefold() in _MARKS else folder


def _inside(folder: Path, written: str) -> PurePosixPath | None:
    """The path seen from the root, its ``..`` worked off; None where it climbs out."""
    parts: list[str] = list(folder.parts)
    for part in PurePosixPath(written).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return PurePosixPath(*parts) if parts else None


def _is_text(text: str) -> bool:
    return text.encode("utf-8", "replace").decode("utf-8") == text

"""The pictures that label files name: what each file is, and how wide and high it is when shown upright."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from annotate.picture_size import upright_size
from grounding.errors import UserError
from grounding.loaders.image_headers import COPY_AGAIN
from grounding.loaders.images import ImageFault, ImageInfo, probe_image, probe_images
from grounding.records import Size

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp"})


class Pictures:
    """Looks at each picture file once.

    Args:
        deep: Decode every pixel, too, instead of looking at header and end alone.
    """

    def __init__(self, *, deep: bool = False) -> None:
        self._deep = deep
        self._known: dict[Path, Size | ImageFault] = {}
        self._hashes: dict[Path, str] = {}

    def prefetch(self, paths: Iterable[Path]) -> None:
        """Look at many files, several at a time."""
        new = [path for path in dict.fromkeys(paths) if path not in self._known]
        for path, found in zip(new, probe_images(new, deep=self._deep), strict=True):
            self._keep(path, found)

    def size(self, path: Path) -> Size | ImageFault:
        """The upright size of one file in its own pixels, or what is wrong with it."""
        if path not in self._known:
            self._keep(path, probe_image(path, deep=self._deep))
        return self._known[path]

    def sha256(self, path: Path) -> str:
        """The hash of a file that was looked at; "" for one that can't be read."""
        self.size(path)
        return self._hashes.get(path, "")

    def _keep(self, path: Path, found: ImageInfo | ImageFault) -> None:
        if isinstance(found, ImageFault):
            self._known[path] = found
            return
        self._hashes[path] = found.sha256
        try:
            self._known[path] = upright_size(path).size
        except UserError as error:
            what = str(error).removeprefix(f"{path}: ")
            self._known[path] = ImageFault(what=what, fix=COPY_AGAIN)


def walk_pictures(root: Path) -> list[Path]:
    """Every picture file below a folder, by suffix, in natural order; hidden folders are passed over."""
    return walk(root, SUFFIXES)


def walk(root: Path, suffixes: frozenset[str]) -> list[Path]:
    """Every file below a folder that has one of the suffixes (in lower case), in natural order of its path.

    Links to folders are not followed; names that are not UTF-8 and folders whose names begin with a dot or with
    ``__`` are passed over.
    """
    found: list[Path] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith((".", "__")) and _is_text(name)]
        for name in names:
            if Path(name).suffix.casefold() in suffixes and not name.startswith(".") and _is_text(name):
                found.append(Path(folder) / name)
    return sorted(found, key=lambda path: natural_path(path.relative_to(root)))


def natural_path(path: Path) -> tuple[object, ...]:
    """Sort key of a path: folder by folder, 2 before 10."""
    from grounding.loaders.folders import natural_key

    return tuple(natural_key(part) for part in path.parts)


def _is_text(name: str) -> bool:
    return name.encode("utf-8", "replace").decode("utf-8") == name

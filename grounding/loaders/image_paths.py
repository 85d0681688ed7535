"""From the path in an annotation to the file it may name: nothing outside the data set."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from grounding.loaders.images import ImageFault


class ImageLocator:
    """Finds the files that the annotations of one participant name. Remembers where folders really lie."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self._folder = folder
        self._roots = (folder.resolve(), data_dir.resolve())
        self._real: dict[Path, Path] = {}

    def locate(self, written: str) -> Path | ImageFault:
        """The file that ``written``, a path with ``/`` inside the participant's folder, names.

        A path that is absolute or climbs with ``..`` is refused, and so is one that a symbolic link takes out of the
        participant's folder and the data set's: annotations come from elsewhere, and what they name is sent to
        models. Those two folders may be symbolic links themselves, as people keep large data on other disks.

        Whether the file exists is not looked at.
        """
        if "\0" in written or "\\" in written:
            return ImageFault(what="must be a path written with /", fix="write it like images/12.png")
        path = PurePosixPath(written)
        if path.is_absolute() or ".." in path.parts or not path.name:
            return ImageFault(
                what="must be a path inside the participant's folder",
                fix="write it like images/12.png, without .. and without / at the start",
            )
        file = self._folder / path
        real = file.resolve() if file.is_symlink() else self._real_folder(file.parent) / file.name
        if not any(real.is_relative_to(root) for root in self._roots):
            return ImageFault(
                what=f"leads out of the data set, to {real}", fix="put the file itself there instead of a symbolic link"
            )
        return file

    def _real_folder(self, folder: Path) -> Path:
        real = self._real.get(folder)
        if real is None:
            real = self._real[folder] = folder.resolve()
        return real

"""What a folder has to annotate: a questions file, or pictures; and where a step's picture lies."""

from __future__ import annotations

from pathlib import Path

from grounding.errors import UserError
from grounding.loaders.folders import match_name, natural_key
from grounding.loaders.image_paths import ImageLocator
from grounding.loaders.images import ImageFault
from grounding.records import Record

IMAGES = "images"
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
"""What the evaluation reads."""
_OTHER_PICTURES = (".bmp", ".gif", ".tif", ".tiff", ".avif", ".heic", ".jp2", ".ppm")
_LISTED = 12


class Found(Record, frozen=True, kw_only=True):
    """What is there: the questions file, which may have to be written yet, and the pictures as steps would name them.

    ``pictures`` are in natural order: those in the folder itself or, where there is none, those in ``images``.
    ``left_out`` are pictures of kinds that the evaluation doesn't read. ``passed_over`` says that there are pictures in
    ``images`` beside those in the folder itself.
    """

    file: Path
    exists: bool
    pictures: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    passed_over: bool = False

    def remarks(self) -> tuple[str, ...]:
        """What to tell the user about it, in sentences."""
        found = []
        if self.left_out:
            found.append(
                f"Pictures that are neither PNG, JPEG nor WebP are not taken: {len(self.left_out)}, such as "
                f"{self.left_out[0]}."
            )
        if self.passed_over:
            found.append(f"The pictures in {IMAGES} are not taken, because there are others in the folder itself.")
        return tuple(found)


def find(folder: Path, questions: str) -> Found:
    """Look at a folder that is to be annotated.

    Raises:
        UserError: it is no folder, can't be read, or has neither the questions file nor pictures.
    """
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UserError(f"{folder}: {what}: give a participant's folder, or one with screenshots in it")
    try:
        names = [path.name for path in folder.iterdir()]
        name = match_name(questions, names)
        if name is not None:
            return Found(file=_inside(folder, folder / name), exists=True)
        pictures, left_out = _pictures(folder, "")
        below, left_out_below = _pictures(folder / IMAGES, f"{IMAGES}/")
    except OSError as error:
        raise UserError(f"{folder}: can't be read: {error.strerror}") from error
    if not pictures and not below:
        raise UserError(_nothing_there(folder, questions, names, left_out + left_out_below))
    return Found(
        file=folder / questions,
        exists=False,
        pictures=pictures or below,
        left_out=left_out if pictures else left_out_below,
        passed_over=bool(pictures and below),
    )


def locate(folder: Path, image: str) -> Path:
    """The picture that a step names.

    Raises:
        UserError: it names none, or one that is missing or lies outside the folder.
    """
    if not image.strip():
        raise UserError("the step names no picture: its final_image is empty or missing")
    path = ImageLocator(folder, folder).locate(image)
    if isinstance(path, ImageFault):
        raise UserError(f"the picture {image!r} {path.what}: {path.fix}")
    if not path.is_file():
        raise UserError(f"the picture {path} does not exist: add the file, or correct the step's final_image")
    return path


def _inside(folder: Path, file: Path) -> Path:
    """The file itself, where it is reached by a symbolic link."""
    real = file.resolve()
    if not real.is_relative_to(folder.resolve()):
        raise UserError(f"{file}: leads out of its folder, to {real}: put the file itself there")
    if not real.is_file():
        raise UserError(f"{file}: is not a file")
    return real if file.is_symlink() else file


def _pictures(place: Path, prefix: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The pictures in a folder, in natural order: those that the evaluation reads, and others."""
    if not place.is_dir():
        return (), ()
    names = [path.name for path in place.iterdir() if not path.name.startswith(".") and path.is_file()]
    names.sort(key=natural_key)
    taken = tuple(prefix + name for name in names if name.lower().endswith(SUFFIXES))
    return taken, tuple(prefix + name for name in names if name.lower().endswith(_OTHER_PICTURES))


def _nothing_there(folder: Path, questions: str, names: list[str], left_out: tuple[str, ...]) -> str:
    message = f"{folder}: nothing to annotate: there is neither {questions} nor a PNG, JPEG or WebP picture"
    if left_out:
        return f"{message}, only pictures of other kinds (such as {left_out[0]}): save them as PNG first"
    below = sorted((name for name in names if match_name(questions, _names_in(folder / name))), key=natural_key)
    if below:
        listed = ", ".join(str(folder / name) for name in below[:_LISTED]) + (" …" if len(below) > _LISTED else "")
        return f"{message}. Give one participant's folder: {listed}"
    return f"{message}. Give a participant's folder, or one with screenshots in it"


def _names_in(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()] if folder.is_dir() else []
    except OSError:
        return []

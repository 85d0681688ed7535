"""What a folder has to annotate: a questions file, or pictures; where a step's picture lies, and how large it is."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from grounding.cards.identity import hub_repository
from grounding.data.folders import ImageLocator, match_name, natural_key
from grounding.data.images import MAX_PIXELS, ImageFault
from grounding.errors import UserError
from grounding.records import Record, Size

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")  # What the evaluation reads.
_LISTED = 12
_ORIENTATION = 0x0112


class Found(Record, frozen=True, kw_only=True):
    """What is there: the questions file, or the pictures in natural order."""

    file: Path
    exists: bool
    pictures: tuple[str, ...] = ()


def find(folder: Path, questions: str) -> Found:
    """The questions file or the pictures of a folder, or of ``images/`` in it. Raises UserError: there is neither."""
    if not folder.is_dir():
        raise UserError(f"{folder}: {'is not a folder' if folder.exists() else 'does not exist'}")
    try:
        name = match_name(questions, [path.name for path in folder.iterdir()])
        if name is not None:
            return Found(file=_inside(folder, folder / name), exists=True)
        for prefix in ("", "images/"):
            place = folder / prefix
            names = [path.name for path in place.iterdir() if path.is_file()] if place.is_dir() else []
            taken = [name for name in names if name.lower().endswith(SUFFIXES) and not name.startswith(".")]
            if taken:
                pictures = tuple(prefix + name for name in sorted(taken, key=natural_key))
                return Found(file=folder / questions, exists=False, pictures=pictures)
        below = sorted((path.parent for path in folder.glob(f"*/{questions}")), key=lambda path: natural_key(path.name))
    except OSError as error:
        raise UserError(f"{folder}: can't be read: {error.strerror}") from error
    listed = ", ".join(map(str, below[:_LISTED])) + (" …" if len(below) > _LISTED else "")
    raise UserError(
        f"{folder}: nothing to annotate: there is neither {questions} nor a PNG, JPEG or WebP picture: give "
        + (f"one participant's folder: {listed}" if below else "a participant's folder, or one with screenshots in it")
    )


def inside(folder: Path, path: Path) -> bool:
    """Whether a path stays in a folder, links followed; in a hub's cache they may lead into its ``blobs``."""
    real, cache = path.resolve(), hub_repository(folder)
    return real.is_relative_to(folder.resolve()) or (cache is not None and real.is_relative_to(cache / "blobs"))


def locate(folder: Path, image: str) -> Path:
    """The picture that a step names. Raises UserError: it names none, or one that is missing or outside the folder."""
    if not image.strip():
        raise UserError("the step names no picture: its final_image is empty or missing")
    path = ImageLocator(folder, folder).locate(image)
    if isinstance(path, ImageFault):
        raise UserError(f"the picture {image!r} {path.what}: {path.fix}")
    if not path.is_file():
        raise UserError(f"the picture {path} does not exist: add the file, or correct the step's final_image")
    return path


def _inside(folder: Path, file: Path) -> Path:
    """The file itself, where it is reached by a symbolic link; in a hub's cache saving puts a file in its place."""
    real = file.resolve()
    if not inside(folder, file):
        raise UserError(f"{file}: leads out of its folder, to {real}: put the file itself there")
    return real if real.is_relative_to(folder.resolve()) else file


def upright_size(path: Path) -> tuple[Size, int]:
    """Size of a picture as it is shown, and its EXIF orientation (1: upright). Raises UserError: it can't be read."""
    from PIL import Image

    try:
        # Pillow warns about large pictures through the whole process; ours are refused below.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(path, formats=("PNG", "JPEG", "WEBP")) as image:
                width, height = image.size
                # A PNG's own method would decode all of it, to see whether the tag stands behind the pixels.
                orientation = Image.Image.getexif(image).get(_ORIENTATION, 1)
    except (OSError, SyntaxError, ValueError, struct.error, Image.DecompressionBombError) as error:
        raise UserError(f"{path}: can't be read as a PNG, JPEG or WebP picture: {error}") from error
    if width * height > MAX_PIXELS:
        raise UserError(f"{path}: has {width} x {height} pixels, more than the {MAX_PIXELS:,} that are read")
    if orientation in (5, 6, 7, 8):
        width, height = height, width
    return Size(width=width, height=height), orientation


def decode(path: Path) -> Image.Image:
    """All of a picture, upright as its EXIF data say, RGB, on white. Raises UserError: it can't be read."""
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as opened:
            image = ImageOps.exif_transpose(opened)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"{path} can't be read as a picture: {error}") from error
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        # A plain conversion would clip 16 bits to white.
        return image.point(lambda value: value / 257).convert("L").convert("RGB")
    if "A" in image.getbands() or "transparency" in image.info:
        layered = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layered.size, "white"), layered).convert("RGB")
    return image.convert("RGB")

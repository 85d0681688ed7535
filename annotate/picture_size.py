"""How large a picture is when it is shown upright, without decoding it."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path
from typing import BinaryIO

from grounding.errors import UserError
from grounding.loaders.images import MAX_PIXELS
from grounding.records import Record, Size

_ORIENTATION = 0x0112
_TURNED = (5, 6, 7, 8)
"""EXIF orientations that swap width and height."""
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TEXT_CHUNKS = (b"iTXt", b"tEXt", b"zTXt")
_METADATA_WORDS = (b"xml:com.adobe.xmp", b"raw profile type")
_LONGEST_WORD = 80


class UprightSize(Record, frozen=True, kw_only=True):
    """The size upright, and the EXIF orientation (1: stored as it is shown)."""

    size: Size
    orientation: int


def upright_size(path: Path) -> UprightSize:
    """Size of a PNG, JPEG or WebP file with its EXIF rotation applied, as ``PIL.ImageOps.exif_transpose`` shows it.

    Raises:
        UserError: it is no such picture, is damaged, or has more pixels than are decoded.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        # Pillow warns about large pictures through the whole process; ours are refused below.
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            plain = _png_without_metadata(file)
            file.seek(0)
            with Image.open(file, formats=("PNG", "JPEG", "WEBP")) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise UserError(
                        f"{path}: has {width} x {height} pixels, more than the {MAX_PIXELS:,} that are read"
                    )
                # For a PNG, Pillow decodes the whole picture to see whether the tag stands behind it.
                orientation = 1 if plain else image.getexif().get(_ORIENTATION, 1)
    except UnidentifiedImageError as error:
        raise UserError(f"{path}: is not a PNG, JPEG or WebP picture that can be read") from error
    except (OSError, SyntaxError, ValueError, struct.error, Image.DecompressionBombError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{path}: can't be read as a picture: {reason}") from error
    if orientation in _TURNED:
        width, height = height, width
    return UprightSize(
        size=Size(width=width, height=height), orientation=orientation if isinstance(orientation, int) else 1
    )


def _png_without_metadata(file: BinaryIO) -> bool:
    """Whether the file is a PNG with no chunk that could hold an orientation, in front of the pixels or behind them."""
    if file.read(len(_PNG_SIGNATURE)) != _PNG_SIGNATURE:
        return False
    while len(head := file.read(8)) == 8:
        length, kind = struct.unpack(">I4s", head)
        if kind == b"eXIf":
            return False
        if kind in _TEXT_CHUNKS:
            word = file.read(min(length, _LONGEST_WORD))
            if word.lower().startswith(_METADATA_WORDS):
                return False
            length -= len(word)
        if kind == b"IEND":
            return True
        file.seek(length + 4, 1)
    return True

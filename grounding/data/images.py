"""Screenshots on disk: paths in, size and hash of each file out or what is wrong with it; and pictures for requests.

A look at a file, taken at every run, reads all of it: its SHA-256, the checksums of a PNG, the pixels of a JPEG (at an
eighth of its size) and of a WebP. So damaged bytes are found before anything is asked. The deep look of `grounding
check` decodes the pixels of a PNG as well: one whose checksums are right and its pixels are not was written so.

Runs in worker threads: everything here may block.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import warnings
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
import pybase64

from grounding.cards import ImageRule
from grounding.geometry import largest_scale, scale_in_proportion, smart_resize
from grounding.records import ImageSizes, Record, Screenshot, Size

if TYPE_CHECKING:
    from PIL.Image import Image

COPY_AGAIN = "copy or download the file again"
MAX_PIXELS = 64_000_000
# What a JPEG can state: pictures of whole web pages are long. Memory is bounded by the number of pixels.
MAX_SIDE_PX = 65_535
_FORMATS = ("PNG", "JPEG", "WEBP")
_AT_ONCE, _BATCH_FILES = 8, 16


class ImageInfo(Record, frozen=True, kw_only=True):
    size: Size
    sha256: str


class ImageFault(Record, frozen=True, kw_only=True):
    what: str
    fix: str


def probe_image(path: Path, *, deep: bool = False) -> ImageInfo | ImageFault:
    """Size and hash of one PNG, JPEG or WebP file that is whole; with ``deep``, every pixel of a PNG is decoded too. A
    picture of more than 64 million pixels, or of more than 65,535 a side, is refused before anything is decoded.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return ImageFault(what="is not a file", fix="give the path of a PNG, JPEG or WebP file")
        if status.st_size == 0:
            return ImageFault(what="is empty", fix=COPY_AGAIN)
        with path.open("rb") as file:
            found = _looked(file, deep=deep)
            if isinstance(found, ImageFault):
                return found
            file.seek(0)
            return ImageInfo(size=found, sha256=hashlib.file_digest(file, "sha256").hexdigest())
    except FileNotFoundError:
        return ImageFault(what="does not exist", fix="add the file or correct the path")
    except OSError as error:
        return ImageFault(what=f"cannot be read ({error.strerror or error})", fix="see to the file and its permissions")


def probe_images(paths: Sequence[Path], *, deep: bool = False) -> list[ImageInfo | ImageFault]:
    batches = [paths[start : start + _BATCH_FILES] for start in range(0, len(paths), _BATCH_FILES)]
    # One more than there are cores, so that waiting for the disk leaves none of them idle.
    with ThreadPoolExecutor(max_workers=min(_AT_ONCE, core_count() + 1)) as pool:
        done = pool.map(lambda batch: [probe_image(path, deep=deep) for path in batch], batches)
        return [answer for answers in done for answer in answers]


def core_count() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_TOO_LARGE = ImageFault(
    what=f"is larger than the {MAX_PIXELS:,} pixels or {MAX_SIDE_PX:,} a side that are decoded",
    fix="crop or scale the screenshot, and its boxes with it",
)


def _looked(file: BinaryIO, *, deep: bool) -> Size | ImageFault:
    from PIL import Image, UnidentifiedImageError

    # Larger pictures are refused below; the warning would be printed once for the whole process.
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    try:
        with Image.open(file, formats=_FORMATS) as image:
            size = Size(width=image.width, height=image.height)
            if size.width * size.height > MAX_PIXELS or max(image.size) > MAX_SIDE_PX:
                return _TOO_LARGE
            if image.format == "PNG":
                image.verify()
            else:
                image.draft("L", (1, 1))  # Only a JPEG can be made small on the way: all of its data is read.
                image.load()
        if deep and image.format == "PNG":
            file.seek(0)
            with Image.open(file, formats=_FORMATS) as image:
                image.load()
    except Image.DecompressionBombError:
        return _TOO_LARGE
    except UnidentifiedImageError:
        return _unknown(file)
    # Pillow lets the errors of its format readers through as they are.
    except (
        OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, ArithmeticError, MemoryError,
        RuntimeError, AssertionError, struct.error, zlib.error,
    ) as error:  # fmt: skip
        return ImageFault(what=f"is damaged or cut short ({error})", fix=COPY_AGAIN)
    return size


def _unknown(file: BinaryIO) -> ImageFault:
    file.seek(0)
    start = file.read(32)
    if start.startswith(b"version https://git-lfs"):
        return ImageFault(
            what="is a Git LFS pointer, not the picture itself", fix="fetch the picture with: git lfs pull"
        )
    if _media_type(start):
        return ImageFault(what="is damaged or cut short (its header makes no sense)", fix=COPY_AGAIN)
    what = f"is not a PNG, JPEG or WebP image (it begins with {start[:8]!r})"
    return ImageFault(what=what, fix="save the screenshot as PNG, JPEG or WebP")


_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png", b"eXIf"),
    (b"\xff\xd8\xff", "image/jpeg", b"Exif\0"),
    (b"RIFF", "image/webp", b"EXIF"),
)  # How a file begins, its media type, and what stands before the camera's notes in it, if it has any.
# They stand before or after the pixels, and to search all of a picture takes as long as to hash it.
_NOTES_BYTES = 1 << 16
_ORIENTATION = 0x0112


class Picture(Record, frozen=True, kw_only=True):
    """A picture ready to be sent: its URL as JSON text, and its size at each point of its way."""

    url_json: msgspec.Raw
    sizes: ImageSizes


def picture_sizes(original: Size, rule: ImageRule) -> ImageSizes:
    """The sizes that a rule gives a screenshot: as sent, and as the model sees it.

    What may be left to the server is done here: ``ImageRule.by_the_server`` is the rule where it is left to it. Raises
    ValueError: the model refuses a picture of this shape.
    """
    if rule.fit is not None:
        scale = largest_scale(
            original, max_side_px=rule.fit.max_side_px, max_patches=rule.fit.max_patches, patch_px=rule.fit.patch_px
        )
        fitted = Size(width=max(1, int(original.width * scale)), height=max(1, int(original.height * scale)))
        return ImageSizes(original=original, sent=fitted, model=fitted)
    if rule.canvas is not None:
        canvas = Size(width=rule.canvas[0], height=rule.canvas[1])
        ratio = original.width / original.height
        wide = ratio > canvas.width / canvas.height
        laid = Size(
            width=canvas.width if wide else max(1, int(canvas.height * ratio)),
            height=max(1, int(canvas.width / ratio)) if wide else canvas.height,
        )
        return ImageSizes(original=original, sent=canvas, model=canvas, laid=laid)
    if rule.resize == "none" or rule.factor is None or rule.min_pixels is None or rule.max_pixels is None:
        return ImageSizes(original=original, sent=original, model=original)
    first, limits = original, rule.first
    if limits is not None:
        first = scale_in_proportion(
            original, min_pixels=limits.min_pixels, max_pixels=limits.max_pixels, sides=limits.sides
        )
    seen = smart_resize(first, factor=rule.factor, min_pixels=rule.min_pixels, max_pixels=rule.max_pixels)
    return ImageSizes(original=original, sent=original if rule.resize == "server" else seen, model=seen)


def prepare_picture(screenshot: Screenshot, rule: ImageRule) -> Picture:
    """Read a screenshot and make it what the rule asks for; untouched where the rule allows it. Raises OSError: the
    file can't be read or is not a picture. Raises ValueError: the model refuses a picture of this shape.
    """
    sizes = picture_sizes(screenshot.size, rule)
    path = Path(screenshot.path)
    if rule.send == "file":
        return Picture(url_json=msgspec.Raw(msgspec.json.encode(path.absolute().as_uri())), sizes=sizes)
    content = path.read_bytes()
    # A server turns a picture as a camera noted; regions are counted on the pixels as they are stored.
    if sizes.laid is not None:
        content = png(_on_white(opened(content, sizes.laid, lanczos=True), sizes.sent))
    elif sizes.sent != sizes.original or _is_turned(content):
        content = png(opened(content, sizes.sent))
    kind = _media_type(content)
    if not kind:
        raise OSError("not a PNG, JPEG or WebP picture")
    url = b"".join((b'"data:', kind.encode(), b";base64,", pybase64.b64encode(content), b'"'))
    return Picture(url_json=msgspec.Raw(url), sizes=sizes)


def _on_white(image: Image, size: Size) -> Image:
    from PIL import Image as Images

    canvas = Images.new("RGB", (size.width, size.height), (255, 255, 255))
    canvas.paste(image, (0, 0))
    return canvas


def opened(content: bytes, size: Size, *, lanczos: bool = False) -> Image:
    """The pixels of a picture file in red, green and blue and of this size, as vLLM shows them to a model.

    What is see-through is on white. Pillow's bicubic filter is that of the models' processors to 2 of 255; OpenCV's is
    up to 32 off. ``lanczos`` is for a model whose authors scale with that one. Raises OSError: it can't be read.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            if image.mode != "RGB" and image.has_transparency_data:
                clear = image.convert("RGBA")
                made = Image.new("RGB", image.size, (255, 255, 255))
                made.paste(clear, mask=clear.getchannel("A"))
            else:
                made = image.convert("RGB")
            wanted = (size.width, size.height)
            way = Image.Resampling.LANCZOS if lanczos else Image.Resampling.BICUBIC
            return made if made.size == wanted else made.resize(wanted, way)
    except UnidentifiedImageError as error:
        raise OSError("not a picture that can be read") from error
    except (SyntaxError, Image.DecompressionBombError) as error:  # Pillow's words for a broken PNG and a huge picture.
        raise OSError(f"the picture can't be read: {error}") from error


def _media_type(content: bytes) -> str:
    return next((kind for magic, kind, _ in _KINDS if content.startswith(magic)), "")


def _is_turned(content: bytes) -> bool:
    ends = content[:_NOTES_BYTES] + content[-_NOTES_BYTES:]
    if not any(content.startswith(magic) and notes in ends for magic, _, notes in _KINDS):
        return False
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as image:
            return image.getexif().get(_ORIENTATION, 1) not in (0, 1)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False  # What is damaged goes out as it is, where nothing else is to be done with it.


def png(image: Image) -> bytes:
    """A picture as a PNG; OpenCV takes half of Pillow's time."""
    import cv2
    import numpy as np

    way = (cv2.IMWRITE_PNG_COMPRESSION, 1, cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_FILTER_SUB)
    return cv2.imencode(".png", cv2.cvtColor(np.asarray(image), cv2.COLOR_RGB2BGR), way)[1].tobytes()

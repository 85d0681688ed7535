"""What an image file says of itself, without decoding it: an open file in; its format and size, or a fault, out.

Written out by hand instead of asking Pillow: Pillow has a WebP canvas made before it can tell its size, and warns
through the whole process about large pictures. The tests hold both against each other.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import BinaryIO, Literal

from grounding.records import Record, Size

ImageFormat = Literal["PNG", "JPEG", "WebP"]

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"
_JPEG_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_LFS_POINTER = b"version https://git-lfs"

COPY_AGAIN = "copy or download the file again"


class ImageHeader(Record, frozen=True, kw_only=True):
    """Format and size of an image in its own pixels, as the file states them."""

    format: ImageFormat
    size: Size


class ImageError(Exception):
    """A file that is no usable image: what is wrong with it, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix


def read_header(file: BinaryIO) -> ImageHeader:
    """Format and size of a PNG, JPEG or WebP file that is open at its start.

    Raises:
        ImageError: The file is of another format, or its header is damaged.
    """
    start = file.read(32)
    if start.startswith(_PNG_SIGNATURE):
        return ImageHeader(format="PNG", size=_png_size(start + file.read(1)))
    if start.startswith(b"\xff\xd8"):
        file.seek(2)
        return ImageHeader(format="JPEG", size=_jpeg_size(file))
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return ImageHeader(format="WebP", size=_webp_size(start))
    if start.startswith(_LFS_POINTER):
        raise ImageError("is a Git LFS pointer, not the picture itself", "fetch the picture with: git lfs pull")
    raise ImageError(
        f"is not a PNG, JPEG or WebP image (it begins with {start[:8]!r})", "save the screenshot as PNG, JPEG or WebP"
    )


def check_end(file: BinaryIO, image_format: ImageFormat, length_bytes: int) -> None:
    """See that the file holds all of the image; bytes after its end are let be, as every viewer does.

    Raises:
        ImageError: The file is cut short.
    """
    complete = {"PNG": _png_is_complete, "JPEG": _jpeg_is_complete, "WebP": _webp_is_complete}[image_format]
    if not complete(file, length_bytes):
        raise ImageError(f"is cut short: the {image_format} does not reach its end", COPY_AGAIN)


def _damaged(image_format: ImageFormat) -> ImageError:
    return ImageError(f"has a damaged {image_format} header", COPY_AGAIN)


def _png_size(start: bytes) -> Size:
    if len(start) < 33 or start[8:16] != b"\x00\x00\x00\x0dIHDR":
        raise _damaged("PNG")
    width, height = struct.unpack(">II", start[16:24])
    if zlib.crc32(start[12:29]) != int.from_bytes(start[29:33], "big") or not (width and height):
        raise _damaged("PNG")
    return Size(width=width, height=height)


def _png_is_complete(file: BinaryIO, length_bytes: int) -> bool:
    file.seek(-min(len(_PNG_END), length_bytes), os.SEEK_END)
    if file.read() == _PNG_END:
        return True
    position = len(_PNG_SIGNATURE)
    while position + 12 <= length_bytes:
        file.seek(position)
        chunk_head = file.read(8)
        position += 12 + int.from_bytes(chunk_head[:4], "big")
        if chunk_head[4:] == b"IEND":
            return position <= length_bytes
    return False


def _jpeg_size(file: BinaryIO) -> Size:
    """Walk the segments up to the frame header (ITU-T T.81, annex B); the file stands behind it afterwards."""
    while True:
        marker = _jpeg_marker(file)
        if marker in _JPEG_WITHOUT_LENGTH:
            continue
        length = int.from_bytes(file.read(2), "big")
        if marker in _JPEG_START_OF_FRAME:
            frame = file.read(5)
            if len(frame) < 5:
                raise _damaged("JPEG")
            height, width = struct.unpack(">xHH", frame)
            if not (width and height):
                raise _damaged("JPEG")
            return Size(width=width, height=height)
        # 0xD9 ends the image and 0xDA begins its data: neither may come before the frame header.
        if length < 2 or marker in (0xD9, 0xDA):
            raise _damaged("JPEG")
        file.seek(length - 2, os.SEEK_CUR)


def _jpeg_marker(file: BinaryIO) -> int:
    if file.read(1) != b"\xff":
        raise _damaged("JPEG")
    marker = b"\xff"
    while marker == b"\xff":
        marker = file.read(1)
    if not marker:
        raise _damaged("JPEG")
    return marker[0]


def _jpeg_is_complete(file: BinaryIO, length_bytes: int) -> bool:
    file.seek(-min(2, length_bytes), os.SEEK_END)
    if file.read() == b"\xff\xd9":
        return True
    # Behind the frame header the end marker cannot occur by chance; in front of it, a thumbnail has one of its own.
    file.seek(2)
    _jpeg_size(file)
    return b"\xff\xd9" in file.read()


def _webp_size(start: bytes) -> Size:
    kind, content = start[12:16], start[20:32]
    if kind == b"VP8 " and content[3:6] == b"\x9d\x01\x2a" and len(content) >= 10:
        width, height = struct.unpack("<HH", content[6:10])
        size = Size(width=width & 0x3FFF, height=height & 0x3FFF)
    elif kind == b"VP8L" and content[:1] == b"\x2f" and len(content) >= 5:
        bits = int.from_bytes(content[1:5], "little")
        size = Size(width=(bits & 0x3FFF) + 1, height=(bits >> 14 & 0x3FFF) + 1)
    elif kind == b"VP8X" and len(content) >= 10:
        width, height = int.from_bytes(content[4:7], "little"), int.from_bytes(content[7:10], "little")
        size = Size(width=width + 1, height=height + 1)
    else:
        raise _damaged("WebP")
    if not (size.width and size.height):
        raise _damaged("WebP")
    return size


def _webp_is_complete(file: BinaryIO, length_bytes: int) -> bool:
    file.seek(4)
    return int.from_bytes(file.read(4), "little") + 8 <= length_bytes

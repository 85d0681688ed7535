from __future__ import annotations

import hashlib
import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from grounding.data.images import ImageFault, ImageInfo, probe_image
from grounding.records import Size


def encoded(image_format: str, size: tuple[int, int] = (37, 23), mode: str = "RGB", **options: Any) -> bytes:
    image = Image.effect_noise(size, 90).convert(mode)
    buffer = io.BytesIO()
    image.save(buffer, image_format, **options)
    return buffer.getvalue()


def probe(tmp_path: Path, content: bytes, *, deep: bool = False) -> ImageInfo | ImageFault:
    path = tmp_path / "picture"
    path.write_bytes(content)
    return probe_image(path, deep=deep)


def fault(tmp_path: Path, content: bytes, *, deep: bool = False) -> str:
    answer = probe(tmp_path, content, deep=deep)
    assert isinstance(answer, ImageFault), answer
    return answer.what


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_of(width: int, height: int) -> bytes:
    """A PNG that states a size and holds next to nothing."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = png_chunk(b"IDAT", zlib.compress(b"\0" * 100))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + png_chunk(b"IEND", b"")


GOOD = {
    "png": encoded("PNG"),
    "png palette": encoded("PNG", mode="P"),
    "png alpha": encoded("PNG", mode="RGBA"),
    "png 16 bit": encoded("PNG", mode="I;16"),
    "jpeg": encoded("JPEG"),
    "jpeg progressive": encoded("JPEG", progressive=True),
    "jpeg with thumbnail": encoded("JPEG", exif=b"Exif\0\0" + b"\xff\xd8 a thumbnail \xff\xd9"),
    "webp": encoded("WEBP"),
    "webp lossless": encoded("WEBP", lossless=True),
    "webp animated": encoded("WEBP", save_all=True, append_images=[Image.new("RGB", (37, 23))]),
}


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", GOOD)
def test_whole_files_have_a_size_and_a_hash_and_cut_ones_are_found(tmp_path: Path, kind: str, deep: bool) -> None:
    content = GOOD[kind]
    for whole in (content, content + b"bytes behind the end are let be"):
        expected = ImageInfo(size=Size(width=37, height=23), sha256=hashlib.sha256(whole).hexdigest())
        assert probe(tmp_path, whole, deep=deep) == expected
    for length in (len(content) - 20, len(content) // 2, 20, 3):
        assert isinstance(probe(tmp_path, content[:length], deep=deep), ImageFault), length


@pytest.mark.parametrize(("width", "height"), [(8001, 8000), (65_536, 1), (1, 65_536), (20_000, 20_000)])
def test_a_picture_too_large_is_refused_before_it_is_decoded(tmp_path: Path, width: int, height: int) -> None:
    what = "is larger than the 64,000,000 pixels or 65,535 a side that are decoded"
    assert fault(tmp_path, png_of(width, height), deep=True) == what
    assert isinstance(probe(tmp_path, png_of(8000, 8000)), ImageInfo)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"GIF89a....", "is not a PNG, JPEG or WebP image (it begins with b'GIF89a..')"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer"),
        (b"\x89PNG\r\n\x1a\n", "is damaged or cut short"),
        (b"\xff\xd8\xff\xd9", "is damaged or cut short"),
        (b"RIFF\x04\x00\x00\x00WEBPVP9 ", "is damaged or cut short"),
    ],
)
def test_what_is_no_image_is_said(tmp_path: Path, content: bytes, what: str) -> None:
    assert what in fault(tmp_path, content)


@pytest.mark.parametrize("kind", [kind for kind in GOOD if kind.startswith("png")])
def test_one_wrong_byte_in_a_png_is_found_without_decoding(tmp_path: Path, kind: str) -> None:
    content = GOOD[kind]
    for at in range(16, len(content) - 12, max(1, len(content) // 40)):
        damaged = content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]
        assert isinstance(probe(tmp_path, damaged), ImageFault), at


def test_pixels_that_are_not_there_are_found_by_decoding(tmp_path: Path) -> None:
    assert isinstance(probe(tmp_path, png_of(300, 300)), ImageInfo)
    assert fault(tmp_path, png_of(300, 300), deep=True).startswith("is damaged or cut short (")


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")  # Which is not waited for.
    found = [probe_image(tmp_path / name) for name in ("absent", "pipe.png", ".")]
    assert [one.what for one in found if isinstance(one, ImageFault)] == [
        "does not exist",
        "is not a file",
        "is not a file",
    ]

"""Pictures come upright, opaque and in 8 bits, whatever the file is, and the next ones are decoded ahead."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from annotate.core.folders import decode
from grounding.errors import UserError


def marked(size: tuple[int, int] = (40, 20)) -> Image.Image:
    image = Image.new("RGB", size, (0, 0, 0))
    image.paste((255, 255, 255), (0, 0, 10, 10))
    return image


@pytest.mark.parametrize(("orientation", "corner"), [(1, (5, 5)), (3, (35, 15)), (6, (15, 5)), (8, (5, 35))])
def test_exif_rotation_is_applied(tmp_path: Path, orientation: int, corner: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    marked().save(tmp_path / "a.jpg", exif=exif, quality=95)
    image = decode(tmp_path / "a.jpg")
    assert image.size == ((20, 40) if orientation in (6, 8) else (40, 20))
    pixel = image.getpixel(corner)
    assert isinstance(pixel, tuple)
    assert min(pixel) > 200


@pytest.mark.parametrize("mode", ["L", "1", "P", "RGBA", "LA", "CMYK", "I;16"])
def test_every_kind_of_picture_becomes_rgb(tmp_path: Path, mode: str) -> None:
    image = Image.new("I;16", (40, 20), 65535) if mode == "I;16" else marked().convert(mode)
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    image.save(path)
    read = decode(path)
    assert read.mode == "RGB"
    assert read.getpixel((5, 5)) == (255, 255, 255)


def test_broken_pictures_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    marked((400, 200)).save(tmp_path / "b.png")
    content = (tmp_path / "b.png").read_bytes()
    (tmp_path / "b.png").write_bytes(content[: len(content) // 2])
    for name in ("a.png", "b.png", "nowhere.png"):
        with pytest.raises(UserError, match=name):
            decode(tmp_path / name)

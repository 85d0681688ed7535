"""Pictures come upright, opaque and in 8 bits, whatever the file is, and the next ones are decoded ahead."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from annotate.view_transform import ViewTransform
from annotate.window.pictures import PictureStore, decode, made_small
from grounding.errors import UserError
from grounding.records import Size


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


def test_what_can_be_seen_through_lies_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (10, 10, 10, 0)).save(tmp_path / "a.png")
    assert decode(tmp_path / "a.png").getpixel((1, 1)) == (255, 255, 255)


def test_broken_pictures_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    marked((400, 200)).save(tmp_path / "b.png")
    content = (tmp_path / "b.png").read_bytes()
    (tmp_path / "b.png").write_bytes(content[: len(content) // 2])
    for name in ("a.png", "b.png", "nowhere.png"):
        with pytest.raises(UserError, match=name):
            decode(tmp_path / name)


def test_decoded_ahead_and_made_small_in_another_thread(tmp_path: Path) -> None:
    paths = []
    for number in range(9):
        paths.append(tmp_path / f"{number}.png")
        marked().save(paths[-1])
    store = PictureStore()
    store.scale_for = lambda size: 10 / size.width
    store.expect(paths[:3])
    first = store.ask(paths[0])
    prepared = first.result(timeout=60)
    assert prepared.picture.size == (40, 20)
    assert prepared.small is not None
    assert (prepared.small.size, prepared.scale) == ((10, 5), 0.25)
    assert store.ask(paths[0]) is first
    for path in paths[1:]:
        store.ask(path).result(timeout=60)
    assert store.ask(paths[0]) is not first, "only the last few stay in memory"
    (tmp_path / "broken.png").write_bytes(b"")
    broken = store.ask(tmp_path / "broken.png")
    assert isinstance(broken.exception(timeout=60), UserError)
    marked().save(tmp_path / "broken.png")
    assert store.ask(tmp_path / "broken.png").result(timeout=60).picture.size == (40, 20), "mended meanwhile"
    store.close()


@pytest.mark.parametrize("scale", [0.05, 0.33, 0.5, 0.67, 0.9])
def test_the_small_picture_is_what_the_canvas_would_cut(scale: float) -> None:
    picture = marked((400, 200))
    small = made_small(picture, scale)
    size = Size(width=400, height=200)
    part = ViewTransform(scale=scale).visible(size, size)
    assert part is not None
    assert small is not None
    assert small.size == (part.width_view, part.height_view)
    assert made_small(picture, 1.0) is None

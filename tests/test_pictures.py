"""What goes out for a screenshot: the file itself wherever possible, else a picture of exactly the right size."""

from __future__ import annotations

import base64
import io
import json
import random
import zlib
from pathlib import Path

import pytest
from fakes.make import picture_file, screenshot
from PIL import Image

from grounding.cards import ImageRule
from grounding.pictures import Picture, picture_sizes, prepare_picture
from grounding.records import ImageSizes, Size

GTA1 = ImageRule(resize="client", factor=28, min_pixels=3136, max_pixels=8847360)
SERVER = ImageRule(resize="server", factor=28, min_pixels=3136, max_pixels=8847360)


def url(picture: Picture) -> str:
    text = json.loads(bytes(picture.url_json))
    assert isinstance(text, str)
    return text


def sent(picture: Picture) -> tuple[str, bytes]:
    """Media type and bytes of a picture that is in the request."""
    kind, _, encoded = url(picture).partition(";base64,")
    return kind.removeprefix("data:"), base64.b64decode(encoded, validate=True)


FORMATS = [("1.png", "image/png"), ("1.jpg", "image/jpeg"), ("1.webp", "image/webp")]


@pytest.mark.parametrize(("name", "kind"), FORMATS)
@pytest.mark.parametrize("rule", [ImageRule(), SERVER, ImageRule(factor=28, min_pixels=1, max_pixels=2)])
def test_an_untouched_file_goes_out_byte_for_byte(tmp_path: Path, name: str, kind: str, rule: ImageRule) -> None:
    shot = picture_file(tmp_path / name, 100, 61)
    assert sent(prepare_picture(shot, rule)) == (kind, (tmp_path / name).read_bytes())


@pytest.mark.parametrize(("name", "kind"), FORMATS)
def test_a_file_that_fits_already_goes_out_byte_for_byte(tmp_path: Path, name: str, kind: str) -> None:
    shot = picture_file(tmp_path / name, 112, 84)
    assert sent(prepare_picture(shot, GTA1)) == (kind, (tmp_path / name).read_bytes())


def test_the_kind_comes_from_the_bytes_and_not_from_the_name(tmp_path: Path) -> None:
    picture_file(tmp_path / "1.jpg")
    (tmp_path / "1.jpg").rename(tmp_path / "1.png")
    assert sent(prepare_picture(screenshot(tmp_path / "1.png"), ImageRule()))[0] == "image/jpeg"


@pytest.mark.parametrize(("name", "_kind"), FORMATS)
def test_a_scaled_picture_is_a_png_of_the_right_size_and_looks_the_same(tmp_path: Path, name: str, _kind: str) -> None:
    shot = picture_file(tmp_path / name, 640, 360)
    picture = prepare_picture(shot, GTA1)
    kind, content = sent(picture)
    assert kind == "image/png"
    with Image.open(io.BytesIO(content)) as made, Image.open(tmp_path / name) as original:
        assert (made.format, made.mode, made.size) == ("PNG", "RGB", (644, 364))
        for across, down in ((0.1, 0.1), (0.5, 0.5), (0.9, 0.3)):
            here = made.getpixel((int(across * 644), int(down * 364)))
            there = original.convert("RGB").getpixel((int(across * 640), int(down * 360)))
            assert here == pytest.approx(there, abs=8)
    assert picture.sizes.sent == picture.sizes.model == Size(width=644, height=364)
    assert picture.sizes.original == Size(width=640, height=360)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_kind_of_png_can_be_scaled(tmp_path: Path, mode: str) -> None:
    Image.new(mode, (100, 61)).save(tmp_path / "1.png")
    _, content = sent(prepare_picture(screenshot(tmp_path / "1.png", 100, 61), GTA1))
    with Image.open(io.BytesIO(content)) as made:
        assert (made.mode, made.size) == ("RGB", (112, 56))


@pytest.mark.parametrize(
    ("rule", "sent_size", "model_size"),
    [
        (ImageRule(), (1920, 1080), (1920, 1080)),
        (GTA1, (1932, 1092), (1932, 1092)),
        (SERVER, (1920, 1080), (1932, 1092)),
    ],
)
def test_sizes(rule: ImageRule, sent_size: tuple[int, int], model_size: tuple[int, int]) -> None:
    original = Size(width=1920, height=1080)
    assert picture_sizes(original, rule) == ImageSizes(
        original=original,
        sent=Size(width=sent_size[0], height=sent_size[1]),
        model=Size(width=model_size[0], height=model_size[1]),
    )


def test_a_file_url_names_the_file_and_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rule = ImageRule(send="file", resize="server", factor=28, min_pixels=3136, max_pixels=8847360)
    picture = prepare_picture(screenshot('a "b" é/1 %.png', 640, 360), rule)
    assert url(picture) == tmp_path.as_uri() + "/a%20%22b%22%20%C3%A9/1%20%25.png"
    assert picture.sizes.model == Size(width=644, height=364)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        prepare_picture(screenshot(tmp_path / "1.png"), GTA1)


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"version https://git-lfs.github.com/spec/v1\n", b"\x89PNG\r\n"])
def test_what_is_no_picture_is_not_sent(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "1.png").write_bytes(content)
    with pytest.raises(OSError, match="not a PNG, JPEG or WebP picture"):
        prepare_picture(screenshot(tmp_path / "1.png"), ImageRule())
    with pytest.raises(OSError, match="not a picture that can be read"):
        prepare_picture(screenshot(tmp_path / "1.png", 100, 61), GTA1)


def test_a_picture_that_the_models_refuse_is_a_value_error(tmp_path: Path) -> None:
    shot = picture_file(tmp_path / "1.png", 1000, 2)
    with pytest.raises(ValueError, match="more than 200 times"):
        prepare_picture(shot, GTA1)
    assert sent(prepare_picture(shot, ImageRule()))[0] == "image/png"


def damaged(content: bytes, seed: int) -> bytes:
    draw = random.Random(seed)
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed[: draw.randrange(len(changed))] if seed % 5 == 0 else changed)


@pytest.mark.parametrize(("name", "_kind"), FORMATS)
def test_a_damaged_file_is_an_os_error_and_nothing_else(tmp_path: Path, name: str, _kind: str) -> None:
    whole = Path(picture_file(tmp_path / name, 100, 61).path).read_bytes()
    messages: list[str] = []
    for seed in range(400):
        (tmp_path / name).write_bytes(damaged(whole, seed))
        try:
            prepare_picture(screenshot(tmp_path / name, 100, 61), GTA1)
        except OSError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert not [message for message in messages if "object at 0x" in message]


def test_a_broken_chunk_of_a_png_is_an_os_error(tmp_path: Path) -> None:
    whole = Path(picture_file(tmp_path / "1.png", 100, 61).path).read_bytes()
    at = whole.index(b"IDAT")
    shorter = whole[: at - 4] + (20).to_bytes(4, "big") + whole[at : at + 24]  # then no chunk, but the data's rest
    (tmp_path / "1.png").write_bytes(shorter + zlib.crc32(shorter[-24:]).to_bytes(4, "big") + whole[at + 28 :])
    with pytest.raises(OSError, match="can't be read: broken PNG file"):
        prepare_picture(screenshot(tmp_path / "1.png", 100, 61), GTA1)


def test_a_picture_too_large_for_memory_is_an_os_error(tmp_path: Path) -> None:
    whole = bytearray(Path(picture_file(tmp_path / "1.png", 100, 61).path).read_bytes())
    whole[16:24] = (60_000).to_bytes(4, "big") * 2
    whole[29:33] = zlib.crc32(bytes(whole[12:29])).to_bytes(4, "big")
    (tmp_path / "1.png").write_bytes(whole)
    with pytest.raises(OSError, match="can't be read"):
        prepare_picture(screenshot(tmp_path / "1.png", 60_000, 60_000), GTA1)

"""What goes out for a screenshot: the file itself wherever possible, else a picture of exactly the right size."""

from __future__ import annotations

import base64
import importlib
import io
import json
import random
from pathlib import Path

import msgspec
import pytest
from fakes.make import grounder_card, picture_file, query, screenshot
from PIL import Image, ImageChops

from grounding.cards import ImageRule
from grounding.data.images import Picture, picture_sizes, prepare_picture
from grounding.grounders.hf.generation import prepare_prompt
from grounding.records import ImageSizes, Size

GTA1 = ImageRule(resize="client", factor=28, min_pixels=3136, max_pixels=8847360)
SERVER = ImageRule(resize="server", factor=28, min_pixels=3136, max_pixels=8847360)
AUTO = ImageRule(resize="auto", factor=28, min_pixels=3136, max_pixels=8847360)


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


def test_what_is_see_through_is_on_white(tmp_path: Path) -> None:
    """As vLLM's image loading shows it to a model, of whichever kind it is."""
    clear = Image.new("RGBA", (100, 61), (200, 0, 0, 0))
    clear.paste((0, 0, 200, 255), (0, 0, 50, 61))
    grey = Image.merge("LA", (clear.getchannel("B"), clear.getchannel("A")))
    for name, image in (("rgba", clear), ("palette", clear.quantize()), ("grey", grey)):
        image.save(tmp_path / f"{name}.png")
        _, content = sent(prepare_picture(screenshot(tmp_path / f"{name}.png", 100, 61), GTA1))
        with Image.open(io.BytesIO(content)) as made:
            assert made.getpixel((100, 20)) == (255, 255, 255)
            assert made.getpixel((10, 20)) == ((200, 200, 200) if name == "grey" else (0, 0, 200))


@pytest.mark.parametrize(("name", "kind"), FORMATS)
@pytest.mark.parametrize("rule", [ImageRule(), SERVER, GTA1])
def test_a_picture_that_a_server_would_turn_goes_out_as_its_pixels_are_stored(
    tmp_path: Path, name: str, kind: str, rule: ImageRule
) -> None:
    notes = Image.Exif()
    for orientation in (1, 6):
        notes[0x0112] = orientation
        shot = picture_file(tmp_path / name, 112, 84, exif=notes)
        found, content = sent(prepare_picture(shot, rule))
        turned = orientation != 1
        assert (found, content != (tmp_path / name).read_bytes()) == ("image/png" if turned else kind, turned)
        with Image.open(io.BytesIO(content)) as made, Image.open(tmp_path / name) as stored:
            assert made.size == (112, 84)
            assert made.getexif().get(0x0112, 1) == 1
            assert ImageChops.difference(made.convert("RGB"), stored.convert("RGB")).getbbox() is None


def test_an_encoded_picture_has_the_pixels_of_pillows_bicubic_filter(tmp_path: Path) -> None:
    draw = random.Random(1)
    noise = Image.frombytes("RGB", (100, 61), draw.randbytes(100 * 61 * 3))
    noise.save(tmp_path / "1.png")
    _, content = sent(prepare_picture(screenshot(tmp_path / "1.png", 100, 61), GTA1))
    with Image.open(io.BytesIO(content)) as made:
        assert made.tobytes() == noise.resize((112, 56), Image.Resampling.BICUBIC).tobytes()


@pytest.mark.parametrize(
    ("rule", "sent_size", "model_size"),
    [
        (ImageRule(), (1920, 1080), (1920, 1080)),
        (GTA1, (1932, 1092), (1932, 1092)),
        (SERVER, (1920, 1080), (1932, 1092)),
        (AUTO, (1932, 1092), (1932, 1092)),
        (AUTO.by_the_server, (1920, 1080), (1932, 1092)),
        (GTA1.by_the_server, (1932, 1092), (1932, 1092)),
    ],
)
def test_sizes(rule: ImageRule, sent_size: tuple[int, int], model_size: tuple[int, int]) -> None:
    original = Size(width=1920, height=1080)
    assert picture_sizes(original, rule) == ImageSizes(
        original=original,
        sent=Size(width=sent_size[0], height=sent_size[1]),
        model=Size(width=model_size[0], height=model_size[1]),
    )


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


@pytest.mark.needs("hf")
def test_a_model_in_this_process_gets_the_same_pixels_and_nothing_is_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importlib.import_module("qwen_vl_utils")  # What it brings wants the encoder once, at its import.
    shot = picture_file(tmp_path / "1.png", 640, 360)
    _, content = sent(prepare_picture(shot, GTA1))
    monkeypatch.delattr("grounding.data.images.png")
    monkeypatch.delattr("base64.b64encode")
    asked = query(shot)
    for rule in (GTA1, AUTO):
        prompt = prepare_prompt(grounder_card(image=msgspec.to_builtins(rule)), asked)
        assert (prompt.image.size, prompt.sizes.sent) == ((644, 364), Size(width=644, height=364))
        with Image.open(io.BytesIO(content)) as made:
            assert prompt.image.tobytes() == made.tobytes()

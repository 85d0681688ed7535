"""The reader on pictures made here, with the real networks."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from grounding.grounders.ocr import OcrGrounder
from grounding.grounders.ocr.engine import RECOGNISER_HEIGHT_PX, Engine, padded_width
from grounding.grounders.ocr.reader import DiskCache, OcrReader
from grounding.records import Prediction, Query, Screenshot, Size

Text = tuple[str, int, int]


def picture(path: Path, texts: list[Text], size: tuple[int, int] = (900, 600), font_px: int = 16) -> Screenshot:
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for text, left, top in texts:
        draw.text((left, top), text, fill="black", font=ImageFont.load_default(font_px))
    image.save(path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Screenshot(path=str(path), size=Size(width=size[0], height=size[1]), sha256=sha256)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def ground(grounder: OcrGrounder, shot: Screenshot, instruction: str) -> Prediction:
    query = Query(step_id="s", key="k", screenshot=shot, instruction=instruction)
    return asyncio.run(grounder.ground(query))


BUTTONS: list[Text] = [
    ("Add to cart", 103, 100),
    ("Add to cart", 411, 100),
    ("Add to cart", 640, 231),
    ("Sign in", 700, 20),
    ("Blue Cotton Shirt", 100, 60),
    ("Red Wool Sweater", 400, 60),
]


def test_texts_are_read_where_they_are(tmp_path: Path, engine: Engine) -> None:
    reader = OcrReader(DiskCache(None), engine)
    screen = asyncio.run(reader.read(picture(tmp_path / "a.png", BUTTONS)))
    assert sorted(line.text for line in screen.lines) == sorted(text for text, _, _ in BUTTONS)
    for text, left, top in BUTTONS:
        line = min(screen.lines, key=lambda line: abs(line.box.left_px - left) + abs(line.box.top_px - top))
        assert line.text == text
        assert abs(line.box.left_px - left) < 4
        assert line.box.left_px <= line.words[0].left_px < line.words[-1].right_px <= line.box.right_px
    assert (screen.size.width, screen.size.height) == (900, 600)


def test_equal_crops_are_recognised_once(tmp_path: Path, engine: Engine) -> None:
    reader = OcrReader(DiskCache(None), engine)
    asyncio.run(reader.read(picture(tmp_path / "a.png", BUTTONS)))
    assert (reader.crops_seen, reader.crops_recognised) == (6, 4)
    # Another screenshot with the same words elsewhere asks the network for the new one only.
    asyncio.run(
        reader.read(picture(tmp_path / "b.png", [("Sign in", 55, 333), ("Add to cart", 402, 510), ("Orders", 20, 20)]))
    )
    assert (reader.crops_seen, reader.crops_recognised) == (9, 5)


def test_what_was_read_is_known_to_the_next_process(tmp_path: Path, engine: Engine) -> None:
    shot = picture(tmp_path / "a.png", BUTTONS)
    read = asyncio.run(OcrReader(DiskCache(tmp_path / "cache"), engine).read(shot))
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from grounding.grounders.ocr.reader import DiskCache\n"
        "from grounding.grounders.ocr.reader import OcrReader\n"
        "from grounding.records import Screenshot, Size\n"
        "shot = Screenshot(path='/nowhere.png', size=Size(width=1, height=1), sha256=sys.argv[1])\n"
        "screen = asyncio.run(OcrReader(DiskCache(Path(sys.argv[2]))).read(shot))\n"
        "print(len(screen.lines), 'onnxruntime' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, shot.sha256, str(tmp_path / "cache")],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.split() == [str(len(read.lines)), "False"]


def test_importing_the_grounder_loads_no_network() -> None:
    code = (
        "import sys, grounding.grounders.ocr as ocr\n"
        "print(ocr.OcrGrounder().max_concurrency, [m for m in ('rapidocr', 'onnxruntime', 'cv2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip().endswith("[]")


def test_the_grounder_clicks_the_text_and_says_why(tmp_path: Path, engine: Engine) -> None:
    shot = picture(tmp_path / "a.png", BUTTONS)
    prediction = ground(
        OcrGrounder(OcrReader(DiskCache(None), engine)), shot, "Click 'Add to cart' below 'Red Wool Sweater'"
    )
    assert prediction.failure is None
    assert prediction.point is not None
    assert 411 < prediction.point.x_px < 500
    assert 100 < prediction.point.y_px < 120
    assert prediction.box is not None
    assert prediction.box.center == prediction.point
    assert prediction.raw is not None
    assert '"rule":"context"' in prediction.raw
    assert prediction.sizes is not None
    assert prediction.sizes.sent == prediction.sizes.model
    assert prediction.call is not None
    assert prediction.call.seconds > 0


def test_a_screen_without_text_has_no_answer(tmp_path: Path, engine: Engine) -> None:
    shot = picture(tmp_path / "blank.png", [])
    prediction = ground(OcrGrounder(OcrReader(DiskCache(None), engine)), shot, "click sign in")
    assert prediction.failure is not None
    assert prediction.failure.kind == "unparsed"
    assert "blank.png" in prediction.failure.message


@pytest.mark.parametrize("content", [None, b"", b"no image at all", b"\x89PNG\r\n\x1a\n\x00\x00"])
def test_an_unreadable_image_is_an_error_that_names_the_file(
    tmp_path: Path, engine: Engine, content: bytes | None
) -> None:
    path = tmp_path / "broken.png"
    if content is not None:
        path.write_bytes(content)
    shot = Screenshot(path=str(path), size=Size(width=9, height=9), sha256="1" * 64)
    prediction = ground(OcrGrounder(OcrReader(DiskCache(None), engine)), shot, "click sign in")
    assert prediction.point is None
    assert prediction.failure is not None
    assert prediction.failure.kind == "error"
    assert "broken.png" in prediction.failure.message


@pytest.mark.parametrize("size", [(1, 1), (5, 300), (700, 20), (33, 31)])
def test_pictures_of_any_size_are_read(tmp_path: Path, engine: Engine, size: tuple[int, int]) -> None:
    shot = picture(tmp_path / "a.png", [("Go", 2, 2)], size)
    screen = asyncio.run(OcrReader(DiskCache(None), engine).read(shot))
    assert (screen.size.width, screen.size.height) == size


@pytest.mark.slow
@pytest.mark.parametrize(("size", "font_px"), [((1920, 1080), 13), ((2560, 1440), 12), ((3840, 2160), 26)])
def test_small_print_on_large_screens_is_read(
    tmp_path: Path, engine: Engine, size: tuple[int, int], font_px: int
) -> None:
    texts = [("Free delivery on Monday", 90 + 400 * (i % 4), 80 + 90 * (i // 4)) for i in range(16)]
    screen = asyncio.run(OcrReader(DiskCache(None), engine).read(picture(tmp_path / "a.png", texts, size, font_px)))
    assert [line.text for line in screen.lines] == ["Free delivery on Monday"] * 16


def _word(text: str) -> np.ndarray:
    font = ImageFont.load_default(36)
    width = int(font.getlength(text)) + 8
    image = Image.new("RGB", (width, RECOGNISER_HEIGHT_PX), "white")
    ImageDraw.Draw(image).text((4, 0), text, "black", font)
    return np.asarray(image)


@pytest.mark.slow
def test_a_crop_is_read_alike_alone_and_in_company() -> None:
    engine = Engine()
    short, long = _word("Add to cart"), _word("Add to wishlist")
    if padded_width(short.shape[1]) != padded_width(long.shape[1]):
        long = np.concatenate([short, np.full((RECOGNISER_HEIGHT_PX, 3, 3), 255, np.uint8)], axis=1)
    assert padded_width(short.shape[1]) == padded_width(long.shape[1])
    assert engine.recognise([short])[0].words == engine.recognise([long, short])[1].words

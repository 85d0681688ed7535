"""What is found on a screenshot: regions at their exact edges, texts, and each thing once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from annotate.proposals.finding import combine, find_regions, load_upright, meant_by, share_of_union
from annotate.proposals.records import Proposal
from annotate.proposals.snapping import Frame
from grounding.errors import UserError
from grounding.grounders.ocr.screen import Screen, TextLine, TextWord
from grounding.records import Box, Size
from proposals.screens import BUTTON, FIELD, PICTURE, frame, screen, text_ink


def line(text: str, box: Frame, framed: bool = False) -> TextLine:
    return TextLine(
        text=text,
        box=Box(left_px=box.left_px, top_px=box.top_px, right_px=box.right_px, bottom_px=box.bottom_px),
        confidence=0.9,
        words=(TextWord(text=text, left_px=box.left_px, right_px=box.right_px),),
        framed=framed,
    )


LABEL = frame(118, 88, 205, 104)


def read(*lines: TextLine) -> Screen:
    size = Size(width=640, height=400)
    return Screen(size=size, model_size=size, lines=lines)


def test_widgets_are_found_to_the_pixel() -> None:
    found = find_regions(screen())
    for widget in (BUTTON, FIELD, PICTURE):
        assert widget in found


def test_a_button_is_proposed_once_with_its_words() -> None:
    found = combine([BUTTON], read(line("Buy now", LABEL)), screen())
    assert found == (Proposal(frame=BUTTON, origin="widget", kind="text", words="Buy now"),)


def test_a_text_that_stands_alone_is_proposed_at_its_ink_and_not_as_a_region_again() -> None:
    pixels = screen()
    ink = text_ink(pixels)
    region = frame(ink.left_px - 3, ink.top_px - 3, ink.right_px + 3, ink.bottom_px + 3)
    (found,) = combine([region], read(line("Terms of use", ink)), pixels)
    assert (found.origin, found.kind, found.words) == ("text", "text", "Terms of use")
    assert share_of_union(found.frame, ink) > 0.6


def test_a_wide_cell_keeps_its_text_apart_but_a_wide_button_does_not() -> None:
    wide = frame(0, 80, 600, 112)
    at_left, in_the_middle = frame(10, 88, 90, 104), frame(260, 88, 340, 104)
    page = np.full((400, 640, 3), 250, dtype=np.uint8)
    origins = [one.origin for one in combine([wide], read(line("cell", at_left)), page)]
    assert origins == ["widget", "text"]
    origins = [one.origin for one in combine([wide], read(line("Add to cart", in_the_middle, framed=True)), page)]
    assert origins == ["widget"]


def test_what_is_read_across_half_the_picture_is_no_text() -> None:
    assert combine([], read(line("X", frame(10, 10, 300, 200))), screen()) == ()


def test_small_regions_without_words_are_icons_once_the_texts_are_known() -> None:
    small = frame(300, 300, 324, 324)
    assert combine([small], None, screen())[0].kind == ""
    assert combine([small], read(), screen())[0].kind == "icon"


def test_the_offline_grounder_says_which_one_the_words_mean() -> None:
    lines = read(line("Buy now", LABEL), line("Terms of use", text_ink(screen())))
    found = combine([BUTTON], lines, screen())
    meant = meant_by("click on buy now", lines, found)
    assert meant is not None
    assert found[meant].frame == BUTTON
    assert meant_by("  ", lines, found) is None
    assert meant_by("buy now", read(), ()) is None


def test_a_picture_on_its_side_is_turned_as_the_window_turns_it(tmp_path: Path) -> None:
    path = tmp_path / "turned.jpg"
    image = Image.new("RGB", (40, 20), (255, 0, 0))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(path, exif=exif)
    assert load_upright(path).shape == (40, 20, 3)


def test_what_is_no_picture_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UserError, match=r"x\.png: the picture can't be read"):
        load_upright(path)

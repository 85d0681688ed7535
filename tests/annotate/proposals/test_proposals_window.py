"""Proposals and snapping as a person has them: the real window, a mouse, keys, and the file on disk afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from annotate.core.view import ViewTransform
from annotate.proposals.regions import Frame
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.records import Size
from proposals.screens import BUTTON, FIELD, screen

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from annotating.stage import Stage, missing  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() != "", reason=missing())]
SIZE = Size(width=1280, height=720)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three steps with the drawn screen in the top left of a page."""
    pixels = np.full((SIZE.height, SIZE.width, 3), 250, dtype=np.uint8)
    part = screen()
    pixels[: part.shape[0], : part.shape[1]] = part
    made = tmp_path / "1"
    (made / "images").mkdir(parents=True)
    items = []
    for number in (1, 2, 3):
        Image.fromarray(pixels).save(made / "images" / f"{number}.png")
        items.append(
            {"task": "t", "instruction": "buy it now", "action": "click", "final_image": f"images/{number}.png"}
        )
    (made / QUESTIONS).write_text(json.dumps(items), encoding="utf-8")
    return made


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


class Hand:
    """Places of the picture on the screen, and what the file says."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage, self.folder = stage, folder
        stage.open(folder)
        stage.until(lambda: " 1/3 " in stage.title(), "the first step")
        self.wait_for_picture()

    def at(self, x_px: float, y_px: float) -> tuple[int, int]:
        canvas = self.stage.canvas()
        view = Size(width=canvas.width, height=canvas.height)
        place = ViewTransform.fit(SIZE, view, margin_view=12, largest=1.0).to_view(x_px, y_px)
        return canvas.left + round(place.x_view), canvas.top + round(place.y_view)

    def wait_for_picture(self) -> None:
        def is_there() -> bool:
            x, y = self.at(60, 220)
            return self.stage.grab().getpixel((x, y)) == (200, 180, 90)

        self.stage.until(is_there, "the picture")

    def points(self, box: Frame) -> None:
        x, y = self.at((box.left_px + box.right_px) / 2 + 25, (box.top_px + box.bottom_px) / 2)
        self.stage.hand("mousemove", x, y)

    def entries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / QUESTIONS).read_text(encoding="utf-8"))
        return found

    def boxes(self, place: int = 0) -> list[tuple[int, int, int, int]]:
        found = self.entries()[place].get("bounding_box") or []
        return [(box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]) for box in found]

    def until_saved(self, true: Callable[[], bool], what: str) -> None:
        """The program saves by itself a second after a change."""
        self.stage.until(true, what)


def sides(box: Frame) -> tuple[int, int, int, int]:
    return box.left_px, box.top_px, box.right_px, box.bottom_px


def test_one_key_makes_a_box_of_what_is_under_the_cursor_and_another_snaps_a_drawn_one(
    stage: Stage, folder: Path
) -> None:
    hand = Hand(stage, folder)
    hand.points(BUTTON)
    stage.keys("b")
    hand.until_saved(lambda: hand.boxes() == [sides(BUTTON)], "the button's box in the file")
    # The cursor stands still: the same key takes something else in its place; undo brings the button back.
    stage.keys("b")
    hand.until_saved(lambda: hand.boxes() not in ([], [sides(BUTTON)]), "another box")
    assert len(hand.boxes()) == 1
    stage.keys("ctrl+z")
    hand.until_saved(lambda: hand.boxes() == [sides(BUTTON)], "the button's box again")

    stage.keys("w")
    stage.drag(hand.at(FIELD.left_px + 5, FIELD.top_px - 6), hand.at(FIELD.right_px - 4, FIELD.bottom_px + 5))
    stage.keys("s")
    hand.until_saved(lambda: hand.boxes() == [sides(BUTTON), sides(FIELD)], "the snapped box in the file")
    stage.keys("ctrl+q")
    assert stage.wait_for_end() == 0
    assert stage.log() == ""

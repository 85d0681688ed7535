"""Drawing a participant's boxes again, with the mouse and the keyboard alone, from a folder without any."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from annotate.core.view import ViewTransform
from annotating.stage import Place, Stage, StageError
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.records import Record, Size

MARGIN_VIEW = 12  # What the window leaves free around a picture that it fits in.
SAMPLE_EVERY_PX = 7
SAME_SHARE, SAME_LEVELS = 0.97, 12
"""The right picture is on the screen when so much of what was looked at differs by no more than this. The lines through
the cursor and boxes are on top of it."""

LOOK_S, TRIES = 2.0, 5
LINE_SHARE = 0.4
"""A box is there when so much of its upper edge is not what the picture has there; handles are
white inside."""

Gold = tuple[int, int, int, int]


class Recreated(Record, frozen=True, kw_only=True):
    """What was done, and how long it took with all waiting."""

    steps: int
    boxes: int
    no_clicks: int
    seconds: float


class _Shown:
    """A picture on the screen: its pixels, how it lies on the canvas, and where that is."""

    def __init__(self, pixels: npt.NDArray[np.int16], transform: ViewTransform, canvas: Place) -> None:
        self.pixels, self.transform, self.canvas = pixels, transform, canvas


def copy_without_boxes(
    original: Path, copy: Path, keep: Callable[[int, dict[str, Any]], bool] = lambda _place, _item: True
) -> list[dict[str, Any]]:
    """Copy a participant's folder with every step still to do; the items as they were.

    Args:
        original: The participant's folder.
        copy: Where to; its folder must not be there yet.
        keep: Which steps, by their place from 0 and their item.
    """
    every: list[dict[str, Any]] = json.loads((original / QUESTIONS).read_text(encoding="utf-8"))
    items = [item for place, item in enumerate(every) if keep(place, item)]
    images = {item["final_image"] for item in items}
    for image in images:
        (copy / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original / image, copy / image)
    bare = [{name: value for name, value in item.items() if name != "bounding_box"} for item in items]
    (copy / QUESTIONS).write_text(json.dumps(bare, indent=2), encoding="utf-8")
    return items


def boxes_of(item: dict[str, Any]) -> list[Gold] | None:
    """The gold boxes of an item as left, top, right, bottom; None where it is not a click."""
    found = item["bounding_box"]
    if found is None:
        return None
    listed = found if isinstance(found, list) else [found]
    return [(box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]) for box in listed]


def recreate(stage: Stage, folder: Path, items: Sequence[dict[str, Any]], annotator: str = "script") -> Recreated:
    """Open the folder in the program, go through it once, and leave it; the boxes are then in its file.

    Raises:
        StageError: something did not appear on the screen in time.
    """
    started = time.monotonic()
    stage.open(folder, "--annotator", annotator)
    boxes = no_clicks = 0
    for number, item in enumerate(items, start=1):
        picture = folder / item["final_image"]
        shown = _wait_for_picture(stage, picture, number, len(items))
        gold = boxes_of(item)
        if gold is None:
            stage.keys("n")
            no_clicks += 1
        else:
            for box in gold:
                _draw(stage, shown, box)
            boxes += len(gold)
        if number < len(items):
            stage.keys("d")
    stage.keys("ctrl+s")
    stage.until(lambda: not stage.title().startswith("●"), "the file to be saved")
    stage.keys("ctrl+q")
    if (code := stage.wait_for_end()) != 0:
        raise StageError(f"the program ended with {code}: {stage.log()}")
    return Recreated(steps=len(items), boxes=boxes, no_clicks=no_clicks, seconds=time.monotonic() - started)


def _draw(stage: Stage, shown: _Shown, box: Gold) -> None:
    """Draw a box and look whether it is there; if not, as for somebody who was too fast, draw it again."""
    start = shown.transform.to_view(box[0], box[1])
    end = shown.transform.to_view(box[2], box[3])
    left, top = shown.canvas.left + round(start.x_view), shown.canvas.top + round(start.y_view)
    right, bottom = shown.canvas.left + round(end.x_view), shown.canvas.top + round(end.y_view)
    for _ in range(TRIES):
        stage.keys("w")
        stage.drag((left, top), (right, bottom))
        deadline = time.monotonic() + LOOK_S
        while time.monotonic() < deadline:
            if _is_outlined(stage, shown, box):
                return
            time.sleep(0.01)
    raise StageError(f"no box appeared at {box}: {stage.log()}")


def _is_outlined(stage: Stage, shown: _Shown, box: Gold) -> bool:
    """Whether the picture is there with a line over it along the top of a box."""
    seen = _picture_part(stage, shown)
    if _likeness(seen, shown.pixels) < SAME_SHARE:
        return False
    strip = (slice(max(0, box[1] - 1), box[1] + 2), slice(box[0], box[2]))
    differs = np.abs(seen[strip] - shown.pixels[strip]).max(axis=2) > SAME_LEVELS
    return float(differs.max(axis=0).mean()) >= LINE_SHARE


def _picture_part(stage: Stage, shown: _Shown) -> npt.NDArray[np.int16]:
    """What the screen has where the picture should be."""
    height, width = shown.pixels.shape[:2]
    left, top = shown.canvas.left + shown.transform.left_view, shown.canvas.top + shown.transform.top_view
    return np.asarray(stage.grab(Place(left, top, width, height)), dtype=np.int16)


def _likeness(seen: npt.NDArray[np.int16], wanted: npt.NDArray[np.int16]) -> float:
    every = (slice(None, None, SAMPLE_EVERY_PX), slice(None, None, SAMPLE_EVERY_PX))
    return float((np.abs(seen[every] - wanted[every]).max(axis=2) <= SAME_LEVELS).mean())


def _wait_for_picture(stage: Stage, path: Path, number: int, count: int) -> _Shown:
    """Wait until the step and its picture are on the screen; where the picture is there."""
    with Image.open(path) as image:
        expected = np.asarray(image.convert("RGB"), dtype=np.int16)
    stage.until(lambda: f" {number}/{count} " in stage.title(), f"step {number}")
    height, width = expected.shape[:2]
    found: list[_Shown] = []

    def is_there() -> bool:
        canvas = stage.canvas()
        transform = ViewTransform.fit(
            Size(width=width, height=height), Size(width=canvas.width, height=canvas.height),
            margin_view=MARGIN_VIEW, largest=1.0,
        )  # fmt: skip
        if transform.scale < 1:
            raise StageError(f"the canvas of {canvas.width} x {canvas.height} can't show {width} x {height} pixels")
        found.append(_Shown(expected, transform, canvas))
        return _likeness(_picture_part(stage, found[-1]), expected) >= SAME_SHARE

    stage.until(is_there, f"the picture of step {number}")
    return found[-1]

"""A grounder and a judge that look at the picture they are sent, and short ways to make records.

The screenshots of ``tiny_dataset`` tell their step: green of the background is its position, the gold box is white.
"""

from __future__ import annotations

import base64
import io
import json
import re
from typing import Any

import numpy as np
from PIL import Image

from grounding.records import Box, Plan, Point, Prediction, Region, Screenshot, Size, Step

MAGENTA, WHITE = (255, 0, 255), (255, 255, 255)
GOLD = Region(boxes=(Box(left_px=10, top_px=10, right_px=20, bottom_px=20),))


def step(step_id: str = "1/1", *, region: Region | None = GOLD, instruction: str = "the cheaper one") -> Step:
    return Step(
        id=step_id,
        participant=step_id.partition("/")[0],
        task="t",
        instruction_index=0,
        instruction=instruction,
        screenshot=Screenshot(path="x.png", size=Size(width=64, height=48), sha256=step_id),
        region=region,
    )


def plan(text: str | None = "click it", **fields: Any) -> Plan:
    return Plan(step_id="1/1", key="k", text=text, **fields)


def answer(x_px: float | None = 1, **fields: Any) -> Prediction:
    point = None if x_px is None else Point(x_px=x_px, y_px=15)
    return Prediction(step_id="1/1", key="k", point=point, **fields)


def texts(body: dict[str, Any]) -> str:
    """All text of a request."""
    found = []
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [part["text"] for part in parts if part["type"] == "text"]
    return "\n".join(found)


def picture(body: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The picture of a request, decoded."""
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "image_url":
                content = base64.b64decode(part["image_url"]["url"].partition(",")[2])
                return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    raise AssertionError("the request has no picture")


def where(image: np.ndarray[Any, Any], colour: tuple[int, int, int]) -> tuple[int, int, int, int] | None:
    """Left, top, right and bottom of a colour's pixels, None where it isn't there."""
    rows, columns = np.nonzero((image == np.array(colour, dtype=np.uint8)).all(axis=2))
    if not len(rows):
        return None
    return int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max())


def shown_step(image: np.ndarray[Any, Any]) -> int:
    """Which step of ``tiny_dataset`` a screenshot is of."""
    return int(image[-1, -1, 1])


def named(text: str) -> int | None:
    """Which thing an instruction names."""
    found = re.search(r"thing (\d+)", text)
    return int(found[1]) if found else None


class FollowingGrounder:
    """Clicks the white box if the instruction names the thing that is shown; never finds those it is blind for."""

    def __init__(self, blind: tuple[int, ...] = ()) -> None:
        self.blind = blind

    def __call__(self, body: dict[str, Any]) -> str:
        image = picture(body)
        number = shown_step(image)
        box = where(image, WHITE)
        assert box is not None
        if named(texts(body)) != number or number in self.blind:
            return "(1, 1)"
        return f"({(box[0] + box[2]) // 2}, {(box[1] + box[3]) // 2})"


def plan_in(body: dict[str, Any]) -> str:
    """The plan that a judge is shown: the only line of its prompt that is a JSON string."""
    quoted = [line for line in texts(body).splitlines() if line.startswith('"')]
    assert len(quoted) == 1, quoted
    said = json.loads(quoted[0])
    assert isinstance(said, str)
    return said


def looking_judge(body: dict[str, Any]) -> str:
    """Yes if there is a frame, the white thing is inside it, and the plan names that thing."""
    image = picture(body)
    frame = where(image, MAGENTA)
    if frame is None:
        return "I see no frame.\nAnswer: unclear"
    left, top, right, bottom = frame
    inside = image[top + 4 : bottom - 3, left + 4 : right - 3]
    assert inside.size
    if not (inside == 255).all():
        return "The frame is not around one thing.\nAnswer: unclear"
    said = "yes" if named(plan_in(body)) == shown_step(image) else "no"
    return f"The frame is around thing {shown_step(image)}.\nAnswer: {said}"

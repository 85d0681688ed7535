"""Models whose answers are known: they see the probe's blue button and answer in a space of their own."""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web
from fakes.chat_server import Behaviour, Json, completion
from fakes.make import grounder_card
from PIL import Image, ImageChops

from grounding.cards import GrounderCard
from grounding.data.images import picture_sizes
from grounding.geometry import ModelPoint, Space, point_from_original, smart_resize
from grounding.records import ImageSizes, Point, Size
from grounding.run.probe.gate import BUTTON_COLOUR, ProbeTarget
from grounding.run.probe.replies import ProbedReply

LIMITS = {"factor": 28, "min_pixels": 3136, "max_pixels": 1003520}


def card(space: Space, resize: str = "server", **fields: Any) -> GrounderCard:
    """A card of the Qwen2.5-VL family that says that its model answers in a space."""
    image = {"resize": resize, **LIMITS} if resize != "none" else {"resize": "none"}
    answer = {"form": "point", "space": space}
    return grounder_card(**{"family": "qwen2_5_vl", "image": image, "answer": answer, **fields})


def shrunk(size: Size, max_pixels: int) -> Size:
    """What a server with a lower limit makes of a picture."""
    return smart_resize(size, factor=28, min_pixels=3136, max_pixels=max_pixels)


def number(value: float) -> str:
    return f"{value:.6f}"


def said_of(target: ProbeTarget, sizes: ImageSizes, space: Space) -> Point:
    """The numbers of a perfect model."""
    found = point_from_original(target.button.center, space, sizes)
    return Point(x_px=found.x, y_px=found.y)


def observed(
    targets: tuple[ProbeTarget, ...],
    made_for: GrounderCard,
    say: Callable[[ProbeTarget, ImageSizes], tuple[float, float] | None],
) -> tuple[ProbedReply, ...]:
    """Replies without a server."""
    found = []
    for target in targets:
        sizes = picture_sizes(target.screenshot.size, made_for.image)
        said = say(target, sizes)
        place = None if said is None else ModelPoint(space=made_for.answer.space, x=said[0], y=said[1])
        found.append(ProbedReply(place=place, sizes=sizes, region=target.region))
    return tuple(found)


def perfect(spoken: Space) -> Callable[[ProbeTarget, ImageSizes], tuple[float, float]]:
    def say(target: ProbeTarget, sizes: ImageSizes) -> tuple[float, float]:
        point = said_of(target, sizes, spoken)
        return point.x_px, point.y_px

    return say


def dice(seed: int, across: float, down: float) -> Callable[[ProbeTarget, ImageSizes], tuple[float, float]]:
    """Numbers anywhere, whatever is on the picture."""
    draw = random.Random(seed)
    return lambda _target, _sizes: (draw.uniform(0, across), draw.uniform(0, down))


def _sent_picture(question: Json) -> Image.Image:
    parts = question["messages"][-1]["content"]
    url = next(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")


def button_in(question: Json) -> tuple[float, float] | None:
    """The middle of the probe's blue button as fractions of the picture; None on other pictures."""
    return _target_centre(_sent_picture(question), (BUTTON_COLOUR,))


def _target_centre(
    image: Image.Image, colours: Sequence[tuple[int, int, int]] = (BUTTON_COLOUR, (255, 255, 255))
) -> tuple[float, float] | None:
    """The middle of the probe's blue button, or of a tiny data set's white box, as fractions of the picture."""
    for colour in colours:
        bands = [
            band.point(lambda value, wanted=wanted: 255 if abs(value - wanted) < 30 else 0)
            for band, wanted in zip(image.split(), colour, strict=True)
        ]
        box = ImageChops.multiply(ImageChops.multiply(bands[0], bands[1]), bands[2]).getbbox()
        if box is not None:
            return (box[0] + box[2]) / 2 / image.width, (box[1] + box[3]) / 2 / image.height
    return None


def seeing(
    answer: Callable[[Size, float, float], str], *, max_pixels: int = LIMITS["max_pixels"], tokens: bool = True
) -> Behaviour:
    """A model that is shown a picture within a limit of its server's; answers from that size and the button's place."""

    async def behave(_request: web.Request, content: bytes) -> web.StreamResponse:
        question = json.loads(content)
        image = _sent_picture(question)
        seen = shrunk(Size(width=image.width, height=image.height), max_pixels)
        text = "".join(
            part["text"]
            for message in question["messages"]
            for part in ([] if isinstance(message["content"], str) else message["content"])
            if part["type"] == "text"
        )
        prompt = seen.width // 28 * (seen.height // 28) + len(text) // 4 + 31
        usage = {"prompt_tokens": prompt, "completion_tokens": 9} if tokens else None
        centre = _target_centre(image)
        assert centre is not None, "no target on the picture"
        return web.json_response(completion(answer(seen, *centre), usage=usage))

    return behave


def in_seen_pixels(seen: Size, across: float, down: float) -> str:
    return f"({number(across * seen.width)}, {number(down * seen.height)})"


def on_grid(whole: float) -> Callable[[Size, float, float], str]:
    return lambda _seen, across, down: f"({number(across * whole)}, {number(down * whole)})"

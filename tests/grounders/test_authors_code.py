"""Bundled cards beside the code of the models' authors, which was run once with a recorder in the place of the model.

``authors_code.json`` says of each card which file at which commit that was, and what it did. ``messages``: width and
height of a screenshot, which of the words, whether with a history, and the SHA-256 (its beginning) of the conversation.
``sizes``: a screenshot's, and the picture's as the model is given it. ``replies``: what the code reads in a reply, in
fractions of the picture where the card's space is relative, else in pixels; null for nothing.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from fakes.make import MODELS, screenshot
from PIL import Image

from grounding.cards import GrounderCard, read_cards
from grounding.data.images import Picture, picture_sizes, prepare_picture
from grounding.geometry import ModelBox, ModelPoint, point_from_original, point_to_original
from grounding.grounders.base import declines, read_answer
from grounding.llm.chat import render_messages
from grounding.llm.wire import Message, TextPart
from grounding.records import HistoryEntry, Point, Query, Screenshot, Size

FACTS = json.loads((Path(__file__).parent / "authors_code.json").read_text(encoding="utf-8"))
THEIRS: dict[str, dict[str, Any]] = FACTS["cards"]
CARDS = {card.name: card for card in read_cards(MODELS / "grounders", GrounderCard)}
HISTORY = (
    HistoryEntry(instruction="open it", action="Clicked the icon"),
    HistoryEntry(instruction="and now {history}", action="Scrolled"),
)
EXACT = ("uground-realwebassist", "os-atlas-realwebassist", "aria-ui-realwebassist")
"""Cards that take no reply which the other code does not; the others may read more than their authors' code."""
NOT_TAKEN = {("infigui-g1", '<think>Perhaps [{"point_2d": [1, 1]}]'), ("seeclick", "The point is 0.5 0.5")}


def rows(field: str) -> list[Any]:
    return [
        pytest.param(name, row, id=f"{name}-{row[:3]}"[:60]) for name in THEIRS for row in THEIRS[name].get(field, ())
    ]


def conversation(messages: tuple[Message, ...]) -> list[Any]:
    """Roles and texts; texts that follow each other are one, as every chat template makes them."""
    said = []
    for message in messages:
        parts: list[str] = []
        for part in message.parts:
            if isinstance(part, TextPart) and parts and parts[-1] != "<image>":
                parts[-1] += part.text
            else:
                parts.append(part.text if isinstance(part, TextPart) else "<image>")
        said.append([message.role, parts])
    return said


def chat_ml(said: list[Any]) -> str:
    """The prompt of a Qwen model as text, up to the beginning of the reply."""
    picture = "<|vision_start|><|image_pad|><|vision_end|>"
    (_, system), (_, user), (_, prefill) = said
    asked = "".join(user).replace("<image>", picture)
    turns = (f"system\n{system[0]}<|im_end|>\n", f"user\n{asked}<|im_end|>\n", f"assistant\n{prefill[0]}")
    return "".join(f"<|im_start|>{turn}" for turn in turns)


@pytest.mark.parametrize(("name", "row"), rows("messages"))
def test_the_words_are_theirs(name: str, row: list[Any]) -> None:
    width, height, words, told, sha256 = row
    card = CARDS[name]
    shot = screenshot(width=width, height=height)
    asked = Query(
        step_id="s", key="k", screenshot=shot, instruction=FACTS["words"][words], history=HISTORY if told else ()
    )
    picture = Picture(url_json=msgspec.Raw(b'""'), sizes=picture_sizes(shot.size, card.image))
    said = conversation(render_messages(card, asked, picture))
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":")) if card.prefill is None else chat_ml(said)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == sha256, f"{THEIRS[name]['code']} asks in other words"


@pytest.mark.parametrize("name", [name for name in THEIRS if "sizes" in THEIRS[name]])
def test_the_pictures_are_of_their_sizes(name: str) -> None:
    for width, height, *seen in THEIRS[name]["sizes"]:
        ours = picture_sizes(Size(width=width, height=height), CARDS[name].image).model
        assert [ours.width, ours.height] == seen, f"{width}x{height} in {THEIRS[name]['code']}"


@pytest.mark.parametrize(("name", "row"), rows("replies"))
def test_what_they_read_is_read_as_they_do(name: str, row: list[Any]) -> None:
    reply, theirs = row
    card = CARDS[name]
    whole = (card.prefill or "") + reply
    if theirs == "declines":
        assert declines(whole, card.answer)
        return
    place = read_answer(whole, card.answer)
    if theirs is None and name not in EXACT:
        return
    if theirs is None or (name, reply) in NOT_TAKEN:
        assert place is None
        return
    assert place is not None, f"{THEIRS[name]['code']} reads {theirs}"
    x, y = ((place.x1 + place.x2) / 2, (place.y1 + place.y2) / 2) if isinstance(place, ModelBox) else (place.x, place.y)
    whole_picture, near = (1000, 0.001) if place.space == "rel_1000" else (1, 0.01)  # They may cut off decimals.
    assert (x / whole_picture, y / whole_picture) == pytest.approx(tuple(theirs), abs=near)


def test_a_canvas_is_theirs_to_the_pixel_and_its_answers_lie_on_the_screenshot(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1280).integers(0, 256, (720, 1280, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "shown.png")
    card, size = CARDS["phi-ground"], Size(width=1280, height=720)
    picture = prepare_picture(Screenshot(path=str(tmp_path / "shown.png"), size=size, sha256=""), card.image)
    sent = Image.open(io.BytesIO(base64.b64decode(bytes(picture.url_json).partition(b",")[2][:-1])))
    assert hashlib.sha256(sent.tobytes()).hexdigest()[:16] == "95a890fd5d320077"
    place = read_answer("<point>250, 300</point>", card.answer)
    assert isinstance(place, ModelPoint)
    # A quarter of 1008, three tenths of 672, by their ratio of 0.7875.
    assert point_to_original(place, picture.sizes) == Point(x_px=320, y_px=256)
    assert point_from_original(Point(x_px=320, y_px=256), "rel_1000", picture.sizes) == place
    # They go back by the ratio of the widths on both axes: 310 of 390 here, where 672 of 844 is another.
    narrow = point_to_original(place, picture_sizes(Size(width=390, height=844), card.image))
    assert (narrow.x_px, narrow.y_px) == pytest.approx((252 / (310 / 390), 201.6 / (310 / 390)))

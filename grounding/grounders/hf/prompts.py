"""A step to what a processor takes: the conversation in transformers' form and the picture in memory.

The same rendering and the same resizing as for a server, so that the model reads the same prompt either way.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from grounding.cards import ChatCard
from grounding.chat import render_messages
from grounding.pictures import Picture, prepare_picture
from grounding.records import ImageSizes, Query
from grounding.wire import Message, TextPart

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Prompt:
    """One question, ready for a processor; ``sizes`` is what the coordinates of the answer refer to."""

    messages: list[dict[str, Any]]
    image: Image
    sizes: ImageSizes


def prepare_prompt(card: ChatCard, query: Query) -> Prompt:
    """Render the card's prompt for a step and read its screenshot. Blocks.

    Raises:
        OSError: the screenshot can't be read.
        ValueError: the model refuses a picture of this shape.
    """
    # A server that reads files would be sent an address; here there is no server.
    picture = prepare_picture(query.screenshot, msgspec.structs.replace(card.image, send="base64"))
    return Prompt(
        messages=conversation(render_messages(card, query, picture)), image=_decoded(picture), sizes=picture.sizes
    )


def conversation(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages in the form that chat templates take: every content a list of typed parts, pictures as places."""
    return [
        {
            "role": message.role,
            "content": [
                {"type": "text", "text": part.text} if isinstance(part, TextPart) else {"type": "image"}
                for part in message.parts
            ],
        }
        for message in messages
    ]


def _decoded(picture: Picture) -> Image:
    from PIL import Image, UnidentifiedImageError

    url = msgspec.json.decode(picture.url_json, type=str)
    try:
        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
            image.load()
            return _opaque(image)
    except (UnidentifiedImageError, binascii.Error) as error:
        raise OSError("not a picture that can be read") from error
    except (SyntaxError, Image.DecompressionBombError) as error:
        raise OSError(f"the picture can't be read: {error}") from error


def _opaque(image: Image) -> Image:
    """The picture in red, green and blue; where it is see-through it is on white, as vLLM shows it to a model."""
    from PIL import Image

    if image.mode != "RGBA":
        return image.convert("RGB")
    ground = Image.new("RGB", image.size, (255, 255, 255))
    ground.paste(image, mask=image.getchannel("A"))
    return ground

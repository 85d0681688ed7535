"""A screenshot on disk to the picture of a request: untouched where the model's size rule allows it.

Runs in worker threads: everything here may block.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path

import msgspec

from grounding.cards import ImageRule
from grounding.coordinates import smart_resize
from grounding.records import ImageSizes, Record, Screenshot, Size

_MAGIC = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"RIFF", "image/webp"))


class Picture(Record, frozen=True, kw_only=True):
    """A picture ready to be sent: its URL as JSON text, and its size at each point of its way."""

    url_json: msgspec.Raw
    sizes: ImageSizes


def picture_sizes(original: Size, rule: ImageRule) -> ImageSizes:
    """The sizes that a rule gives a screenshot: as sent, and as the model sees it.

    Raises:
        ValueError: the model refuses a picture of this shape.
    """
    if rule.resize == "none" or rule.factor is None or rule.min_pixels is None or rule.max_pixels is None:
        return ImageSizes(original=original, sent=original, model=original)
    seen = smart_resize(original, factor=rule.factor, min_pixels=rule.min_pixels, max_pixels=rule.max_pixels)
    return ImageSizes(original=original, sent=seen if rule.resize == "client" else original, model=seen)


def prepare_picture(screenshot: Screenshot, rule: ImageRule) -> Picture:
    """Read a screenshot and make it what the rule asks for.

    Raises:
        OSError: the file can't be read or is not a picture.
        ValueError: the model refuses a picture of this shape.
    """
    sizes = picture_sizes(screenshot.size, rule)
    path = Path(screenshot.path)
    if rule.send == "file":
        return Picture(url_json=msgspec.Raw(msgspec.json.encode(path.absolute().as_uri())), sizes=sizes)
    content = path.read_bytes()
    if sizes.sent != sizes.original:
        content = _scaled(content, sizes.sent)
    return Picture(url_json=_data_url(content), sizes=sizes)


def _data_url(content: bytes) -> msgspec.Raw:
    kind = next((kind for magic, kind in _MAGIC if content.startswith(magic)), None)
    if kind is None:
        raise OSError("not a PNG, JPEG or WebP picture")
    return msgspec.Raw(b"".join((b'"data:', kind.encode(), b";base64,", base64.b64encode(content), b'"')))


def _scaled(content: bytes, size: Size) -> bytes:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            scaled = image.convert("RGB").resize((size.width, size.height), Image.Resampling.BICUBIC)
    except UnidentifiedImageError as error:
        raise OSError("not a picture that can be read") from error
    except (SyntaxError, Image.DecompressionBombError) as error:  # Pillow's words for a broken PNG and a huge picture.
        raise OSError(f"the picture can't be read: {error}") from error
    buffer = io.BytesIO()
    scaled.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()

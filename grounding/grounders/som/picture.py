"""A screenshot on disk to the marked picture and what its numbers mean. For worker threads: it blocks."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import msgspec
import numpy as np

from grounding.grounders.som.card import MarksRule
from grounding.grounders.som.proposals import Proposer, by_area, marked_size, marks_on_original
from grounding.marks.drawing import draw_marks
from grounding.marks.regions import Mark, Pixels
from grounding.pictures import Picture
from grounding.records import ImageSizes, Record, Screenshot, Size


class MarkedPicture(Record, frozen=True, kw_only=True):
    """A picture as the model is shown it, as PNG, and the marks on it in the order of their numbers."""

    png: bytes
    sizes: ImageSizes
    marks: tuple[Mark, ...]

    def to_send(self) -> Picture:
        """The picture for a request."""
        url = b"".join((b'"data:image/png;base64,', base64.b64encode(self.png), b'"'))
        return Picture(url_json=msgspec.Raw(url), sizes=self.sizes)


def marked_picture(screenshot: Screenshot, proposer: Proposer, rule: MarksRule) -> MarkedPicture:
    """Scale a screenshot, find its regions and draw their numbers.

    Raises:
        OSError: the file can't be read or is not a picture.
    """
    image, original = _scaled(Path(screenshot.path), rule.short_side)
    regions = by_area(proposer.propose(image))[: rule.most]
    looked_at = Size(width=image.shape[1], height=image.shape[0])
    drawn = draw_marks(image, regions, alpha=rule.alpha, outline=rule.outline)
    return MarkedPicture(
        png=_png(drawn),
        sizes=ImageSizes(original=original, sent=looked_at, model=looked_at),
        marks=marks_on_original(regions, looked_at, original),
    )


def _scaled(path: Path, short_side: int) -> tuple[Pixels, Size]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            original = Size(width=opened.width, height=opened.height)
            size = marked_size(original, short_side)
            scaled = opened.convert("RGB").resize((size.width, size.height), Image.Resampling.BICUBIC)
    except UnidentifiedImageError as error:
        raise OSError("not a picture that can be read") from error
    except (SyntaxError, Image.DecompressionBombError) as error:  # Pillow's words for a broken PNG and a huge picture.
        raise OSError(f"the picture can't be read: {error}") from error
    return np.asarray(scaled, dtype=np.uint8), original


def _png(image: Pixels) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()

"""Screenshots inside a page: the whole one small, and the part that matters in the pixels that it has."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grounding.records import Point, Region, Screenshot
from grounding.training.page.content import Picture

if TYPE_CHECKING:
    from PIL import Image

WIDEST_PX = 600
"""The longer side of a picture in a page."""

MOST_BYTES = 4 << 20
"""All pictures of a page together; after these, samples are shown without."""

_QUALITY = 60
_MOST_PIXELS = 200_000_000
_CLOSE_SHARE = 0.3
"""A part is shown beside the whole where it is a smaller share of the screenshot."""
_LEAST_PX = 220.0


class Pictures:
    """Makes the pictures of one page, each once, until they are too many bytes.

    ``sources`` are their ``data:`` addresses by their names, ``problems`` what went wrong.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.sources: dict[str, str] = {}
        self._left = MOST_BYTES
        self._made: dict[tuple[str, float, float, float, float], Picture | None] = {}
        # One screenshot's parts follow each other, and reading its file is most of the work.
        self._opened: tuple[str, Image.Image] | None = None

    def whole(self, shot: Screenshot) -> Picture | None:
        """The whole screenshot, small; None where there is none."""
        return self._picture(shot, 0.0, 0.0, float(shot.size.width), float(shot.size.height))

    def close(self, shot: Screenshot, region: Region, points: Sequence[Point]) -> Picture | None:
        """The part around the gold shapes and the answers near them; None where it would be most of the screenshot."""
        frame = part(shot, region, points)
        return None if frame is None else self._picture(shot, *frame)

    def _picture(self, shot: Screenshot, left: float, top: float, width: float, height: float) -> Picture | None:
        key = (shot.sha256, left, top, width, height)
        if key not in self._made:
            self._made[key] = self._make(shot, left, top, width, height)
        return self._made[key]

    def _make(self, shot: Screenshot, left: float, top: float, width: float, height: float) -> Picture | None:
        try:
            if self._opened is None or self._opened[0] != shot.path:
                self._opened = (shot.path, _opened(Path(shot.path)))
            frame = (round(left), round(top), round(left + width), round(top + height))
            content = _cut_out(self._opened[1], frame)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            # Pillow says SyntaxError of broken PNG files, and ValueError of pictures that it can't convert.
            self._say(f"{shot.path}: no picture of it on the page ({getattr(error, 'strerror', None) or error})")
            return None
        if len(content) > self._left:
            self._say(f"some samples have no picture: all together would be more than {MOST_BYTES >> 20} MiB")
            return None
        self._left -= len(content)
        name = f"shot-{len(self.sources)}"
        self.sources[name] = "data:image/webp;base64," + base64.b64encode(content).decode()
        is_whole = (left, top) == (0, 0) and (width, height) == (shot.size.width, shot.size.height)
        return Picture(id=name, is_whole=is_whole, left=left, top=top, width=width, height=height)

    def _say(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def part(shot: Screenshot, region: Region, points: Sequence[Point]) -> tuple[float, float, float, float] | None:
    """Left, top, width and height of what lies around a region, with the answers that are not far from it.

    None where the region has no shape, or its surroundings are a large share of the screenshot.
    """
    corners = [Point(x_px=box.left_px, y_px=box.top_px) for box in region.boxes]
    corners += [Point(x_px=box.right_px, y_px=box.bottom_px) for box in region.boxes]
    corners += [corner for polygon in region.polygons for corner in polygon.points]
    if not corners:
        return None
    full_width, full_height = float(shot.size.width), float(shot.size.height)
    reach = max(full_width, full_height) / 8
    left, right = min(at.x_px for at in corners), max(at.x_px for at in corners)
    top, bottom = min(at.y_px for at in corners), max(at.y_px for at in corners)
    near = [
        at for at in points if left - reach <= at.x_px <= right + reach and top - reach <= at.y_px <= bottom + reach
    ]
    xs, ys = [left, right, *(at.x_px for at in near)], [top, bottom, *(at.y_px for at in near)]
    margin = max(24.0, 0.15 * max(max(xs) - min(xs), max(ys) - min(ys)))
    width = min(full_width, max(_LEAST_PX, max(xs) - min(xs) + 2 * margin))
    height = min(full_height, max(0.6 * width, max(ys) - min(ys) + 2 * margin))
    width = min(full_width, max(width, height / 0.75))
    if width * height > _CLOSE_SHARE * full_width * full_height:
        return None
    x = min(max(0.0, (min(xs) + max(xs) - width) / 2), full_width - width)
    y = min(max(0.0, (min(ys) + max(ys) - height) / 2), full_height - height)
    # Whole pixels, since that is what is cut out of the picture.
    return float(round(x)), float(round(y)), float(round(width)), float(round(height))


def _opened(path: Path) -> Image.Image:
    from PIL import Image

    with Image.open(path) as image:
        if image.width * image.height > _MOST_PIXELS:
            raise ValueError(f"{image.width} x {image.height} pixels are too many")
        return image.convert("RGB")


def _cut_out(image: Image.Image, frame: tuple[int, int, int, int]) -> bytes:
    from PIL import Image

    small = image.crop(frame)
    small.thumbnail((WIDEST_PX, WIDEST_PX), Image.Resampling.LANCZOS, reducing_gap=2.0)
    out = io.BytesIO()
    small.save(out, "WEBP", quality=_QUALITY, method=2)
    return out.getvalue()

"""Finding what may be meant on a screenshot: a file in, proposals out, by the toolkit's own detector and reader.

Regions with edges come from the built-in proposer of Set-of-Mark, texts and the one that an instruction means from the
grounder ``ocr``. What both find is proposed once: a button with its label is the button, a link is its text.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from annotate.proposals.records import Proposal
from annotate.proposals.snapping import Frame, Pixels, snap
from annotate.records import BoxKind
from grounding.errors import UserError
from grounding.records import Box, Screenshot, Size

if TYPE_CHECKING:
    from grounding.grounders.ocr.reader import Reader
    from grounding.grounders.ocr.screen import Screen, TextLine

REACH_PX = 4
"""Found boxes are off by two or three pixels, never more: contours are those of thickened edges."""

SAME_SHARE = 0.5
"""A text and a region with this intersection over union are one thing, which is the text."""

LABEL_HEIGHTS, LABEL_WIDTH, SLACK_PX = 4.0, 0.35, 3
"""A region around a text is its button if it is at most so many times as high and the text takes this much of its
width; texts stick out of their buttons by a few pixels."""

CENTRED_SHARE = 0.05
"""A wide button has its text in the middle, give or take this share of its width."""

ICON_SIDE_PX = 64
LINE_SHARE = 0.12
"""What is read as a line of text and is higher than this share of the picture's shorter side is part of a picture."""


def load_upright(path: Path) -> Pixels:
    """A screenshot as it is shown, its EXIF rotation applied: height x width x red, green, blue.

    Raises:
        UserError: the file is missing or is no picture.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"), dtype=np.uint8)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"{path}: the picture can't be read: {error}") from error


def find_regions(pixels: Pixels) -> tuple[Frame, ...]:
    """Widgets, icons, pictures and lines of text by their edges, each snapped to them; the largest first."""
    from grounding.grounders.som.widgets import WidgetProposer

    found = (_snapped(pixels, region.box) for region in WidgetProposer().propose(pixels))
    return tuple(sorted(dict.fromkeys(found), key=lambda frame: (-area(frame), frame.top_px, frame.left_px)))


def read_screen(reader: Reader, path: Path, pixels: Pixels) -> Screen:
    """Read the texts of a screenshot; its reading stays in the grounder's cache on disk.

    Raises:
        UserError: the reader's networks are not installed, or the picture can't be decoded.
    """
    from grounding.grounders.ocr.engine import EngineError
    from grounding.grounders.ocr.reader import UnreadableImageError

    size = Size(width=pixels.shape[1], height=pixels.shape[0])
    try:
        if not _is_rotated(path):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            return asyncio.run(reader.read(Screenshot(path=str(path), size=size, sha256=digest)))
        return _read_rotated(reader, pixels, size)
    except (EngineError, UnreadableImageError) as error:
        raise UserError(f"the texts can't be read: {error}") from error


def _read_rotated(reader: Reader, pixels: Pixels, size: Size) -> Screen:
    """The reader takes pixels as they are stored, so it is given a picture that is stored upright."""
    from PIL import Image

    with tempfile.TemporaryDirectory(prefix="annotate-") as folder:
        upright = Path(folder, "upright.png")
        Image.fromarray(pixels).save(upright, compress_level=1)
        digest = hashlib.sha256(upright.read_bytes()).hexdigest()
        return asyncio.run(reader.read(Screenshot(path=str(upright), size=size, sha256=digest)))


def _is_rotated(path: Path) -> bool:
    from PIL import ExifTags, Image

    with Image.open(path) as image:
        return bool(image.getexif().get(ExifTags.Base.Orientation, 1) != 1)


def combine(regions: Sequence[Frame], screen: Screen | None, pixels: Pixels) -> tuple[Proposal, ...]:
    """Regions and texts as proposals, what is found twice once; the smallest last, so that it is drawn on top."""
    tallest = LINE_SHARE * min(pixels.shape[:2])
    read = screen.lines if screen is not None else ()
    lines = [line for line in read if line.box.bottom_px - line.box.top_px <= tallest]
    texts: list[Proposal] = []
    words_of: dict[Frame, list[str]] = {}
    doubles: set[Frame] = set()
    for line in lines:
        frame = _snapped(pixels, line.box, to_edges=False)
        doubles.update(
            region for region in regions if share_of_union(region, frame) >= SAME_SHARE or _is_word_of(region, frame)
        )
        button = _button_of(line, [region for region in regions if region not in doubles])
        if button is not None:
            words_of.setdefault(button, []).append(line.text)
        else:
            texts.append(Proposal(frame=frame, origin="text", kind="text", words=line.text))
    found = [
        Proposal(
            frame=frame, origin="widget", kind=_kind(frame, screen, words_of), words=" ".join(words_of.get(frame, ()))
        )
        for frame in regions
        if frame not in doubles or frame in words_of
    ]
    return tuple(sorted([*found, *texts], key=lambda one: (-area(one.frame), one.frame.top_px, one.frame.left_px)))


def meant_by(instruction: str, screen: Screen, proposals: Sequence[Proposal]) -> int | None:
    """The place of the proposal that the offline grounder would click for an instruction; None where it has none."""
    from grounding.grounders.ocr.instruction import parse
    from grounding.grounders.ocr.match import choose

    choice = choose(parse(instruction), screen) if instruction.strip() else None
    if choice is None:
        return None
    x_px, y_px = choice.chosen.box.center.x_px, choice.chosen.box.center.y_px
    around = [index for index, one in enumerate(proposals) if contains(one.frame, x_px, y_px)]
    return min(around, key=lambda index: area(proposals[index].frame), default=None)


def area(frame: Frame) -> int:
    """Pixels inside."""
    return frame.width_px * frame.height_px


def contains(frame: Frame, x_px: float, y_px: float) -> bool:
    """Whether a place is inside or on the edge."""
    return frame.left_px <= x_px <= frame.right_px and frame.top_px <= y_px <= frame.bottom_px


def share_of_union(one: Frame, other: Frame) -> float:
    """Intersection over union."""
    across = min(one.right_px, other.right_px) - max(one.left_px, other.left_px)
    down = min(one.bottom_px, other.bottom_px) - max(one.top_px, other.top_px)
    shared = max(0, across) * max(0, down)
    return shared / max(1, area(one) + area(other) - shared)


def _snapped(pixels: Pixels, box: Box, *, to_edges: bool = True) -> Frame:
    frame = Frame(
        left_px=int(box.left_px),
        top_px=int(box.top_px),
        right_px=max(int(box.left_px) + 1, int(np.ceil(box.right_px))),
        bottom_px=max(int(box.top_px) + 1, int(np.ceil(box.bottom_px))),
    )
    return snap(pixels, frame, reach_px=REACH_PX, to_edges=to_edges)


def _button_of(line: TextLine, regions: Sequence[Frame]) -> Frame | None:
    box = line.box
    high, wide = box.bottom_px - box.top_px, box.right_px - box.left_px
    around = [
        region
        for region in regions
        if region.left_px - SLACK_PX <= box.left_px
        and region.top_px - SLACK_PX <= box.top_px
        and box.right_px <= region.right_px + SLACK_PX
        and box.bottom_px <= region.bottom_px + SLACK_PX
        and region.height_px <= LABEL_HEIGHTS * high
        and (wide >= LABEL_WIDTH * region.width_px or _is_centred(line, region))
    ]
    return min(around, key=area, default=None)


def _is_centred(line: TextLine, region: Frame) -> bool:
    off = line.box.center.x_px - (region.left_px + region.right_px) / 2
    return line.framed and abs(off) <= CENTRED_SHARE * region.width_px


def _is_word_of(region: Frame, line: Frame) -> bool:
    """Whether a region is a part of a line of text, and no icon that stands in the line."""
    inside = (
        line.left_px - SLACK_PX <= region.left_px
        and line.top_px - SLACK_PX <= region.top_px
        and region.right_px <= line.right_px + SLACK_PX
        and region.bottom_px <= line.bottom_px + SLACK_PX
    )
    return inside and region.width_px >= 2 * region.height_px


def _kind(frame: Frame, screen: Screen | None, words_of: dict[Frame, list[str]]) -> BoxKind:
    """What can be said of a region: nothing, before its texts were read or where it is large."""
    if frame in words_of:
        return "text"
    small = max(frame.width_px, frame.height_px) <= ICON_SIDE_PX
    return "icon" if screen is not None and small else ""

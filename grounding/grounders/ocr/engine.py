"""From a screenshot's pixels to text: where text is, cut out, and read. Pixels in, boxes, crops and texts out.

RapidOCR's own pipeline is not used: it pads every crop to 320 pixels, reads equal crops again and again, logs, and may
download. Its wheel carries the two networks, and onnxruntime runs them.

A detector's box lies a pixel or two to the left today and to the right tomorrow. Where the background is flat, a crop
is cut to its ink and given a fixed margin of the background's colour: then the same text in the same style is the same
picture wherever it stands, and is recognised once.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import itertools
import math
from concurrent.futures import Executor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding.grounders.ocr.screen import TextWord
from grounding.records import Box, Record, Size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grounding.grounders.ocr.reader import BoundedCache

    Pixels = npt.NDArray[np.uint8]
    Probabilities = npt.NDArray[np.float32]

RECOGNISER_HEIGHT_PX = 48  # The height to which the recogniser was trained to see every line.
_BLANK = 0  # The class by which connectionist temporal classification says "nothing new here".


_TAIL_PX = 32  # Empty columns behind every crop: without them the last letters of short texts are misread.


_WIDTH_STEP = 1.15


def padded_width(width_px: int) -> int:
    """The width at which the recogniser sees a crop of a width: a multiple of 32 on a coarse ladder, tail included.

    It depends on the crop alone. Padding to whatever shares a batch would shift what is read by fractions of a pixel
    from run to run.
    """
    ladder = 64
    while ladder < width_px + _TAIL_PX:
        ladder = max(ladder + 32, int(ladder * _WIDTH_STEP) // 32 * 32)
    return ladder


class EngineError(Exception):
    """RapidOCR's models are not where its wheel puts them."""


class Recognised(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The text of one crop. The words' extents are in pixels of that crop."""

    text: str
    confidence: float
    words: tuple[TextWord, ...]


@cache
def _model_files() -> tuple[Path, Path]:
    """The wheel's text detector and text recogniser. Raises EngineError: if RapidOCR is missing or carries no such
    model.
    """
    spec = importlib.util.find_spec("rapidocr")
    if spec is None or spec.origin is None:
        raise EngineError("the package rapidocr is not installed: run `pip install rapidocr`")
    folder = Path(spec.origin).parent / "models"
    found = []
    for part in ("det", "rec"):
        files = sorted(folder.glob(f"*_{part}_*.onnx"))
        if not files:
            raise EngineError(f"{folder} holds no text model *_{part}_*.onnx: reinstall rapidocr")
        found.append(files[-1])
    return found[0], found[1]


@cache
def engine_identity() -> str:
    """Canonical text of the models (name and hash) and of the runtime; reads files, loads no network."""
    parts = [f"onnxruntime {importlib.metadata.version('onnxruntime')}"]
    for path in _model_files():
        parts.append(f"{path.name} sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}")
    return ", ".join(parts)


class Engine:
    """Detector and recogniser, each usable from several threads at once; a call runs on the thread that makes it."""

    def __init__(self) -> None:
        """Load both networks. Raises EngineError: if RapidOCR is missing or carries no models."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # One core a call: the cores are kept busy by several calls at a time, which wastes less than splitting one.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        detector, recogniser = (
            onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            for path in _model_files()
        )
        self._detector: Any = detector
        self._recogniser: Any = recogniser
        characters = recogniser.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._characters = ("", *characters, " ")

    def text_probability(self, pixels: Pixels) -> Probabilities:
        """How likely each pixel (height x width x blue-green-red, multiples of 32) lies in the core of a text line."""
        name = self._detector.get_inputs()[0].name
        heat: Probabilities = self._detector.run(None, {name: _normalised(pixels)[None]})[0][0, 0]
        return heat

    def recognise(self, crops: list[Pixels]) -> list[Recognised]:
        """Read crops of a line each: blue-green-red, :data:`RECOGNISER_HEIGHT_PX` high, of one padded width."""
        import numpy as np

        width = padded_width(max(crop.shape[1] for crop in crops))
        batch = np.zeros((len(crops), 3, RECOGNISER_HEIGHT_PX, width), dtype=np.float32)
        for row, crop in enumerate(crops):
            batch[row, :, :, : crop.shape[1]] = _normalised(crop)
        name = self._recogniser.get_inputs()[0].name
        scores: Probabilities = self._recogniser.run(None, {name: batch})[0]
        best = scores.argmax(axis=2)
        sure = np.take_along_axis(scores, best[..., np.newaxis], axis=2)[..., 0]
        step_px = width / scores.shape[1]
        return [self._decode(best[row].tolist(), sure[row].tolist(), step_px) for row in range(len(crops))]

    def _decode(self, classes: list[int], sure: list[float], step_px: float) -> Recognised:
        """Collapse repeats and blanks; a word's extent runs half a step beyond its first and last character."""
        text: list[str] = []
        kept: list[float] = []
        words: list[TextWord] = []
        word, first, last = "", 0, 0
        previous = _BLANK
        for step, index in enumerate(classes):
            if index not in (_BLANK, previous):
                character = self._characters[index] if index < len(self._characters) else ""
                text.append(character)
                kept.append(sure[step])
                if character.strip():
                    if not word:
                        first = step
                    word, last = word + character, step
                elif word:
                    words.append(_word(word, first, last, step_px))
                    word = ""
            previous = index
        if word:
            words.append(_word(word, first, last, step_px))
        confidence = sum(kept) / len(kept) if kept else 0.0
        return Recognised(text="".join(text).strip(), confidence=round(confidence, 3), words=tuple(words))


def _word(text: str, first: int, last: int, step_px: float) -> TextWord:
    return TextWord(text=text, left_px=(first - 0.5) * step_px, right_px=(last + 1.5) * step_px)


def _normalised(pixels: Pixels) -> Probabilities:
    """From 0..255, channels last, to -1..1, channels first."""
    import numpy as np

    return np.ascontiguousarray((pixels.astype(np.float32) / 127.5 - 1.0).transpose(2, 0, 1))


# --- where text is ------------------------------------------------------------------------------------------------

_FULL_SCALE_PIXELS = 1_100_000  # Up to this many pixels the detector sees the screenshot as it is.
_REDUCED_SCALE = 0.8
"""Beyond that it sees it smaller: at 0.8 the small print of a 1440-line screen is still found, at 0.5 it is not."""
_TILE_PX = 448
_HALO_PX = 32  # Context around each tile, in detector pixels, so that lines look the same on both sides of a seam.
_GRID_PX = 32  # The detector halves its input five times.
_CORE_PROBABILITY = 0.3
_MEAN_PROBABILITY = 0.5
_UNCLIP = 1.6
"""The detector marks the core of a line; these are the published rules of Differentiable Binarization to widen it."""
_LEAST_CORE_PX = 3


class _Span(Record, frozen=True, kw_only=True):
    """One tile along one axis, in detector pixels: what it sees, and the part that it answers for."""

    seen_start: int
    seen_end: int
    start: int
    end: int


def find_lines(pixels: Pixels, engine: Engine, workers: Executor, tiles: BoundedCache[Pixels]) -> tuple[Box, ...]:
    """Boxes around the text lines of a screenshot (height x width x blue-green-red), in its pixels. ``tiles`` holds
    what was found in earlier tiles, probabilities from 0 to 255; several are looked at at a time.
    """
    import cv2
    import numpy as np

    shown = detector_size(Size(width=pixels.shape[1], height=pixels.shape[0]))
    image: Pixels = pixels
    if (shown.height, shown.width) != pixels.shape[:2]:
        scaled = cv2.resize(pixels, (shown.width, shown.height), interpolation=cv2.INTER_AREA)
        image = scaled.astype(np.uint8, copy=False)

    def look(rows: _Span, columns: _Span) -> Pixels | None:
        part = image[rows.seen_start : rows.seen_end, columns.seen_start : columns.seen_end]
        # Every sixteenth row tells most tiles with text.
        if (part[::16] == part[0, 0]).all() and (part == part[0, 0]).all():
            return None
        part = np.ascontiguousarray(part)
        key = hashlib.blake2b(part.tobytes(), digest_size=16, key=repr(part.shape).encode()).digest()
        return tiles.get_or_make(key, lambda: (engine.text_probability(part) * 255).astype(np.uint8))

    places = [(rows, columns) for rows in _spans(shown.height) for columns in _spans(shown.width)]
    heat = np.zeros((shown.height, shown.width), dtype=np.uint8)
    answers = [workers.submit(look, rows, columns) for rows, columns in places]
    for (rows, columns), answer in zip(places, answers, strict=True):
        found = answer.result()
        if found is not None:
            heat[rows.start : rows.end, columns.start : columns.end] = found[
                rows.start - rows.seen_start : rows.end - rows.seen_start,
                columns.start - columns.seen_start : columns.end - columns.seen_start,
            ]
    return _boxes(heat, pixels.shape[1] / shown.width, pixels.shape[0] / shown.height)


def detector_size(size: Size) -> Size:
    """The size at which the detector sees a screenshot: sides are multiples of 32."""
    scale = 1.0 if size.width * size.height <= _FULL_SCALE_PIXELS else _REDUCED_SCALE
    return Size(
        width=max(_GRID_PX, round(size.width * scale / _GRID_PX) * _GRID_PX),
        height=max(_GRID_PX, round(size.height * scale / _GRID_PX) * _GRID_PX),
    )


def _spans(length_px: int) -> list[_Span]:
    """Cut a side into tiles of about equal size, each on the detector's grid."""
    count = max(1, round(length_px / _TILE_PX))
    cuts = [round(length_px * part / count / _GRID_PX) * _GRID_PX for part in range(count + 1)]
    return [
        _Span(seen_start=max(0, start - _HALO_PX), seen_end=min(length_px, end + _HALO_PX), start=start, end=end)
        for start, end in itertools.pairwise(cuts)
    ]


def _boxes(heat: Pixels, x_scale: float, y_scale: float) -> tuple[Box, ...]:
    """Every connected spot of probable text becomes an upright box, widened from the core to the whole line."""
    import cv2
    import numpy as np

    height, width = heat.shape
    core = (heat > _CORE_PROBABILITY * 255).astype(np.uint8)
    _, _, spots, _ = cv2.connectedComponentsWithStats(core)
    found = []
    for left, top, spot_width, spot_height, _ in spots[1:].tolist():
        if min(spot_width, spot_height) < _LEAST_CORE_PX:
            continue
        if heat[top : top + spot_height, left : left + spot_width].mean() < _MEAN_PROBABILITY * 255:
            continue
        grow = spot_width * spot_height * _UNCLIP / (2 * (spot_width + spot_height))
        found.append(
            Box(
                left_px=max(0.0, left - grow) * x_scale,
                top_px=max(0.0, top - grow) * y_scale,
                right_px=min(float(width), left + spot_width + grow) * x_scale,
                bottom_px=min(float(height), top + spot_height + grow) * y_scale,
            )
        )
    return tuple(found)


# --- crops --------------------------------------------------------------------------------------------------------

_INK_CONTRAST = 32  # How far, of 255 in any channel, a pixel must be from the background to be ink.
_REACH_SHARE = 0.1  # How far beyond the detector's box to look, as a share of its height: a letter must not be cut.
_FLAT_SHARE = 0.35  # A background is flat if this share of the box has one colour.
_MARGIN_SHARE = 0.1
"""Margin around the ink, as a share of its height. More makes letters smaller, and doubled ones are read as one."""
_LEAST_HEIGHT_PX = 12  # A lone dot or dash is not blown up to the height of a letter.
_GAP_SHARE = 1.25
"""A gap wider than this share of the line's height separates two texts: a space between words is a third of it."""
_LEAST_GAP_PX = 10
_FRAME_REACH = 2  # How many heights of the text away an edge still belongs to its button or field.
_EDGE_CONTRAST = 10
_EDGE_SHARE = 0.9
_LONGEST_RATIO = 40.0  # A crop longer than this many heights is squeezed rather than read at any cost.


class Crop(Record, frozen=True, kw_only=True):
    """A piece of the screenshot that holds one text. ``box`` is the ink in pixels of the screenshot; ``left_px`` is
    where the crop's first column lies there.
    """

    pixels: Pixels
    key: bytes
    box: Box
    left_px: float


def cut(pixels: Pixels, box: Box) -> tuple[Crop, ...]:
    """Cut the texts out of a detected box: none where there is no ink, several where wide gaps part the line."""
    import numpy as np

    reach = max(2, round(_REACH_SHARE * (box.bottom_px - box.top_px)))
    left, top = max(0, math.floor(box.left_px) - reach), max(0, math.floor(box.top_px) - reach)
    region = pixels[top : math.ceil(box.bottom_px) + reach, left : math.ceil(box.right_px) + reach]
    if region.size == 0:
        return ()
    background = _flat_background(region)
    if background is None:
        return (_crop(np.ascontiguousarray(region), region, left, top, margin_px=0),)
    ink = _whole_marks(np.abs(region.astype(np.int16) - background.astype(np.int16)).max(axis=2) > _INK_CONTRAST)
    rows = np.flatnonzero(ink.any(axis=1))
    if rows.size == 0:
        return ()
    height = int(rows[-1] - rows[0]) + 1
    crops = []
    for start, end in _runs(np.any(ink, axis=0), max(_LEAST_GAP_PX, round(height * _GAP_SHARE))):
        rows = np.flatnonzero(ink[:, start:end].any(axis=1))
        tight = region[rows[0] : rows[-1] + 1, start:end]
        margin = round(tight.shape[0] * _MARGIN_SHARE) + 1
        upright = max(margin, math.ceil((_LEAST_HEIGHT_PX - tight.shape[0]) / 2))
        framed = np.empty((tight.shape[0] + 2 * upright, tight.shape[1] + 2 * margin, 3), dtype=np.uint8)
        framed[:] = background
        framed[upright : upright + tight.shape[0], margin : margin + tight.shape[1]] = tight
        crops.append(_crop(framed, tight, left + start, top + int(rows[0]), margin_px=margin))
    return tuple(crops)


def is_framed(pixels: Pixels, box: Box) -> bool:
    """Whether an edge runs above and below a text, over its whole width and at about the same distance."""
    import numpy as np

    left, right = int(box.left_px), int(box.right_px)
    top, bottom = int(box.top_px), int(box.bottom_px)
    reach = max(8, _FRAME_REACH * (bottom - top))
    around = pixels[max(0, top - 2) : max(0, top - 2) + 1, left:right]
    if around.size == 0:
        return False
    background = np.median(around.reshape(-1, 3), axis=0)

    def edge_px(rows: Pixels) -> int | None:
        other = np.abs(rows.astype(np.int16) - background).max(axis=2) > _EDGE_CONTRAST
        places = np.flatnonzero(other.mean(axis=1) >= _EDGE_SHARE)
        return int(places[0]) if places.size else None

    above = edge_px(pixels[max(0, top - reach) : max(0, top - 2), left:right][::-1])
    below = edge_px(pixels[bottom + 2 : bottom + 2 + reach, left:right])
    return above is not None and below is not None and abs(above - below) <= 3 + 0.5 * max(above, below)


def at_recogniser_height(pixels: Pixels) -> Pixels:
    """Scale a crop to the height that the recogniser reads."""
    import cv2
    import numpy as np

    height, width = pixels.shape[:2]
    ratio = min(width / height, _LONGEST_RATIO)
    scaled = cv2.resize(pixels, (max(8, math.ceil(RECOGNISER_HEIGHT_PX * ratio)), RECOGNISER_HEIGHT_PX))
    return scaled.astype(np.uint8, copy=False)


def _crop(framed: Pixels, tight: Pixels, left_px: int, top_px: int, margin_px: int) -> Crop:
    key = hashlib.blake2b(framed.tobytes(), digest_size=16, key=repr(framed.shape).encode()).digest()
    box = Box(
        left_px=float(left_px),
        top_px=float(top_px),
        right_px=float(left_px + tight.shape[1]),
        bottom_px=float(top_px + tight.shape[0]),
    )
    return Crop(pixels=framed, key=key, box=box, left_px=float(left_px - margin_px))


def _flat_background(region: Pixels) -> Pixels | None:
    """The most frequent colour, if there is enough of it to be a background."""
    import numpy as np

    packed = (
        (region[..., 0].astype(np.uint32) << 16) | (region[..., 1].astype(np.uint32) << 8) | region[..., 2]
    ).ravel()
    colours, counts = np.unique(packed, return_counts=True)
    most = int(counts.argmax())
    if counts[most] < _FLAT_SHARE * packed.size:
        return None
    colour = int(colours[most])
    return np.array([colour >> 16, (colour >> 8) & 255, colour & 255], dtype=np.uint8)


def _whole_marks(ink: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Drop what the edge of the region cuts: the outline of a button, the line above, never a whole letter."""
    import cv2
    import numpy as np

    count, labels = cv2.connectedComponents(ink.astype(np.uint8), connectivity=8)
    whole = np.ones(count, dtype=np.bool_)
    for edge in (labels[0], labels[-1], labels[:, 0], labels[:, -1]):
        whole[edge] = False
    kept: npt.NDArray[np.bool_] = whole[labels] & ink
    return kept if kept.any() else ink


def _runs(columns: npt.NDArray[np.bool_] | np.bool_, gap_px: int) -> list[tuple[int, int]]:
    """Start and end of the stretches of ink that no gap of this many empty columns interrupts."""
    import numpy as np

    places = np.flatnonzero(columns)
    breaks = np.flatnonzero(np.diff(places) > gap_px)
    starts = [int(places[0]), *(int(places[i + 1]) for i in breaks)]
    ends = [*(int(places[i]) + 1 for i in breaks), int(places[-1]) + 1]
    return list(zip(starts, ends, strict=True))

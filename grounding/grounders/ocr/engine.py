"""The two neural networks of RapidOCR's wheel, run directly: pixels in, text probability or text out.

RapidOCR's own pipeline is not used: it pads every crop to 320 pixels, reads equal crops again and again, logs, and may
download. Its wheel carries the models, and onnxruntime runs them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding.grounders.ocr.screen import TextWord
from grounding.records import Record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]
    Probabilities = npt.NDArray[np.float32]

RECOGNISER_HEIGHT_PX = 48
"""The height to which the recogniser was trained to see every line."""

_BLANK = 0
"""The class by which connectionist temporal classification says "nothing new here"."""


_TAIL_PX = 32
"""Empty columns behind every crop: without them the last letters of short texts are misread."""


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
    """The wheel's text detector and text recogniser.

    Raises:
        EngineError: If RapidOCR is missing or carries no such model.
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
        """Load both networks.

        Raises:
            EngineError: If RapidOCR is missing or carries no models.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # One core a call: the cores are kept busy by several calls at a time, which wastes less than splitting one.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # The arena never gives memory back, and crops come in many sizes.
        options.enable_cpu_mem_arena = False
        detector, recogniser = (
            onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            for path in _model_files()
        )
        self._detector: Any = detector
        self._recogniser: Any = recogniser
        characters = recogniser.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._characters = ("", *characters, " ")

    def text_probability(self, pixels: Pixels) -> Probabilities:
        """How likely each pixel lies in the core of a text line.

        Args:
            pixels: An image, height x width x blue-green-red; both sides multiples of 32.

        Returns:
            Probabilities of the same height and width.
        """
        name = self._detector.get_inputs()[0].name
        heat: Probabilities = self._detector.run(None, {name: _normalised(pixels)[None]})[0][0, 0]
        return heat

    def recognise(self, crops: list[Pixels]) -> list[Recognised]:
        """Read crops of one line each.

        Args:
            crops: Images of blue-green-red, all :data:`RECOGNISER_HEIGHT_PX` high and of one :func:`padded_width`.

        Returns:
            One text per crop.
        """
        import numpy as np

        width = padded_width(max(crop.shape[1] for crop in crops))
        batch = np.zeros((len(crops), 3, RECOGNISER_HEIGHT_PX, width), dtype=np.float32)
        for row, crop in enumerate(crops):
            batch[row, :, :, : crop.shape[1]] = _normalised(crop)
        name = self._recogniser.get_inputs()[0].name
        scores: Probabilities = self._recogniser.run(None, {name: batch})[0]
        best = scores.argmax(axis=2)
        sure = scores.max(axis=2)
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

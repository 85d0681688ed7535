"""Regions from SAM's automatic masks, where its weights are given. A picture in, masks' outlines out.

Torch and transformers are imported when the first picture comes, not before.
"""

import hashlib
import importlib
import importlib.util
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from grounding.errors import UserError
from grounding.grounders.marks import Outline, Pixels, Proposed
from grounding.records import Box, Point

VERSION = 1
NEEDED = ("torch", "torchvision", "transformers")

SETTINGS: dict[str, float] = {
    "points_per_crop": 32,
    "points_per_batch": 64,
    "pred_iou_thresh": 0.88,
    "stability_score_thresh": 0.95,
    "crops_nms_thresh": 0.7,
}  # The defaults of segment-anything's SamAutomaticMaskGenerator, which Set-of-Mark leaves as they are.
MIN_AREA_PX = 10
OUTLINE_TOLERANCE_PX = 1.0
Mask = npt.NDArray[np.bool_]


class SamProposer:
    """Masks of a SAM checkpoint in the format of transformers, one picture at a time."""

    def __init__(self, weights: str) -> None:
        self._weights = str(Path(weights).expanduser())
        self._lock = threading.Lock()
        self._generate: Callable[..., dict[str, Any]] | None = None

    @property
    def identity(self) -> str:
        return f"sam {VERSION} {SETTINGS} {_weights_id(self._weights)}"

    def check(self) -> None:
        """Load the weights. Raises UserError: a package is missing, or the weights can't be loaded."""
        missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
        if missing:
            raise UserError(
                f"marks.sam: {', '.join(missing)} not installed; install with: pip install {' '.join(NEEDED)} "
                "(or leave `sam` out of the card: regions are then found by the built-in method)"
            )
        folder = Path(self._weights)
        if not folder.is_dir() and (folder.is_absolute() or self._weights.startswith(".") or folder.exists()):
            raise UserError(f"marks.sam: {self._weights} is no folder; give one with SAM weights, or their hub name")
        with self._lock:
            self._loaded()

    def _loaded(self) -> Callable[..., dict[str, Any]]:
        if self._generate is None:
            torch = importlib.import_module("torch")
            pipeline = importlib.import_module("transformers").pipeline
            device = "cuda" if torch.cuda.is_available() else "cpu"
            try:
                self._generate = pipeline("mask-generation", model=self._weights, device=device)
            except (OSError, ValueError, KeyError) as error:
                first = str(error).strip().split("\n")[0]
                raise UserError(
                    f"marks.sam: {self._weights}: no SAM weights in the format of transformers can be loaded: {first}"
                ) from error
        return self._generate

    def propose(self, image: Pixels) -> tuple[Proposed, ...]:
        with self._lock:
            found = self._loaded()(Image.fromarray(image), **SETTINGS)
        regions = (mask_region(np.asarray(mask, dtype=np.bool_)) for mask in found["masks"])
        return tuple(region for region in regions if region is not None)


def mask_region(mask: Mask) -> Proposed | None:
    """A mask's box and outlines, and the place in it that is farthest from its edge; None for a few pixels."""
    area = int(mask.sum())
    if area < MIN_AREA_PX:
        return None
    # With a rim of zeros the picture's own edge counts as an edge of the mask.
    rimmed = cv2.copyMakeBorder(mask.astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    depth = cv2.distanceTransform(rimmed, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
    rows, columns = np.nonzero(depth == depth.max())
    middle = len(rows) // 2
    contours, _ = cv2.findContours(rimmed, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    left, top, across, down = cv2.boundingRect(rimmed)
    return Proposed(
        box=Box(left_px=left - 1, top_px=top - 1, right_px=left - 1 + across, bottom_px=top - 1 + down),
        point=Point(x_px=float(columns[middle]) + 0.5, y_px=float(rows[middle]) + 0.5),
        area_px=area,
        outlines=tuple(_outline(np.asarray(contour)) for contour in contours),
    )


def _outline(contour: npt.NDArray[Any]) -> Outline:
    simple = cv2.approxPolyDP(contour, OUTLINE_TOLERANCE_PX, closed=True).reshape(-1, 2) - 1
    return tuple((float(x), float(y)) for x, y in simple.tolist())


def _weights_id(weights: str) -> str:
    folder = Path(weights)
    if not folder.is_dir():
        return weights
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.json")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for path in sorted((*folder.glob("*.safetensors"), *folder.glob("*.bin"))):
        with path.open("rb") as file:
            digest.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]

"""Reading a screenshot: a file in, its lines of text out; each distinct picture, tile and crop is looked at once.

Reads run on threads of their own and hand the networks' work to a second pool with one thread per core, so one
screenshot alone keeps all cores busy and many at a time do not wait for each other. Screens read in earlier runs are
kept on disk.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from grounding.cache import Cache
from grounding.cards.places import cache_dir
from grounding.data.images import core_count
from grounding.grounders.ocr.engine import (
    RECOGNISER_HEIGHT_PX,
    Crop,
    Engine,
    Recognised,
    at_recogniser_height,
    cut,
    detector_size,
    engine_identity,
    find_lines,
    is_framed,
    padded_width,
)
from grounding.grounders.ocr.screen import Screen, TextLine, TextWord
from grounding.records import Screenshot, Size

if TYPE_CHECKING:
    from grounding.grounders.ocr.engine import Pixels

Value = TypeVar("Value")


def ocr_cache_dir() -> Path | None:
    """Where readings are kept, in a folder per engine; None where GROUNDING_NO_CACHE is set."""
    base = cache_dir()
    return None if base is None else base / "ocr"


class BoundedCache(Generic[Value]):
    """Keeps the values used last."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._values: OrderedDict[bytes, Value] = OrderedDict()
        self._making: dict[bytes, Lock] = {}

    def get(self, key: bytes) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: bytes, value: Value) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._limit:
                self._values.popitem(last=False)

    def get_or_make(self, key: bytes, make: Callable[[], Value]) -> Value:
        with self._lock:
            lock = self._making.setdefault(key, Lock())
        with lock:
            value = self.get(key)
            if value is None:
                value = make()
                self.put(key, value)
        with self._lock:
            self._making.pop(key, None)
        return value


class DiskCache:
    """Screens by the hash of the image's bytes, one JSON file each, in a folder per engine; None keeps nothing."""

    def __init__(self, folder: Path | None, engine: str = "screens") -> None:
        self._cache, self._engine = Cache(folder, "readings of screens"), engine

    @classmethod
    def for_engine(cls, identity: str) -> DiskCache:
        """The user's cache for one engine; none where the environment variable GROUNDING_NO_CACHE is set."""
        return cls(ocr_cache_dir(), hashlib.sha256(identity.encode()).hexdigest()[:16])

    def get(self, sha256: str) -> Screen | None:
        return self._cache.read(sha256, self._engine, Screen)

    def put(self, sha256: str, screen: Screen) -> None:
        self._cache.write(sha256, self._engine, screen)


Result = TypeVar("Result")

# Goes up whenever the same picture may be read differently: older readings on disk are then left alone.
READER_VERSION = "3"
# Screenshots beyond one a core that are read at once, so that no core waits where one has little to look at.
READ_AHEAD = 2
_SCREENS_KEPT = 512
_TILES_KEPT = 160
_CROPS_KEPT = 20_000
_BATCH_COLUMNS = 1600  # A batch holds about as many pixel columns as keep a core busy without filling memory.
_LEAST_CONFIDENCE = 0.5


class UnreadableImageError(Exception):
    """The screenshot's file is missing or is no image."""


class OcrReader:
    """Reads screenshots and remembers what it read: within the process, and on disk for the next one."""

    def __init__(self, disk: DiskCache | None = None, engine: Engine | None = None) -> None:
        """Load nothing yet: the networks are loaded by the first screenshot that no cache knows.

        Args:
            disk: Where to keep readings; the user's cache folder if None.
            engine: The networks, if they are loaded already.
        """
        self._disk = disk
        self._engine = engine
        self._engine_lock = Lock()
        self._lock = Lock()
        self._reading: dict[str, Future[Screen]] = {}
        self._screens: BoundedCache[Screen] = BoundedCache(_SCREENS_KEPT)
        self._tiles: BoundedCache[Pixels] = BoundedCache(_TILES_KEPT)
        self._texts: BoundedCache[Recognised] = BoundedCache(_CROPS_KEPT)
        self._recognising: dict[bytes, Future[dict[bytes, Recognised]]] = {}
        cores = core_count()
        self._readers = ThreadPoolExecutor(READ_AHEAD + cores, thread_name_prefix="ocr-read")
        self._workers = ThreadPoolExecutor(cores, thread_name_prefix="ocr-core")
        self.crops_seen = 0
        self.crops_recognised = 0

    async def read(self, screenshot: Screenshot) -> Screen:
        """Read a screenshot; callers that ask for the same one at the same time share one reading. Raises
        UnreadableImageError: If the file is missing or is no image. Raises EngineError: If RapidOCR's models are not
        installed.
        """
        key = _key(screenshot)
        with self._lock:
            known = self._screens.get(key.encode())
            if known is not None:
                return known
            pending = self._reading.get(key)
            if pending is None:
                pending = self._readers.submit(self._read, screenshot)
                self._reading[key] = pending
        # Shielded: one caller that gives up must not take the reading away from the others.
        return await asyncio.shield(asyncio.wrap_future(pending))

    async def run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    def close(self) -> None:
        self._readers.shutdown()
        self._workers.shutdown()

    def _read(self, screenshot: Screenshot) -> Screen:
        try:
            if self._disk is None:
                self._disk = DiskCache.for_engine(reader_identity())
            screen = self._disk.get(screenshot.sha256)
            if screen is None:
                screen = self._look(screenshot.path)
                self._disk.put(screenshot.sha256, screen)
            self._screens.put(_key(screenshot).encode(), screen)
            return screen
        finally:
            with self._lock:
                del self._reading[_key(screenshot)]

    def _look(self, path: str) -> Screen:
        pixels = _load(path)
        engine = self.load()
        boxes = find_lines(pixels, engine, self._workers, self._tiles)
        pieces = [crop for box in boxes for crop in cut(pixels, box)]
        texts = self._recognise(pieces, engine)
        lines = (_line(piece, texts[piece.key], is_framed(pixels, piece.box)) for piece in pieces)
        kept = [line for line in lines if line.text and line.confidence >= _LEAST_CONFIDENCE]
        size = Size(width=pixels.shape[1], height=pixels.shape[0])
        return Screen(size=size, model_size=detector_size(size), lines=tuple(sorted(kept, key=_place)))

    def _recognise(self, pieces: list[Crop], engine: Engine) -> dict[bytes, Recognised]:
        """The text of each distinct crop, from memory, from another reading on its way, or from the network."""
        texts: dict[bytes, Recognised] = {}
        unknown: dict[bytes, Pixels] = {}
        elsewhere: dict[bytes, Future[dict[bytes, Recognised]]] = {}
        distinct = {piece.key: piece for piece in pieces}
        with self._lock:
            for key, piece in distinct.items():
                known = self._texts.get(key)
                if known is not None:
                    texts[key] = known
                elif key in self._recognising:
                    elsewhere[key] = self._recognising[key]
                else:
                    unknown[key] = at_recogniser_height(piece.pixels)
            self.crops_seen += len(pieces)
            self.crops_recognised += len(unknown)
            answers = []
            for batch in _batches(unknown):
                answers.append(
                    self._workers.submit(self._recognise_batch, {key: unknown[key] for key in batch}, engine)
                )
                self._recognising.update(dict.fromkeys(batch, answers[-1]))
        for answer in answers:
            texts |= answer.result()
        return texts | {key: answer.result()[key] for key, answer in elsewhere.items()}

    def _recognise_batch(self, batch: dict[bytes, Pixels], engine: Engine) -> dict[bytes, Recognised]:
        found: dict[bytes, Recognised] = {}
        try:
            found = dict(zip(batch, engine.recognise(list(batch.values())), strict=True))
            return found
        finally:
            with self._lock:
                for key, text in found.items():
                    self._texts.put(key, text)
                for key in batch:
                    self._recognising.pop(key, None)

    def load(self) -> Engine:
        with self._engine_lock:
            if self._engine is None:
                self._engine = Engine()
            return self._engine


def reader_identity() -> str:
    return f"ocr reader {READER_VERSION}, {engine_identity()}"


def _key(screenshot: Screenshot) -> str:
    """What tells screenshots apart: their bytes, or their file where nobody hashed it."""
    return screenshot.sha256 or screenshot.path


def _load(path: str) -> Pixels:
    """Height x width x blue-green-red; orientation marks of cameras are ignored, as sizes and clicks ignore them."""
    import cv2
    import numpy as np

    try:
        data = np.frombuffer(Path(path).read_bytes(), dtype=np.uint8)
    except OSError as error:
        raise UnreadableImageError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        pixels = cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION) if data.size else None
    except cv2.error as error:  # larger than OpenCV decodes
        raise UnreadableImageError(f"{path} cannot be decoded: {error.err}") from error
    if pixels is None:
        raise UnreadableImageError(f"{path} is not an image that can be read ({data.size} bytes)")
    return pixels.astype(np.uint8, copy=False)


def _batches(crops_by_key: dict[bytes, Pixels]) -> list[list[bytes]]:
    by_width: dict[int, list[bytes]] = {}
    for key, pixels in crops_by_key.items():
        by_width.setdefault(padded_width(pixels.shape[1]), []).append(key)
    batches: list[list[bytes]] = []
    for width in sorted(by_width, reverse=True):
        keys, at_once = by_width[width], max(1, _BATCH_COLUMNS // width)
        batches += [keys[start : start + at_once] for start in range(0, len(keys), at_once)]
    return batches


def _line(piece: Crop, text: Recognised, framed: bool) -> TextLine:
    scale = piece.pixels.shape[0] / RECOGNISER_HEIGHT_PX
    words = tuple(
        TextWord(
            text=word.text,
            left_px=round(max(piece.box.left_px, piece.left_px + word.left_px * scale), 1),
            right_px=round(min(piece.box.right_px, piece.left_px + word.right_px * scale), 1),
        )
        for word in text.words
    )
    return TextLine(text=text.text, box=piece.box, confidence=text.confidence, words=words, framed=framed)


def _place(line: TextLine) -> tuple[float, float]:
    return line.box.top_px, line.box.left_px

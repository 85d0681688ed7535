"""Screenshots, decoded upright and ahead of time, so that the next one is there when it is asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from annotate.view_transform import ViewTransform
from grounding.errors import UserError
from grounding.records import Size

if TYPE_CHECKING:
    from PIL import Image

_KEPT = 6
"""Decoded pictures that stay in memory: one of 2560x1440 takes 11 MB."""
_LARGEST_SMALL_PIXELS = 8_000_000


class Prepared(NamedTuple):
    """A decoded picture, and the same made small as it will probably be looked at; None where it is not made smaller.

    ``scale`` is view pixels per image pixel of the small one.
    """

    picture: Image.Image
    small: Image.Image | None
    scale: float


class PictureStore:
    """A few decoded pictures, and a thread that decodes more.

    Attributes:
        scale_for: The scale at which a picture of this size will be shown, as far as is known. Called in the thread.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="decode")
        self._pictures: OrderedDict[Path, Future[Prepared]] = OrderedDict()
        self.scale_for: Callable[[Size], float] = lambda _size: 1.0

    def ask(self, path: Path) -> Future[Prepared]:
        """Have a picture decoded, unless it is there or on its way; its result is upright and RGB.

        The future ends with a UserError where the file can't be read as a picture.
        """
        found = self._pictures.get(path)
        if found is None or (found.done() and (found.cancelled() or found.exception() is not None)):
            found = self._pictures[path] = self._pool.submit(self._prepare, path)
        self._pictures.move_to_end(path)
        while len(self._pictures) > _KEPT:
            self._pictures.popitem(last=False)[1].cancel()
        return found

    def expect(self, paths: Iterable[Path]) -> None:
        """Decode these in the background; forget waiting requests for others."""
        paths = list(paths)
        for path, future in list(self._pictures.items()):
            if path not in paths and not future.done() and future.cancel():
                del self._pictures[path]
        for path in paths:
            self.ask(path)

    def _prepare(self, path: Path) -> Prepared:
        picture = decode(path)
        scale = self.scale_for(Size(width=picture.width, height=picture.height))
        return Prepared(picture, made_small(picture, scale), scale)

    def close(self) -> None:
        """Stop decoding."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def decode(path: Path) -> Image.Image:
    """Read a picture to its last pixel, turn it upright as its EXIF data say, and make it RGB.

    Raises:
        UserError: It can't be read as a picture.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            image.load()
            return _opaque(ImageOps.exif_transpose(image))
    except UnidentifiedImageError as error:
        raise UserError(f"{path} is not a picture that can be read") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"{path} can't be read: {error}") from error


def made_small(picture: Image.Image, scale: float) -> Image.Image | None:
    """A whole picture at a scale below 1, its corner on a whole view pixel; None where it is not worth the memory."""
    from PIL.Image import Resampling

    size = Size(width=picture.width, height=picture.height)
    part = ViewTransform(scale=scale).visible(size, size)
    if scale >= 1 or part is None or part.width_view * part.height_view > _LARGEST_SMALL_PIXELS:
        return None
    box = part.source
    source = (box.left_px, box.top_px, box.right_px, box.bottom_px)
    return picture.resize((part.width_view, part.height_view), Resampling.HAMMING, box=source)


def _opaque(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode == "RGB":
        return image
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        # A plain conversion would clip 16 bits to white.
        return image.point(lambda value: value / 257).convert("L").convert("RGB")
    if "A" in image.getbands() or "transparency" in image.info:
        layered = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layered.size, (255, 255, 255, 255)), layered).convert("RGB")
    return image.convert("RGB")

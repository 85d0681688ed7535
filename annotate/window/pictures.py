"""Screenshots, decoded upright and ahead of time, and drawn: only what can be seen of one is ever scaled."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grounding.records import Size

from ..core.folders import decode
from ..core.view import ViewTransform, VisiblePart

if TYPE_CHECKING:
    from PIL import Image, ImageTk

_PIXELS_FROM = 2.0  # From this scale on single pixels are shown as squares.


class PreparedPicture(NamedTuple):
    """A decoded picture, and all of it made small for ``scale``, as it will probably be looked at."""

    picture: Image.Image
    small: Image.Image | None
    scale: float


class PictureStore:
    """A few decoded pictures, and a thread that decodes more, which asks ``scale_for`` how large one will be shown."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="decode")
        self._pictures: dict[Path, Future[PreparedPicture]] = {}
        self.scale_for: Callable[[Size], float] = lambda _size: 1.0

    def ask(self, path: Path) -> Future[PreparedPicture]:
        """Have a picture decoded, upright and RGB, unless it is there; the future may end with a UserError."""
        found = self._pictures.get(path)
        if found is None or (found.done() and (found.cancelled() or found.exception() is not None)):
            found = self._pictures[path] = self._pool.submit(self._prepare, path)
        return found

    def expect(self, paths: Iterable[Path]) -> None:
        """Decode these in the background; forget all others: one of 2560x1440 takes 11 MB."""
        paths = list(paths)
        for path in set(self._pictures).difference(paths):
            self._pictures.pop(path).cancel()
        for path in paths:
            self.ask(path)

    def _prepare(self, path: Path) -> PreparedPicture:
        picture = decode(path)
        return _prepared(picture, self.scale_for(Size(width=picture.width, height=picture.height)))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _prepared(picture: Image.Image, scale: float) -> PreparedPicture:
    from PIL.Image import Resampling

    size = Size(width=picture.width, height=picture.height)
    part = ViewTransform(scale=scale).visible(size, size)
    return PreparedPicture(
        picture, None if scale >= 1 or part is None else _cut(picture, part, Resampling.HAMMING), scale
    )


def _cut(picture: Image.Image, part: VisiblePart, resampling: Image.Resampling) -> Image.Image:
    box = part.source
    edges = (box.left_px, box.top_px, box.right_px, box.bottom_px)
    return picture.resize((part.width_view, part.height_view), resampling, box=edges)


class PictureLayer:
    """One image item at the bottom of a canvas; below 100 % all of the picture is made small once for a scale."""

    def __init__(self, canvas: tk.Canvas) -> None:
        self._canvas = canvas
        self._item = canvas.create_image(0, 0, anchor="nw")
        self._photo: ImageTk.PhotoImage | None = None
        self._shown: PreparedPicture | None = None

    def show(self, prepared: PreparedPicture | None) -> None:
        self._shown = prepared

    def render(self, transform: ViewTransform, view: Size) -> None:
        from PIL import ImageTk
        from PIL.Image import Resampling

        shown, part, scale = self._shown, None, transform.scale
        if shown is not None:
            part = transform.visible(Size(width=shown.picture.width, height=shown.picture.height), view)
        if shown is None or part is None:
            self._canvas.itemconfigure(self._item, image="")
            self._photo = None
            return
        if scale < 1 and shown.scale != scale:
            shown = self._shown = _prepared(shown.picture, scale)
        if scale < 1 and shown.small is not None:
            left, top = part.left_view - transform.left_view, part.top_view - transform.top_view
            image = shown.small.crop((left, top, left + part.width_view, top + part.height_view))
        else:
            image = _cut(shown.picture, part, Resampling.BICUBIC if 1 < scale < _PIXELS_FROM else Resampling.NEAREST)
        if self._photo is not None and (self._photo.width(), self._photo.height()) == image.size:
            self._photo.paste(image)
        else:
            self._photo = ImageTk.PhotoImage(image, master=self._canvas)
            self._canvas.itemconfigure(self._item, image=self._photo)
        self._canvas.coords(self._item, part.left_view, part.top_view)

    def moved(self, dx_view: int, dy_view: int) -> None:
        """The view was pushed: what is drawn goes along until ``render`` fills the border."""
        self._canvas.move(self._item, dx_view, dy_view)

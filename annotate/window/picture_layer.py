"""The picture on the canvas: only what can be seen of it is ever scaled."""

from __future__ import annotations

import tkinter as tk
from typing import TYPE_CHECKING, Literal

from annotate.view_transform import ViewTransform, VisiblePart
from annotate.window.pictures import Prepared, made_small
from grounding.records import Size

if TYPE_CHECKING:
    from PIL import Image, ImageTk

_REFINE_AFTER_MS = 120
_PIXELS_FROM = 2.0
"""From this scale on single pixels are shown as squares."""

Quality = Literal["rough", "quick", "fine"]


class PictureLayer:
    """One image item at the bottom of a canvas.

    A quick rendering comes first; when the view rests for a moment, a better one replaces it. Below 100 % that one is
    of the whole picture, so that pushing it about only cuts another piece out.

    Args:
        canvas: Where the picture is shown.
    """

    def __init__(self, canvas: tk.Canvas) -> None:
        self._canvas = canvas
        self._item = canvas.create_image(0, 0, anchor="nw")
        self._picture: Image.Image | None = None
        self._photo: ImageTk.PhotoImage | None = None
        self._small: Image.Image | None = None
        self._small_scale = 0.0
        self._timer: str | None = None
        self._last: tuple[ViewTransform, Size] | None = None

    def show(self, prepared: Prepared | None) -> None:
        """Take another picture; ``render`` draws it."""
        self._picture = None if prepared is None else prepared.picture
        self._small, self._small_scale = (None, 0.0) if prepared is None else (prepared.small, prepared.scale)

    def render(self, transform: ViewTransform, view: Size, *, rough: bool = False) -> None:
        """Draw what can be seen of the picture; ``rough`` while the view changes from one moment to the next."""
        self._last = (transform, view)
        if self._timer is not None:
            self._canvas.after_cancel(self._timer)
            self._timer = None
        self._draw(transform, view, "rough" if rough else "quick")
        exact = transform.scale >= _PIXELS_FROM or transform.scale == 1
        ready = self._small is not None and self._small_scale == transform.scale
        if self._picture is not None and not exact and not ready:
            self._timer = self._canvas.after(_REFINE_AFTER_MS, self._refine)

    def moved(self, dx_view: int, dy_view: int) -> None:
        """The view was pushed: what is drawn goes along until ``render`` fills the border."""
        self._canvas.move(self._item, dx_view, dy_view)

    def _refine(self) -> None:
        self._timer = None
        if self._picture is None or self._last is None:
            return
        transform, view = self._last
        small = made_small(self._picture, transform.scale)
        if small is not None:
            self._small, self._small_scale = small, transform.scale
        self._draw(transform, view, "fine")

    def _draw(self, transform: ViewTransform, view: Size, quality: Quality) -> None:
        part = None
        if self._picture is not None:
            part = transform.visible(Size(width=self._picture.width, height=self._picture.height), view)
        if part is None or self._picture is None:
            self._canvas.itemconfigure(self._item, image="")
            self._photo = None
            return
        if self._small is not None and self._small_scale == transform.scale:
            left, top = part.left_view - transform.left_view, part.top_view - transform.top_view
            image = self._small.crop((left, top, left + part.width_view, top + part.height_view))
        else:
            image = _cut(self._picture, part, transform.scale, quality)
        self._put(image, part)

    def _put(self, image: Image.Image, part: VisiblePart) -> None:
        from PIL import ImageTk

        if self._photo is not None and (self._photo.width(), self._photo.height()) == image.size:
            self._photo.paste(image)
        else:
            self._photo = ImageTk.PhotoImage(image, master=self._canvas)
            self._canvas.itemconfigure(self._item, image=self._photo)
        self._canvas.coords(self._item, part.left_view, part.top_view)


def _cut(picture: Image.Image, part: VisiblePart, scale: float, quality: Quality) -> Image.Image:
    from PIL.Image import Resampling

    box = part.source
    source = (box.left_px, box.top_px, box.right_px, box.bottom_px)
    size = (part.width_view, part.height_view)
    if scale == 1 and all(edge == int(edge) for edge in source):
        return picture.crop((int(source[0]), int(source[1]), int(source[2]), int(source[3])))
    if scale >= _PIXELS_FROM or quality == "rough":
        return picture.resize(size, Resampling.NEAREST, box=source)
    if scale > 1:
        return picture.resize(size, Resampling.BILINEAR if quality == "quick" else Resampling.BICUBIC, box=source)
    return picture.resize(size, Resampling.BOX if quality == "quick" else Resampling.HAMMING, box=source)

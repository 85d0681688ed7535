"""The canvas: the picture, the boxes over it, and how both are looked at. What the mouse does is in ``mouse``."""

import tkinter as tk
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress

from grounding.errors import UserError
from grounding.records import Point, Size

from ..core.records import MarkedBox
from ..core.view import MAX_SCALE, ViewPoint, ViewTransform, next_scale
from .pictures import PictureLayer, PreparedPicture
from .session import WindowSession
from .shapes import BoxLayer, OverlayShape
from .style import CANVAS, CANVAS_WORDS, Style

_WAIT_S = 0.25
"""How long the window waits for a picture before it goes on without; keys pressed meanwhile are not lost."""
_LOOK_AGAIN_MS = 15
_MARGIN_VIEW = 12


class PictureCanvas(tk.Canvas):
    """The picture of the shown step with its boxes.

    ``preview`` is a box in the hand, not yet in the document, ``preview_number`` the box that it replaces. ``on_view``
    is called when the view, the cursor or a box in the hand is another.
    """

    def __init__(self, parent: tk.Misc, session: WindowSession, style: Style) -> None:
        super().__init__(
            parent, background=CANVAS, highlightthickness=0, borderwidth=0, cursor="tcross", takefocus=True,
            width=400, height=300,
        )  # fmt: skip
        self.session, self.style = session, style
        self.transform = ViewTransform()
        self.preview: MarkedBox | None = None
        self.preview_number: int | None = None
        self.on_view: Callable[[], object] = lambda: None
        self._fitting = True
        self._pointer: ViewPoint | None = None
        self._waiting = self._idle = ""
        self._picture_layer = PictureLayer(self)
        self._words = self.create_text(0, 0, fill=CANVAS_WORDS, font=style.font, justify="center", width=0)
        self._overlays: dict[str, tuple[Sequence[OverlayShape], Callable[[int], object] | None]] = {}
        self._boxes = BoxLayer(self, style.unit)
        self.bind("<Configure>", self._resized)
        session.watch(step=self._show_step, change=self._changed, selection=lambda _box: self._draw_boxes())

    @property
    def view(self) -> Size:
        return Size(width=max(self.winfo_width(), 1), height=max(self.winfo_height(), 1))

    def boxes(self) -> Sequence[MarkedBox]:
        boxes = list(self.session.entry.boxes)
        if self.preview is not None:
            at = len(boxes) if self.preview_number is None else self.preview_number
            boxes[at : at + 1] = [self.preview]
        return boxes

    def shown_selection(self) -> int | None:
        is_new = self.preview is not None and self.preview_number is None
        return len(self.session.entry.boxes) if is_new else self.session.selected

    def set_preview(self, box: MarkedBox | None, number: int | None) -> None:
        """Show a box in the hand, in place of the step's box ``number`` or as a new one; None to show none."""
        same = (self.preview is None) == (box is None) and self.preview_number == number
        self.preview, self.preview_number = box, number
        if same and box is not None:
            self._boxes.place(len(self.session.entry.boxes) if number is None else number, box, self.transform)
            self.on_view()
        else:
            self._draw_boxes()

    def _draw_boxes(self) -> None:
        boxes = self.boxes() if self.session.picture is not None else ()
        self._boxes.show(boxes, self.transform, self.shown_selection())
        self.on_view()

    def _show_step(self, index: int) -> None:
        self.preview = None
        if self._waiting:
            self.after_cancel(self._waiting)
            self._waiting = ""
        view, document = self.view, self.session.document
        self.session.pictures.scale_for = lambda size: _fitted(size, view).scale
        try:
            self._await_picture(self.session.pictures.ask(document.image_path(index)), _WAIT_S)
        except UserError as error:
            self._no_picture(str(error))
        paths = []
        for near in (index, index + 1, max(index - 1, 0), index + 2):
            with suppress(UserError, IndexError):  # It is said when that step is shown.
                paths.append(document.image_path(near))
        self.session.pictures.expect(paths)

    def _await_picture(self, future: Future[PreparedPicture], wait_s: float) -> None:
        self._waiting = ""
        try:
            prepared = future.result(timeout=wait_s)
        except TimeoutError:
            if wait_s:
                self._no_picture("")
            self._waiting = self.after(_LOOK_AGAIN_MS, self._await_picture, future, 0.0)
        except UserError as error:
            self._no_picture(str(error))
        else:
            self.session.picture = prepared.picture
            self._picture_layer.show(prepared)
            self.itemconfigure(self._words, text="")
            self.fit()

    def _no_picture(self, why: str) -> None:
        self.session.picture = None
        self._picture_layer.show(None)
        self.itemconfigure(self._words, text=why)
        self.render()

    def _changed(self, index: int) -> None:
        if index == self.session.index:
            self.preview = None
            self._draw_boxes()

    def set_transform(self, transform: ViewTransform, *, fitting: bool = False) -> None:
        self.transform, self._fitting = transform, fitting
        self.render()

    def render(self) -> None:
        view = self.view
        self._picture_layer.render(self.transform, view)
        self.coords(self._words, view.width / 2, view.height / 2)
        self.itemconfigure(self._words, width=view.width * 4 // 5)
        for name in self._overlays:
            self._draw_overlay(name)
        self._draw_boxes()

    def fit(self) -> None:
        """The whole picture, not enlarged, except by whole factors where it is much smaller than the canvas."""
        size = self.session.picture_size
        if size is not None:
            self.set_transform(_fitted(size, self.view), fitting=True)

    def zoom_to(self, scale: float) -> None:
        size, view = self.session.picture_size, self.view
        if size is not None:
            at = self._pointer or ViewPoint(view.width / 2, view.height / 2)
            self.set_transform(self.transform.zoomed_at(at, scale).pushed(0, 0, size, view))

    def zoom_step(self, direction: int) -> None:
        self.zoom_to(next_scale(self.transform.scale, direction))

    def bring_into_sight(self, box: MarkedBox) -> None:
        """Centre on a box, unless all of it is seen already."""
        left, top, right, bottom = self.transform.corners(box.box)
        if not (left >= 0 and top >= 0 and right <= self.view.width and bottom <= self.view.height):
            self.set_transform(self.transform.centred(box.centre, self.view))

    def pan(self, dx_view: int, dy_view: int) -> None:
        """Push the picture; what is drawn goes along at once, the border is filled when there is time."""
        size, before = self.session.picture_size, self.transform
        if size is None:
            return
        self.transform, self._fitting = before.pushed(dx_view, dy_view, size, self.view), False
        dx, dy = self.transform.left_view - before.left_view, self.transform.top_view - before.top_view
        if dx or dy:
            self._picture_layer.moved(dx, dy)
            self.move("box", dx, dy)
            self.move("overlay", dx, dy)
            self._idle = self._idle or self.after_idle(self._fill_border)

    def _fill_border(self) -> None:
        self._idle = ""
        self._picture_layer.render(self.transform, self.view)
        self.on_view()

    def _resized(self, _event: object) -> None:
        if self._fitting and self.session.picture is not None:
            self.fit()
        else:
            self.render()

    def cursor(self) -> Point | None:
        size = self.session.picture_size
        if self._pointer is None or size is None:
            return None
        point = self.transform.to_image(*self._pointer)
        return point if 0 <= point.x_px <= size.width and 0 <= point.y_px <= size.height else None

    def pointer_moved(self, at: ViewPoint | None) -> None:
        """The mouse is over the canvas, there; None where it is elsewhere."""
        self._pointer = at
        self.on_view()

    def show_overlay(
        self, name: str, shapes: Sequence[OverlayShape], on_pick: Callable[[int], object] | None = None
    ) -> None:
        """Show shapes in place of those that ``name`` showed; ``on_pick`` gets the number of one double-clicked."""
        self._overlays[name] = (tuple(shapes), on_pick)
        self._draw_overlay(name)
        self._draw_boxes()

    def _draw_overlay(self, name: str) -> None:
        tags = ("overlay", f"overlay:{name}")
        self.delete(tags[1])
        for shape in self._overlays[name][0]:
            shape.draw(self, self.transform, self.style.unit, tags)

    def pick_overlay(self, point: Point) -> bool:
        """A double click there: tell the owner of the smallest shape; False where there is none."""
        reach_px = 4 * self.style.unit / self.transform.scale
        found: list[tuple[float, int, Callable[[int], object]]] = []
        for shapes, on_pick in self._overlays.values():
            for number, shape in enumerate(shapes if on_pick is not None else ()):
                area = shape.area_under(point, reach_px)
                if area is not None and on_pick is not None:
                    found.append((area, number, on_pick))
        if found:
            _, number, picked = min(found, key=lambda one: one[0])
            picked(number)
        return bool(found)


def _fitted(size: Size, view: Size) -> ViewTransform:
    largest = ViewTransform.fit(size, view, margin_view=_MARGIN_VIEW).scale
    largest = 1.0 if largest < 2 else float(int(min(largest, MAX_SCALE)))
    return ViewTransform.fit(size, view, margin_view=_MARGIN_VIEW, largest=largest)

"""The canvas: the picture, the boxes over it, and how both are looked at. What the mouse does is in ``mouse``."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from annotate.boxes import edges_of
from annotate.records import MarkedBox
from annotate.view_transform import MAX_SCALE, ViewPoint, ViewTransform, next_scale
from annotate.window.box_layer import BoxLayer
from annotate.window.magnifier import Magnifier
from annotate.window.overlay_layer import OverlayLayer
from annotate.window.panels import OverlayShape
from annotate.window.picture_layer import PictureLayer
from annotate.window.pictures import Prepared
from annotate.window.session import Session
from annotate.window.style import Style
from grounding.errors import UserError
from grounding.records import Point, Size

_WAIT_S = 0.25
"""How long the window waits for a picture before it goes on without; keys pressed meanwhile are not lost."""
_LOOK_AGAIN_MS = 15
_MARGIN_VIEW = 12
_DASHES = (4, 4)
_BOX_FILLS = 0.35
"""Zooming to a box makes it about this part of the canvas."""


class PictureCanvas(tk.Canvas):
    """The picture of the shown step with its boxes.

    Attributes:
        transform: How the picture lies on the canvas.
        preview: A box in the hand: shown, not yet in the document; with it the number of the box that it replaces.
    """

    def __init__(self, parent: tk.Misc, session: Session, style: Style) -> None:
        super().__init__(
            parent, background=style.canvas, highlightthickness=0, borderwidth=0, cursor="tcross", takefocus=True,
            width=400, height=300,
        )  # fmt: skip
        self.session, self.style = session, style
        self.transform = ViewTransform()
        self.keep_zoom = session.options.keep_zoom
        self.crosshair, self.boxes_shown = True, True
        self.preview: MarkedBox | None = None
        self.preview_number: int | None = None
        self.on_view: Callable[[], object] = lambda: None
        self._fitting = True
        self._pointer: ViewPoint | None = None
        self._waiting: str | None = None
        self._idle: str | None = None
        self._picture_layer = PictureLayer(self)
        self._words = self.create_text(0, 0, fill=style.canvas_words, font=style.font, justify="center", width=0)
        self._overlays = OverlayLayer(self, style.unit)
        self._boxes = BoxLayer(self, style.unit)
        thick = max(round(style.unit), 1)
        # Dark with light dashes: one pixel thick, and seen on any picture.
        self._across, self._down = (
            [
                self.create_line(0, 0, 0, 0, fill=colour, dash=dash, width=thick, state="hidden")
                for colour, dash in (("#101418", ()), ("#ffffff", _DASHES))
            ]
            for _ in range(2)
        )
        self.magnifier = Magnifier(self, style)
        self.bind("<Configure>", self._resized)
        session.watch(on_step=self._show_step, on_change=self._changed, on_selection=self._selected)

    # --- what is shown --------------------------------------------------------------------------------------------

    @property
    def view(self) -> Size:
        """The canvas' own size in view pixels."""
        return Size(width=max(self.winfo_width(), 1), height=max(self.winfo_height(), 1))

    def boxes(self) -> Sequence[MarkedBox]:
        """The boxes as they are to be drawn: the step's, with the one in the hand."""
        boxes = list(self.session.entry.boxes)
        if self.preview is not None:
            if self.preview_number is None:
                boxes.append(self.preview)
            else:
                boxes[self.preview_number] = self.preview
        return boxes

    def shown_selection(self) -> int | None:
        """Which of ``boxes()`` has the handles."""
        if self.preview is not None and self.preview_number is None:
            return len(self.session.entry.boxes)
        return self.session.selected

    def set_preview(self, box: MarkedBox | None, number: int | None) -> None:
        """Show a box in the hand, in place of the step's box ``number`` or as a new one; None to show none."""
        same = (self.preview is None) == (box is None) and self.preview_number == number
        self.preview, self.preview_number = box, number
        if same and box is not None:
            at = len(self.session.entry.boxes) if number is None else number
            self._boxes.place(at, box, self.transform)
        else:
            self._boxes.show(self.boxes(), self.transform, self.shown_selection())
        self.on_view()

    def redraw_boxes(self) -> None:
        """Draw the boxes anew."""
        self._boxes.set_visible(self.boxes_shown)
        self._boxes.show(self.boxes(), self.transform, self.shown_selection())
        self.magnifier.refresh()

    def _show_step(self, _index: int) -> None:
        self.preview = None
        if self._waiting is not None:
            self.after_cancel(self._waiting)
            self._waiting = None
        view, scale = self.view, self.transform.scale
        kept = self.keep_zoom and not self._fitting
        self.session.pictures.scale_for = lambda size: scale if kept else _fitted(size, view).scale
        document, index = self.session.document, self.session.index
        try:
            path = document.image_path(index)
        except UserError as error:
            self._no_picture(str(error))
        else:
            future = self.session.pictures.ask(path)
            self._await_picture(future, _WAIT_S)
        self._decode_neighbours(index)

    def _await_picture(self, future: Future[Prepared], wait_s: float) -> None:
        self._waiting = None
        try:
            prepared = future.result(timeout=wait_s)
        except TimeoutError:
            if self.session.picture() is None:
                self._no_picture("")
            self._waiting = self.after(_LOOK_AGAIN_MS, self._await_picture, future, 0.0)
            return
        except UserError as error:
            self._no_picture(str(error))
            return
        self._show_picture(prepared)

    def _no_picture(self, why: str) -> None:
        self.session.set_picture(None)
        self._picture_layer.show(None)
        self.itemconfigure(self._words, text=why)
        self.render()

    def _show_picture(self, prepared: Prepared) -> None:
        picture = prepared.picture
        self.session.set_picture(picture)
        self._picture_layer.show(prepared)
        self.itemconfigure(self._words, text="")
        size = Size(width=picture.width, height=picture.height)
        if self._fitting or not self.keep_zoom:
            self.fit()
        else:
            self.set_transform(self.transform.kept_in_sight(size, self.view), fitting=False)

    def _decode_neighbours(self, index: int) -> None:
        document = self.session.document
        paths = []
        for near in (index, index + 1, index - 1, index + 2):
            if 0 <= near < len(document.entries):
                try:
                    paths.append(document.image_path(near))
                except UserError:
                    continue  # It is said when that step is shown.
        self.session.pictures.expect(paths)

    def _changed(self, index: int) -> None:
        if index == self.session.index:
            self.preview = None
            self.redraw_boxes()
            self.on_view()

    def _selected(self, _box: int | None) -> None:
        self._boxes.select(self.boxes(), self.transform, self.shown_selection())
        self.on_view()

    # --- how it is looked at --------------------------------------------------------------------------------------

    def set_transform(self, transform: ViewTransform, *, fitting: bool = False, rough: bool = False) -> None:
        """Look at the picture in another way; ``rough`` where another change probably follows at once."""
        self.transform, self._fitting = transform, fitting
        self.render(rough=rough)

    def render(self, *, rough: bool = False) -> None:
        """Draw everything for the present view."""
        view = self.view
        self._picture_layer.render(self.transform, view, rough=rough)
        self.coords(self._words, view.width / 2, view.height / 2)
        self.itemconfigure(self._words, width=view.width * 4 // 5)
        self._boxes.set_visible(self.boxes_shown)
        self._boxes.show(self.boxes() if self.session.picture() is not None else (), self.transform,
                         self.shown_selection())  # fmt: skip
        self._overlays.render(self.transform)
        self._raise_crosshair()
        self._place_crosshair()
        self.magnifier.refresh()
        self.on_view()

    def fit(self) -> None:
        """The whole picture, not enlarged, except by whole factors where it is much smaller than the canvas."""
        size = self.session.picture_size()
        if size is None:
            return
        largest = ViewTransform.fit(size, self.view, margin_view=_MARGIN_VIEW).scale
        largest = 1.0 if largest < 2 else float(int(min(largest, MAX_SCALE)))
        self.set_transform(ViewTransform.fit(size, self.view, margin_view=_MARGIN_VIEW, largest=largest), fitting=True)

    def zoom_to(self, scale: float) -> None:
        """Another scale, with what is under the cursor staying there."""
        size = self.session.picture_size()
        if size is not None:
            at = self._pointer or ViewPoint(x_view=self.view.width / 2, y_view=self.view.height / 2)
            changed = self.transform.zoomed_at(at.x_view, at.y_view, scale)
            self.set_transform(changed.kept_in_sight(size, self.view), rough=True)

    def zoom_step(self, direction: int) -> None:
        """The next scale up or down, at the cursor."""
        self.zoom_to(next_scale(self.transform.scale, direction))

    def zoom_to_box(self, box: MarkedBox) -> None:
        """Make one box large, in the middle."""
        edges = edges_of(box)
        view = self.view
        scale = min(view.width * _BOX_FILLS / max(box.width_px, 1), view.height * _BOX_FILLS / max(box.height_px, 1))
        middle = Point(x_px=(edges.left_px + edges.right_px) / 2, y_px=(edges.top_px + edges.bottom_px) / 2)
        scale = min(max(scale, 0.05), 8.0)
        self.set_transform(ViewTransform(scale=scale).centred(middle, view))

    def centre_on(self, point: Point) -> None:
        """Bring an image coordinate to the middle of the canvas, unless all of the picture is seen anyway."""
        if not self._fitting:
            self.set_transform(self.transform.centred(point, self.view))

    def bring_into_sight(self, box: MarkedBox) -> None:
        """Centre on a box, unless all of it is seen already."""
        edges, view = edges_of(box), self.view
        start = self.transform.to_view(edges.left_px, edges.top_px)
        end = self.transform.to_view(edges.right_px, edges.bottom_px)
        seen = start.x_view >= 0 and start.y_view >= 0 and end.x_view <= view.width and end.y_view <= view.height
        if not seen:
            self.centre_on(Point(x_px=box.x_px + box.width_px / 2, y_px=box.y_px + box.height_px / 2))

    def pan(self, dx_view: int, dy_view: int) -> None:
        """Push the picture; what is drawn goes along at once, the border is filled when there is time."""
        size = self.session.picture_size()
        if size is None:
            return
        before = self.transform
        self.transform = before.panned(dx_view, dy_view).kept_in_sight(size, self.view)
        self._fitting = False
        dx, dy = self.transform.left_view - before.left_view, self.transform.top_view - before.top_view
        if dx or dy:
            for layer in (self._picture_layer, self._boxes, self._overlays):
                layer.moved(dx, dy)
            if self._idle is None:
                self._idle = self.after_idle(self._fill_border)

    def _fill_border(self) -> None:
        self._idle = None
        self._picture_layer.render(self.transform, self.view, rough=True)
        self.on_view()

    def _resized(self, _event: object) -> None:
        if self._fitting and self.session.picture() is not None:
            self.fit()
        else:
            self.render()

    # --- the pointer ----------------------------------------------------------------------------------------------

    def point_at(self, x_view: float, y_view: float) -> Point:
        """The image coordinate under a place on the canvas."""
        return self.transform.to_image(x_view, y_view)

    def cursor(self) -> Point | None:
        """The image coordinate under the mouse; None where that is outside the picture."""
        size = self.session.picture_size()
        if self._pointer is None or size is None:
            return None
        point = self.point_at(self._pointer.x_view, self._pointer.y_view)
        return point if 0 <= point.x_px <= size.width and 0 <= point.y_px <= size.height else None

    def pointer_moved(self, x_view: int, y_view: int) -> None:
        """The mouse is over the canvas, there."""
        self._pointer = ViewPoint(x_view=x_view, y_view=y_view)
        self._place_crosshair()
        self.magnifier.follow(x_view, y_view)
        self.on_view()

    def pointer_left(self) -> None:
        """The mouse is elsewhere."""
        self._pointer = None
        self._place_crosshair()
        self.magnifier.hide()
        self.on_view()

    def set_crosshair(self, shown: bool) -> None:
        """Show or hide the lines through the cursor."""
        self.crosshair = shown
        self._place_crosshair()

    def _place_crosshair(self) -> None:
        at = self._pointer
        shown = self.crosshair and at is not None and self.session.picture() is not None
        for items in (self._across, self._down):
            for item in items:
                self.itemconfigure(item, state="normal" if shown else "hidden")
        if at is not None and shown:
            view = self.view
            for across, down in zip(self._across, self._down, strict=True):
                self.coords(across, 0, at.y_view, view.width, at.y_view)
                self.coords(down, at.x_view, 0, at.x_view, view.height)

    def _raise_crosshair(self) -> None:
        for item in (*self._across, *self._down):
            self.tag_raise(item)

    # --- overlays -------------------------------------------------------------------------------------------------

    def show_overlay(self, name: str, shapes: Sequence[OverlayShape], on_pick: Callable[[int], object] | None) -> None:
        """See ``Session.show_overlay``."""
        self._overlays.show(name, shapes, on_pick, self.transform)
        self._boxes.show(self.boxes(), self.transform, self.shown_selection())

    def hide_overlay(self, name: str) -> None:
        """See ``Session.hide_overlay``."""
        self._overlays.hide(name)

    def pick_overlay(self, point: Point) -> bool:
        """A double click there; True where a shape of an overlay took it."""
        return self._overlays.pick(point, 4 * self.style.unit / self.transform.scale)


def _fitted(size: Size, view: Size) -> ViewTransform:
    largest = ViewTransform.fit(size, view, margin_view=_MARGIN_VIEW).scale
    largest = 1.0 if largest < 2 else float(int(min(largest, MAX_SCALE)))
    return ViewTransform.fit(size, view, margin_view=_MARGIN_VIEW, largest=largest)

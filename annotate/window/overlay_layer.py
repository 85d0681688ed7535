"""Shapes over the picture that are no part of the annotation: proposals, a model's click, another's boxes."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from tkinter import font as tkfont

from annotate.view_transform import ViewTransform
from annotate.window.panels import OverlayBox, OverlayPoint, OverlayShape
from grounding.records import Point

_RING_VIEW = 9


class OverlayLayer:
    """Named groups of shapes; each group replaces what its name showed before.

    Args:
        canvas: Where the shapes are shown.
        unit: How many view pixels are one at 96 dpi.
    """

    def __init__(self, canvas: tk.Canvas, unit: float) -> None:
        self._canvas = canvas
        self._unit = unit
        self._shapes: dict[str, tuple[Sequence[OverlayShape], Callable[[int], object] | None]] = {}
        self._font = tkfont.nametofont("TkSmallCaptionFont", root=canvas)

    def show(
        self,
        name: str,
        shapes: Sequence[OverlayShape],
        on_pick: Callable[[int], object] | None,
        transform: ViewTransform,
    ) -> None:
        """Show a group."""
        self._shapes[name] = (tuple(shapes), on_pick)
        self._draw(name, transform)

    def hide(self, name: str) -> None:
        """Show nothing under this name."""
        self._shapes.pop(name, None)
        self._canvas.delete(f"overlay:{name}")

    def render(self, transform: ViewTransform) -> None:
        """The view is another."""
        for name in self._shapes:
            self._draw(name, transform)

    def moved(self, dx_view: int, dy_view: int) -> None:
        """The view was pushed."""
        self._canvas.move("overlay", dx_view, dy_view)

    def pick(self, point: Point, reach_px: float) -> bool:
        """Somebody double-clicked there: tell the owner of the smallest shape; False where there is none."""
        found: list[tuple[float, Callable[[int], object], int]] = []
        for shapes, on_pick in self._shapes.values():
            if on_pick is not None:
                for number, shape in enumerate(shapes):
                    area = _area_under(shape, point, reach_px)
                    if area is not None:
                        found.append((area, on_pick, number))
        if not found:
            return False
        _, on_pick, number = min(found, key=lambda one: one[0])
        on_pick(number)
        return True

    def _draw(self, name: str, transform: ViewTransform) -> None:
        tags = ("overlay", f"overlay:{name}")
        self._canvas.delete(tags[1])
        for shape in self._shapes[name][0]:
            if isinstance(shape, OverlayBox):
                self._draw_box(shape, transform, tags)
            else:
                self._draw_point(shape, transform, tags)

    def _draw_box(self, shape: OverlayBox, transform: ViewTransform, tags: tuple[str, ...]) -> None:
        start = transform.to_view(shape.box.left_px, shape.box.top_px)
        end = transform.to_view(shape.box.right_px, shape.box.bottom_px)
        corners = (start.x_view, start.y_view, end.x_view, end.y_view)
        if shape.halo:
            self._canvas.create_rectangle(*corners, outline="#ffffff", width=self._px(3), tags=tags)
        dash = (6, 4) if shape.dashed else ()
        self._canvas.create_rectangle(*corners, outline=shape.colour, width=self._px(1.5), dash=dash, tags=tags)
        self._label(shape.label, shape.colour, start.x_view, start.y_view, tags)

    def _draw_point(self, shape: OverlayPoint, transform: ViewTransform, tags: tuple[str, ...]) -> None:
        at = transform.to_view(shape.point.x_px, shape.point.y_px)
        ring, arm = self._px(_RING_VIEW), self._px(_RING_VIEW + 5)
        for colour, width in (("#ffffff", self._px(4)), (shape.colour, self._px(2))):
            self._canvas.create_oval(
                at.x_view - ring, at.y_view - ring, at.x_view + ring, at.y_view + ring,
                outline=colour, width=width, tags=tags,
            )  # fmt: skip
            self._canvas.create_line(at.x_view - arm, at.y_view, at.x_view + arm, at.y_view, fill=colour,
                                     width=width, tags=tags)  # fmt: skip
            self._canvas.create_line(at.x_view, at.y_view - arm, at.x_view, at.y_view + arm, fill=colour,
                                     width=width, tags=tags)  # fmt: skip
        self._label(shape.label, shape.colour, at.x_view + arm, at.y_view - ring, tags)

    def _label(self, text: str, colour: str, x_view: float, y_view: float, tags: tuple[str, ...]) -> None:
        if not text:
            return
        pad = self._px(3)
        words = self._canvas.create_text(
            x_view + pad, y_view - pad, text=text[:80], anchor="sw", fill="#ffffff", font=self._font, tags=tags
        )
        left, top, right, bottom = self._canvas.bbox(words)
        ground = self._canvas.create_rectangle(
            left - pad, top - 1, right + pad, bottom + 1, fill=colour, outline="", tags=tags
        )
        self._canvas.tag_lower(ground, words)

    def _px(self, at_96_dpi: float) -> int:
        return max(round(at_96_dpi * self._unit), 1)


def _area_under(shape: OverlayShape, point: Point, reach_px: float) -> float | None:
    """The area of a shape that covers a place, in square image pixels; None where it does not."""
    if isinstance(shape, OverlayPoint):
        near = max(abs(shape.point.x_px - point.x_px), abs(shape.point.y_px - point.y_px)) <= 2 * reach_px
        return 0.0 if near else None
    box = shape.box
    across = box.left_px - reach_px <= point.x_px <= box.right_px + reach_px
    down = box.top_px - reach_px <= point.y_px <= box.bottom_px + reach_px
    return (box.right_px - box.left_px) * (box.bottom_px - box.top_px) if across and down else None

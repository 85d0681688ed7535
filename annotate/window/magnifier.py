"""A lens in a corner of the canvas: the pixels around the cursor, enlarged, with the edges of the boxes."""

from __future__ import annotations

import tkinter as tk
from typing import TYPE_CHECKING, Literal

from annotate.boxes import edges_of
from annotate.view_transform import ViewTransform
from annotate.window.box_layer import BOX_COLOUR, SELECTED_COLOUR
from annotate.window.style import Style
from grounding.records import Size

if TYPE_CHECKING:
    from PIL import ImageTk

    from annotate.window.canvas import PictureCanvas

Mode = Literal["while drawing", "always", "off"]
MODES: tuple[Mode, ...] = ("while drawing", "always", "off")
_SCALE = 5.0
_SIDE = 200
_MARGIN = 10


class Magnifier:
    """The lens.

    Args:
        owner: The canvas that it magnifies.
        style: Colours and the size of a pixel.
    """

    def __init__(self, owner: PictureCanvas, style: Style) -> None:
        self._owner = owner
        self.mode: Mode = "while drawing"
        self.drawing = False
        self._side = style.px(_SIDE)
        self._scale = max(round(_SCALE * style.unit), 2)
        self._margin = style.px(_MARGIN)
        self._lens = tk.Canvas(
            owner, width=self._side, height=self._side, highlightthickness=style.px(2), background=style.canvas,
            highlightbackground=style.accent, borderwidth=0, takefocus=False, cursor="tcross",
        )  # fmt: skip
        self._image = self._lens.create_image(0, 0, anchor="nw")
        middle = self._side // 2
        for colour, shift in (("#ffffff", 1), ("#101418", 0)):
            self._lens.create_line(0, middle + shift, self._side, middle + shift, fill=colour, tags=("cross",))
            self._lens.create_line(middle + shift, 0, middle + shift, self._side, fill=colour, tags=("cross",))
        self._photo: ImageTk.PhotoImage | None = None
        self._at: tuple[int, int] | None = None
        self._placed = ""
        for event in ("<Motion>", "<ButtonPress>", "<ButtonRelease>", "<Enter>"):
            self._lens.bind(event, self._pass_on)

    def _pass_on(self, event: tk.Event[tk.Misc]) -> None:
        """A hand that is quick enough gets onto the lens: what it does is meant for the canvas below."""
        owner = self._owner
        x, y = event.x_root - owner.winfo_rootx(), event.y_root - owner.winfo_rooty()
        state = event.state if isinstance(event.state, int) else 0
        if event.type in (tk.EventType.ButtonPress, tk.EventType.ButtonRelease):
            name = "ButtonPress" if event.type == tk.EventType.ButtonPress else "ButtonRelease"
            owner.event_generate(f"<{name}-{event.num}>", x=x, y=y, state=state)
        else:
            owner.event_generate("<Motion>", x=x, y=y, state=state)

    def next_mode(self) -> Mode:
        """While drawing, always, off, and around."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.refresh()
        return self.mode

    def set_drawing(self, drawing: bool) -> None:
        """A box is being drawn or pulled at, or not any more."""
        self.drawing = drawing
        self.refresh()

    def follow(self, x_view: int, y_view: int) -> None:
        """The cursor is there on the canvas."""
        self._at = (x_view, y_view)
        self.refresh()

    def hide(self) -> None:
        """The cursor has left."""
        self._at = None
        self.refresh()

    def refresh(self) -> None:
        """Draw what is under the cursor now, or nothing."""
        picture = self._owner.session.picture()
        wanted = self.mode == "always" or (self.mode == "while drawing" and self.drawing)
        if self._at is None or picture is None or not wanted or self._owner.transform.scale >= self._scale:
            if self._placed:
                self._lens.place_forget()
                self._placed = ""
            return
        self._place()
        point = self._owner.point_at(*self._at)
        half = self._side / 2
        # The lens shows the whole-numbered edge that a box would get here, in its middle.
        transform = ViewTransform(
            scale=self._scale,
            left_view=round(half - round(point.x_px) * self._scale),
            top_view=round(half - round(point.y_px) * self._scale),
        )
        self._draw_picture(transform)
        self._draw_boxes(transform)

    def _draw_picture(self, transform: ViewTransform) -> None:
        from PIL import Image, ImageTk

        picture = self._owner.session.picture()
        if picture is None:
            return
        lens = Size(width=self._side, height=self._side)
        ground = Image.new("RGB", (self._side, self._side), self._lens["background"])
        part = transform.visible(Size(width=picture.width, height=picture.height), lens)
        if part is not None:
            box = part.source
            cut = picture.resize(
                (part.width_view, part.height_view), Image.Resampling.NEAREST,
                box=(box.left_px, box.top_px, box.right_px, box.bottom_px),
            )  # fmt: skip
            ground.paste(cut, (part.left_view, part.top_view))
        if self._photo is None:
            self._photo = ImageTk.PhotoImage(ground, master=self._lens)
            self._lens.itemconfigure(self._image, image=self._photo)
        else:
            self._photo.paste(ground)

    def _draw_boxes(self, transform: ViewTransform) -> None:
        self._lens.delete("box")
        chosen = self._owner.shown_selection()
        for number, box in enumerate(self._owner.boxes() if self._owner.boxes_shown else ()):
            edges = edges_of(box)
            start = transform.to_view(edges.left_px, edges.top_px)
            end = transform.to_view(edges.right_px, edges.bottom_px)
            if end.x_view < 0 or end.y_view < 0 or start.x_view > self._side or start.y_view > self._side:
                continue
            colour = SELECTED_COLOUR if number == chosen else BOX_COLOUR
            # Far corners are cut off: X counts in 16 bits.
            self._lens.create_rectangle(
                max(start.x_view, -9), max(start.y_view, -9), min(end.x_view, self._side + 9),
                min(end.y_view, self._side + 9), outline=colour, width=2, tags=("box",),
            )  # fmt: skip
        self._lens.tag_raise("cross")

    def _place(self) -> None:
        """In the top left corner, or the right one while the cursor is near the left one."""
        view = self._owner.view
        near = self._at is not None and self._at[0] < self._side + 4 * self._margin
        near = near and self._at is not None and self._at[1] < self._side + 4 * self._margin
        corner = "ne" if near else "nw"
        if corner != self._placed:
            if corner == "nw":
                self._lens.place(x=self._margin, y=self._margin, anchor="nw")
            else:
                self._lens.place(x=view.width - self._margin, y=self._margin, anchor="ne")
            self._placed = corner

"""What the window's own actions do to the view: zoom, lines, lens, and what the mouse is about to do."""

from __future__ import annotations

from annotate.window.canvas import PictureCanvas
from annotate.window.mouse import Mouse
from annotate.window.session import Session
from annotate.window.toolbar import Toolbar


class ViewCommands:
    """Keys and buttons that change how the picture is looked at, and nothing in the document."""

    def __init__(self, session: Session, canvas: PictureCanvas, mouse: Mouse, toolbar: Toolbar) -> None:
        self._session, self._canvas, self._mouse, self._toolbar = session, canvas, mouse, toolbar
        bind = session.bind_key
        bind("new-box", self.new_box)
        bind("cancel", self.cancel)
        bind("zoom-in", lambda: canvas.zoom_step(1))
        bind("zoom-out", lambda: canvas.zoom_step(-1))
        bind("zoom-100", lambda: canvas.zoom_to(1.0))
        bind("fit", canvas.fit)
        bind("keep-zoom", self.toggle_keep_zoom)
        bind("toggle-boxes", self.toggle_boxes)
        bind("crosshair", self.toggle_crosshair)
        bind("magnifier", self.next_lens)

    def new_box(self) -> None:
        """The next drag draws a box."""
        self._canvas.focus_set()
        self._mouse.want_drawing(True)

    def cancel(self) -> None:
        """Leave what is in the hand, else the text field, else the selection."""
        if self._mouse.cancel():
            return
        if self._session.root.focus_get() is not self._canvas:
            self._session.finish_edits()
            self._canvas.focus_set()
        else:
            self._session.select(None)

    def hold(self, held: bool) -> bool:
        """The space bar is pressed or let go: the left button pushes the picture; True where it did."""
        pushed = self._mouse.panned_while_held
        self._mouse.pan_held, self._mouse.panned_while_held = held, False
        self._canvas.configure(cursor="fleur" if held else "tcross")
        return pushed

    def toggle_keep_zoom(self) -> None:
        """Keep the zoom when the step changes, or show the whole picture then."""
        self._canvas.keep_zoom = not self._canvas.keep_zoom
        kept = "stays as it is" if self._canvas.keep_zoom else "is reset"
        self._session.status(f"The zoom {kept} when the step changes")
        self._toolbar.show()

    def toggle_boxes(self) -> None:
        """Show the boxes, or the picture alone."""
        self._canvas.boxes_shown = not self._canvas.boxes_shown
        self._canvas.redraw_boxes()
        self._toolbar.show()

    def toggle_crosshair(self) -> None:
        """Show the lines through the cursor, or hide them."""
        self._canvas.set_crosshair(not self._canvas.crosshair)
        self._toolbar.show()

    def next_lens(self) -> None:
        """The lens: while drawing, always, never."""
        self._session.status(f"Lens: {self._canvas.magnifier.next_mode()}")
        self._toolbar.show()

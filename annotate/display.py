"""Whether a window can be opened here, said in one sentence with the package that is missing."""

from __future__ import annotations

import os
import sys

from grounding.errors import UserError

NO_TKINTER = (
    "the window needs tkinter, which this Python does not have: install the package python3-tk (apt install python3-tk "
    "on Debian and Ubuntu, dnf install python3-tkinter on Fedora, brew install python-tk on a Mac)"
)
NO_IMAGETK = (
    "the window needs Pillow's part for tkinter, which is not installed: install the package python3-pil.imagetk, or "
    "Pillow by pip"
)
NO_DISPLAY = (
    "there is no display to open a window on: log in at a desktop or set DISPLAY; without a screen install the package "
    "xvfb and put xvfb-run before the command"
)


def require_display() -> None:
    """Find out whether a window can be opened.

    Raises:
        UserError: tkinter is missing, or there is no display; the message is one sentence.
    """
    try:
        import tkinter
    except ImportError as error:
        raise UserError(NO_TKINTER) from error
    try:
        from PIL import ImageTk  # noqa: F401
    except ImportError as error:
        raise UserError(NO_IMAGETK) from error
    if sys.platform not in ("win32", "darwin") and not os.environ.get("DISPLAY"):
        raise UserError(NO_DISPLAY)
    try:
        # The only way to know: there may be a name of a display and nothing behind it.
        tkinter.Tk().destroy()
    except tkinter.TclError as error:
        raise UserError(f"{NO_DISPLAY} ({error})") from error

"""What is shown, and where: tables on standard output, and whether a window can be opened here."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.console import wide_console
from grounding.errors import UserError, printable

NO_TKINTER = (
    "the window needs tkinter and Pillow's part for it: install the packages python3-tk and python3-pil.imagetk (apt), "
    "python3-tkinter (dnf) or python-tk (brew)"
)
NO_DISPLAY = (
    "there is no display to open a window on: log in at a desktop or set DISPLAY; without a screen install the package "
    "xvfb and put xvfb-run before the command"
)


def require_display() -> None:
    """Find out whether a window can be opened.

    Raises UserError: tkinter is missing, or there is no display; the message is one sentence.
    """
    try:
        import tkinter

        from PIL import ImageTk  # noqa: F401
    except ImportError as error:
        raise UserError(NO_TKINTER) from error
    try:
        # The only way to know: there may be a name of a display and nothing behind it.
        tkinter.Tk().destroy()
    except tkinter.TclError as error:
        raise UserError(f"{NO_DISPLAY} ({error})") from error


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1) -> None:
    """Print a table, its first ``words`` columns to the left, numbers to the right; no cell is taken for markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    wide_console().print(table)

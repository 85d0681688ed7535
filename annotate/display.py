"""What is shown, and where: what the window is opened with, whether it can be here, and tables on standard output."""

from collections.abc import Sequence
from pathlib import Path

from grounding.console import wide_console
from grounding.errors import UserError, printable
from grounding.records import Record

NO_TKINTER = (
    "the window needs tkinter and Pillow's part for it: install the packages python3-tk and python3-pil.imagetk (apt), "
    "python3-tkinter (dnf) or python-tk (brew)"
)
NO_DISPLAY = (
    "there is no display to open a window on: log in at a desktop or set DISPLAY; without a screen install the package "
    "xvfb and put xvfb-run before the command"
)


class WindowOptions(Record, frozen=True, kw_only=True):
    """``run`` is the folder of a run to review. ``keys`` is a file of keys. ``scale`` is by how much everything is
    larger than at 96 dpi; None for what the display says. ``step`` counts from 0.
    """

    folder: Path
    annotator: str = ""
    run: Path | None = None
    keys: Path | None = None
    scale: float | None = None
    step: int | None = None


def require_display() -> None:
    """Raises UserError, in one sentence: tkinter is missing, or there is no display to open a window on."""
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

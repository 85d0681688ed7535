"""Tables on standard output: as wide as the terminal, and wide enough to be read where the output is none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100


def console() -> Console:
    """Where tables are printed."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=WIDTH)


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1) -> None:
    """Print a table, its first ``words`` columns and texts to the left, numbers to the right.

    What stands in a cell is shown as it is, never taken for markup or control characters.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(str(cell))) for cell in row))
    console().print(table)


def plain(text: str) -> str:
    """The text without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def print_json(value: object) -> None:
    """Print a record, or anything else that can be written as JSON."""
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())

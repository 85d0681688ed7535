"""Lines and tables that fit the terminal: none is cut, and none is broken inside a word that would fit."""

import itertools
import re
import shutil
from collections.abc import Iterator
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

_NAME = re.compile(r"(?:[a-z][a-z ]{9} |\S.{0,11}?\s{2,})(?=\S)")
"""What stands before a line's text, so that further lines begin below the text."""
_ENDLESS = 10_000


class Terminal(Console):
    """Prints tables as wide as there is room, and long lines on a terminal broken between words."""

    def print(self, *objects: Any, **how: Any) -> None:
        """As :meth:`rich.console.Console.print`."""
        if how.get("soft_wrap") and self.is_terminal:
            texts = (self.render_str(one, markup=how.get("markup")) if isinstance(one, str) else one for one in objects)
            lines = (line for text in texts for line in text.split(allow_blank=True))
            super().print(*(hanging(line, self.width) for line in lines), **{"sep": "\n"} | how)
            return
        super().print(*(fitted(self, one) if isinstance(one, Table) else one for one in objects), **how)


class Folding:
    """Standard error on a terminal: plain lines that are too long are broken between words."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; what moves the cursor goes through as it is."""
        width = shutil.get_terminal_size().columns
        if len(text) > width and "\x1b" not in text and "\r" not in text:
            text = "\n".join("\n".join(line.rstrip() for line in _lines(each, width)) for each in text.split("\n"))
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def hanging(text: Text, width: int) -> Text:
    """A line in as many as it takes, those after the first further in; a word that is too long for one stays whole."""
    if text.cell_len <= width:
        return text
    name = _NAME.match(text.plain)
    indent = name.end() if name else 0
    pad = " " * (indent or 4)
    rest = text[indent:]
    lines = rest.divide(list(itertools.accumulate(map(len, _lines(rest.plain, width - len(pad))[:-1]))))
    for line in lines:
        line.rstrip()
    return Text.assemble(text[:indent], Text(f"\n{pad}").join(lines))


def _lines(text: str, width: int) -> list[str]:
    parts = [""]
    for word in re.findall(r"\s*\S+\s*", text):
        if parts[-1] and len(parts[-1] + word.rstrip()) > width:
            parts.append("")
        parts[-1] += word
    return parts


def fitted(console: Console, table: Table) -> RenderableType:
    """The table with columns that break no word: without its frame, or as a list, where there is no room for it.
    Numbers stay in one line where there is room.
    """
    if _measured(console, table).maximum <= console.width:
        return table
    for column in table.columns:
        column.min_width = column.max_width = None
        column.no_wrap = False
    frame = table.box, table.padding
    for whole in (True, False):
        for table.box, table.padding, table.pad_edge in ((*frame, True), (SIMPLE_HEAD, (0, 1, 0, 0), False)):
            table.show_edge = table.pad_edge
            found = [_least_most(console, column, whole=whole) for column in table.columns]
            between = _measured(console, table).maximum - sum(most for _, most in found)
            spare = console.width - between - sum(least for least, _ in found)
            if spare >= 0:
                wanted = sum(most - least for least, most in found)
                for column, (least, most) in zip(table.columns, found, strict=True):
                    column.width = least + (spare * (most - least) // wanted if wanted else 0)
                return table
    return Group(*_listed(table))


def _measured(console: Console, what: RenderableType) -> Measurement:
    return Measurement.get(console, console.options.update(max_width=_ENDLESS), what)


def _least_most(console: Console, column: Column, *, whole: bool) -> tuple[int, int]:
    """The narrowest and the widest that a column can be; a ``whole`` number is broken nowhere."""
    cells = [_measured(console, cell) for cell in column.cells]
    head = _measured(console, column.header)
    whole = whole and column.justify == "right"
    least = [head.minimum, *(cell.maximum if whole else cell.minimum for cell in cells)]
    return max(least), max(head.maximum, *(cell.maximum for cell in cells), 0)


def _listed(table: Table) -> Iterator[RenderableType]:
    if table.title:
        yield Text.assemble(table.title if isinstance(table.title, Text) else str(table.title), style="bold")
    first, *others = table.columns
    for name, *cells in zip(*(column.cells for column in (first, *others)), strict=True):
        yield name
        rows = Table.grid(Column(), Column(overflow="fold"), Column(overflow="fold"), padding=(0, 2))
        for column, cell in zip(others, cells, strict=True):
            if cell and str(cell):
                rows.add_row("", column.header, cell)
        yield rows

"""Figures that papers and their authors' pages print: a CSV file in, typed cells with their source and doubts out.

The files lie in ``results/published``; a README beside them says what the columns are.
"""

import csv
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.records import Record

Flag = Literal["", "inconsistent"]


class PublishedFigure(Record, frozen=True, kw_only=True):
    """One cell of a table in a paper.

    ``value`` is as printed, in the table's unit. ``n`` is over how many things it was taken, None where the paper does
    not say. ``flag`` is ``inconsistent`` where other cells of the paper contradict it or no count gives it; ``note``
    says how. ``date`` is that of the source as it was read.
    """

    table: str
    row: str
    column: str
    value: float
    n: int | None = None
    source: str
    flag: Flag = ""
    note: str = ""
    date: str = ""


def read_published(path: Path) -> tuple[PublishedFigure, ...]:
    """All cells of one file, in its order. Raises UserError: the file can't be read, or a cell is not as its column
    says.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = [{name: cell for name, cell in line.items() if cell} for line in csv.DictReader(file)]
        # Differences are printed with a plus sign.
        cells = [{**line, "value": float(line["value"])} for line in lines]
        return msgspec.convert(cells, tuple[PublishedFigure, ...], strict=False)
    except (OSError, ValueError, LookupError, csv.Error) as error:
        raise UserError(f"{path}: the published figures can't be read: {error}") from error

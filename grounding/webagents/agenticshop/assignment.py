"""The best way to give every user one query: a square table of fits in, the query of every user out.

The Hungarian method in the form with potentials and shortest augmenting paths (Jonker and Volgenant 1987), exact, in a
time that grows with the cube of the number of users.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Table = np.ndarray[Any, np.dtype[np.float64]]


def best_assignment(fit: Table) -> list[int]:
    """The column of every row, each once, with the largest sum of fits; rows keep their own where that is as good.

    Args:
        fit: How well a column fits a row; as many columns as rows, finite.

    Raises:
        ValueError: The table is not square, or holds something that is no number.
    """
    rows, columns = fit.shape
    if rows != columns or not np.isfinite(fit).all():
        raise ValueError("the table of fits must be square and hold numbers only")
    # Ties between equal sums are broken in favour of the diagonal, by less than any difference that is looked at.
    cost = -fit - np.eye(rows) * 1e-9
    row_potential, column_potential = np.zeros(rows), np.zeros(rows)
    row_of = np.full(rows, -1)
    for row in range(rows):
        _augment(cost, row, row_of, row_potential, column_potential)
    found = [0] * rows
    for column, row in enumerate(row_of):
        found[int(row)] = column
    return found


def _augment(cost: Table, start: int, row_of: Any, row_potential: Table, column_potential: Table) -> None:
    """Give the row ``start`` a column, moving others along the cheapest path."""
    size = len(cost)
    shortest, before = np.full(size, np.inf), np.full(size, -1)
    done = np.zeros(size, dtype=bool)
    row, reached, end = start, 0.0, -1
    while end < 0:
        length = reached + cost[row] - row_potential[row] - column_potential
        better = ~done & (length < shortest)
        shortest[better], before[better] = length[better], row
        column = int(np.argmin(np.where(done, np.inf, shortest)))
        reached, done[column] = float(shortest[column]), True
        if row_of[column] < 0:
            end = column
        else:
            row = int(row_of[column])
    row_potential[start] += reached
    for other in np.flatnonzero(done):
        if other != end:
            row_potential[row_of[other]] += reached - shortest[other]
        column_potential[other] -= reached - shortest[other]
    column = end
    while column >= 0:
        row = int(before[column])
        row_of[column] = row
        if row == start:
            return
        column = _held_before(row, column, row_of)


def _held_before(row: int, given: int, row_of: Any) -> int:
    """The column that a row held before it was given another."""
    return next(int(column) for column in np.flatnonzero(row_of == row) if column != given)


def cycles(assignment: list[int]) -> list[tuple[int, ...]]:
    """The rows that would exchange their columns with each other; rows that keep their own are in none."""
    seen: set[int] = set()
    found = []
    for first in range(len(assignment)):
        cycle = []
        row = first
        while row not in seen:
            seen.add(row)
            cycle.append(row)
            row = assignment[row]
        if len(cycle) > 1:
            found.append(tuple(cycle))
    return found

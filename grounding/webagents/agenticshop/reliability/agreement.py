"""How far raters agree: opinions in, Cohen's kappa and Spearman's coefficient with intervals out. Pure.

Both are over items that both sides decide. With answers yes and no, Spearman's coefficient (ties by average ranks) is
phi, the correlation of the two columns. A judge is held against each person, and the figures are the means over people;
the paper (section 4.1.2) does not say how it put two people together. Intervals are 95 % percentile bootstraps over
products, because the items of a product are not independent of each other: whole products are drawn with
replacement, and draws in which a coefficient is not defined (one side always says the same) are left out and counted.
Where all draws give the same there is no interval: too few products or answers too much alike are not certainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from grounding.records import Record
from grounding.scoring.intervals import RESAMPLES, Interval, resampled_sums
from grounding.scoring.kappa import cohens_kappa
from grounding.scoring.ranks import phi, spearman
from grounding.webagents.agenticshop.records import DIMENSIONS, Condition, Dimension
from grounding.webagents.agenticshop.reliability.raters import Rater

PEOPLE = "between people"
Matrix = npt.NDArray[np.float64]


class Coefficient(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A coefficient of agreement, None where it is not defined; ``undefined_draws`` of the resamples had none."""

    value: float | None
    interval: Interval | None
    undefined_draws: int = 0


class AgreementFigure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How far one judge agrees with people, or people with each other (``rater`` is `PEOPLE`, no condition).

    ``dimension`` is None for all items. ``pairs`` pairs of raters are put together; ``compared`` items were decided by
    both, summed over the pairs, on ``products`` products. ``by_product`` is Spearman's coefficient of the shares of
    satisfied items of products, the mean over pairs.
    """

    rater: str
    condition: Condition | None
    dimension: Dimension | None
    pairs: int
    products: int
    compared: int
    agree_percent: float | None
    kappa: Coefficient
    spearman: Coefficient
    by_product: float | None


def agreement_figures(
    judges: Sequence[Rater], people: Sequence[Rater], *, seed: int = 0
) -> tuple[AgreementFigure, ...]:
    """Every judge against all people, then people against each other; over all items, then by dimension."""
    found = []
    for judge in judges:
        found += _figures(judge.name, judge.condition, [(judge, person) for person in people], seed)
    if len(people) > 1:
        found += _figures(PEOPLE, None, list(combinations(people, 2)), seed)
    return tuple(found)


def _figures(
    rater: str, condition: Condition | None, pairs: Sequence[tuple[Rater, Rater]], seed: int
) -> list[AgreementFigure]:
    dimensions: tuple[Dimension | None, ...] = (None, *DIMENSIONS)
    return [_figure(rater, condition, pairs, one, seed) for one in dimensions]


def _figure(
    rater: str,
    condition: Condition | None,
    pairs: Sequence[tuple[Rater, Rater]],
    dimension: Dimension | None,
    seed: int,
) -> AgreementFigure:
    products = sorted({name for one, two in pairs for name in one.opinions.keys() & two.opinions.keys()})
    tables = [np.array([_cells(one, two, name, dimension) for name in products]).reshape(-1, 4) for one, two in pairs]
    seen = np.array([table.sum(axis=1) for table in tables]).reshape(len(tables), -1).sum(axis=0)
    tables = [table[seen > 0] for table in tables]
    compared = int(seen.sum())
    total = sum((table.sum(axis=0) for table in tables), np.zeros(4))
    # One row a resample, four counts a pair of raters: all coefficients share the draws.
    sums = resampled_sums(np.hstack(tables), seed) if tables and len(tables[0]) else np.zeros((0, 4 * len(tables)))
    return AgreementFigure(
        rater=rater,
        condition=condition,
        dimension=dimension,
        pairs=len(pairs),
        products=int((seen > 0).sum()),
        compared=compared,
        agree_percent=100 * float(total[0] + total[3]) / compared if compared else None,
        kappa=_coefficient(tables, sums, "kappa"),
        spearman=_coefficient(tables, sums, "phi"),
        by_product=_by_product(tables),
    )


def _cells(one: Rater, two: Rater, product: str, dimension: Dimension | None) -> tuple[int, int, int, int]:
    """Both yes, only the first, only the second, both no: of the items of a product that both decide."""
    first, second = one.opinions.get(product, {}), two.opinions.get(product, {})
    cells = [0, 0, 0, 0]
    for item in first.keys() & second.keys():
        if dimension is None or item.partition("/")[0] == dimension:
            cells[2 * (not first[item]) + (not second[item])] += 1
    return cells[0], cells[1], cells[2], cells[3]


def _coefficient(tables: Sequence[Matrix], sums: Matrix, kind: str) -> Coefficient:
    """The mean over pairs of raters that have one."""
    totals = [table.sum(axis=0) for table in tables]
    values = [value for total in totals if (value := _exact(total, kind)) is not None]
    if not values:
        return Coefficient(value=None, interval=None)
    drawn = np.array([_drawn(sums[:, 4 * place : 4 * place + 4], kind) for place in range(len(tables))])
    # A pair without a coefficient of its own takes no part; of the others every draw must have one.
    with_one = [place for place, total in enumerate(totals) if _exact(total, kind) is not None]
    means = drawn[with_one].mean(axis=0)
    defined = np.isfinite(means)
    interval = None
    if len(tables[0]) > 1 and defined.any():
        low, high = np.quantile(means[defined], [0.025, 0.975])
        if not np.isclose(low, high, rtol=0, atol=1e-12):
            interval = Interval(low=float(low), high=float(high))
    return Coefficient(value=float(np.mean(values)), interval=interval, undefined_draws=RESAMPLES - int(defined.sum()))


def _exact(total: Matrix, kind: str) -> float | None:
    table = [[int(count) for count in row] for row in total.reshape(2, 2).tolist()]
    return cohens_kappa(table).value if kind == "kappa" else phi(table)


def _drawn(cells: Matrix, kind: str) -> Matrix:
    """The coefficient of each row of four counts; not a number where it is not defined."""
    a, b, c, d = cells.T
    # 2 (ad - bc) over the sum of the products of unlike margins is kappa of a 2 x 2 table.
    if kind == "kappa":
        above, below = 2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d)
    else:
        above, below = a * d - b * c, np.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    result: Matrix = np.divide(above, below, out=np.full(len(cells), np.nan), where=below > 0)
    return result


def _by_product(tables: Sequence[Matrix]) -> float | None:
    found = []
    for table in tables:
        rows = table[table.sum(axis=1) > 0]
        counts = rows.sum(axis=1)
        value = spearman(((rows[:, 0] + rows[:, 1]) / counts).tolist(), ((rows[:, 0] + rows[:, 2]) / counts).tolist())
        if value is not None:
            found.append(value)
    return float(np.mean(found)) if found else None

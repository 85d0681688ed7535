"""The release's own arithmetic, bug for bug, on what judges reported of themselves. Pure.

From ``collect_results.py`` (protocol note D3), on what it can be given: for every user the mean of the percentages that
the judge wrote, over the products that have one, then the mean over users. A percentage that was meant as a fraction is
averaged as it stands; a product without a report is left out; a user with curated products and no report adds 0; a user
without curated products is absent. Both means are rounded to four decimals. Dimensions are texts ``x / y``: anything
else is 0 of 0, and a dimension of nothing is 0, not missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grounding.records import Record
from grounding.webagents.agenticshop.records import DIMENSIONS, Dimension, Reported
from grounding.webagents.agenticshop.scores.verdicts import PlaceVerdict

_FRACTION = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*", re.ASCII)


class OfficialFigures(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The release's figures of one scenario, or of all: per cent. None where no judge reported anything.

    ``users`` is how many stand below the line, ``products`` how many reports there are.
    """

    satisfaction_percentage: float | None
    dimensions: dict[Dimension, float]
    users: int
    products: int


def official_figures(tasks: Sequence[Sequence[PlaceVerdict]]) -> OfficialFigures:
    """The release's figures over tasks, each given as the verdicts over its places."""
    present = [[one for one in places if one.outcome not in ("not-curated", "open")] for places in tasks]
    reports = [[one.reported for one in places if one.reported is not None] for places in present if places]
    products = sum(map(len, reports))
    if not products:
        return OfficialFigures(satisfaction_percentage=None, dimensions={}, users=len(reports), products=0)
    return OfficialFigures(
        satisfaction_percentage=_mean([_user(of_user) for of_user in reports]),
        dimensions={
            dimension: _mean([_dimension(of_user, dimension) for of_user in reports]) for dimension in DIMENSIONS
        },
        users=len(reports),
        products=products,
    )


def fraction(text: str) -> tuple[int, int]:
    """What the release reads of ``x / y``: only digits on either side, blanks around them; else 0 of 0.

    >>> fraction(" 2 / 3 "), fraction("2 of 3"), fraction("66%")
    ((2, 3), (0, 0), (0, 0))
    """
    match = _FRACTION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _user(reports: Sequence[Reported]) -> float:
    said = [one.satisfaction_percentage or 0.0 for one in reports]
    return round(sum(said) / len(said), 4) if said else 0.0


def _dimension(reports: Sequence[Reported], dimension: Dimension) -> float:
    pairs = [fraction(_named(one.dimensions, dimension)) for one in reports]
    above, below = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    return round(100 * above / below, 4) if below else 0.0


def _named(dimensions: Mapping[str, str], dimension: Dimension) -> str:
    """The text of a dimension, with or without the release's ending of its field."""
    return dimensions.get(dimension) or dimensions.get(f"{dimension}_percentage", "")


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)

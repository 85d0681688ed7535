"""How far two sources agree beyond chance: counts in, Cohen's kappa with its interval out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist

from grounding.errorsplit.records import Agreement, Opinion, Said
from grounding.scoring.intervals import Interval
from grounding.scoring.kappa import Kappa, cohens_kappa

CLASSES: tuple[Said, Said] = ("reasoning", "grounding")


def agreements(opinions: Mapping[str, Iterable[Opinion]]) -> tuple[Agreement, ...]:
    """Every two sources, in their order.

    Args:
        opinions: What each source says, one opinion a step.
    """
    said = {source: {each.step_id: each.said for each in given} for source, given in opinions.items()}
    return tuple(_agreement(first, second, said[first], said[second]) for first, second in combinations(said, 2))


def _agreement(first: str, second: str, one: Mapping[str, Said], two: Mapping[str, Said]) -> Agreement:
    table = [[0, 0], [0, 0]]
    for step_id in one.keys() & two.keys():
        if one[step_id] in CLASSES and two[step_id] in CLASSES:
            table[CLASSES.index(one[step_id])][CLASSES.index(two[step_id])] += 1
    n = sum(map(sum, table))
    kappa = cohens_kappa(table)
    return Agreement(
        first=first,
        second=second,
        n=n,
        reasoning_reasoning=table[0][0],
        reasoning_grounding=table[0][1],
        grounding_reasoning=table[1][0],
        grounding_grounding=table[1][1],
        agree_percent=100 * (table[0][0] + table[1][1]) / n if n else None,
        kappa=kappa.value,
        interval=_interval(kappa),
        undefined_because=_why_undefined(table, kappa),
        left_out=len(one.keys() | two.keys()) - n,
    )


def _interval(kappa: Kappa) -> Interval | None:
    """The 95 % interval, cut to what a kappa can be; a standard error of 0 is too few steps, not certainty."""
    if kappa.value is None or not kappa.standard_error or kappa.standard_error < 1e-9:
        return None
    reach = NormalDist().inv_cdf(0.975) * kappa.standard_error
    return Interval(low=max(-1.0, kappa.value - reach), high=min(1.0, kappa.value + reach))


def _why_undefined(table: Sequence[Sequence[int]], kappa: Kappa) -> str:
    if kappa.value is not None:
        return ""
    if not any(map(sum, table)):
        return "no step that both decide"
    return f"both always say {CLASSES[0] if table[0][0] else CLASSES[1]}"

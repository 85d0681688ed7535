"""The part of a summary's table that shows groups of steps: accuracy for each, and both averages over them."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from grounding.options import ScoringName
from grounding.scoring.metrics import shown
from grounding.scoring.paired import Difference
from grounding.scoring.scored import Estimate, Figure
from grounding.scoring.summary import Summary

SURE = (
    "intervals: at 0 % and 100 % Wilson over tasks; none (-) where one task, or tasks all alike, say nothing of others"
)

MOST_GROUPS = 40  # A kind with more groups than that is shown by its averages alone; `summary.json` has them all.


def table_of(title: str, names: Iterable[str], figures: Iterable[str] = ()) -> Table:
    """A table with columns of texts and, to the right, of figures. They are folded, not cut: on a narrow terminal no
    digit may be lost.
    """
    table = Table(title=Text(title), title_style="bold", title_justify="left")
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for name in figures:
        table.add_column(Text(name), justify="right", overflow="fold")
    return table


def group_table(summary: Summary, scoring: ScoringName) -> Table | None:
    """Step accuracy by every kind of group that the steps are labelled with; None where they have no labels.

    Above the groups of each kind stand both averages: ``micro`` counts every step once, ``macro`` every group once.
    The released evaluator of RealWebAssist knows no groups: under its definition there is no table.
    """
    if not summary.averages or scoring != "paper":
        return None
    table = Table("step accuracy by", "group")
    more = [metric for metric in shown([summary.scores]) if metric.name in summary.scores.extra]
    for name in ("value", "k/n", "95 % interval", *(metric.label for metric in more)):
        table.add_column(Text(name), justify="right", overflow="fold")
    for kind, both in summary.averages.items():
        groups = summary.groups[kind]
        listed = groups if len(groups) <= MOST_GROUPS else {}
        table.add_row(f"{kind} ({len(groups)})", "micro: every step once", *estimate_cells(both.micro), style="bold")
        table.add_row("", "macro: every group once", *estimate_cells(both.macro), style="bold", end_section=not listed)
        found = [group.scores.paper.step_accuracy for group in groups.values()]
        if any(one.n and one.method in ("none", "wilson over clusters") for one in found):
            table.caption, table.caption_justify = SURE, "left"
        for name, group in listed.items():
            cells = [*estimate_cells(group.scores.paper.step_accuracy)]
            cells += [estimate_text(group.scores.of(metric.name)) for metric in more]
            table.add_row("", name, *cells, end_section=name == list(listed)[-1])
    return table


def number(value: float | None, unit: str = "%", sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.{digits_of(unit)}f}"


def count(k: int | None, n: int) -> str:
    return f"n = {n}" if k is None else f"{k}/{n}"


def interval(low: float | None, high: float | None, unit: str = "%", sign: str = "") -> str:
    return "" if low is None or high is None else f"[{number(low, unit, sign)}, {number(high, unit, sign)}]"


def estimate_text(found: Estimate | Figure | Difference | None, *, unit: str = "%", sign: str = "") -> str:
    if found is None or found.value is None:
        return "-"
    unit = getattr(found, "unit", unit)
    ends = "" if isinstance(found, Figure) else interval(found.low, found.high, unit, sign)
    return f"{number(found.value, unit, sign)} {ends}".rstrip()


def value_text(value: float | None, k: int | None, n: int, unit: str) -> str:
    return f"{with_unit(value, unit)} ({count(k, n)})"


def with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{number(value, unit)} {unit}".rstrip()


def heading(label: str, unit: str) -> str:
    """A metric's name with its unit, where it has one that the name does not say."""
    return label if unit in ("", label) else f"{label} {unit}"


def digits_of(unit: str) -> int:
    """Decimals of values in a unit: three of a share from 0 to 1, which has none, two of steps, else one."""
    return {"": 3, "steps": 2}.get(unit, 1)


def estimate_cells(found: Estimate, *, of: str = "") -> tuple[str, str, str]:
    """Value, count and interval of an estimate, as the tables show them. ``of`` is what ``n`` counts."""
    counted = f"{found.n if found.k is None else count(found.k, found.n)} {of}" if of else count(found.k, found.n)
    ends = interval(found.low, found.high, found.unit) or "-"
    return with_unit(found.value, found.unit), counted, ends

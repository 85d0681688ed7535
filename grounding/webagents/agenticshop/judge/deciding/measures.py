"""Measures in a table of facts: numbers with their units, and the rule on them."""

from __future__ import annotations

import re

from grounding.records import Record
from grounding.webagents.agenticshop.judge.conditions import MeasureWithin
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, open_question, silent
from grounding.webagents.agenticshop.judge.deciding.table import attribute_lines, said_anywhere
from grounding.webagents.agenticshop.judge.vocabulary import PIECES, UNITS, tokens

_MEASURE = re.compile(r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)\s*-?(?P<unit>[a-zA-Z°\"%]+)?")
_JOINED = re.compile(r"\s*(?:x|\u00d7|-|\u2013|to|by)\s*\d", re.IGNORECASE)


class Measured(Record, frozen=True, kw_only=True):
    """A number with what it measures ("" for a bare number), in the first unit of that measure."""

    number: float
    measure: str = ""


def measure(rule: MeasureWithin, page: Shown) -> Finding:
    """A measure in the table of facts; two sides of a thing in one line are not told apart."""
    lines, exact = attribute_lines(rule.name, page)
    if not lines:
        last = tokens(rule.name)[-1:]
        if page.text_cut or said_anywhere(last, page) or said_anywhere(("dimensions",), page):
            return open_question(f"the table of facts has no {rule.name}, and the text may say it")
        return silent(f"what its {rule.name} is")
    kind, scale = UNITS.get(rule.unit, ("", 1.0))
    quote = "; ".join(f"{line.name}: {line.value}" for line in lines)
    reason = f"the page's table of facts says {quote}"
    held = set()
    for line in lines:
        fitting = {round(each.number, 9) for each in measures(line.value) if each.measure == kind}
        # One length may stand there twice, in centimetres and inches; two lengths are two sides.
        if not fitting or max(fitting) > 1.02 * min(fitting):
            return open_question(reason, quote)
        held.add(
            rule.bounds.holds(round(max(fitting) / scale, 6)) if len(fitting) == 1 else _both(rule, fitting, scale)
        )
    if len(held) > 1 or None in held or not exact:
        return open_question(reason, quote)
    return Finding(satisfied=held.pop(), reason=reason, quote=page.row(lines[0].name, lines[0].value))


def _both(rule: MeasureWithin, numbers: set[float], scale: float) -> bool | None:
    held = {rule.bounds.holds(round(number / scale, 6)) for number in numbers}
    return held.pop() if len(held) == 1 else None


def measures(text: str) -> tuple[Measured, ...]:
    """The numbers of a text with what they measure, in the first unit of each measure.

    >>> [(each.number, each.measure) for each in measures("1.7 L (1700 ml)")]
    [(1.7, 'volume'), (1.7, 'volume')]
    """
    found: list[Measured] = []
    # Backwards, since "30 x 40 cm" says the unit of both at its end.
    following = ""
    for each in reversed(list(_MEASURE.finditer(text))):
        unit = (each["unit"] or "").lower()
        number = float(each["number"].replace(",", ""))
        joined = unit in ("x", "to", "by") or (not unit and _JOINED.match(text, each.end()) is not None)
        unit = following if joined else unit
        following = unit
        if not unit or unit in PIECES:
            found.append(Measured(number=number))
        elif unit in UNITS:
            kind, scale = UNITS[unit]
            found.append(Measured(number=number * scale, measure=kind))
        else:
            found.append(Measured(number=number, measure="?"))
    return tuple(reversed(found))

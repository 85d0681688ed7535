"""What stands beside what: how well a candidate's place agrees with the neighbours that an instruction names. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.grounders.ocr import layout
from grounding.grounders.ocr.candidates import Candidate, candidates, whole
from grounding.grounders.ocr.instruction import Phrase
from grounding.grounders.ocr.phrasing import Context, Relation
from grounding.grounders.ocr.screen import TextLine

GOOD = 0.55
"""From this fit on a text counts as what was meant."""
EQUAL = 0.08
"""Texts whose fit differs by less are equally good: misread letters make that much."""


def lines_of(context: Context, page: Sequence[TextLine]) -> list[Candidate]:
    """Where a context stands on the screen: all places that fit it equally well."""
    fits = candidates([Phrase(text=context.text, weight=1.0)], page)
    return [c for c in fits if c.score >= max(GOOD, fits[0].score - EQUAL)]


def cost_px(candidate: Candidate, relation: Relation, others: Sequence[Candidate]) -> float:
    """How badly a candidate's place agrees with a relation to the nearest of some places, in pixels."""
    costs = []
    for other in others:
        if other.line == candidate.line and other.box == candidate.box:
            continue
        across, upright = layout.gap_px(candidate.box, other.box)
        here, there = candidate.box.center, other.box.center
        wrong = {
            "near": False,
            "below": here.y_px <= there.y_px,
            "above": here.y_px >= there.y_px,
            "left": here.x_px >= there.x_px,
            "right": here.x_px <= there.x_px,
        }[relation]
        sideways, along = (across, upright) if relation not in ("left", "right") else (upright, across)
        cost = along + 2 * sideways
        if relation == "near":
            # Buttons stand below the name of what they are for, or beside it.
            cost = across + upright * (1.6 if here.y_px < there.y_px and upright > 0 else 1.0)
        costs.append(cost + (1e4 if wrong else 0.0))
    return min(costs, default=0.0)


def beside(context: Context, page: Sequence[TextLine]) -> Candidate | None:
    """The thing at a context that has no text of its own: a checkbox goes with its label, a field with its caption."""
    there = lines_of(context, page)
    if not there:
        return None
    if context.relation == "near":
        return there[0]
    lines = [whole(line) for line in page if line != there[0].line]
    ranked = sorted(lines, key=lambda c: cost_px(c, context.relation, there))
    if ranked and cost_px(ranked[0], context.relation, there) < 12 * layout.height(there[0].line):
        return ranked[0]
    return there[0]


def apart_px(candidate: Candidate, line: TextLine) -> float:
    """Distance between a text and a line of its card; what stands above a name seldom belongs to it."""
    across, upright = layout.gap_px(candidate.box, line.box)
    return across + upright

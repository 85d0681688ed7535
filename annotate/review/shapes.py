"""What of a case is drawn over its screenshot: the gold region, the answer's box, the click with the plan. Pure."""

from __future__ import annotations

from annotate.review.cases import ReviewCase
from annotate.window.panels import OverlayBox, OverlayPoint, OverlayShape
from grounding.records import Box, Point, Polygon

GOLD, CLICK, HIT = "#15803d", "#dc2626", "#1d4ed8"
PLAN_LETTERS = 60


def shapes_of(case: ReviewCase) -> tuple[OverlayShape, ...]:
    """Green: where a click was right when the run was scored. Red: where the model clicked, blue if that was right.

    A step whose target is absent, and an answer without a place, have no such shape.
    """
    region = case.step.region
    colour = CLICK if case.is_wrong else HIT
    shapes: list[OverlayShape] = []
    if region is not None:
        shapes += [OverlayBox(box=box, colour=GOLD, label="gold", dashed=False) for box in region.boxes]
        shapes += [OverlayBox(box=_bounds(one), colour=GOLD, label="gold", dashed=True) for one in region.polygons]
    if case.box is not None:
        shapes.append(OverlayBox(box=case.box, colour=colour, dashed=True))
    if case.verdict.point is not None:
        shapes.append(OverlayPoint(point=case.verdict.point, colour=colour, label=click_words(case)))
    return tuple(shapes)


def click_words(case: ReviewCase) -> str:
    """How far off the click is, and the beginning of what was planned."""
    off = case.verdict.distance_px
    words = "hit" if not case.is_wrong else "click" if off is None else f"{off:.0f} px off"
    plan = " ".join((case.plan or "").split())
    if not plan or plan == " ".join(case.step.instruction.split()):
        return words
    return f"{words}: {plan[:PLAN_LETTERS]}{'…' if len(plan) > PLAN_LETTERS else ''}"


def outcome_words(case: ReviewCase) -> str:
    """What became of a step, in a line."""
    verdict = case.verdict
    point = verdict.point
    parts: list[str] = [verdict.outcome]
    if point is not None:
        parts.append(f"click at {_number(point)}")
    if verdict.distance_px:
        parts.append(f"{verdict.distance_px:.0f} px from the gold")
    if verdict.reason:
        parts.append(verdict.reason)
    return " · ".join(parts)


def _number(point: Point) -> str:
    return f"{point.x_px:.0f}, {point.y_px:.0f}"


def _bounds(polygon: Polygon) -> Box:
    across = [point.x_px for point in polygon.points]
    down = [point.y_px for point in polygon.points]
    return Box(left_px=min(across), top_px=min(down), right_px=max(across), bottom_px=max(down))

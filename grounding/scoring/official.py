"""The measures as the authors' released evaluator (``evaluate.py`` of RealWebAssist) computes them, bug for bug.

Scored sessions in, figures out. Where it departs from the paper, it does so here too:

- progress counts steps, not instructions;
- tasks are pooled by their bare label: equal labels of two participants become one long task, participants in
  ascending number, then by position;
- the distance is Manhattan, over steps that have a point; steps without one are wrong but have no distance;
- a score over nothing is 0.

One thing is not repeated: there, an exception drops the rest of a participant's steps; here no step is ever dropped.
The evaluator knows boxes only. For a polygon the true outline counts, not the box around it: a click between the two
is neither a hit nor at distance 0. It knows no absent targets either: a point given for one is wrong, at no distance.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from grounding.records import Box, Point, Polygon, Record, Region, TaskLabel
from grounding.regions import is_hit
from grounding.scoring.scored import ScoredSession, ScoredStep
from grounding.scoring.scores import Figure, OfficialScores

FARTHEST_PX = 1e8
"""The evaluator's start value for the search of the nearest box: no distance is above it."""


def official_scores(sessions: Sequence[ScoredSession]) -> OfficialScores:
    """The evaluator's four figures; give it one session for the figures of that participant."""
    return pooled_scores([official_part(session) for session in sessions])


class OfficialPart(Record, frozen=True, kw_only=True):
    """What the evaluator needs of one participant.

    ``hits`` has a byte for each scored step of a label, 1 for a hit, in order; ``gaps_px`` the distance of every step
    that has one.
    """

    participant: str
    hits: dict[TaskLabel, bytes]
    gaps_px: array[float]


def official_part(session: ScoredSession) -> OfficialPart:
    """One participant's share of the figures."""
    gaps = array("d")
    hits: dict[TaskLabel, bytes] = {}
    for task in session.tasks:
        for scored in task.steps:
            point = scored.verdict.point
            if point is not None and not scored.step.target_absent:
                gaps.append(_step_gap(scored, point))
        hits[task.label] = bytes([scored.verdict.outcome == "hit" for scored in task.steps])
    return OfficialPart(participant=session.participant, hits=hits, gaps_px=gaps)


def pooled_scores(parts: Sequence[OfficialPart]) -> OfficialScores:
    """The four figures over these participants."""
    if all(part.participant.isdecimal() for part in parts):
        parts = sorted(parts, key=lambda part: int(part.participant))
    tasks: dict[TaskLabel, bytes] = {}
    for part in parts:
        for label, hits in part.hits.items():
            tasks[label] = tasks.get(label, b"") + hits
    leading = ((found if (found := hits.find(0)) >= 0 else len(hits), len(hits)) for hits in tasks.values())
    gaps = [gap for part in parts for gap in part.gaps_px]
    return OfficialScores(
        step_accuracy=_share(sum(map(sum, tasks.values())), sum(map(len, tasks.values()))),
        average_progress=_mean(math.fsum(done / steps * 100 for done, steps in leading), len(tasks)),
        task_success=_share(sum(map(all, tasks.values())), len(tasks)),
        average_distance=_mean(math.fsum(gaps), len(gaps)),
    )


def gap_px(region: Region, point: Point) -> float:
    """Horizontal plus vertical gap in pixels to the nearest shape, 0 inside.

    1e8 for a region without shapes, and 0 for coordinates that are not numbers, as in the evaluator.

    >>> region = Region(boxes=(Box(left_px=10, top_px=10, right_px=20, bottom_px=20),))
    >>> gap_px(region, Point(x_px=23, y_px=24))
    7.0
    >>> gap_px(Region(), Point(x_px=0, y_px=0))
    100000000.0
    """
    nearest = FARTHEST_PX
    for box in region.boxes:
        gap = _box_gap(box, point)
        if gap < nearest:
            nearest = gap
    for polygon in region.polygons:
        gap = _polygon_gap(polygon, point)
        if gap < nearest:
            nearest = gap
    return nearest


def _box_gap(box: Box, point: Point) -> float:
    # comparisons, not max(): a coordinate that is not a number fails them all and adds nothing, as in the evaluator
    gap = 0.0
    if point.x_px < box.left_px:
        gap += box.left_px - point.x_px
    elif point.x_px > box.right_px:
        gap += point.x_px - box.right_px
    if point.y_px < box.top_px:
        gap += box.top_px - point.y_px
    elif point.y_px > box.bottom_px:
        gap += point.y_px - box.bottom_px
    return gap


def _polygon_gap(polygon: Polygon, point: Point) -> float:
    if is_hit(Region(polygons=(polygon,)), point):
        return 0.0
    corners = polygon.points
    return min(_edge_gap(a, b, point) for a, b in zip(corners, corners[1:] + corners[:1], strict=True))


def _edge_gap(a: Point, b: Point, point: Point) -> float:
    """Manhattan distance to the edge from ``a`` to ``b``.

    Along the edge it is piecewise linear, so it is least at an end, or where the edge passes straight above, below
    or beside the point.
    """
    run, rise = b.x_px - a.x_px, b.y_px - a.y_px
    places = [0.0, 1.0]
    if run:
        places.append((point.x_px - a.x_px) / run)
    if rise:
        places.append((point.y_px - a.y_px) / rise)
    return min(
        abs(a.x_px + place * run - point.x_px) + abs(a.y_px + place * rise - point.y_px)
        for place in places
        if 0 <= place <= 1
    )


def _step_gap(scored: ScoredStep, point: Point) -> float:
    if scored.is_hit or scored.step.region is None:
        return 0.0
    return gap_px(scored.step.region, point)


def _share(k: int, n: int) -> Figure:
    return Figure(value=k / n * 100 if n else 0.0, k=k, n=n)


def _mean(total: float, n: int) -> Figure:
    return Figure(value=total / n if n else 0.0, n=n)

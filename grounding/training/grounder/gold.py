"""The answer that a model should have written: the centre of a gold shape, in the card's own form and numbers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grounding.card_schema import WRITTEN_NUMBER
from grounding.cards import GrounderCard
from grounding.coordinates import Space, point_from_original
from grounding.errors import UserError
from grounding.pictures import picture_sizes
from grounding.records import Box, ImageSizes, Point, Polygon, Region
from grounding.training.grounder.reading import judged
from grounding.training.grounder.records import GrounderExample

FRACTION_DECIMALS = 3
"""For fractions of the picture whose card states none: a thousandth, as fine as the other relative spaces."""

_USUAL = {"point": "({x},{y})", "point_or_box": "({x},{y})", "box": "[{x1},{y1},{x2},{y2}]"}


def knows_form(card: GrounderCard) -> bool:
    """Whether it is known how the card's model writes an answer."""
    own = card.answer.patterns or card.answer.within is not None or card.prefill is not None
    return card.writes is not None or not own


def written_form(card: GrounderCard) -> str:
    """How the card's model writes an answer: the card's ``writes``, or the plainest of the usual forms.

    Raises:
        UserError: the card reads answers by patterns of its own and doesn't say how they are written.
    """
    if card.writes is not None:
        return card.writes
    if not knows_form(card):
        raise UserError(
            f"card {card.name}: supervised training needs to know how the model writes an answer; add it to the card, "
            'for example `writes: "({x},{y})"`'
        )
    return _USUAL[card.answer.form]


def gold_answer(card: GrounderCard, example: GrounderExample) -> str | None:
    """What the model should write after the prompt, which the evaluation reads as a hit; None where nothing is.

    The gold shapes are tried in their order; each number is the one next to the centre's that the space has. Of a box
    the centre's nearest number is a hit if any is, so what is left out here can't be answered rightly at all in these
    numbers.

    Raises:
        UserError: as ``written_form`` raises.
        ValueError: the model refuses a picture of this shape.
    """
    form = written_form(card)
    region = example.step.region
    if region is None or example.step.target_absent:
        return None
    sizes = picture_sizes(example.query.screenshot.size, card.image)
    for box in _places(region):
        text = _written(form, box, card.answer.space, sizes).removeprefix(card.prefill or "")
        if judged(example, card, text, sizes).outcome == "hit":
            return text
    return None


def _places(region: Region) -> Iterator[Box]:
    """For each gold shape a box around the point to click."""
    yield from region.boxes
    for polygon in region.polygons:
        yield _around(polygon)


def _around(polygon: Polygon) -> Box:
    """A box without extent, at a point of the polygon: its centroid may lie outside."""
    import shapely

    inside = shapely.Polygon([(point.x_px, point.y_px) for point in polygon.points]).representative_point()
    return Box(left_px=inside.x, top_px=inside.y, right_px=inside.x, bottom_px=inside.y)


def _written(form: str, box: Box, space: Space, sizes: ImageSizes) -> str:
    points = {
        "": box.center,
        "1": Point(x_px=box.left_px, y_px=box.top_px),
        "2": Point(x_px=box.right_px, y_px=box.bottom_px),
    }

    def number(match: re.Match[str]) -> str:
        axis, corner = match[1][0], match[1][1:]
        place = point_from_original(points[corner], space, sizes)
        decimals = int(match[2]) if match[2] else (FRACTION_DECIMALS if space == "rel_1" else 0)
        # A rounded -0.3 would be written -0.
        return f"{round(place.x if axis == 'x' else place.y, decimals) + 0.0:.{decimals}f}"

    return WRITTEN_NUMBER.sub(number, form)

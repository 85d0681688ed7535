"""What a reply is worth: terms from 0 to 1, from the toolkit's own reading and geometry. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.pictures import picture_sizes
from grounding.records import Point, Prediction, Record, Region, Size, Step
from grounding.regions import distance_px, is_finite
from grounding.scoring.verdicts import judge
from grounding.training.grounder.reading import read_as_prediction
from grounding.training.grounder.records import GrounderExample, GrpoRule, RewardTerm


class Graded(Record, frozen=True, kw_only=True):
    """A reply's terms by name, before weights, their sum with weights, and the place that it was read as."""

    terms: dict[str, float]
    reward: float
    point: Point | None = None


def grade(example: GrounderExample, card: GrounderCard, rule: GrpoRule, text: str) -> Graded:
    """What a reply is worth.

    Args:
        example: What was asked, and where the click is right.
        card: As it is trained.
        rule: The terms and their weights.
        text: What the model wrote after the prompt, without the token that ends it.

    Raises:
        ValueError: the step has no region, or the model refuses a picture of this shape.
    """
    sizes = picture_sizes(example.query.screenshot.size, card.image)
    prediction = read_as_prediction(example, card, text, sizes)
    step = example.step if rule.multi_box else narrowed(example.step)
    terms: dict[str, float] = {term.kind: value_of(term, step, prediction) for term in rule.rewards}
    reward = math.fsum(term.weight * terms[term.kind] for term in rule.rewards)
    point = prediction.point if prediction.point is not None and is_finite(prediction.point) else None
    return Graded(terms=terms, reward=reward, point=point)


def value_of(term: RewardTerm, step: Step, prediction: Prediction) -> float:
    """One term of a prediction's reward, from 0 to 1.

    ``hit``: 1 where the evaluation would count a hit. ``format``: 1 where the reply names a place or says, in a way
    that the card knows, that there is none. ``distance``: 1 for a hit; otherwise ``1 - d / (reach x D)``, not below 0,
    with d the distance from the point to the nearest edge of the gold region and D the screenshot's diagonal, both in
    its pixels; 0 without a point.

    Raises:
        ValueError: the step has no region.
    """
    verdict = judge(step, None, prediction)
    if verdict.outcome == "hit":
        return 1.0
    if term.kind == "hit":
        return 0.0
    point = prediction.point if prediction.point is not None and is_finite(prediction.point) else None
    if term.kind == "format":
        return float(point is not None or prediction.declined)
    if point is None or step.region is None or step.target_absent:
        return 0.0
    off_px = distance_px(step.region, point)
    return 0.0 if off_px is None else max(0.0, 1.0 - off_px / (term.reach * diagonal_px(step.screenshot.size)))


def narrowed(step: Step) -> Step:
    """The step with the first of its gold shapes alone (boxes come before polygons)."""
    region = step.region
    if region is None or len(region.boxes) + len(region.polygons) < 2:
        return step
    first = Region(boxes=region.boxes[:1]) if region.boxes else Region(polygons=region.polygons[:1])
    return msgspec.structs.replace(step, region=first)


def diagonal_px(size: Size) -> float:
    """From corner to corner of a screenshot."""
    return math.hypot(size.width, size.height)


def check_terms(terms: Sequence[RewardTerm]) -> None:
    """Make sure that the terms of a reward can be told apart.

    Raises:
        UserError: there is none, or two of one kind.
    """
    kinds = [term.kind for term in terms]
    if not kinds:
        raise UserError("field grpo.rewards: expected at least one term: hit, format or distance")
    twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
    if twice:
        raise UserError(f"field grpo.rewards: {', '.join(twice)} stands there more than once; give it one weight")

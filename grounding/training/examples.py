"""Steps to examples: what is asked, the answer to learn, and what a reply is worth, all as in the evaluation. Pure."""

import re
from collections.abc import Collection, Sequence

import msgspec

from grounding.cards import CardPart, GrounderCard
from grounding.cards.schema import WRITTEN_NUMBER
from grounding.data.images import picture_sizes
from grounding.errors import UserError
from grounding.geometry import Space, point_from_original
from grounding.grounders.base import read_reply
from grounding.llm.chat import too_long
from grounding.records import Box, ImageSizes, Point, Polygon, Prediction, Query, Record, Session, Step, Verdict
from grounding.run.steps import query_about, step_items
from grounding.scoring.scored import judge
from grounding.training.recipes import GrounderRecipe


class GrounderExample(Record, frozen=True, kw_only=True):
    """One step to learn from: what the model is asked, and the step that says where the click is right."""

    step: Step
    query: Query


# Ours: the paper says what the tuned model was told, and not in what words.
HISTORY_PART = "What was said and done before, the oldest first:\n{history}\n\n"
NO_HISTORY = "(nothing yet)"


def trained_card(card: GrounderCard, *, history: int) -> GrounderCard:
    """The card whose prompt is trained: the asked one, with a place for the history where it needs one. The card's own
    parts and their order stay as they are. With ``history`` 0 it is the asked card.
    """
    if not history or card.uses_history:
        return card
    return msgspec.structs.replace(
        card, user=(CardPart(text=HISTORY_PART), *card.user), no_history=card.no_history or NO_HISTORY
    )


def prepare(
    sessions: Sequence[Session], selected: Collection[str], card: GrounderCard, recipe: GrounderRecipe
) -> tuple[GrounderExample, ...]:
    """The examples among the selected steps, in session order; of each what is asked when no planner stands before it.

    None is a step without a click or words, with more words than are ever asked, without a place on the screen where
    the card has no way to say so, or over a screenshot of a shape that the model refuses.
    """
    found = []
    for item in step_items(sessions, frozenset(selected), recipe.history, recipe.history_scope):
        step = item.step
        if _can_be_asked(step, card):
            query = query_about(item, step.instruction, card.reads)
            found.append(GrounderExample(step=step, query=query))
    return tuple(found)


def _can_be_asked(step: Step, card: GrounderCard) -> bool:
    if step.region is None or step.unheard is not None or too_long(card, step.instruction) is not None:
        return False
    if step.target_absent and card.answer.refusal is None:
        return False
    try:
        picture_sizes(step.screenshot.size, card.image)
    except ValueError:
        return False
    return True


# For fractions of the picture whose card states none: a thousandth, as fine as the other relative spaces.
FRACTION_DECIMALS = 3
_USUAL = {"point": "({x},{y})", "point_or_box": "({x},{y})", "box": "[{x1},{y1},{x2},{y2}]"}


def written_form(card: GrounderCard) -> str:
    """How the card's model writes an answer: the card's ``writes``, or the plainest of the usual forms. Raises
    UserError: the card reads answers by patterns of its own and doesn't say how they are written.
    """
    if card.writes is not None:
        return card.writes
    if card.answer.patterns or card.answer.within is not None or card.prefill is not None:
        raise UserError(
            f"card {card.name}: supervised training needs to know how the model writes an answer; add it to the card, "
            'for example `writes: "({x},{y})"`'
        )
    return _USUAL[card.answer.form]


def gold_answer(card: GrounderCard, example: GrounderExample) -> str | None:
    """What the model should write after the prompt, which the evaluation reads as a hit; None where nothing is.

    The gold shapes are tried in their order; each number is the one next to the centre's that the space has. Of a box
    the centre's nearest number is a hit if any is, so what is left out here can't be answered rightly at all in these
    numbers. Raises UserError: as ``written_form`` raises. Raises ValueError: the model refuses a picture of this shape.
    """
    form = written_form(card)
    region = example.step.region
    if region is None or example.step.target_absent:
        return None
    sizes = picture_sizes(example.query.screenshot.size, card.image)
    for box in (*region.boxes, *map(_around, region.polygons)):
        text = _written(form, box, card.answer.space, sizes).removeprefix(card.prefill or "")
        if judged(example, card, text, sizes).outcome == "hit":
            return text
    return None


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


def judged(example: GrounderExample, card: GrounderCard, text: str, sizes: ImageSizes) -> Verdict:
    """The verdict of the toolkit's own scoring on a reply: what the model wrote after prompt and prefill."""
    reply = read_reply((card.prefill or "") + text, card.answer, sizes)
    prediction = Prediction(
        step_id=example.step.id,
        key=example.query.key,
        point=reply.point,
        box=reply.box,
        raw=text,
        sizes=sizes,
        failure=reply.failure,
        declined=reply.declined,
    )
    return judge(example.step, None, prediction)


def reward(example: GrounderExample, card: GrounderCard, text: str) -> float:
    """What a reply is worth: 1 where the evaluation would count a hit, else 0. Raises ValueError: the step has no
    region, or the model refuses a picture of this shape.
    """
    sizes = picture_sizes(example.query.screenshot.size, card.image)
    return float(judged(example, card, text, sizes).outcome == "hit")

"""A model's whole reply to a place on the screenshot: what the evaluation scores and training rewards. Pure."""

from __future__ import annotations

from grounding.cards import AnswerRule
from grounding.coordinates import ModelBox, box_to_original, point_to_original
from grounding.grounders.answers import declines, read_answer
from grounding.records import Box, Failure, ImageSizes, Point, Record


class ReadReply(Record, frozen=True, kw_only=True):
    """Where a reply points, in pixels of the original screenshot, or why it points nowhere.

    ``point`` is a box's centre where ``box`` is what the reply names. ``declined`` marks a reply which says that there
    is no such place.
    """

    point: Point | None = None
    box: Box | None = None
    failure: Failure | None = None
    declined: bool = False


def read_reply(
    whole: str, rule: AnswerRule, sizes: ImageSizes, *, refused: bool = False, finish_reason: str = ""
) -> ReadReply:
    """Read a reply by its card's rule, through the card's coordinate space.

    Args:
        whole: The reply with the card's prefill before it.
        rule: The card's.
        sizes: Those of the picture that the model was shown.
        refused: Whether the model's vendor says that it refused to answer.
        finish_reason: Why the reply ends, as a server says it; part of the failure's message.
    """
    if refused:
        return ReadReply(failure=Failure(kind="unparsed", message="the model refused"))
    if declines(whole, rule):
        failure = Failure(kind="unparsed", message="the model says that there is no such place")
        return ReadReply(failure=failure, declined=True)
    place = read_answer(whole, rule)
    if place is None:
        form = rule.form.replace("_", " ")
        ending = f" (finish reason: {finish_reason})" if finish_reason not in ("", "stop") else ""
        return ReadReply(failure=Failure(kind="unparsed", message=f"no {form} in the reply{ending}"))
    if isinstance(place, ModelBox):
        box = box_to_original(place, sizes)
        return ReadReply(point=box.center, box=box)
    return ReadReply(point=point_to_original(place, sizes))

"""What the model wrote in training, read and judged exactly as an answer in the evaluation is. Pure."""

from __future__ import annotations

from grounding.cards import GrounderCard
from grounding.grounders.replies import read_reply
from grounding.records import ImageSizes, Prediction, Verdict
from grounding.scoring.verdicts import judge
from grounding.training.grounder.records import GrounderExample


def read_as_prediction(example: GrounderExample, card: GrounderCard, text: str, sizes: ImageSizes) -> Prediction:
    """A reply as the prediction that the evaluation would have kept.

    Args:
        example: What was asked.
        card: As it is trained; its prefill stands before the reply.
        text: What the model wrote after the prompt, without the token that ends it.
        sizes: Those of the screenshot on its way to the model.
    """
    reply = read_reply((card.prefill or "") + text, card.answer, sizes)
    return Prediction(
        step_id=example.step.id,
        key=example.query.key,
        point=reply.point,
        box=reply.box,
        raw=text,
        sizes=sizes,
        failure=reply.failure,
        declined=reply.declined,
    )


def judged(example: GrounderExample, card: GrounderCard, text: str, sizes: ImageSizes) -> Verdict:
    """A reply's verdict by the toolkit's own scoring.

    Raises:
        ValueError: the step has no region.
    """
    return judge(example.step, None, read_as_prediction(example, card, text, sizes))

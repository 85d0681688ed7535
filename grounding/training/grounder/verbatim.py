"""A card's prompt, rendered by the evaluation's own code and handed to TRL so that not one token changes.

TRL renders prompts itself, by the processor's chat template and always with the beginning of a reply after them. So the
finished text is cut at the picture's place and given to it as the parts of one message, and the processor that it works
with has a template that prints these parts as they are.
"""

from __future__ import annotations

import copy
from typing import Any

from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.grounders.hf.generator import image_limits, render_prompt
from grounding.grounders.hf.prompts import Prompt, prepare_prompt
from grounding.records import Query

_TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}{% if part['type'] == 'image' %}IMAGE"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
)


def verbatim_template(image_token: str) -> str:
    """A chat template that prints text parts as they stand and pictures as their token, and adds nothing."""
    return _TEMPLATE.replace("IMAGE", image_token)


def verbatim_processor(processor: Any, card: ChatCard) -> Any:
    """A copy of a checkpoint's processor for TRL: the template above, padding on the left, the card's image limits.

    What it saves is the checkpoint's own processor, so that a folder of tuned weights is a checkpoint like the first.
    """
    own = copy.deepcopy(processor)
    own.chat_template = verbatim_template(processor.image_token)
    own.tokenizer.chat_template = own.chat_template
    own.tokenizer.padding_side = "left"
    if own.tokenizer.pad_token is None:
        own.tokenizer.pad_token = own.tokenizer.eos_token
    if card.image.resize != "none":
        limits = image_limits(card.image)
        own.image_processor.size = type(own.image_processor.size)(**limits)
    own.save_pretrained = processor.save_pretrained
    return own


def verbatim_message(text: str, image_token: str) -> list[dict[str, Any]]:
    """A rendered prompt as the one user message that the template above prints as exactly this text.

    Raises:
        ValueError: the text has not exactly one place for a picture.
    """
    pieces = text.split(image_token)
    if len(pieces) != 2:
        raise ValueError(f"the prompt has {len(pieces) - 1} places for a picture ({image_token}), expected one")
    parts = [{"type": "text", "text": pieces[0]}, {"type": "image"}, {"type": "text", "text": pieces[1]}]
    return [{"role": "user", "content": parts}]


def rendered(processor: Any, card: ChatCard, query: Query) -> tuple[Prompt, str]:
    """One question as the evaluation asks it: the picture in memory, and the whole prompt as text. Blocks.

    Args:
        processor: The checkpoint's own, with its own template.
        card: As it is trained.
        query: The question.

    Raises:
        UserError: the screenshot can't be read.
    """
    try:
        prompt = prepare_prompt(card, query)
    except (OSError, ValueError) as error:
        raise UserError(f"step {query.step_id}: {query.screenshot.path}: {error}") from error
    return prompt, render_prompt(processor, card, prompt)

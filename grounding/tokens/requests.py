"""The tokens of one request, before it is sent: an estimate, and a bound that no bill can pass."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.card_schema import ChatCard, Json
from grounding.records import ImageSizes, Record
from grounding.tokens.families import image_tokens
from grounding.tokens.images import billed_image_tokens
from grounding.tokens.texts import text_tokens
from grounding.wire import ImagePart, Message, TextPart

OUTPUT_LIMITS = ("max_completion_tokens", "max_tokens")
"""The parameters that bound a reply; hidden reasoning counts against them."""

PER_MESSAGE, PER_REQUEST = 4, 3
"""Tokens that a chat template adds: the role and the marks of each message, the beginning of the reply (OpenAI's
cookbook on counting tokens)."""

MOST_PER_MESSAGE, MOST_PER_REQUEST = 32, 128
"""The same for a bound: templates of other models add a system message of their own."""


class RequestTokens(Record, frozen=True, kw_only=True):
    """What a request is expected to take, and the most that it can.

    ``text`` and ``images`` are estimates of the input; ``images`` is None where no rule for the pictures is known.
    ``input_most`` and ``output_most`` are bounds, None where there is none. ``output`` is the card's expectation.
    """

    text: int
    images: int | None
    output: int | None
    input_most: int | None
    output_most: int | None

    @property
    def input(self) -> int:
        """The expected input, without pictures that nobody can count."""
        return self.text + (self.images or 0)

    @property
    def expected(self) -> int:
        """Input and output together, as a limit per minute counts them; an unknown output counts as its bound."""
        return self.input + (self.output or self.output_most or 0)


def request_tokens(
    card: ChatCard,
    messages: Sequence[Message],
    sizes: ImageSizes,
    parameters: dict[str, Json],
    *,
    tools: str = "",
) -> RequestTokens:
    """Count a conversation as it will be sent.

    Args:
        card: The model, with its rule for pictures and its usual length of a reply.
        messages: The conversation; every picture in it has the same size.
        sizes: That of the picture on its way to the model.
        parameters: Those of the request.
        tools: The functions that the model may call, as JSON text; servers write them into the prompt in other words.
    """
    texts = [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]
    texts += [call.name + call.arguments for message in messages for call in message.tool_calls]
    texts += [tools] if tools else []
    pictures = sum(isinstance(part, ImagePart) for message in messages for part in message.parts)
    each = picture_tokens(card, sizes)
    images = 0 if not pictures else None if each is None else each * pictures
    # A token is at least one byte of text.
    text_most = sum(len(text.encode("utf-8", "replace")) for text in texts)
    text_most += MOST_PER_MESSAGE * len(messages) + MOST_PER_REQUEST
    output_most = output_limit(parameters)
    expected = card.output_tokens.expected if card.output_tokens else None
    return RequestTokens(
        text=sum(text_tokens(text) for text in texts) + PER_MESSAGE * len(messages) + PER_REQUEST,
        images=images,
        output=expected if output_most is None or expected is None else min(expected, output_most),
        input_most=None if images is None else text_most + images,
        output_most=output_most,
    )


def picture_tokens(card: ChatCard, sizes: ImageSizes) -> int | None:
    """The tokens of one picture: by the card's rule, or by that of its family; None where neither is known."""
    if card.image_tokens is not None:
        return billed_image_tokens(card.image_tokens, sizes.sent)
    found = image_tokens(card.family, sizes.model)
    return None if found is None else found + 2  # The marks before and after it.


def output_limit(parameters: dict[str, Json]) -> int | None:
    """The most tokens that a reply can have; None where the request doesn't say."""
    for name in OUTPUT_LIMITS:
        value = parameters.get(name)
        if isinstance(value, int):
            return value
    return None

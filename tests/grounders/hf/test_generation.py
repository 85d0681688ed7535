"""A card's parameters to transformers' arguments, and the ends of a reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.cards import GrounderCard, read_cards
from grounding.errors import UserError
from grounding.grounders.hf.generation import DEFAULT_MAX_TOKENS, Generation, generation_for
from grounding.llm.chat import ChatOptions, request_parameters

CARDS = Path(__file__).parents[3] / "models" / "grounders"


def mapped(**parameters: object) -> Generation:
    return generation_for(parameters, card="some")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parameters", "alone"),
    [
        ({"temperature": 0}, False),
        ({"temperature": 0, "repetition_penalty": 1.0}, False),
        ({"temperature": 0, "repetition_penalty": 1.05}, True),
        ({"temperature": 0.5}, True),
    ],
)
def test_what_depends_on_the_neighbours_goes_alone(parameters: dict[str, object], alone: bool) -> None:
    assert mapped(**parameters).alone is alone


def test_sampling_has_a_servers_defaults_and_not_those_of_transformers() -> None:
    generation = mapped(temperature=0.5, seed=7)
    assert generation.seed == 7
    # transformers would keep the 50 likeliest tokens.
    assert generation.arguments == {
        "max_new_tokens": DEFAULT_MAX_TOKENS,
        "repetition_penalty": 1.0,
        "do_sample": True,
        "temperature": 0.5,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
    }
    assert mapped(temperature=0.5, top_k=-1).arguments["top_k"] == 0
    assert mapped(temperature=0.5, top_k=3, top_p=0.9).arguments["top_k"] == 3


def test_every_bundled_card_of_the_family_is_mapped_or_refused_by_name() -> None:
    refused = {}
    for card in read_cards(CARDS, GrounderCard):
        if card.family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl") and card.serving.how != "in-process":
            try:
                generation_for(request_parameters(card, ChatOptions()), card=card.name)
            except UserError as error:
                refused[card.name] = str(error)
    # What only a server of vLLM's can do.
    words = ("structured_outputs", "chat_template_kwargs")
    assert all(any(word in message for word in words) for message in refused.values()), refused

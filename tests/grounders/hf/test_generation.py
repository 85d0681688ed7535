"""A card's parameters to transformers' arguments, and the ends of a reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.cards import GrounderCard, read_cards
from grounding.chat import ChatOptions, request_parameters
from grounding.errors import UserError
from grounding.grounders.hf.generation import DEFAULT_MAX_TOKENS, Generation, cut_at_stop, generation_for

CARDS = Path(__file__).parents[3] / "models" / "grounders"


def mapped(**parameters: object) -> Generation:
    return generation_for(parameters, card="some")  # type: ignore[arg-type]


def test_temperature_0_is_greedy_and_nothing_is_left_to_the_checkpoint() -> None:
    assert mapped(temperature=0, max_tokens=32).arguments == {
        "max_new_tokens": 32,
        "repetition_penalty": 1.0,
        "do_sample": False,
    }


def test_the_cards_own_penalty_is_kept() -> None:
    generation = mapped(temperature=0, repetition_penalty=1.05)
    assert generation.arguments["repetition_penalty"] == 1.05
    assert generation.arguments["max_new_tokens"] == DEFAULT_MAX_TOKENS


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


def test_a_card_without_a_temperature_samples_as_the_protocol_says() -> None:
    assert mapped().arguments["temperature"] == 1.0


def test_greedy_ignores_what_is_for_sampling() -> None:
    assert "top_p" not in mapped(temperature=0, top_p=0.001, top_k=1, seed=3).arguments


def test_decoding_and_ends() -> None:
    generation = mapped(temperature=0, skip_special_tokens=False, stop="\n", stop_token_ids=[5])
    assert not generation.skip_special_tokens
    assert (generation.stop, generation.stop_token_ids) == (("\n",), (5,))
    assert mapped(temperature=0).skip_special_tokens
    assert mapped(temperature=0, stop=["a", "b"]).stop == ("a", "b")


def test_what_a_prefill_adds_to_a_request_is_no_parameter_here() -> None:
    assert mapped(temperature=0, add_generation_prompt=False, continue_final_message=True) == mapped(temperature=0)


def test_a_parameter_without_a_counterpart_is_named() -> None:
    with pytest.raises(UserError, match="card some: field parameters: structured_outputs can't be honoured"):
        mapped(temperature=0, structured_outputs={"regex": "a"})


@pytest.mark.parametrize("value", ["0", True, [1]])
def test_a_value_of_the_wrong_kind_is_named(value: object) -> None:
    with pytest.raises(UserError, match=r"parameters\.temperature: expected a number"):
        mapped(temperature=value)


def test_cut_at_the_first_stop_string() -> None:
    assert cut_at_stop("click(1, 2)\nObservation: x", ("Observation", "\n")) == "click(1, 2)"
    assert cut_at_stop("click(1, 2)", ("\n",)) == "click(1, 2)"


def test_every_bundled_card_of_the_family_is_mapped_or_refused_by_name() -> None:
    refused = {}
    for card in read_cards(CARDS, GrounderCard):
        if card.family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl") and card.serving.how != "in-process":
            try:
                generation_for(request_parameters(card, ChatOptions()), card=card.name)
            except UserError as error:
                refused[card.name] = str(error)
    assert all("structured_outputs" in message for message in refused.values()), refused

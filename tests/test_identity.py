"""What of a card is part of a model's identity, and what is not: stored answers are kept under its hash."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.make import grounder_card, model

from grounding.grounders.hf.identity import hf_identity
from grounding.grounders.hf.options import HfOptions


def identity(**fields: Any) -> str:
    return model(grounder_card(**fields), "http://127.0.0.1:1/v1").identity


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "m2"},
        {"system": "x"},
        {"user": [{"text": "{instruction}"}, {"image": "screenshot"}]},
        {"user": [{"image": "screenshot"}, {"text": "{instruction} "}]},
        {"parameters": {"temperature": 0}},
        {"image": {"resize": "server", "factor": 28, "min_pixels": 1, "max_pixels": 2}},
        {"answer": {"form": "point", "space": "rel_1"}},
        {"answer": {"form": "box", "space": "original_px"}},
        {"answer": {"form": "point", "space": "original_px", "match": "last"}},
        {"answer": {"form": "point", "space": "original_px", "pattern": r"(\d) (\d)"}},
        {"answer": {"form": "point", "space": "original_px", "refusal": "no"}},
        {"answer": {"form": "point", "space": "original_px", "within": "(x)"}},
        {"answer": {"form": "point", "space": "original_px", "whole_numbers": "rel_1000"}},
        {"prefill": "("},
        {"no_history": "None"},
        {"strip_suffix": "."},
        {"revision": "v2"},
    ],
)
def test_what_can_change_an_answer_changes_the_identity(fields: dict[str, Any]) -> None:
    assert identity(**fields) != identity()


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "x"},
        {"aliases": ["x"]},
        {"price": {"input_usd": 1, "output_usd": 2, "date": "x"}},
        {"endpoint": {"base_url": "http://127.0.0.1:2/v1", "key_variable": "TEST_KEY", "how_to_serve": "x"}},
        {"notes": "x"},
        {"source": "x"},
        {"max_connections": 3},
        {"timeout_s": 3},
        {"takes": ["seed"]},
        {"serving": {"how": "vllm-flags", "reason": "x", "flags": ["--x"]}},
        {"published": [{"benchmark": "x", "value": 1, "source": "x"}]},
        {"disagreements": ["x"]},
        {"family": "qwen3_vl"},
        {"writes": "({x},{y})"},
    ],
)
def test_what_can_not_change_an_answer_leaves_the_identity(fields: dict[str, Any]) -> None:
    assert identity(**fields) == identity()


def test_a_model_in_this_process_has_the_same_fields_and_its_own_weights() -> None:
    def here(checkpoint: str = "c", **fields: Any) -> str:
        card = grounder_card(**fields)
        return hf_identity(card, HfOptions(), dict(card.parameters), checkpoint)

    assert here() != identity()
    assert here(title="x", family="qwen3_vl", serving={"how": "vllm", "reason": "x"}) == here()
    assert here(system="x") != here()
    assert here(checkpoint="d") != here()
    assert here(revision="v2") == here(), "the checkpoint says it"


def test_the_order_of_parameters_is_no_difference() -> None:
    assert identity(parameters={"a": 1, "b": 2}) == identity(parameters={"b": 2, "a": 1})


def test_the_prompt_hash_covers_the_prompt_and_nothing_else() -> None:
    assert grounder_card(title="x").prompt_hash == grounder_card(name="y", parameters={"seed": 1}).prompt_hash
    prompts: list[dict[str, Any]] = [
        {},
        {"system": ""},
        {"system": "x"},
        {"user": [{"text": "{instruction}"}, {"image": "screenshot"}]},
        {"user": [{"image": "screenshot"}, {"text": "{instruction}\n"}]},
        {"prefill": "("},
        {"no_history": "None"},
        {"strip_suffix": "."},
    ]
    assert len({grounder_card(**prompt).prompt_hash for prompt in prompts}) == len(prompts)

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from fakes.make import asked

from grounding.cards import AnswerRule, CardPart, GrounderCard, ImageRule, PlannerCard
from grounding.run.folder import AskedTranscript, signature

ASKED = asked(dataset="web", fingerprint="0123456789abcdef", version="1.2")
CARD = GrounderCard(
    name="g",
    title="G",
    model="g",
    user=(CardPart(image="screenshot"), CardPart(text="{instruction}")),
    answer=AnswerRule(form="point", space="sent_px"),
)
PLANNER = PlannerCard(
    name="p", title="P", model="p", user=(CardPart(image="screenshot"), CardPart(text="plan {instruction}"))
)


def parts(line: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in line.split("|"))


def sign(**changes: Any) -> str:
    return signature(msgspec.structs.replace(ASKED, **changes), None, None)


def test_it_says_what_a_number_is_a_number_of() -> None:
    found = parts(sign())
    assert found["dataset"] == "web@0123456789ab"
    assert found["planner"].startswith("none@")
    assert found["grounder"].startswith("center@")
    assert found["prompt"] == "none"
    assert found["image"] == "original"
    assert (found["history"], found["select"], found["seed"], found["version"]) == ("0", "all", "0", "1.2")
    assert found["scoring"].startswith("paper+official.")


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "other"},
        {"fingerprint": "1123456789abcdef"},
        {"history": 10},
        {"plan_ahead": True},
        {"select": "limit=3"},
        {"planner": "o3"},
        {"planner_identity": "other"},
        {"grounder": "other"},
        {"grounder_identity": "other"},
        {"seed": 1},
        {"version": "1.3"},
    ],
)
def test_what_changes_a_score_changes_it(changes: dict[str, Any]) -> None:
    assert sign(**changes) != sign()


def test_how_far_the_history_reaches_is_in_it_where_there_is_one() -> None:
    assert parts(sign(history=10))["history"] == "10/session"
    assert parts(sign(history=10, history_scope="task"))["history"] == "10/task"
    assert sign(history_scope="task") == sign()


@pytest.mark.parametrize("changes", [{"base_url": "http://10.0.0.1/v1"}, {"planner_base_url": "http://10.0.0.1/v1"}])
def test_addresses_are_not_in_it(changes: dict[str, Any]) -> None:
    assert sign(**changes) == sign()


def test_prompts_and_image_rules_of_both_models_are_in_it() -> None:
    resized = msgspec.structs.replace(
        CARD, image=ImageRule(resize="client", factor=28, min_pixels=3136, max_pixels=9999)
    )
    both = parts(signature(ASKED, PLANNER, resized))
    assert both["prompt"] == f"{PLANNER.prompt_hash}+{CARD.prompt_hash}"
    assert both["image"] == "original+client:28:3136-9999"
    other_words = msgspec.structs.replace(CARD, system="Be brief.")
    assert parts(signature(ASKED, None, other_words))["prompt"] != parts(signature(ASKED, None, CARD))["prompt"]


def test_where_the_words_come_from_is_in_it_and_true_words_leave_it_as_it_was() -> None:
    told = AskedTranscript(
        condition="pocketsphinx@babble:10dB", recogniser="r", noise="n", source="s", normaliser="plain-1"
    )
    heard = msgspec.structs.replace(ASKED, transcript=told)
    found = parts(signature(heard, None, None, word_error_percent=28.104))
    assert found["transcript"].startswith("pocketsphinx@babble:10dB@")
    assert found["wer"] == "28.10%/plain-1"
    assert parts(signature(heard, None, None))["wer"] == "unknown/plain-1"
    assert "transcript" not in parts(sign())
    for name in ("recogniser", "noise", "source"):
        other = msgspec.structs.replace(ASKED, transcript=msgspec.structs.replace(told, **{name: "other"}))
        assert parts(signature(other, None, None))["transcript"] != found["transcript"]

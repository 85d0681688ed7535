"""What a reply comes to: the plan, wherever it stands in the reply, or the reason why there is none."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.make import MODELS
from hypothesis import given
from hypothesis import strategies as st

from grounding.cards import PlannerCard, read_card
from grounding.llm.wire import Completion
from grounding.planners.base import read_plans
from grounding.planners.prompts import MAX_LINE_CHARS, plan_outcome, prompted
from planners.test_replay import RELEASED

O3 = read_card(MODELS / "planners" / "o3.yaml", PlannerCard)
PROMPTS = MODELS / "prompts" / "planners"
EXPLICIT = prompted(O3, "explicit", PROMPTS)
OFFICIAL = prompted(O3, "official", PROMPTS)


def said(text: str, **more: Any) -> Completion:
    fields = {"finish_reason": "stop", "refused": False, "model": "m", "usage": None, **more}
    return Completion(text=text, **fields)


def plan(card: PlannerCard, text: str, **more: Any) -> str | None:
    return plan_outcome(card, said(text, **more)).text


def why(card: PlannerCard, text: str, **more: Any) -> str:
    outcome = plan_outcome(card, said(text, **more))
    assert outcome.text is None
    assert outcome.failure is not None
    assert outcome.failure.kind == "unparsed"
    return outcome.failure.message


CLICK = 'Click the "Buy" button in the first card.'


@pytest.mark.parametrize(
    "reply",
    [
        f"<instruction>{CLICK}</instruction>",
        f"<instruction>\n  {CLICK}\n</instruction>\n",
        f"They mean the first one.\n\n<instruction>{CLICK}</instruction>",
        f"<INSTRUCTION>{CLICK}</INSTRUCTION>",
        f"```\n<instruction>{CLICK}</instruction>\n```",
        f"First I thought of <instruction>Click the logo.</instruction>, but no:\n<instruction>{CLICK}</instruction>",
        f"<think>maybe <instruction>Click the logo.</instruction></think><instruction>{CLICK}</instruction>",
        f"<instruction>{CLICK}</instruction><think>or <instruction>the logo</instruction></think>",
        f"<instruction>{CLICK}</instruction> as in <instruction>…</instruction>",
        CLICK,
        f"  {CLICK}\n",
        f"<think>which one?\nthe first</think>\n{CLICK}",
    ],
)
def test_the_marked_instruction_is_found_whatever_stands_around_it(reply: str) -> None:
    assert plan(EXPLICIT, reply) == CLICK


@pytest.mark.parametrize(
    ("reply", "more", "words"),
    [
        ("It could be the first.\nOr the second.", {}, "the reply does not mark a plan as the prompt asks"),
        ("x" * (MAX_LINE_CHARS + 1), {}, "the reply does not mark a plan"),
        ("<instruction></instruction>", {}, "the reply does not mark a plan"),
        ("<instruction> … </instruction>", {}, "the reply does not mark a plan"),
        ("They mean the first.\n<instruction>Click the", {"finish_reason": "length"}, "cut off before the plan"),
        ("They mean the first", {"finish_reason": "length"}, "cut off before the plan"),
        ("<think>hm, the first one", {"finish_reason": "length"}, "thinking used up the reply; raise max_completion"),
        ("<think>hm</think>", {}, "the reply is empty (finish reason: stop)"),
        ("", {}, "the reply is empty (finish reason: stop)"),
        ("", {"finish_reason": "length"}, "the reply is empty: 0 tokens were used up before its first word; raise"),
        (CLICK, {"refused": True}, "the model refused"),
        (CLICK, {"finish_reason": "content_filter"}, "the vendor's content filter stopped the reply"),
        (CLICK, {"finish_reason": "content_filter: RECITATION"}, "the vendor's content filter stopped the reply"),
        (CLICK, {"finish_reason": "PROHIBITED_CONTENT"}, "the vendor's content filter stopped the reply"),
    ],
)
def test_what_holds_no_instruction_says_why(reply: str, more: dict[str, Any], words: str) -> None:
    assert words in why(EXPLICIT, reply, **more)


@pytest.mark.parametrize("reply", [CLICK, f"<think>the first</think> {CLICK}", "a\nb", "x" * 5000, f"<b>{CLICK}"])
def test_the_official_plan_is_the_whole_reply(reply: str) -> None:
    assert plan(OFFICIAL, f"\n{reply} ") == reply
    assert plan(OFFICIAL, reply, finish_reason="length") == reply


REFUSALS = (
    "I'm sorry, I can't assist with that.",
    "I\u2019m sorry, but I can\u2019t help with that request.",
    "I cannot assist with this.",
    "Sorry, I'm unable to do that.",
    "Unfortunately, I am not able to tell which element is meant.",
    "I won't do that.",
)


@pytest.mark.parametrize("reply", REFUSALS)
@pytest.mark.parametrize("card", [OFFICIAL, EXPLICIT], ids=["official", "explicit"])
def test_a_refusal_in_words_is_no_plan(card: PlannerCard, reply: str) -> None:
    assert why(card, reply) == "the model refused, in words"


@pytest.mark.parametrize(
    "reply",
    [
        'Click the "I can\'t sign in" link below the form.',
        "The correct element is the link I'm sorry, at the top.",
        "I can see the button at the top right.",
        "Sorry for the confusion: the correct element is the first card.",
        "Unfortunately named, the button 'Delete all' is the correct element.",
        "I'm sorry, I can't tell for sure, but the correct element is " + "very likely the second card " * 12,
    ],
)
def test_a_plan_that_sounds_a_little_like_a_refusal_is_a_plan(reply: str) -> None:
    assert plan(OFFICIAL, reply) == reply.strip()


@pytest.mark.parametrize(
    ("name", "refusals"), [("gpt_reasoning_10", 5), ("gpt_reasoning_o1_10", 0), ("claude_reasoning_10", 0)]
)
def test_the_refusals_among_the_released_plans(name: str, refusals: int) -> None:
    path = RELEASED / f"{name}.json"
    if not path.exists():
        pytest.skip(f"the released plans of RealWebAssist are not beside the repository: {path.name}")
    outcomes = [plan_outcome(OFFICIAL, said(text)) for text in read_plans(path).values()]
    failures = [outcome.failure.message for outcome in outcomes if outcome.failure]
    assert failures == ["the model refused, in words"] * refusals


@given(st.text(), st.sampled_from(["stop", "length", "content_filter", ""]), st.booleans())
def test_there_is_a_plan_with_something_in_it_or_a_reason_never_both(text: str, reason: str, refused: bool) -> None:
    for card in (OFFICIAL, EXPLICIT):
        outcome = plan_outcome(card, said(text, finish_reason=reason, refused=refused))
        assert (outcome.text is None) == (outcome.failure is not None)
        assert outcome.text is None or outcome.text.strip()

"""Every planner's card against its vendor's fake: what is sent is accepted, a plan comes back, the cost is the bill."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import MODELS, picture_file, query
from fakes.provider import Provider
from fakes.vendor_rules import Vendor

from grounding.cards import PlannerCard, read_cards
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.llm.tokens import billed_image_tokens
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner, build_planner
from grounding.records import HistoryEntry, Plan, Query, Size

CARDS = {card.name: card for card in read_cards(MODELS / "planners", PlannerCard)}
VENDORS: dict[str, Vendor] = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "dashscope-intl.aliyuncs.com": "dashscope",
}
IN_TIME = datetime.date(2026, 1, 1)


def vendor(card: PlannerCard) -> Vendor:
    host = (card.endpoint.base_url or "///").split("/")[2]
    return VENDORS.get(host, "vllm")


def build(provider: Provider, name: str, **more: Any) -> BuiltPlanner:
    chat = {"base_url": provider.base_url(vendor(CARDS[name])), "max_retries": 2, **more.pop("options", {})}
    return built_at(name, ChatOptions(**chat), **more)


def built_at(name: str, chat: ChatOptions, **more: Any) -> BuiltPlanner:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("grounding.planners.today_utc", lambda: IN_TIME)
        options = EvalOptions(planner=name, **more)
        return build_planner(options, chat, budget=Budget(None), on_retry=lambda: None)


def ask(built: BuiltPlanner, *queries: Query) -> list[Plan]:
    async def run() -> list[Plan]:
        try:
            await built.planner.check()
            return list(await asyncio.gather(*(built.planner.plan(each) for each in queries)))
        finally:
            await built.planner.aclose()

    return asyncio.run(run())


@pytest.fixture
def step(tmp_path: Path) -> Query:
    return query(
        picture_file(tmp_path / "1.png", 1920, 1080),
        "now the cheaper one",
        step="4/2",
        history=(HistoryEntry(instruction="find mugs", action="Clicked the search field"),),
    )


@pytest.mark.parametrize("prompt", ["official", "explicit"])
@pytest.mark.parametrize("name", CARDS)
def test_a_plan_comes_back_and_costs_what_is_billed(provider: Provider, step: Query, name: str, prompt: str) -> None:
    (plan,) = ask(build(provider, name, planner_prompt=prompt), step)
    assert plan.failure is None
    assert plan.text is not None
    assert plan.text.startswith("Click the ")
    assert "<" not in plan.text
    assert plan.raw is not None
    assert plan.text in plan.raw
    (charge,) = provider.charges
    assert plan.call is not None
    assert plan.call.usage is not None
    assert plan.call.usage.input_tokens == charge.input_tokens
    assert plan.call.usage.output_tokens == charge.output_tokens
    if CARDS[name].price is None:
        assert plan.call.cost_usd is None
        assert charge.usd == 0
    else:
        assert plan.call.cost_usd == pytest.approx(charge.usd, rel=1e-12)
        assert charge.usd > 0


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, card in CARDS.items() for field in sorted(card.refuses)]
)
def test_a_field_that_a_card_calls_refused_stops_the_run_at_once(
    provider: Provider, tmp_path: Path, step: Query, name: str, field: str
) -> None:
    card = CARDS[name]
    wrong = msgspec.structs.replace(card, parameters={**card.parameters, field: 1}, refuses=())
    (tmp_path / "wrong.yaml").write_bytes(msgspec.yaml.encode(wrong))
    built = built_at(str(tmp_path / "wrong.yaml"), ChatOptions(base_url=provider.base_url(vendor(card))))
    with pytest.raises(UserError, match=f"refuses every request for .*{field}.*; check the card's parameters"):
        ask(built, step)
    assert provider.count == 1
    assert provider.bill_usd == 0


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.image_tokens])
@pytest.mark.parametrize("size", [(1920, 1080), (1280, 800), (2560, 1440), (640, 2000)])
def test_the_cards_image_rule_is_the_vendors(
    provider: Provider, tmp_path: Path, name: str, size: tuple[int, int]
) -> None:
    ask(build(provider, name), query(picture_file(tmp_path / "1.png", *size)))
    rule = CARDS[name].image_tokens
    assert rule is not None
    expected = billed_image_tokens(rule, Size(width=size[0], height=size[1]))
    assert provider.charges[0].image_tokens == pytest.approx(expected, rel=0.02)


# --- what can come instead of a plan ----------------------------------------------------------------------------------

REFUSED = "the model refused"
FILTERED = "the vendor's content filter stopped the reply"


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("gpt-4o", "refusal", REFUSED),
        ("o3", "refusal", REFUSED),
        ("claude-sonnet-5.5", "refusal", f"{FILTERED} (finish reason: refusal)"),
        ("gemini-2.5-pro", "refusal", f"{FILTERED} (finish reason: SAFETY)"),
        ("qwen3.8-max", "refusal", f"{FILTERED} (finish reason: content_filter)"),
        ("gpt-4o", "filter", f"{FILTERED} (finish reason: content_filter)"),
        ("gpt-4o", "blank", "the reply is empty (finish reason: stop)"),
        ("o3", "empty", "16384 reasoning tokens used up the reply; raise max_completion_tokens in the card (now "),
        ("claude-sonnet-5.5", "empty", "16384 tokens were used up before its first word; raise max_tokens in the card"),
        ("gemini-2.5-pro", "empty", "16384 reasoning tokens used up the reply; raise max_tokens in the card (now "),
    ],
)
@pytest.mark.parametrize("prompt", ["official", "explicit"])
def test_what_is_no_plan_is_unparsed_with_the_reason_and_paid_for(
    provider: Provider, step: Query, name: str, fault: str, words: str, prompt: str
) -> None:
    provider.faults.append(fault)
    (plan,) = ask(build(provider, name, planner_prompt=prompt), step)
    assert plan.text is None
    assert plan.failure is not None
    assert plan.failure.kind == "unparsed"
    assert words in plan.failure.message
    assert plan.raw is not None
    assert plan.call is not None
    assert plan.call.cost_usd == pytest.approx(provider.bill_usd, rel=1e-12)
    assert provider.count == 1


def test_a_request_beyond_the_models_window_is_unparsed(provider: Provider, tmp_path: Path) -> None:
    card = msgspec.structs.replace(CARDS["qwen2.5-vl-72b"], parameters={"max_tokens": 32_000})
    (tmp_path / "big.yaml").write_bytes(msgspec.yaml.encode(card))
    built = built_at(str(tmp_path / "big.yaml"), ChatOptions(base_url=provider.base_url("vllm")))
    (plan,) = ask(built, query(picture_file(tmp_path / "1.png", 1920, 1080)))
    assert plan.failure is not None
    assert plan.failure.kind == "unparsed"
    assert "maximum context length" in plan.failure.message


def test_the_generic_card_asks_the_only_model_or_the_named_one(provider: Provider, step: Query) -> None:
    built = build(provider, "any")
    assert built.planner.name == "any:Qwen/Qwen2.5-VL-72B-Instruct"
    with pytest.raises(UserError, match=r"serves gpt-4o, o1-2024-12-17, .*: name the one .* with --planner-model NAME"):
        built_at("any", ChatOptions(base_url=provider.base_url("openai")))
    named = built_at("any", ChatOptions(base_url=provider.base_url("openai")), planner_model="gpt-4o")
    (plan,) = ask(named, step)
    assert plan.failure is None
    assert provider.bodies[0]["model"] == "gpt-4o"
    assert set(provider.bodies[0]) == {"model", "messages"}

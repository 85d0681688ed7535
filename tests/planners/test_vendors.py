"""Every planner's card against its vendor's fake: what is sent is accepted, a plan comes back, the cost is the bill."""

from __future__ import annotations

import asyncio
import datetime
import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import MODELS, REPOSITORY, picture_file, query
from fakes.provider import KEY, Provider
from fakes.vendor_rules import Vendor

from grounding.budget import Budget
from grounding.cards import PlannerCard, read_cards
from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.planners import BuiltPlanner, build_planner
from grounding.records import HistoryEntry, Plan, Query, Size
from grounding.tokens import billed_image_tokens

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
    options = ChatOptions(base_url=provider.base_url(vendor(CARDS[name])), max_retries=2, **more.pop("options", {}))
    return build_planner(
        name,
        plans=None,
        cards=MODELS / "planners",
        options=options,
        budget=Budget(None),
        on_retry=lambda: None,
        today=IN_TIME,
        **more,
    )


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
    (plan,) = ask(build(provider, name, prompt=prompt), step)
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


@pytest.mark.parametrize("name", CARDS)
def test_sampling_options_that_a_card_takes_are_accepted(provider: Provider, step: Query, name: str) -> None:
    (plan,) = ask(build(provider, name, options={"temperature": 0.5, "seed": 7}), step)
    assert plan.failure is None
    (body,) = provider.bodies
    assert {field for field in ("temperature", "seed") if field in body} >= set(CARDS[name].takes)


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, card in CARDS.items() for field in sorted(card.refuses)]
)
def test_a_field_that_a_card_calls_refused_stops_the_run_at_once(
    provider: Provider, tmp_path: Path, step: Query, name: str, field: str
) -> None:
    card = CARDS[name]
    wrong = msgspec.structs.replace(card, parameters={**card.parameters, field: 1}, refuses=())
    (tmp_path / "wrong.yaml").write_bytes(msgspec.yaml.encode(wrong))
    built = build_planner(
        str(tmp_path / "wrong.yaml"),
        plans=None,
        cards=MODELS / "planners",
        options=ChatOptions(base_url=provider.base_url(vendor(card))),
        budget=Budget(None),
        on_retry=lambda: None,
        today=IN_TIME,
    )
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
    (plan,) = ask(build(provider, name, prompt=prompt), step)
    assert plan.text is None
    assert plan.failure is not None
    assert plan.failure.kind == "unparsed"
    assert words in plan.failure.message
    assert plan.raw is not None
    assert plan.call is not None
    assert plan.call.cost_usd == pytest.approx(provider.bill_usd, rel=1e-12)
    assert provider.count == 1


def test_reasoning_that_eats_the_budget_is_the_models_own_doing(
    provider: Provider, tmp_path: Path, step: Query
) -> None:
    card = msgspec.structs.replace(CARDS["o3"], parameters={"max_completion_tokens": 300})
    (tmp_path / "small.yaml").write_bytes(msgspec.yaml.encode(card))
    built = build_planner(
        str(tmp_path / "small.yaml"),
        plans=None,
        cards=MODELS / "planners",
        options=ChatOptions(base_url=provider.base_url("openai")),
        budget=Budget(None),
        on_retry=lambda: None,
        today=IN_TIME,
    )
    (plan,) = ask(built, step)
    assert plan.failure is not None
    assert plan.failure.message == (
        "the reply is empty: 300 reasoning tokens used up the reply; raise max_completion_tokens in the card (now 300)"
    )
    assert plan.call is not None
    assert plan.call.usage is not None
    assert (plan.call.usage.output_tokens, plan.call.usage.reasoning_tokens) == (300, 300)


@pytest.mark.parametrize("fault", ["429:0", "500", "503", "drop", "cut", "html"])
def test_what_another_try_mends_is_tried_again(provider: Provider, step: Query, fault: str) -> None:
    provider.faults.append(fault)
    (plan,) = ask(build(provider, "gpt-4o"), step)
    assert plan.failure is None
    assert plan.call is not None
    assert plan.call.attempts == 2
    assert provider.count == 2
    # A reply that was cut off on its way was written and is on the bill.
    assert len(provider.charges) == (2 if fault == "cut" else 1)


def test_a_slow_first_byte_is_waited_for_as_long_as_was_said(provider: Provider, step: Query) -> None:
    provider.faults.extend(["slow:0.2", "slow:30"])
    (plan,) = ask(build(provider, "gpt-4o", options={"timeout_s": 5.0}), step)
    assert plan.failure is None
    built = build_planner(
        "gpt-4o",
        plans=None,
        cards=MODELS / "planners",
        options=ChatOptions(base_url=provider.base_url("openai"), timeout_s=0.3, max_retries=0),
        budget=Budget(None),
        on_retry=lambda: None,
        today=IN_TIME,
    )
    (late,) = ask(built, step)
    assert late.failure is not None
    assert (late.failure.kind, late.failure.message) == ("error", "no reply within 0.3 s")


@pytest.mark.parametrize(
    ("name", "wrong", "look"),
    [
        ("gpt-4o", "401", "the key in OPENAI_API_KEY"),
        ("gpt-4o", "404", "the address: most end in /v1"),
        ("claude-sonnet-5.5", "404", "the address: most end in /v1"),
        ("gemini-2.5-pro", "401", "the key in GEMINI_API_KEY"),
        ("any", "404", "the address: most end in /v1"),
    ],
)
def test_a_wrong_key_or_address_at_the_first_request_stops_the_run(
    provider: Provider, step: Query, name: str, wrong: str, look: str
) -> None:
    built = build(provider, name)
    provider.faults.append(wrong)
    with pytest.raises(UserError, match=f"the endpoint refuses every request for .*; check {look}$"):
        ask(built, step)
    assert (provider.count, provider.bill_usd) == (1, 0)


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if not card.endpoint.lists_models])
def test_a_model_that_no_list_could_tell_of_is_missed_at_the_first_request(
    provider: Provider, step: Query, name: str
) -> None:
    with pytest.raises(UserError, match=r"refuses every request for no-such .*; check the model's name$"):
        ask(build(provider, name, model="no-such"), step, step, step)
    assert provider.bill_usd == 0


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.endpoint.lists_models])
def test_a_model_that_is_not_listed_is_missed_before_the_first_request(
    provider: Provider, step: Query, name: str
) -> None:
    with pytest.raises(UserError, match="does not serve no-such"):
        ask(build(provider, name, model="no-such"), step)
    assert provider.count == 0


def test_the_same_refusal_in_mid_run_is_that_steps_error(provider: Provider, step: Query) -> None:
    built = build(provider, "gpt-4o")

    async def run() -> tuple[Plan, Plan]:
        first = await built.planner.plan(step)
        provider.faults.append("404")
        second = await built.planner.plan(step)
        await built.planner.aclose()
        return first, second

    first, second = asyncio.run(run())
    assert first.failure is None
    assert second.failure is not None
    assert second.failure.kind == "error"


def test_a_request_beyond_the_models_window_is_unparsed(provider: Provider, tmp_path: Path) -> None:
    card = msgspec.structs.replace(CARDS["qwen2.5-vl-72b"], parameters={"max_tokens": 32_000})
    (tmp_path / "big.yaml").write_bytes(msgspec.yaml.encode(card))
    built = build_planner(
        str(tmp_path / "big.yaml"),
        plans=None,
        cards=MODELS / "planners",
        options=ChatOptions(base_url=provider.base_url("vllm")),
        budget=Budget(None),
        on_retry=lambda: None,
    )
    (plan,) = ask(built, query(picture_file(tmp_path / "1.png", 1920, 1080)))
    assert plan.failure is not None
    assert plan.failure.kind == "unparsed"
    assert "maximum context length" in plan.failure.message


def test_the_generic_card_asks_the_only_model_or_the_named_one(provider: Provider, step: Query) -> None:
    built = build(provider, "any")
    assert built.planner.name == "any:Qwen/Qwen2.5-VL-72B-Instruct"
    with pytest.raises(UserError, match=r"serves gpt-4o, o1-2024-12-17, .*: name the one .* with --planner-model NAME"):
        build_planner(
            "any",
            plans=None,
            cards=MODELS / "planners",
            options=ChatOptions(base_url=provider.base_url("openai")),
            budget=Budget(None),
            on_retry=lambda: None,
        )
    named = build_planner(
        "any",
        plans=None,
        cards=MODELS / "planners",
        options=ChatOptions(base_url=provider.base_url("openai")),
        budget=Budget(None),
        on_retry=lambda: None,
        model="gpt-4o",
    )
    (plan,) = ask(named, step)
    assert plan.failure is None
    assert provider.bodies[0]["model"] == "gpt-4o"
    assert set(provider.bodies[0]) == {"model", "messages"}


def test_a_key_is_never_part_of_what_is_written(provider: Provider, step: Query) -> None:
    provider.faults.append("401")
    with pytest.raises(UserError) as caught:
        ask(build(provider, "o3"), step)
    assert KEY not in str(caught.value)


def test_the_fakes_bill_can_be_read_and_faults_added_over_http(provider: Provider, step: Query) -> None:
    ask(build(provider, "gpt-4o"), step)
    with urllib.request.urlopen(f"http://127.0.0.1:{provider.port}/bill") as response:
        bill = json.load(response)
    assert (bill["requests"], bill["usd"]) == (1, provider.bill_usd)
    asked = urllib.request.Request(f"http://127.0.0.1:{provider.port}/faults", data=b'["500"]', method="POST")
    with urllib.request.urlopen(asked) as response:
        assert json.load(response) == ["500"]
    assert list(provider.faults) == ["500"]


def test_the_fake_keeps_a_real_limit_with_the_vendors_headers(step: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Provider(requests_per_minute=1) as provider:
        url = f"{provider.base_url('openai')}/chat/completions"
        body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": step.instruction}]}).encode()

        def post() -> Any:
            return urllib.request.urlopen(
                urllib.request.Request(url, data=body, headers={"Authorization": f"Bearer {KEY}"}), timeout=10
            )

        with post() as response:
            assert response.headers["x-ratelimit-remaining-requests"] == "0"
        with pytest.raises(urllib.error.HTTPError) as refused:
            post()
        assert refused.value.code == 429
        assert 0 < float(refused.value.headers["Retry-After"]) <= 60
        assert len(provider.charges) == 1


def test_the_fake_is_a_program_too() -> None:
    command = [sys.executable, str(REPOSITORY / "tests" / "fakes" / "provider.py"), "--port", "0", "--fault", "500"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = [program.stdout.readline().split() for _ in range(6)]
        addresses = {line[0]: line[1] for line in lines}
        assert list(addresses) == ["openai", "anthropic", "gemini", "dashscope", "vllm", "bill"]
        with urllib.request.urlopen(addresses["bill"], timeout=10) as response:
            assert json.load(response) == {"requests": 0, "usd": 0, "charges": []}
        program.send_signal(signal.SIGINT)
        assert program.stdout.read() == "0 requests, 0.000000 US dollars\n"
        assert program.wait(10) == 0

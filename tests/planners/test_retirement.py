"""Models that have gone or will soon go: told before anything is asked, and refused only where they are gone."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path

import pytest
from fakes.make import MODELS, picture_file, query
from fakes.provider import KEY, Provider

from grounding.cards import PlannerCard, find_card, read_cards
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner, build_planner
from grounding.planners.prompts import SOON_DAYS, has_retired, refusal, warning

CARDS = {card.name: card for card in read_cards(MODELS / "planners", PlannerCard)}
RETIRING = {name: card.retires for name, card in CARDS.items() if card.retires}
DAY = datetime.timedelta(days=1)


def build(name: str, today: datetime.date, base_url: str | None = None) -> BuiltPlanner:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("grounding.planners.today_utc", lambda: today)
        chat = ChatOptions(base_url=base_url)
        return build_planner(EvalOptions(planner=name), chat, budget=Budget(None), on_retry=lambda: None)


@pytest.mark.parametrize(("name", "last"), RETIRING.items())
def test_a_retired_model_is_refused_at_its_vendor_before_any_request(
    provider: Provider, name: str, last: datetime.date
) -> None:
    built = build(name, last)
    with pytest.raises(UserError) as caught:
        asyncio.run(built.planner.check())
    message = str(caught.value)
    assert message.startswith(f"{name} ({CARDS[name].title}) retired on {last}: ")
    assert f"use --planner {CARDS[name].successor}, or another endpoint" in message
    assert "--planner-base-url URL" in message
    assert "--plans FILE" in message
    assert "\n" not in message
    assert provider.requests == []


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for card in CARDS.values():
        if card.endpoint.key_variable:
            monkeypatch.setenv(card.endpoint.key_variable, KEY)


def test_at_an_address_of_ones_own_a_retired_model_is_asked_after_a_warning(
    provider: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = build("o1", datetime.date(2026, 10, 23), provider.base_url("openai"))
    assert capsys.readouterr().err == (
        "grounding: o1 retired on 2026-10-23 at its vendor; its successor here is gpt-6.1-sol\n"
    )

    async def run() -> str | None:
        await built.planner.check()
        plan = await built.planner.plan(query(picture_file(tmp_path / "1.png")))
        await built.planner.aclose()
        return plan.text

    assert asyncio.run(run())


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (SOON_DAYS + 1, ""),
        (SOON_DAYS, "o3 retires on 2026-12-11, in 60 days; its successor here is gpt-6.1-sol"),
        (1, "o3 retires on 2026-12-11, in 1 day; its successor here is gpt-6.1-sol"),
        (0, ""),  # That is refused.
    ],
)
def test_a_model_that_retires_soon_is_told(days: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    today = datetime.date(2026, 12, 11) - days * DAY
    assert warning(CARDS["o3"], today, own_address=False) == told
    assert has_retired(CARDS["o3"], today) == (days == 0)
    build("o3", today)
    assert capsys.readouterr().err == (f"grounding: {told}\n" if told else "")
    if days:
        assert warning(CARDS["o3"], today, own_address=True) == ""


@pytest.mark.parametrize("name", RETIRING)
def test_a_successor_is_a_card_of_the_same_vendor_that_stays(name: str) -> None:
    card = CARDS[name]
    assert card.successor is not None
    successor = find_card(card.successor, MODELS / "planners", PlannerCard, builtin=(), kind="planner")
    assert successor.retires is None
    assert successor.endpoint == card.endpoint
    assert refusal(card)

"""A dry run asks nobody, says what a run would take, and the bill of that run is what it said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import MODELS
from fakes.provider import KEY, Provider
from fakes.vendor_rules import Vendor

from grounding.benchmarks.clicks.benchmark import BENCHMARK, evaluate
from grounding.cards import PlannerCard, read_cards
from grounding.data import load_dataset
from grounding.errors import UserError
from grounding.eval import evaluate_command
from grounding.options import EvalOptions
from grounding.run.benchmark import Shared
from grounding.run.dry import DryRun
from grounding.run.dry import dry_run as dry_run_of
from grounding.run.scorebook import ScoredClicks

CARDS = {card.name: card for card in read_cards(MODELS / "planners", PlannerCard)}
VENDORS: dict[str, Vendor] = {"gpt-4o": "openai", "o3": "openai", "gemini-2.5-flash": "gemini"}
STEPS = 24


@pytest.fixture
def provider() -> Any:
    with Provider() as running:
        yield running


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalOptions:
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    return EvalOptions(
        planner="gpt-4o",
        grounder="center",
        limit=STEPS,
        log_dir=tmp_path / "results",
        plan_store=tmp_path / "store",
        display="none",
    )


def at(options: EvalOptions, provider: Provider, planner: str = "gpt-4o", **more: Any) -> EvalOptions:
    address = provider.base_url(VENDORS[planner])
    return msgspec.structs.replace(options, planner=planner, planner_base_url=address, **more)


def run(options: EvalOptions) -> ScoredClicks:
    return evaluate(options)


def dry_run(options: EvalOptions) -> DryRun:
    return dry_run_of(BENCHMARK, options, Shared())


def planner_of(found: DryRun) -> Any:
    (one,) = [model for model in found.models if model.role == "planner"]
    return one


def test_nobody_is_asked_and_neither_key_nor_server_is_needed(
    provider: Provider, options: EvalOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    found = dry_run(msgspec.structs.replace(options, planner="gpt-4o", grounder="gta1"))
    assert [model.role for model in found.models] == ["planner", "probe", "grounder"]
    assert provider.requests == []
    here = dry_run(at(options, provider))
    assert provider.requests == []
    assert planner_of(here).requests == STEPS
    assert not (options.log_dir / here.run_id).exists()
    assert not (options.plan_store or Path()).exists()


@pytest.mark.parametrize("planner", VENDORS)
def test_the_bill_is_what_was_estimated(provider: Provider, options: EvalOptions, planner: str) -> None:
    chosen = at(options, provider, planner)
    said = planner_of(dry_run(chosen))
    run(chosen)
    assert provider.count == said.requests
    assert sum(charge.input_tokens for charge in provider.charges) == pytest.approx(
        said.text_tokens + said.image_tokens, rel=0.05
    )
    assert sum(charge.image_tokens for charge in provider.charges) == said.image_tokens
    assert said.low_usd <= provider.bill_usd <= said.high_usd
    # With the lengths of real replies the rest of a run is known within ten per cent.
    rest = at(options, provider, planner, limit=4 * STEPS)
    more = planner_of(dry_run(rest))
    assert f"{STEPS} earlier replies" in more.output.source
    assert (more.requests, more.stored) == (3 * STEPS, STEPS)
    before = provider.bill_usd
    run(rest)
    assert provider.count == 4 * STEPS
    assert provider.bill_usd - before == pytest.approx(more.expected_usd, rel=0.1)
    assert more.low_usd <= provider.bill_usd - before <= more.high_usd


def test_what_is_answered_already_is_free(provider: Provider, options: EvalOptions) -> None:
    # Seven cents are enough for some of the steps: the run stops, and the rest is what is left to pay.
    stopped = run(at(options, provider, cost_limit=0.075))
    assert stopped.summary.status == "partial"
    assert 0 < provider.count < STEPS
    assert provider.bill_usd <= 0.075
    left = dry_run(at(options, provider))
    said = planner_of(left)
    assert (said.requests, said.answered) == (STEPS - provider.count, provider.count)
    assert left.paid_usd == pytest.approx(provider.bill_usd)
    # Without the run folder the store has them; without either all are asked for.
    elsewhere = planner_of(dry_run(at(options, provider, log_dir=options.log_dir / "other")))
    assert (elsewhere.answered, elsewhere.stored) == (0, provider.count)
    fresh = planner_of(dry_run(at(options, provider, fresh=True, plan_store=None, no_plan_store=True)))
    assert (fresh.answered, fresh.stored, fresh.requests) == (0, 0, STEPS)
    before = provider.count
    assert run(at(options, provider)).summary.status == "complete"
    assert provider.count - before == said.requests


def test_plans_for_whole_instructions_are_fewer_requests(provider: Provider, options: EvalOptions) -> None:
    ahead = at(options, provider, plan_ahead=True, limit=3 * STEPS)
    said = planner_of(dry_run(ahead))
    assert said.requests < 3 * STEPS
    run(ahead)
    assert provider.count == said.requests


def test_the_first_requests_are_those_that_are_sent(provider: Provider, options: EvalOptions) -> None:
    chosen = at(options, provider, max_connections=1)
    found = dry_run(chosen)
    folder = Path(found.folder)
    assert found.pages == ("planner-1.json", "planner-2.json", "planner-3.json")
    run(chosen)
    sent = [json.loads(received.content) for received in provider.asked]
    for number in (1, 2, 3):
        written = json.loads((folder / f"planner-{number}.json").read_text())
        assert _without_pictures(written) in [_without_pictures(body) for body in sent]
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    assert KEY.encode() not in everything


def _without_pictures(body: Any) -> Any:
    for part in body["messages"][-1]["content"]:
        if "image_url" in part:
            part["image_url"] = "picture"
    return body


def test_pictures_are_shown_as_they_will_be_sent(options: EvalOptions) -> None:
    """To a server that the run starts, with the card's limits, as they are; to one that nobody has asked, resized."""
    to_own = msgspec.structs.replace(options, planner="none", grounder="gta1", limit=1)
    elsewhere = msgspec.structs.replace(to_own, base_url=("http://127.0.0.1:1/v1",))
    pictures, told = [], []
    for asked in (to_own, elsewhere):
        found = dry_run(asked)
        (picture,) = Path(found.folder).glob("picture-*")
        pictures.append(picture.read_bytes())
        told.append(found.models)
    file = load_dataset("sample-web").sessions[0].steps[0].screenshot.path
    assert [picture == Path(file).read_bytes() for picture in pictures] == [True, False]
    assert [model.image_tokens for model in told[0]] == [model.image_tokens for model in told[1]]


def test_a_planner_is_paid_once_for_all_grounders(
    provider: Provider, options: EvalOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    status = evaluate_command(
        planner=("gpt-4o",),
        grounder=("center", "random"),
        planner_base_url=(provider.base_url("openai"),),
        limit=STEPS,
        log_dir=options.log_dir,
        plan_store=options.plan_store,
        dry_run=True,
    )
    said = capsys.readouterr().out
    assert status == 0
    assert f"there already: {STEPS} plans asked for by an earlier run of this command" in said
    assert "all 2 runs together: " in said
    assert said.endswith("nothing was sent to any model, and no server was started\n")
    assert provider.requests == []


def test_the_table_and_the_file(options: EvalOptions, capsys: pytest.CaptureFixture[str]) -> None:
    status = evaluate_command(
        planner=("o3",), grounder=("gta1",), limit=3, log_dir=options.log_dir, no_plan_store=True, cost_limit=0.001,
        dry_run=True,
    )  # fmt: skip
    said = capsys.readouterr().out
    assert status == 0
    assert "planner o3" in said
    assert "grounder gta1: no price in the card: tokens only" in said
    assert "grounder gta1: plans that are not made yet are counted as of the usual length" in said
    assert "--cost-limit $0.0010: the run is expected to stop before its end" in said
    assert "; prices of 2026-11-21" in said
    (folder,) = options.log_dir.glob("dry-run_*")
    kept = msgspec.json.decode((folder / "estimate.json").read_bytes(), type=DryRun)
    assert [model.requests for model in kept.models] == [3, 12, 3]
    assert (folder / "grounder-1.json").exists()


def test_where_no_chat_model_is_asked_nothing_is_to_pay(
    options: EvalOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    status = evaluate_command(grounder=("center",), limit=3, log_dir=options.log_dir, dry_run=True)
    assert status == 0
    assert "no chat model would be asked that can be counted: nothing to pay for" in capsys.readouterr().out


@pytest.mark.parametrize(("grounder", "backend"), [("gui-actor", None), ("gui-actor", "hf"), ("gta1", "hf")])
def test_a_model_in_this_process_needs_its_packages_only_for_a_run(
    options: EvalOptions, grounder: str, backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grounding.grounders.hf.loading._NEEDED", ("no_such_package",))
    options = msgspec.structs.replace(options, planner="none", grounder=grounder, backend=backend)
    assert dry_run(options)
    with pytest.raises(UserError, match="needs no_such_package"):
        run(options)

"""The path on which models do everything, over the bundled mall with a real Chromium and fake providers.

Search with a vendor's tool, browse, read pages, judge with several judges and less evidence, hold them against the
rules, and do it all again without asking anybody.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakes.browsing_model import browsing_model
from fakes.chat_server import ChatServer, answering, working_out
from fakes.extraction_model import extraction_model
from fakes.judge_model import judge_model
from fakes.mall_pages import mall_pages
from fakes.search_vendor_shapes import KEY
from fakes.search_vendors import SearchVendors
from shell import call, records, run_folder, summary

from grounding.places import datasets_dir

TASKS = ("explicit_title/mall-01", "low_involvement/mall-13")
CARD = """\
name: {name}
title: a model of the tests
model: {name}
parameters: {{max_tokens: 8000}}
max_connections: 4
endpoint: {{base_url: '{base_url}'}}
price: {{input_usd: 10.0, output_usd: 10.0, date: '2026-01-01'}}
"""
"""A reply of the fake servers takes 1,000 tokens in and 10 out: $0.0101."""

CALL_USD = 0.0101

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _chromium() -> None:
    pytest.importorskip("playwright.async_api", reason="needs playwright")
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        pytest.skip("needs an installed Chromium")


class Models:
    """Servers of all models, and cards that name them."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.vendors = stack.enter_context(SearchVendors(mall_pages(datasets_dir() / "sample-mall")))
        self.browser = stack.enter_context(ChatServer(answering(browsing_model)))
        self.reader = stack.enter_context(ChatServer(working_out(extraction_model)))
        self.judge = stack.enter_context(ChatServer(working_out(judge_model)))
        self.folder = folder

    def card(self, name: str, server: ChatServer) -> Path:
        path = self.folder / f"{name}.yaml"
        path.write_text(CARD.format(name=name, base_url=server.base_url))
        return path

    def asked(self) -> tuple[int, ...]:
        return (len(self.vendors.asked), self.browser.count, self.reader.count, self.judge.count)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.delenv("GROUNDING_EVAL_NO_REPORT", raising=False)
    with ExitStack() as stack:
        yield Models(stack, tmp_path)


def judge_figures(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["judge"]: one for one in found["judges"]}


def test_a_model_searches_and_reads_and_several_judge(models: Models, tmp_path: Path) -> None:
    one, two, three = (models.card(name, models.judge) for name in ("one", "two", "three"))
    logs = tmp_path / "logs"
    command: list[str | Path] = ["--dataset", "sample-mall", "--log-dir", logs, "--agent", "search"]
    command += ["--model", "sonar-pro", "--base-url", models.vendors.base_url("perplexity")]
    command += [word for task in TASKS for word in ("--sample-id", task)]
    command += ["--extractor", models.card("reader", models.reader)]
    command += ["--judge", "rules", one, two, three, f"{one}@no-info", f"{one}@url-only"]
    done = call(*command)
    assert done.returncode == 0, done.stderr
    # Two tasks, three products each, six judges of whom one asks nobody.
    assert models.asked() == (2, 0, 6, 5 * 6)
    folder = run_folder(logs)
    curations = records(folder / "curations.jsonl")
    assert [len(one["products"]) for one in curations] == [3, 3]
    assert all(one["trace"] and one["call"]["cost_usd"] > 0 for one in curations)
    extractions = records(folder / "extractions.jsonl")
    assert {one["extractor"] for one in extractions} == {"reader"}
    assert all("PAGE-DATA" in body["messages"][-1]["content"][0]["text"] for body in models.reader.bodies)
    found = summary(folder)
    assert (found["status"], found["headline"], found["counts"]["outcomes"]) == ("complete", "majority", {"judged": 6})
    figures = judge_figures(found)
    assert list(figures) == ["rules", "one", "two", "three", "one@no-info", "one@url-only", "majority"]
    # All three say the same, so the majority does; without the facts a judge finds less.
    assert figures["majority"]["overall"]["all"] == figures["one"]["overall"]["all"]
    assert figures["one@url-only"]["satisfied"] <= figures["one@no-info"]["satisfied"] < figures["one"]["satisfied"]
    costs = found["costs"]
    assert (costs["agent"]["calls"], costs["extractor"]["calls"], costs["judges"]["calls"]) == (2, 6, 30)
    assert costs["agent"]["usd"] == pytest.approx(models.vendors.bill_usd)
    assert costs["extractor"]["usd"] == pytest.approx(6 * CALL_USD)
    assert costs["judges"]["usd"] == pytest.approx(30 * CALL_USD)
    _is_held_against_the_rules(found, folder, done.stdout)
    _shows_everything(folder)
    again = call(*command, "--json")
    assert again.returncode == 0, again.stderr
    assert models.asked() == (2, 0, 6, 30)
    assert json.loads(again.stdout)["judges"] == found["judges"]


def _is_held_against_the_rules(found: dict[str, Any], folder: Path, printed: str) -> None:
    assert "judges against the rules" in printed
    checks = {one["judge"]: one for one in found["rule_checks"]}
    assert set(checks) == {"one", "two", "three", "one@no-info", "one@url-only", "majority"}
    total = checks["one"]["total"]
    decided = sum(total[name] for name in ("both_yes", "rules_only", "model_only", "both_no", "missing"))
    rules = judge_figures(found)["rules"]
    assert decided == rules["items"] - rules["flags"]["undecided"] > 0
    assert total["undecided"] == rules["flags"]["undecided"]
    differences = [one["difference"] for one in records(folder / "differences.jsonl") if one["judge"] == "one"]
    assert len(differences) == total["rules_only"] + total["model_only"] > 0
    assert all(one["rules_satisfied"] is not one["model_satisfied"] for one in differences)


def _shows_everything(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    for words in (*TASKS, "one@url-only", "majority", "judges against the rules"):
        assert words in page, words


def test_a_model_browses_and_is_judged_item_by_item(models: Models, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    command: list[str | Path] = ["--dataset", "sample-mall", "--log-dir", logs, "--agent", "browsing"]
    command += ["--model", models.card("shopper", models.browser), "--sample-id", TASKS[1], "--max-steps", "12"]
    command += ["--extractor", models.card("reader", models.reader)]
    command += ["--judge", "rules", models.card("one", models.judge), "--judge-mode", "item"]
    done = call(*command)
    assert done.returncode == 0, done.stderr
    folder = run_folder(logs)
    (curation,) = records(folder / "curations.jsonl")
    products = curation["products"]
    assert products
    assert curation["requests"] == models.browser.count == len(curation["trace"])
    assert all((folder / "evidence" / step["screenshot"]).exists() for step in curation["trace"])
    assert models.reader.count == min(3, len(products))
    judged = summary(folder)["counts"]["outcomes"]["judged"]
    judgements = [one for one in records(folder / "judgements.jsonl") if one["judge"] == "one"]
    assert len(judgements) == judged > 0
    # One question for each item of each product, and each was answered.
    assert models.judge.count == sum(len(one["verdicts"]) for one in judgements)
    assert all(one["requests"] == len(one["verdicts"]) for one in judgements)
    assert not any("missing" in verdict.get("flags", ()) for one in judgements for verdict in one["verdicts"])
    found = summary(folder)
    assert found["costs"]["agent"]["calls"] == found["behaviours"]["steps"] == models.browser.count
    asked = models.asked()
    assert call(*command, "--no-report").returncode == 0
    assert models.asked() == asked

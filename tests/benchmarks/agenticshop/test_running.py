"""Runs over the bundled mall by the command line, with a real Chromium and fake providers.

What they keep and how they go on; and the path on which models do everything: search, browse, read and judge.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.browsing_model import browsing_model
from fakes.chat_server import ChatServer, answering, error, working_out
from fakes.extraction_model import extraction_model
from fakes.judge_model import judge_model
from fakes.mall_pages import mall_pages
from fakes.search_vendor_shapes import KEY
from fakes.search_vendors import SearchVendors
from shell import call, records, run_folder, start, summary, wait_until

from grounding.cards.places import datasets_dir

TASKS = ("explicit_title/mall-01", "low_involvement/mall-13")
CARD = """\
name: {name}
title: a model of the tests
model: {name}
parameters: {{max_tokens: 8000}}
max_connections: 4
endpoint: {{base_url: '{base_url}'}}
price: {{input_usd: {usd}, output_usd: 0.0, date: '2026-01-01'}}
"""  # A reply of the fake servers takes 1,000 tokens in: the price is what a thousand requests cost.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("chromium")]
MakeCard = Callable[..., Path]


@pytest.fixture
def card(tmp_path: Path) -> MakeCard:
    def make(name: str, server: ChatServer, usd: float = 10.0) -> Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text(CARD.format(name=name, base_url=server.base_url, usd=usd))
        return path

    return make


def over(logs: Path, *more: str | Path) -> list[str]:
    chosen = [word for task in TASKS for word in ("--sample-id", task)]
    return ["--dataset", "sample-mall", "--log-dir", str(logs), *chosen, *map(str, more)]


def replaying(logs: Path, *more: str | Path) -> list[str]:
    reference = datasets_dir() / "sample-mall" / "reference"
    return over(logs, "--agent", "replay", "--curations", reference, *more)


@pytest.fixture(scope="module")
def done(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that showed, read and judged the six pages of two users; tests add judges to it and take nothing away."""
    logs = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("GROUNDING_EVAL_NO_REPORT", raising=False)
        result = call(*replaying(logs))
    assert result.returncode == 0, chromium + result.stderr
    return run_folder(logs)


@pytest.fixture
def judge() -> Iterator[ChatServer]:
    with ChatServer(working_out(judge_model)) as server:
        yield server


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDING_CHROMIUM", "/nowhere/chromium")


def test_pages_are_kept_as_evidence_and_nothing_is_done_twice(done: Path) -> None:
    extractions = records(done / "extractions.jsonl")
    assert [one["page_class"] for one in extractions] == ["product"] * 6
    for one in extractions:
        page = one["page"]
        assert page["status"] == 200
        for name in (page["html_file"], *(segment["file"] for segment in page["segments"])):
            assert (done / "evidence" / name).stat().st_size > 0
        assert one["facts"]["price"]["amount"] > 0
    found = summary(done)
    assert (found["status"], found["counts"]["outcomes"]) == ("complete", {"judged": 6})
    (reference,) = found["judges"]
    assert reference["items"] == sum(len(one["verdicts"]) for one in records(done / "judgements.jsonl"))
    assert 0 < reference["figures"]["all tasks"]["score"]["value"] < 1
    assert (done / "report.html").stat().st_size > 50_000
    before = {name: (done / f"{name}.jsonl").read_bytes() for name in ("curations", "extractions", "judgements")}
    assert call(*replaying(done.parent)).returncode == 0
    assert {name: (done / f"{name}.jsonl").read_bytes() for name in before} == before
    assert summary(done)["judges"] == found["judges"]


@pytest.mark.usefixtures("no_browser")
def test_another_judge_looks_at_the_same_pages(done: Path, card: MakeCard, judge: ChatServer, tmp_path: Path) -> None:
    # A folder of its own, made from what the first run saw, on a machine without a browser.
    command = replaying(tmp_path / "logs", "--extractions", done, "--judge", "reference", card("checker", judge))
    result = call(*command)
    assert result.returncode == 0, result.stderr
    folder = run_folder(tmp_path / "logs")
    assert judge.count == 6
    found = summary(folder)
    assert ([one["judge"] for one in found["judges"]], found["headline"]) == (["reference", "checker"], "checker")
    # The evidence went along: the folder stands on its own.
    names = {segment["file"] for one in records(folder / "extractions.jsonl") for segment in one["page"]["segments"]}
    assert all((folder / "evidence" / name).exists() for name in names)
    # The reference said the same of it as in the first run, and what it said can stand in for it.
    assert found["judges"][0] == summary(done)["judges"][0]
    again = call(*replaying(tmp_path / "again", "--extractions", done, "--judgements", done, "--no-report"))
    assert again.returncode == 0, again.stderr
    overall = summary(run_folder(tmp_path / "again"))["judges"][0]["figures"]["all tasks"]
    assert overall == summary(done)["judges"][0]["figures"]["all tasks"]


@pytest.mark.usefixtures("no_browser")
def test_errors_and_a_limit_in_dollars_leave_a_run_partial_that_goes_on(
    done: Path, card: MakeCard, judge: ChatServer, tmp_path: Path
) -> None:
    one = ["--max-connections", "1", "--no-report"]
    command = replaying(
        tmp_path / "logs", "--extractions", done, "--judge", card("a", judge), "--max-retries", "0", *one
    )
    judge.script(working_out(judge_model), error(500), working_out(judge_model), error(500))
    first = call(*command)
    assert first.returncode == 1
    assert "2 places ended in an error" in first.stdout
    judge.requests.clear()
    assert call(*command).returncode == 0
    assert sum("chat/completions" in one.path for one in judge.requests) == 2
    assert summary(run_folder(tmp_path / "logs"))["status"] == "complete"
    dear = replaying(tmp_path / "dear", "--extractions", done, "--judge", card("dear", judge, 1000.0), *one)
    stopped = call(*dear, "--cost-limit", "5.5")
    assert stopped.returncode == 1
    assert "stopped before the end" in stopped.stdout
    found = summary(run_folder(tmp_path / "dear"))
    assert found["status"] == "partial"
    assert 0 < found["costs"]["judges"]["usd"] <= 5.5
    assert found["counts"]["outcomes"]["open"] > 0


def test_a_run_that_is_killed_goes_on_and_shows_no_page_twice(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    command = replaying(logs, "--no-report", "--pages", "1")
    running = start(*command, cwd=tmp_path)
    try:
        wait_until(lambda: any(len(records(path)) >= 2 for path in logs.glob("*/extractions.jsonl")), running)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    folder = run_folder(logs)
    kept = (folder / "extractions.jsonl").read_bytes()
    again = call(*command)
    assert again.returncode == 0, again.stderr
    assert (folder / "extractions.jsonl").read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    shown = Counter(one["step_id"] for one in records(folder / "extractions.jsonl"))
    assert (len(shown), set(shown.values())) == (6, {1})
    assert summary(folder)["status"] == "complete"


def test_links_that_lead_nowhere_are_told_apart(tmp_path: Path) -> None:
    wrong = tmp_path / "curations.jsonl"
    urls = ["http://kettle.mall.test/no-such-thing", "http://kettle.mall.test/", "http://no-such-shop.test/p/1"]
    products = [{"rank": rank, "url": url} for rank, url in enumerate(urls)]
    wrong.write_text(json.dumps({"step_id": TASKS[1], "key": "", "products": products}) + "\n")
    command = ["--dataset", "sample-mall", "--log-dir", str(tmp_path / "logs"), "--sample-id", TASKS[1], "--no-report"]
    result = call(*command, "--agent", "replay", "--curations", str(wrong))
    assert result.returncode == 0, result.stderr
    found = summary(run_folder(tmp_path / "logs"))
    assert found["counts"]["outcomes"] == {"not-product": 1, "unreachable": 2}
    figures = found["judges"][0]["figures"]["all tasks"]
    assert (figures["wrong"]["value"], figures["score"]["value"]) == (1.0, 0.0)
    assert figures["invalid"]["value"] == pytest.approx(2 / 3)


@pytest.mark.usefixtures("no_browser")
def test_a_machine_without_a_browser_is_told_so_before_anything_is_written(tmp_path: Path) -> None:
    result = call(*over(tmp_path / "logs"))
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "hromium" in result.stderr
    assert not (tmp_path / "logs").exists()


# --- models do everything --------------------------------------------------------------------------------------------


@pytest.fixture
def reader() -> Iterator[ChatServer]:
    with ChatServer(working_out(extraction_model)) as server:
        yield server


def test_a_model_searches_and_reads_and_several_judge(
    card: MakeCard, reader: ChatServer, judge: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.delenv("GROUNDING_EVAL_NO_REPORT", raising=False)
    one, two, three = (card(name, judge) for name in ("one", "two", "three"))
    with SearchVendors(mall_pages(datasets_dir() / "sample-mall")) as vendors:
        command = over(
            tmp_path / "logs", "--agent", "search", "--model", "perplexity-sonar", "--extractor", card("read", reader)
        )
        command += ["--base-url", vendors.base_url("perplexity-agent")]
        command += ["--judge", "reference", *map(str, (one, two, three)), f"{one}@no-info", f"{one}@url-only"]
        result = call(*command)
        assert result.returncode == 0, result.stderr
        # Two tasks, three products each, six judges of whom one asks nobody.
        assert (len(vendors.asked), reader.count, judge.count) == (2, 6, 5 * 6)
        folder = run_folder(tmp_path / "logs")
        found = summary(folder)
        assert json.loads(call(*command, "--json").stdout)["judges"] == found["judges"]
        assert (len(vendors.asked), reader.count, judge.count) == (2, 6, 5 * 6)
    curations = records(folder / "curations.jsonl")
    assert [len(one["products"]) for one in curations] == [3, 3]
    assert all(one["trace"] and one["call"]["cost_usd"] > 0 for one in curations)
    assert all("PAGE-DATA" in body["messages"][-1]["content"][0]["text"] for body in reader.bodies)
    assert (found["status"], found["headline"], found["counts"]["outcomes"]) == ("complete", "majority", {"judged": 6})
    figures = {one["judge"]: one for one in found["judges"]}
    assert list(figures) == ["reference", "one", "two", "three", "one@no-info", "one@url-only", "majority"]
    # All three say the same, so the majority does; without the facts a judge finds less.
    assert figures["majority"]["figures"] == figures["one"]["figures"]
    assert figures["one@url-only"]["satisfied"] <= figures["one@no-info"]["satisfied"] < figures["one"]["satisfied"]
    costs = {name: (one["calls"], one["usd"]) for name, one in found["costs"].items()}
    assert costs["agent"] == (2, pytest.approx(vendors.bill_usd))
    assert (costs["extractor"], costs["judges"]) == ((6, pytest.approx(0.06)), (30, pytest.approx(0.3)))
    agreed = call("curation", "agree", folder, "--json", module="grounding")
    held = {(one["rater"], one["dimension"]): one for one in json.loads(agreed.stdout)["figures"]}
    reference = found["judges"][0]
    assert held["one", None]["compared"] == reference["items"] - reference["flags"]["undecided"] > 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(words in page for words in (*TASKS, "one@url-only", "majority"))


def test_a_model_browses_reads_and_judges(
    card: MakeCard, reader: ChatServer, judge: ChatServer, tmp_path: Path
) -> None:
    with ChatServer(answering(browsing_model)) as shopper:
        command = ["--dataset", "sample-mall", "--log-dir", tmp_path / "logs", "--agent", "browsing", "--no-report"]
        command += ["--model", card("shopper", shopper), "--sample-id", TASKS[1], "--max-steps", "20"]
        command += ["--extractor", card("read", reader), "--judge", card("one", judge)]
        done = call(*command)
        assert done.returncode == 0, done.stderr
        asked = (shopper.count, reader.count, judge.count)
        assert call(*command).returncode == 0
        assert (shopper.count, reader.count, judge.count) == asked
    folder = run_folder(tmp_path / "logs")
    (curation,) = records(folder / "curations.jsonl")
    assert curation["requests"] == asked[0] == len(curation["trace"])
    assert all((folder / "evidence" / step["screenshot"]).exists() for step in curation["trace"])
    assert asked[1] == min(3, len(curation["products"])) > 0
    found, judgements = summary(folder), records(folder / "judgements.jsonl")
    assert len(judgements) == found["counts"]["outcomes"]["judged"] > 0
    # One question for each product, and each item was answered.
    assert asked[2] == sum(one.get("requests", 0) for one in judgements) > 0
    assert not any("missing" in verdict.get("flags", ()) for one in judgements for verdict in one["verdicts"])
    assert found["costs"]["agent"]["calls"] == found["behaviours"]["steps"] == asked[0]

"""Whole runs over the bundled mall by the command line, with a real Chromium: what they keep and how they go on."""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat_server import ChatServer, error, working_out
from fakes.judge_model import judge_model
from shell import call, records, start, summary, wait_until

from grounding.places import datasets_dir

TASKS = ("explicit_title/mall-01", "low_involvement/mall-13")
CARD = """\
name: checker
title: a judge of the tests
model: checker
parameters: {max_tokens: 4000}
max_connections: 4
price: {input_usd: 1000.0, output_usd: 0.0, date: '2026-01-01'}
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _chromium() -> None:
    pytest.importorskip("playwright.async_api", reason="needs playwright")
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        pytest.skip("needs an installed Chromium")


def over(logs: Path, *more: str | Path) -> list[str]:
    chosen = [word for task in TASKS for word in ("--sample-id", task)]
    return ["--dataset", "sample-mall", "--log-dir", str(logs), *chosen, *map(str, more)]


def replaying(logs: Path, *more: str | Path) -> list[str]:
    reference = datasets_dir() / "sample-mall" / "reference"
    return over(logs, "--agent", "replay", "--curations", reference, *more)


def only(logs: Path) -> Path:
    (folder,) = logs.iterdir()
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that showed, read and judged the six pages of two users; tests add judges to it and take nothing away."""
    logs = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("GROUNDING_EVAL_NO_REPORT", raising=False)
        result = call(*replaying(logs))
    assert result.returncode == 0, result.stderr
    assert "replay · rules" in result.stdout
    return only(logs)


@pytest.fixture
def card(tmp_path: Path) -> Path:
    path = tmp_path / "checker.yaml"
    path.write_text(CARD)
    return path


@pytest.fixture
def judge() -> Iterator[ChatServer]:
    with ChatServer(working_out(judge_model)) as server:
        yield server


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDING_CHROMIUM", "/nowhere/chromium")


def test_pages_are_kept_as_evidence_and_every_item_has_a_verdict(done: Path) -> None:
    extractions = records(done / "extractions.jsonl")
    assert [one["page_class"] for one in extractions] == ["product"] * 6
    for one in extractions:
        page = one["page"]
        assert page["status"] == 200
        assert page["url"].startswith("http://")
        for name in (page["html_file"], *(segment["file"] for segment in page["segments"])):
            assert (done / "evidence" / name).stat().st_size > 0
        assert one["facts"]["price"]["amount"] > 0
    found = summary(done)
    assert found["status"] == "complete"
    assert found["counts"]["outcomes"] == {"judged": 6}
    (rules,) = found["judges"]
    assert rules["items"] == sum(len(one["verdicts"]) for one in records(done / "judgements.jsonl"))
    assert 0 < rules["overall"]["all"]["value"] < 1
    assert (done / "report.html").stat().st_size > 50_000


def test_the_same_command_again_asks_nobody_and_opens_nothing(done: Path) -> None:
    before = {name: (done / f"{name}.jsonl").read_bytes() for name in ("curations", "extractions", "judgements")}
    scores = summary(done)["judges"]
    again = call(*replaying(done.parent))
    assert again.returncode == 0, again.stderr
    assert {name: (done / f"{name}.jsonl").read_bytes() for name in before} == before
    assert summary(done)["judges"] == scores


@pytest.mark.usefixtures("no_browser")
def test_another_judge_looks_at_the_same_pages(done: Path, card: Path, judge: ChatServer, tmp_path: Path) -> None:
    # A folder of its own, made from what the first run saw, on a machine without a browser.
    command = replaying(tmp_path / "logs", "--extractions", done, "--judge", "rules", card)
    result = call(*command, "--judge-base-url", judge.base_url)
    assert result.returncode == 0, result.stderr
    folder = only(tmp_path / "logs")
    assert judge.count == 6
    found = summary(folder)
    assert [one["judge"] for one in found["judges"]] == ["rules", "checker"]
    assert found["headline"] == "checker"
    assert found["costs"]["judges"]["usd"] > 0
    # The evidence went along: the folder stands on its own.
    names = {segment["file"] for one in records(folder / "extractions.jsonl") for segment in one["page"]["segments"]}
    assert all((folder / "evidence" / name).exists() for name in names)
    # The rules said the same of it as in the first run.
    assert found["judges"][0] == summary(done)["judges"][0]


@pytest.mark.usefixtures("no_browser")
def test_verdicts_of_an_earlier_run_stand_in_for_judges(done: Path, tmp_path: Path) -> None:
    command = replaying(tmp_path, "--extractions", done, "--judgements", done, "--no-report")
    result = call(*command)
    assert result.returncode == 0, result.stderr
    assert summary(only(tmp_path))["judges"][0]["overall"] == summary(done)["judges"][0]["overall"]


@pytest.mark.usefixtures("no_browser")
def test_errors_of_a_judge_leave_a_run_partial_and_are_asked_again(
    done: Path, card: Path, judge: ChatServer, tmp_path: Path
) -> None:
    command = replaying(tmp_path / "logs", "--extractions", done, "--judge", card, "--no-report", "--max-retries", "0")
    command += ["--judge-base-url", judge.base_url, "--max-connections", "1"]
    judge.script(working_out(judge_model), error(500), error(500))
    first = call(*command)
    assert first.returncode == 1
    assert "2 places ended in an error" in first.stdout
    judge.requests.clear()
    second = call(*command)
    assert second.returncode == 0, second.stderr
    assert sum("chat/completions" in one.path for one in judge.requests) == 2
    assert summary(only(tmp_path / "logs"))["status"] == "complete"


@pytest.mark.usefixtures("no_browser")
def test_a_limit_in_dollars_stops_before_it(done: Path, card: Path, judge: ChatServer, tmp_path: Path) -> None:
    command = replaying(tmp_path / "logs", "--extractions", done, "--judge", card, "--no-report")
    command += ["--judge-base-url", judge.base_url, "--cost-limit", "5.5", "--max-connections", "1"]
    stopped = call(*command)
    assert stopped.returncode == 1
    assert "stopped before the end" in stopped.stdout
    found = summary(only(tmp_path / "logs"))
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
    folder = only(logs)
    kept = (folder / "extractions.jsonl").read_bytes()
    whole = kept[: kept.rfind(b"\n") + 1]
    again = call(*command)
    assert again.returncode == 0, again.stderr
    assert (folder / "extractions.jsonl").read_bytes().startswith(whole)
    shown = Counter(one["step_id"] for one in records(folder / "extractions.jsonl"))
    assert len(shown) == 6
    assert set(shown.values()) == {1}
    assert summary(folder)["status"] == "complete"


def test_links_that_lead_nowhere_are_told_apart(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    urls = [
        "http://kettle.mall.test/no-such-thing",
        "http://kettle.mall.test/",
        "http://no-such-shop.test/p/1",
    ]
    lines = [{"task_id": TASKS[1], "url": url} for url in urls]
    wrong.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = ["--dataset", "sample-mall", "--log-dir", str(tmp_path / "logs"), "--sample-id", TASKS[1], "--no-report"]
    result = call(*command, "--agent", "replay", "--curations", str(wrong))
    assert result.returncode == 0, result.stderr
    found = summary(only(tmp_path / "logs"))
    assert found["counts"]["outcomes"] == {"not-product": 1, "unreachable": 2}
    assert found["attribution"]["error"]["value"] == 1.0
    assert found["attribution"]["invalid"]["value"] == pytest.approx(2 / 3)
    assert found["judges"][0]["overall"]["all"]["value"] == 0.0


@pytest.mark.usefixtures("no_browser")
def test_a_machine_without_a_browser_is_told_so_before_anything_is_written(tmp_path: Path) -> None:
    result = call(*over(tmp_path / "logs"))
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "hromium" in result.stderr
    assert not (tmp_path / "logs").exists()

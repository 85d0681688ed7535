"""``grounding caption`` as a user has it: from a data set and a server to a history file, stopped and gone on with."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import Item, TinyDataset
from fakes.chat_server import ChatServer, answering, reply
from fakes.slow_server import SlowServer, slow_server

from grounding.analysis.prompts import find_prompt
from grounding.benchmarks.captions import CaptionPrompt
from grounding.errors import UserError

STEPS = 8
QUESTIONS = "questions_with_task_updated.json"
PRICE = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
COST_USD = (1000 * 10 + 10 * 100) / 1e6  # Of one request, by what the fake counts.


class Bench:
    def __init__(self, folder: Path, data_dir: Path) -> None:
        self.folder, self.data_dir = folder, data_dir
        self.card = shell.planner_card(folder, "writer")
        self.card.write_text(self.card.read_text() + PRICE)
        self.out = folder / "out" / "captions.json"

    def args(self, url: str, *more: str | Path, data_dir: Path | None = None, out: Path | None = None) -> list[str]:
        """The command line; what is given in ``more`` stands instead of what is here."""
        usual = {
            "--dataset": "realwebassist",
            "--data-dir": str(data_dir or self.data_dir),
            "--captioner": str(self.card),
            "--base-url": url,
            "--out": str(out or self.out),
            "--max-retries": "0",
        }
        kept = [word for flag, value in usual.items() if flag not in more for word in (flag, value)]
        return ["caption", *kept, *map(str, more)]

    def call(self, url: str, *more: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        return shell.call(*self.args(url, *more, **options), module="grounding")

    @property
    def replies(self) -> Path:
        return self.out.with_name("captions.json.replies.jsonl")

    def steps(self) -> dict[str, Item]:
        return {step["step_id"]: step for step in json.loads(self.out.read_bytes())["steps"]}


@pytest.fixture
def bench(tmp_path: Path, tiny_dataset: TinyDataset) -> Bench:
    return Bench(tmp_path, tiny_dataset())


@pytest.fixture
def server() -> Iterator[ChatServer]:
    def say(body: dict[str, Any]) -> str:
        texts = [part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text"]
        said = next((text for text in texts if "had said: " in text), "").partition("had said: ")[2].partition("\n")[0]
        return f"Clicked for '{said}'."

    with ChatServer(answering(say)) as running:
        yield running


def test_every_step_is_described_and_nothing_is_asked_twice(bench: Bench, server: ChatServer) -> None:
    done = bench.call(server.base_url)
    assert done.returncode == 0, done.stderr
    assert server.count == STEPS
    steps = bench.steps()
    assert steps["2/3"]["action"] == "Clicked for 'click thing 2'."
    assert [step for step, said in steps.items() if "after_sha256" not in said] == ["1/4", "2/4"]
    assert f"{bench.out}: 8 of 8 steps described by writer" in done.stdout
    assert f"asked now: 8 · ${8 * COST_USD:.4f} in all" in done.stdout

    content = bench.out.read_bytes()
    again = bench.call(server.base_url)
    assert again.returncode == 0
    assert "asked now: 0" in again.stdout
    assert (server.count, bench.out.read_bytes()) == (STEPS, content)


def test_the_file_is_the_history_of_a_run(bench: Bench, server: ChatServer) -> None:
    assert bench.call(server.base_url).returncode == 0
    told = shell.planner_card(bench.folder, "told", text="History: {history}")
    arguments = ["--dataset", "realwebassist", "--data-dir", bench.data_dir, "--log-dir", bench.folder / "results"]
    arguments += ["--planner", told, "--planner-base-url", server.base_url, "--grounder", "center"]
    entries = [f"{{}}. Instruction: click thing {n}\n   Action: Clicked for 'click thing {n}'." for n in range(3)]
    history = ["\n".join(entries[:count]).format(1, 2, 3) for count in range(4)]
    # Scored are the first, second and fourth step of each participant; the fourth begins a task.
    for scope, lengths in (("session", (0, 1, 3)), ("task", (0, 1, 0))):
        server.requests.clear()
        server.script(*[reply("Click it")] * 6)
        done = shell.call(*arguments, "--history", 5, "--history-scope", scope, "--history-file", bench.out)
        assert done.returncode == 0, done.stderr
        assert f"history:5/{scope}" in done.stdout.replace("\n", "")
        prompts = [body["messages"][0]["content"][1]["text"] for body in server.bodies]
        assert sorted(prompts) == sorted(2 * [f"History: {history[length]}" for length in lengths])


def test_no_byte_of_any_request_depends_on_the_gold(bench: Bench, server: ChatServer) -> None:
    def asked(name: str, change: Any) -> list[bytes]:
        data_dir = bench.folder / name
        shutil.copytree(bench.data_dir, data_dir)
        for participant in ("1", "2"):
            path = data_dir / participant / QUESTIONS
            items = json.loads(path.read_text())
            for item in items:
                change(item)
            path.write_text(json.dumps(items))
        server.requests.clear()
        done = bench.call(server.base_url, data_dir=data_dir, out=bench.folder / f"{name}.json")
        assert done.returncode == 0, done.stderr
        return sorted(request.content for request in server.asked)

    box = {"x": 1, "y": 2, "width": 3, "height": 4}
    as_it_is = asked("as-it-is", dict)
    assert len(set(as_it_is)) == STEPS
    assert asked("moved", lambda item: item.update(bounding_box=[box])) == as_it_is
    assert asked("removed", lambda item: item.update(bounding_box=None)) == as_it_is
    assert asked("renamed", lambda item: item.update(task="other", action="typed the gold")) == as_it_is
    assert asked("other-words", lambda item: item.update(instruction="other")) != as_it_is


def test_what_went_wrong_is_kept_with_the_reason_and_errors_are_asked_again(bench: Bench) -> None:
    with ChatServer(reply("Clicked it.")) as server:
        server.script(reply(""), reply("I'm sorry, but I can't see that."))
        first = bench.call(server.base_url, "--max-connections", "1")
        assert first.returncode == 0
        assert "6 of 8 steps described" in first.stdout
        assert "no sentence in the reply: 2 · errors: 0 · not asked yet: 0" in first.stdout
        found = list(bench.steps().values())
        # Which steps are asked about first hangs on whose pictures are ready.
        assert sorted(step.get("action") or "" for step in found) == ["", "", *["Clicked it."] * 6]
        assert {step["failure"]["kind"] for step in found if "failure" in step} == {"unparsed"}
        assert bench.call(server.base_url).returncode == 0
        assert server.count == STEPS

    out = bench.folder / "errors.json"
    with slow_server() as failing:
        failing.status = 500
        second = bench.call(failing.url, out=out)
        assert second.returncode == 1
        assert "errors: 8" in second.stdout
        assert "the same command again goes on from here" in second.stderr
        failing.status = None
        assert bench.call(failing.url, out=out).returncode == 0
        assert failing.requests == 2 * STEPS


def test_the_cost_limit_stops_in_time_and_a_higher_one_goes_on(bench: Bench, server: ChatServer) -> None:
    limit = 3.5 * COST_USD
    stopped = bench.call(server.base_url, "--cost-limit", f"{limit:.6f}")
    assert stopped.returncode == 1
    assert "stopped before the end: the cost limit" in stopped.stdout
    paid = server.count
    assert paid == 3
    assert "not asked yet: 5" in stopped.stdout
    assert bench.call(server.base_url, "--cost-limit", f"{limit:.6f}").returncode == 1
    assert server.count == paid
    assert bench.call(server.base_url, "--cost-limit", "1").returncode == 0
    assert server.count == STEPS


def test_another_model_or_prompt_needs_another_file_or_fresh(bench: Bench, server: ChatServer) -> None:
    assert bench.call(server.base_url).returncode == 0
    before = bench.out.read_bytes()
    other = shell.planner_card(bench.folder, "other")
    refused = bench.call(server.base_url, "--captioner", other)
    assert refused.returncode == 2
    assert f"--out {bench.out}: holds captions by writer with the prompt consecutive.1@" in refused.stderr
    assert (server.count, bench.out.read_bytes()) == (STEPS, before)

    fresh = bench.call(server.base_url, "--captioner", other, "--fresh")
    assert fresh.returncode == 0
    aside = bench.out.with_name("captions.json.old1")
    assert str(aside) in fresh.stderr
    assert aside.read_bytes() == before
    assert aside.with_name(f"{aside.name}.replies.jsonl").exists()
    assert server.count == 2 * STEPS


def test_a_file_of_somebody_elses_is_left_alone(bench: Bench, server: ChatServer) -> None:
    bench.out.parent.mkdir()
    bench.out.write_text("my notes")
    done = bench.call(server.base_url)
    assert done.returncode == 2
    assert "there is a file already, and it holds no captions: choose another name" in done.stderr
    assert (bench.out.read_text(), server.count, bench.replies.exists()) == ("my notes", 0, False)


def test_two_at_once_are_kept_apart(bench: Bench, server: ChatServer) -> None:
    assert bench.call(server.base_url).returncode == 0
    with bench.replies.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = bench.call(server.base_url)
    assert done.returncode == 2
    assert f"another process is at work on {bench.out}" in done.stderr


def killed(bench: Bench, server: SlowServer, moment: int, how: signal.Signals) -> subprocess.CompletedProcess[str]:
    """Start the command, and send it a signal once so many replies are kept."""
    server.let_go(moment)
    process = shell.start(*bench.args(server.url), cwd=bench.folder, module="grounding")
    shell.wait_until(lambda: len(shell.lines(bench.replies)) >= moment, process)
    process.send_signal(how)
    out, err = process.communicate(timeout=shell.PATIENCE_S)
    server.stop()
    server.start()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [1, 4, 7])
def test_killed_it_goes_on_and_repeats_no_request_that_was_answered(bench: Bench, moment: int) -> None:
    with slow_server(lambda _model, _text: "Clicked it.") as server:
        killed(bench, server, moment, signal.SIGKILL)
        assert json.loads(bench.out.read_bytes())["captioner"] == "writer"  # It says what it is from the beginning.
        kept = shell.lines(bench.replies)
        assert len(kept) == moment
        before = server.asked.copy()
        server.let_go(None)
        done = shell.run(*bench.args(server.url), cwd=bench.folder, module="grounding")
        assert done.returncode == 0, done.stderr
        assert shell.lines(bench.replies)[:moment] == kept
        assert sum((server.asked - before).values()) == STEPS - moment
        assert len(server.asked) == STEPS
        assert len(bench.steps()) == STEPS
        assert all("action" in step for step in bench.steps().values())


GOOD = """\
name: mine
version: 2
title: short
user: [{image: before}, {image: after}, {text: "after {instruction}"}]
user_last: [{text: "the end: {instruction}"}, {image: before}]
"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("{image: before}, {image: after}", "{image: after}, {image: before}"),
            "field user: expected `image: before`",
        ),
        (("{image: before}, {image: after}, ", "{image: before}, "), "field user: expected `image: before` and then"),
        (
            (", {image: before}]", ", {image: before}, {image: after}]"),
            "field user_last: expected `image: before`, once",
        ),
        (("after {instruction}", "after"), "field user: the instruction's place {instruction} is missing"),
        (("the end: {instruction}", "the end"), "field user_last: the instruction's place"),
        (("after {instruction}", "{instruction} {history}"), "{history} is not known here"),
        (("{image: after}", "{image: screenshot}"), "Invalid enum value 'screenshot'"),
        (("{image: after}", "{image: after, text: x}"), "each part is either `text` or `image`"),
        (("version: 2", "version: 0"), "$.version"),
        (("title: short", "titel: short"), "A prompt for captions has the fields name, version, system,"),
        (("name: mine", "name: [mine"), "mine.yaml"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    assert change[0] in GOOD
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(UserError) as caught:
        find_prompt(str(path), CaptionPrompt, "captions", flag="--prompt")
    assert words in str(caught.value)
    assert "mine.yaml" in str(caught.value)

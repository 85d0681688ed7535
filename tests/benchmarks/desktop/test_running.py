"""Whole desktop runs from the command line: folders, scores, resumption, and what is refused."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, after, answering, reply
from run.probe.models import seeing

import grounding
from benchmarks.desktop.made import ROUTINE, desktop_data
from grounding.records import Size
from grounding.report.rows import break_down, read_rows

FILES = {"run.json", "steps.jsonl", "predictions.jsonl", "verdicts.jsonl", "summary.json", "time.json"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return desktop_data(tmp_path / "data")


def card_file(folder: Path, **more: str) -> Path:
    """A card of a model that was never trained for a desktop; two requests at a time."""
    path = folder / "actor.yaml"
    lines = "".join(f"{name}: {value}\n" for name, value in more.items())
    path.write_text(
        "name: actor\ntitle: A model of the tests\nmodel: actor\nuser: [{image: screenshot}, {text: '{instruction}'}]\n"
        f"answer: {{form: point, space: rel_1000}}\nmax_connections: 2\n{lines}"
    )
    return path


class Desk:
    """A data set and a folder for runs."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data, self.results = folder, data, folder / "results"

    def args(self, *more: str | Path) -> list[str | Path]:
        return ["--dataset", "percu", "--data-dir", self.data, "--log-dir", self.results, *more]

    def call(self, *more: str | Path, code: int = 0) -> str:
        done = shell.call(*self.args(*more))
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout if code in (0, 1) else done.stderr

    @property
    def run(self) -> Path:
        return shell.run_folder(self.results)

    def summary(self) -> dict[str, Any]:
        return shell.summary(self.run)


@pytest.fixture
def desk(tmp_path: Path, data: Path) -> Desk:
    return Desk(tmp_path, data)


def micro(summary: dict[str, Any], rule: str) -> tuple[int, int]:
    found = summary["scores"][rule]["micro"]
    return found["k"], found["n"]


# --- agents without a model -----------------------------------------------------------------------------------------


def test_doing_what_was_recorded_is_right_by_every_rule(desk: Desk) -> None:
    desk.call("--grounder", "oracle")
    summary = desk.summary()
    assert {rule: micro(summary, rule) for rule in ("official", "paper", "strict")} == dict.fromkeys(
        ("official", "paper", "strict"), (7, 7)
    )
    assert {path.name for path in desk.run.iterdir()} == FILES
    assert summary["status"] == "complete"
    assert set(summary["groups"]) == {"preference", "routine"}


def test_the_offline_agent_follows_the_memory_and_is_lost_without_it(desk: Desk) -> None:
    desk.call("--grounder", "ocr-agent")
    assert micro(desk.summary(), "paper") == (7, 7)
    lines = shell.records(desk.run / "predictions.jsonl")
    said = {line["step_id"]: line["action_text"] for line in lines}
    assert said["routine/routine_list/3"] == "hotkey (ctrl, s)"
    assert said["routine/routine_list/2"] == "type text: 30 apples 5"
    assert {line["failure"] for line in lines if "failure" in line} == set()
    other = Desk(desk.folder / "other", desk.data)
    other.call("--memory", "none")
    assert micro(other.summary(), "paper")[0] < 3


# --- official and paper differ --------------------------------------------------------------------------------------

DIFFERING = {
    "routine/routine_list/1": ("Action: double click (250, 120)", (False, True, True)),  # 50 px: excluded, included
    "routine/routine_list/2": ('Action: type text: "30 pears 5"', (True, False, False)),  # numbers are coordinates
    "routine/routine_list/3": ("Action: hotkey (s, ctrl)", (False, True, True)),  # the same keys, said the other way
    "routine/routine_list/4": ("Action: scroll (300)", (True, False, False)),  # the sign is lost
    "preference/preference_colour/1": ("Action: click(300, 400)", (True, True, True)),  # equal but for the blank
    "preference/preference_colour/2": ("Action: press key: Return", (False, True, True)),  # another name of the key
    "preference/preference_colour/3": ("Action: click (1, 2) when you finish", (True, False, False)),  # the word alone
}


def test_the_released_matcher_and_the_paper_differ_where_they_should(desk: Desk) -> None:
    recorded = desk.folder / "replies.jsonl"
    recorded.write_text(
        "".join(json.dumps({"step": step, "reply": said}) + "\n" for step, (said, _) in DIFFERING.items())
    )
    shown = desk.call("--predictions", recorded)
    verdicts = {line["step_id"]: line for line in shell.records(desk.run / "verdicts.jsonl")}
    for step, (said, rules) in DIFFERING.items():
        found = verdicts[step]["rulings"]
        assert tuple(found[rule]["right"] for rule in ("official", "paper", "strict")) == rules, said
    # As many, and other ones.
    assert micro(desk.summary(), "official") == micro(desk.summary(), "paper") == (4, 7)
    assert "agent replay:replies" in shown


def test_recorded_replies_are_checked(desk: Desk) -> None:
    recorded = desk.folder / "replies.jsonl"
    recorded.write_text('{"step": "routine/routine_list/1", "reply": null}\n')
    assert "6 steps have no recorded reply" in desk.call("--predictions", recorded)
    counts = desk.summary()["counts"]["failures"]
    assert (counts["missing"], counts["unparsed"]) == (6, 1)
    recorded.write_text('{"step": "routine/x/1", "reply": "wait"}\n')
    assert "line 1: the data set has no step 'routine/x/1'" in desk.call("--predictions", recorded, code=2)
    recorded.write_text('{"step": "routine/routine_list/1"}\n')
    assert 'expected {"step": id, "reply": text or null}' in desk.call("--predictions", recorded, code=2)
    recorded.write_text('{"step": "routine/routine_list/1", "reply": "wait"}\n' * 2)
    assert "has a line already" in desk.call("--predictions", recorded, code=2)


# --- models ---------------------------------------------------------------------------------------------------------


def test_a_model_is_asked_once_a_step_and_never_twice(desk: Desk) -> None:
    card = card_file(desk.folder)
    with ChatServer(reply("Action: finish")) as server:
        shown = desk.call("--grounder", card, "--base-url", server.base_url)
        assert server.count == 7
        desk.call("--grounder", card, "--base-url", server.base_url)
        assert server.count == 7
    assert "agent actor · memory thought · style percu" in shown
    assert micro(desk.summary(), "paper") == (1, 7)
    info = json.loads((desk.run / "run.json").read_text())
    assert (info["benchmark"], info["asked"]["attempts"], info["asked"]["style"]) == ("desktop", 3, "percu")
    assert "|prompt:percu@" in info["signature"]


def many(root: Path, tasks: int = 6) -> Path:
    return desktop_data(root, {f"routine_{number}": ROUTINE for number in range(tasks)})


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_goes_on_where_it_stopped(tmp_path: Path, how: signal.Signals) -> None:
    desk = Desk(tmp_path, many(tmp_path / "data"))
    card = card_file(tmp_path)

    def say(body: dict[str, Any]) -> str:
        text = body["messages"][0]["content"][0]["text"]
        return "I don't know." if "30 apples" in text else "Action: double click (200, 120)"

    with ChatServer(after(0.05, answering(say))) as server:
        args = desk.args("--grounder", card, "--base-url", server.base_url, "--max-connections", "1")
        process = shell.start(*args, cwd=tmp_path)
        shell.wait_until(lambda: any(len(shell.lines(path)) > 5 for path in desk.results.glob("*/predictions.jsonl")))
        process.send_signal(how)
        process.communicate(timeout=60)
        assert process.returncode == (-9 if how == signal.SIGKILL else 130)
        done = len(shell.lines(desk.run / "predictions.jsonl"))
        assert done < 24
        asked = server.count
        server.default = answering(say)
        desk.call(*args[6:])
        # Steps without an action are asked about three times; one may have been in flight.
        assert server.count - asked <= (24 - done) + 2 * 6
    steps = [line["step_id"] for line in shell.records(desk.run / "predictions.jsonl")]
    assert len(steps) == len(set(steps)) == 24
    summary = desk.summary()
    assert micro(summary, "paper") == (6, 24)
    assert summary["counts"]["failures"]["unparsed"] == 6
    assert summary["status"] == "complete"


# --- scoring again --------------------------------------------------------------------------------------------------


def test_a_folder_is_scored_again_with_another_tolerance_and_asks_nobody(desk: Desk) -> None:
    recorded = desk.folder / "replies.jsonl"
    recorded.write_text('{"step": "preference/preference_colour/1", "reply": "click (330, 440)"}\n')
    desk.call("--predictions", recorded, "--kind", "preference")
    assert micro(desk.summary(), "paper") == (1, 3)
    done = shell.call("score", desk.run, "--tolerance", "49", "--scoring", "strict", module="grounding")
    assert done.returncode == 0, done.stderr
    assert "score (strict)" in done.stdout
    assert micro(desk.summary(), "paper") == (0, 3)
    assert "scoring:desktop.1@49px" in desk.summary()["signature"]
    failures = desk.summary()["counts"]["failures"]
    assert failures["right kind wrong place"] == 1
    (desk.run / "summary.json").unlink()
    assert shell.call("score", desk.run, "--json", module="grounding").returncode == 0
    assert desk.summary()["tolerance_px"] == 49.0
    bad = shell.call("score", desk.run, "--tolerance", "-1", module="grounding")
    assert (bad.returncode, "expected pixels, 0 or more" in bad.stderr) == (2, True)


def test_the_papers_table_is_shown_beside_with_its_doubtful_cells_marked(desk: Desk) -> None:
    shown = desk.call("--grounder", "oracle", "--published")
    assert "31.61*" in shown
    assert "48.96 " in shown
    assert "oracle, memory thought" in shown
    assert "percu, routine, words (this run)" in shown
    assert shown.count("no average of them gives it") == 5


# --- several runs ---------------------------------------------------------------------------------------------------


def test_what_memory_is_worth_is_compared(desk: Desk) -> None:
    shown = desk.call("--memory", "thought", "none", "--grounder", "ocr-agent", "oracle")
    assert "ocr-agent thought" in shown
    assert "difference to ocr-agent none" in shown
    # Right in every task with its thought; the same in every task says nothing of others: there is no interval.
    assert re.search(r"oracle thought +\+\d+\.\d\s", shown)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--planner", "o3"), "--planner: an agent gets no plan"),
        (("--history", "5"), "--history: an agent is told its memory"),
        (("--participant", "1"), "--participant: desktop tasks have no participants; choose with --kind"),
        (("--backend", "hf"), "--backend: agents are asked over a server"),
        (("--attempts", "2"), "--attempts: the agent ocr-agent has no prompt"),
        (("--grounder", "gta1", "--attempts", "4", "--base-url", "http://127.0.0.1:9/v1"), "expected 1, 2 or 3"),
        (("--grounder", "gta1", "--style", "native", "--base-url", "http://127.0.0.1:9/v1"), "has no section action"),
        (("--grounder", "nobody"), "no agent is called 'nobody'"),
        (("--grounder", "any"), "give its address with --base-url"),
        (("--grounder", "replay"), "needs the file of recorded replies"),
        (("--base-url", "http://127.0.0.1:9/v1"), "the agent ocr-agent asks no server"),
        (("--tolerance", "nan"), "expected pixels, 0 or more"),
        (
            ("--memory", "thought", "none", "--limit", "0"),
            "thought: --limit 0: expected 1 or more (nothing was asked yet)",
        ),
    ],
)
def test_what_makes_no_sense_for_desktop_tasks_is_refused_in_a_sentence(
    desk: Desk, more: tuple[str, ...], message: str
) -> None:
    said = desk.call(*more, code=2)
    assert message in said
    assert not desk.results.exists()


# --- dry runs and repeats -------------------------------------------------------------------------------------------


def test_a_dry_run_counts_what_is_left_and_asks_nobody(desk: Desk) -> None:
    card = card_file(desk.folder, price="{input_usd: 1.0, output_usd: 0.0, date: '2026-01-01'}")
    with ChatServer(reply("Action: finish")) as server:
        command = ("--grounder", card, "--base-url", server.base_url)
        found = json.loads(desk.call(*command, "--dry-run", "--json"))
        assert server.count == 0
        (model,) = found["models"]
        assert (found["items"], found["left"], model["requests"], model["most_requests"]) == (7, 7, 7, 21)
        desk.call(*command, "--limit", "3", "--attempts", "1")
        again = json.loads(desk.call(*command, "--limit", "3", "--attempts", "1", "--dry-run", "--json"))
        assert (again["left"], again["models"][0]["requests"], again["models"][0]["answered"]) == (0, 0, 3)
        desk.call(*command, "--limit", "3", "--attempts", "1", "--json")
        assert server.count == 3
        # What is written out is what is sent.
        written = json.loads((Path(found["folder"]) / "agent-1.json").read_text())
        assert {**server.bodies[0], "messages": written["messages"]} == written
    assert "nothing was sent to any model" in desk.call("--grounder", "oracle", "--dry-run")
    assert "nothing was sent to any model" in desk.call("--grounder", "ui-tars", "--dry-run"), "it needs no server"


def test_a_run_is_shown_like_every_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_EVAL_NO_REPORT", raising=False)
    done = shell.call("--dataset", "sample-desktop", "--limit", "30", "--log-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "report.html" in done.stdout
    run = grounding.load_run(folder := shell.run_folder(tmp_path))
    paper = run.summary.scores["paper"].micro
    assert (run.scores["step_accuracy"].k, run.scores["step_accuracy"].low) == (paper.k, paper.low)
    frame = run.frame()
    assert (len(frame), frame.is_hit.sum(), frame.score_strict_accuracy.max()) == (30, paper.k, 100)
    found = break_down(read_rows(folder), "action", resamples=50)
    by_action = {row.name: row.accuracy.k for row in found.rows}
    assert by_action == {kind: scores["paper"].k for kind, scores in run.summary.by_action.items()}
    page = (folder / "report.html").read_text()
    for words in ("the recorded action", "Memory (what the agent was told", "action: click", '"recorded":[{"x_px":'):
        assert words in page
    assert shell.call("view", folder, "--out", tmp_path / "page.html", module="grounding").returncode == 0
    done = shell.call("view", folder, module="grounding")  # It is through: its page is a file, and nothing is served.
    assert (done.returncode, done.stdout) == (0, f"{folder / 'report.html'}\n")
    table = shell.call("report", folder, module="grounding").stdout
    assert "dead loops" in table
    assert shell.call("report", folder, "--by", "user", module="grounding").returncode == 2
    forms = {"csv": "agent,memory,dataset", "latex": "Official accuracy", "json": '"metric": "step_accuracy"'}
    for form, words in forms.items():
        assert words in shell.call("export", folder, "--format", form, module="grounding").stdout
    assert "kind=preference" in shell.call("export", folder, "--submission", module="grounding").stdout


ACT = """
def act(image, instruction, memory=None):
    if memory is None:
        return 3
    return f"Thought: as before.\\nAction: click ({image.width // 2}, {image.height // 2})"
"""


def test_a_function_of_ones_own_acts(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ACT)
    desk.call("--grounder", f"{tmp_path / 'mine.py'}:act")
    answers = shell.records(desk.run / "predictions.jsonl")
    assert {answer["action"]["kind"] for answer in answers} == {"click"}
    assert all(answer["raw"].startswith("Thought: as before.") and answer["call"]["seconds"] > 0 for answer in answers)
    desk.call("--grounder", f"{tmp_path / 'mine.py'}:act", "--memory", "none", "--fresh")
    (other,) = (path for path in desk.results.iterdir() if "_none_" in path.name)
    assert {answer["failure"]["message"] for answer in shell.records(other / "predictions.jsonl")} == {
        "act returned 3; expected an action as text, such as 'click (640, 360)'"
    }
    assert "has no function acts" in desk.call("--grounder", f"{tmp_path / 'mine.py'}:acts", code=2)


@pytest.mark.parametrize("grid", [True, False])
def test_a_model_that_answers_in_another_space_is_told_before_the_run(desk: Desk, grid: bool) -> None:
    def say(seen: Size, across: float, down: float) -> str:
        x, y = (across * 1000, down * 1000) if grid else (across * seen.width, down * seen.height)
        return f"Action: click ({round(x)}, {round(y)})"

    with ChatServer(seeing(say, max_pixels=10**8, tokens=False)) as server:
        args = desk.args("--grounder", card_file(desk.folder), "--base-url", server.base_url, "--limit", "1")
        done = shell.run(*args, cwd=desk.folder, env={"GROUNDING_EVAL_NO_PROBE": "false"})
        assert done.returncode == 0, done.stderr
        assert server.count == 12 + 1
        desk.call(*args[6:])
        assert server.count == 12 + 1
    assert ("a grid of 0 to 1000 (rel_1000), 12 of 12 replies hit" in done.stderr) is grid

"""Whole desktop runs from the command line: folders, scores, resumption, and what is refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, after, answering, error, reply

from desktop.made import PREFERENCE, ROUTINE, desktop_data

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
    assert set(summary["groups"]["kind"]) == {"preference", "routine"}
    assert len(summary["curve"]) == 40


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


def test_the_floors_do_what_they_say(desk: Desk) -> None:
    desk.call("--grounder", "always-click-center")
    assert {line["action_text"] for line in shell.records(desk.run / "predictions.jsonl")} == {"click (640, 360)"}
    other = Desk(desk.folder / "other", desk.data)
    other.call("--grounder", "repeat-last")
    said = [line["action_text"] for line in shell.records(other.run / "predictions.jsonl")]
    assert said[:4] == ["wait", "click (300, 400)", "press key: enter", "wait"]
    assert other.summary()["counts"]["failures"]["missed finish"] == 1


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
    for step, (said, (official, paper, strict)) in DIFFERING.items():
        found = verdicts[step]
        rules = (found["official"], found["paper"], found["strict"])
        assert rules == (official, paper, strict), said
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


def test_a_bare_action_is_a_reply_too(desk: Desk) -> None:
    recorded = desk.folder / "replies.jsonl"
    recorded.write_text('{"step": "preference/preference_colour/1", "reply": "click (310, 400)"}\n')
    desk.call("--predictions", recorded, "--kind", "preference")
    assert micro(desk.summary(), "official") == micro(desk.summary(), "paper") == (1, 3)


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


def test_memories_of_other_steps_never_show_the_steps_own(desk: Desk) -> None:
    own = {step["thought"] for step in (*PREFERENCE, *ROUTINE)}
    for kind in ("shuffled", "other-step"):
        with ChatServer(reply("Action: finish")) as server:
            desk.call("--grounder", card_file(desk.folder), "--base-url", server.base_url, "--memory", kind)
            assert server.count == 7
            sent = [body["messages"][0]["content"][0]["text"] for body in server.bodies]
        told = [next(thought for thought in own if f"task.\n{thought}\n" in text) for text in sent]
        assert len(set(told)) > 1
        lines = [json.loads(line) for line in (sorted(desk.results.glob(f"*_{kind}_*"))[0] / "steps.jsonl").open()]
        assert all(line["memory"] and line["memory"] != line["step"]["thought"] for line in lines)
        assert sorted(line["memory"] for line in lines) == sorted(told)


def test_errors_make_a_run_partial_and_only_they_are_asked_again(desk: Desk) -> None:
    card = card_file(desk.folder)
    with ChatServer(reply("Action: finish")) as server:
        server.script(error(400), error(400))
        shown = desk.call(
            "--grounder", card, "--base-url", server.base_url, "--max-retries", "0", "--max-connections", "1", code=1
        )
        assert "2 steps ended in an error" in shown
        assert desk.summary()["status"] == "partial"
        asked = server.count
        desk.call("--grounder", card, "--base-url", server.base_url, "--max-retries", "0")
        assert server.count == asked + 2
    assert desk.summary()["status"] == "complete"


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


def test_started_over_a_run_is_asked_again_and_the_old_one_kept(desk: Desk) -> None:
    card = card_file(desk.folder)
    with ChatServer(reply("Action: wait")) as server:
        for _ in range(2):
            desk.call("--grounder", card, "--base-url", server.base_url, "--fresh")
        assert server.count == 14
    assert len(list(desk.results.glob("*.old1"))) == 1


# --- scoring again --------------------------------------------------------------------------------------------------


def test_a_folder_is_scored_again_with_another_tolerance_and_asks_nobody(desk: Desk) -> None:
    recorded = desk.folder / "replies.jsonl"
    recorded.write_text('{"step": "preference/preference_colour/1", "reply": "click (330, 440)"}\n')
    desk.call("--predictions", recorded, "--kind", "preference")
    assert micro(desk.summary(), "paper") == (1, 3)
    done = shell.call("score", desk.run, "--tolerance", "49", "--scoring", "strict", module="grounding.cli")
    assert done.returncode == 0, done.stderr
    assert "score (strict)" in done.stdout
    assert micro(desk.summary(), "paper") == (0, 3)
    assert "scoring:desktop.1@49px" in desk.summary()["signature"]
    failures = desk.summary()["counts"]["failures"]
    assert failures["right kind wrong place"] == 1
    (desk.run / "summary.json").unlink()
    assert shell.call("score", desk.run, "--json", module="grounding.cli").returncode == 0
    assert desk.summary()["tolerance_px"] == 49.0
    bad = shell.call("score", desk.run, "--tolerance", "-1", module="grounding.cli")
    assert (bad.returncode, "expected pixels, 0 or more" in bad.stderr) == (2, True)


def test_the_papers_table_is_shown_beside_with_its_doubtful_cells_marked(desk: Desk) -> None:
    shown = desk.call("--grounder", "oracle", "--published")
    assert "31.61*" in shown
    assert "48.96 " in shown
    assert "oracle (this run" in shown
    assert shown.count("no average of them gives it") == 5


# --- several runs ---------------------------------------------------------------------------------------------------


def test_what_memory_is_worth_has_a_paired_interval(desk: Desk) -> None:
    found = json.loads(desk.call("--memory", "thought", "none", "--json"))
    assert [row["name"] for row in found["rows"]] == ["thought", "none"]
    assert (found["baseline"], found["varying"]) == (1, ["memory"])
    difference = found["rows"][0]["difference"]
    assert set(difference) == {"official", "paper", "strict"}
    assert difference["paper"]["value"] > 50
    assert difference["paper"]["low"] > 0
    assert found["rows"][1]["difference"] == {}
    shown = desk.call("--memory", "thought", "none", "--grounder", "ocr-agent", "oracle")
    assert "ocr-agent thought" in shown
    assert "baseline" in shown


def test_a_sweep_over_memories_is_written_down(desk: Desk) -> None:
    done = shell.call(
        "sweep", *desk.args("--memory", "thought", "none", "shuffled", "--grounder", "oracle"), module="grounding.cli"
    )
    assert done.returncode == 0, done.stderr
    (folder,) = desk.results.glob("sweep_*")
    written = json.loads((folder / "sweep.json").read_text())
    assert [row["name"] for row in written["rows"]] == ["thought", "none", "shuffled"]
    assert all(row["summary"]["status"] == "complete" for row in written["rows"])


def test_what_is_for_models_is_left_out_for_agents_without_one(desk: Desk) -> None:
    with ChatServer(reply("Action: finish")) as server:
        more = ("--base-url", server.base_url, "--attempts", "1", "--json")
        found = json.loads(desk.call("--grounder", "oracle", card_file(desk.folder), *more))
    assert [row["summary"]["counts"]["right"] for row in found["rows"]] == [7, 1]
    assert found["varying"] == ["grounder"]


def test_the_baseline_can_be_named(desk: Desk) -> None:
    found = json.loads(desk.call("--grounder", "oracle", "always-click-center", "--baseline", "oracle", "--json"))
    assert found["rows"][1]["difference"]["paper"]["value"] == -100.0
    assert "no run is called so; the runs are oracle, always-click-center" in desk.call(
        "--grounder", "oracle", "always-click-center", "--baseline", "x", code=2
    )
    assert "--baseline compares runs, and this is one" in desk.call("--baseline", "x", code=2)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--planner", "o3"), "--planner: an agent gets no plan"),
        (("--history", "5"), "--history: an agent is told its memory"),
        (("--participant", "1"), "--participant: desktop tasks have no participants; choose with --kind"),
        (("--backend", "hf"), "--backend: agents are asked over a server"),
        (("--dry-run",), "--dry-run: what an agent would be asked"),
        (("--attempts", "2"), "--attempts: the agent ocr-agent has no prompt"),
        (("--grounder", "gta1", "--attempts", "4", "--base-url", "http://127.0.0.1:9/v1"), "expected 1, 2 or 3"),
        (("--grounder", "gta1", "--style", "native", "--base-url", "http://127.0.0.1:9/v1"), "has no section action"),
        (("--grounder", "nobody"), "no agent is called 'nobody'"),
        (("--grounder", "any"), "names no model"),
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


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--memory", "none"), "--memory: is for desktop tasks"),
        (("--style", "native"), "--style: is for desktop tasks"),
        (("--tolerance", "10"), "--tolerance: is for desktop tasks"),
        (("--published",), "--published: is for desktop tasks"),
        (("--scoring", "strict"), "--scoring strict: is for desktop tasks"),
    ],
)
def test_what_is_for_desktop_tasks_alone_is_refused_elsewhere(more: tuple[str, ...], message: str) -> None:
    done = shell.call("--dataset", "sample-web", "--grounder", "center", *more)
    assert done.returncode == 2
    assert message in done.stderr

"""Planner and grounder in one run: what each is told, that each is asked once, and what is shown meanwhile."""

from __future__ import annotations

import json

import pytest
import shell
from fakes.slow_server import slow_server
from shell import STEPS, Bench


def test_planner_and_grounder_run_one_after_the_other_and_each_is_asked_once(bench: Bench) -> None:
    planner = shell.planner_card(bench.folder, text="{instruction} after {history}")

    def reply(model: str, _text: str) -> str:
        return "the blue bag" if model == "thinker" else "(20,15)"

    with slow_server(reply) as server:
        args = ["--planner", planner, "--planner-base-url", server.url]
        done = bench.call(server, *args)
        assert done.returncode == 0, done.stderr
        assert server.texts["pointer: the blue bag"] == STEPS
        asked = [text for text in server.texts.elements() if text.startswith("thinker: ")]
        assert len(asked) == STEPS
        # Ten earlier steps, those without a click among them, never another participant's.
        (last,) = [text for text in asked if text.startswith("thinker: 2: click thing 16 ")]
        assert "10. Instruction: 2: click thing 15\n" in last or "10. Instruction: " in last
        assert "11. Instruction" not in last
        assert "Clicked thing 31" in last
        assert "Clicked thing 30" in last
        assert "Clicked thing 21" not in last
        (first,) = [text for text in asked if text.endswith("after ") and text.startswith("thinker: 1: click thing 0")]
        assert first == "thinker: 1: click thing 0 after "
    assert "history:10" in shell.summary(bench.run_folder)["signature"]


@pytest.mark.parametrize("dead", ["planner", "grounder"])
def test_only_who_still_has_to_answer_must_be_there(bench: Bench, dead: str) -> None:
    planner = shell.planner_card(bench.folder)
    with slow_server() as thinking, slow_server() as pointing:
        args = ["--planner", planner, "--planner-base-url", thinking.url]
        if dead == "planner":
            pointing.status = 500
        assert bench.call(pointing, *args).returncode == (1 if dead == "planner" else 0)
        pointing.status = None
        (thinking if dead == "planner" else pointing).stop()
        thinking_asked = thinking.requests
        done = bench.call(pointing, *args)
        assert done.returncode == 0, done.stderr
        assert thinking.requests == thinking_asked


def test_progress_goes_to_standard_error_and_only_when_asked_for(bench: Bench) -> None:
    with slow_server() as server:
        plain = bench.call(server, "--display", "plain", "--json")
    json.loads(plain.stdout)
    assert plain.stderr.splitlines()[-1].startswith(f"{STEPS}/{STEPS} steps, ")
    assert "hit" in plain.stderr
    silent = bench.call(server, "--json")
    assert silent.stderr == ""
    kept = bench.call(server, "--display", "plain", "--json")
    assert f"kept from before {STEPS}" in kept.stderr

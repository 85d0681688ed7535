"""``grounding blame`` with reference instructions and labels, as a user has it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, error

from analysis.conftest import MISSES, PLANS, REFERENCE, Setup, said


def test_the_misses_are_grounded_again_with_the_reference(setup: Setup, server: ChatServer) -> None:
    run = setup.eval(PLANS)
    assert server.count == 8
    found = setup.split(run, "--reference", setup.reference)
    assert said(run, "reference") == MISSES
    assert (found["scored"], found["hits"]) == (10, 2)
    assert found["wrong"] == {"wrong_place": 6, "no_place": 0, "no_plan": 2, "no_gold": 0, "unanswered": 0}
    (split,) = found["splits"]
    assert (split["reasoning"]["k"], split["grounding"]["k"], split["grounding"]["n"]) == (4, 2, 6)
    # 1/5 was told the reference's own words: nothing is learned from asking again.
    assert server.count == 8 + 5
    assert found["status"] == "complete"
    assert setup.split(run, "--reference", setup.reference) == found
    done = setup.blame(run, "--reference", setup.reference, "--per-participant")
    assert server.count == 8 + 5, "the same command again asks nothing"
    for words in (
        "8 of 10 scored steps are wrong",
        "reasoning 66.7 % (4/6) [30.0, 90.3] · grounding 33.3 % (2/6) [9.7, 70.0]",
        "2  no plan",
        "33.3 % (1/3)",
        str(run / "error_split.jsonl"),
    ):
        assert words in done.stdout


def test_a_finished_run_can_be_the_reference(setup: Setup, server: ChatServer) -> None:
    run = setup.eval(PLANS)
    other = setup.eval(REFERENCE, log_dir=setup.folder / "other")
    count = server.count
    found = setup.split(run, "--reference-run", other)
    assert said(run, "reference") == MISSES
    assert server.count == count
    assert found["reference"]["runs"] == [str(other)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"more": ("--sample-id", "1/1", "1/2", "2/1")},
            "4 of the 6 wrong steps are not part of it (1/4, 1/5, 2/4, 2/5)",
        ),
        ({"text": "Where? {instruction}"}, "another setting of grounder pointer: user"),
        ({"name": "other"}, "grounder other, not pointer"),
    ],
)
def test_a_run_that_cant_be_compared_is_refused_with_what_differs(
    setup: Setup, change: dict[str, Any], words: str
) -> None:
    run = setup.eval(PLANS)
    if "text" in change or "name" in change:
        setup.card = shell.grounder_card(setup.folder, **{"name": "pointer", **change})
    other = setup.eval(REFERENCE, *change.get("more", ()), log_dir=setup.folder / "other")
    done = setup.blame(run, "--reference-run", other)
    assert done.returncode == 2
    assert words in done.stderr


def test_errors_are_left_open_and_asked_again(setup: Setup, server: ChatServer) -> None:
    run = setup.eval(PLANS)
    server.script(error(400, "no"))
    found = setup.split(run, "--reference", setup.reference, "--max-retries", "0", "--max-connections", "1", code=1)
    assert found["status"] == "partial"
    assert found["splits"][0]["error"] == 1
    count = server.count
    found = setup.split(run, "--reference", setup.reference)
    assert server.count == count + 1
    assert said(run, "reference") == MISSES
    assert found["status"] == "complete"


def test_a_run_that_went_on_asks_only_about_its_new_misses(setup: Setup, server: ChatServer) -> None:
    server.script(error(400, "no"))
    run = setup.eval(PLANS, "--max-retries", "0", "--max-connections", "1")
    setup.split(run, "--reference", setup.reference, code=1)
    count = server.count
    assert setup.eval(PLANS, "--max-retries", "0", "--max-connections", "1") == run
    assert server.count == count + 1
    setup.split(run, "--reference", setup.reference)
    missed_now = server.count - count - 1
    assert missed_now <= 1
    assert said(run, "reference") == MISSES


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--reference", "a.json", "--no-reference"), "contradict"),
        (("--no-reference",), "leaves nobody"),
        (("--cost-limit", "1"), "name one with --judge"),
        (("--reference", "nowhere.json"), "nowhere.json"),
        (("--labels", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--judge", "no-such-model"), "no model is called"),
    ],
)
def test_wrong_commands_end_with_a_sentence(setup: Setup, words: tuple[str, ...], told: str) -> None:
    done = setup.blame(setup.eval(PLANS), *words)
    assert done.returncode == 2, done.stdout
    assert told in done.stderr


def test_labels_are_compared_with_the_reference(setup: Setup) -> None:
    run = setup.eval(PLANS)
    labels = setup.folder / "labels.jsonl"
    ann = {**MISSES, "2/5": "reasoning"}
    bob = {"1/2": "reasoning", "1/5": "grounding", "2/4": "unclear"}
    lines = [
        {"step": step_id, "label": label, "labeller": who}
        for who, given in (("ann", ann), ("bob", bob))
        for step_id, label in given.items()
    ]
    labels.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = setup.split(run, "--reference", setup.reference, "--labels", labels)
    assert [each["source"] for each in found["splits"]] == ["reference", "label:ann", "label:bob"]
    pairs = {(each["first"], each["second"]): each for each in found["agreement"]}
    assert len(pairs) == 3
    with_ann = pairs["reference", "label:ann"]
    assert (with_ann["n"], with_ann["agree_percent"]) == (6, pytest.approx(500 / 6))
    assert with_ann["kappa"] == pytest.approx((5 / 6 - 22 / 36) / (1 - 22 / 36))
    assert (pairs["reference", "label:bob"]["kappa"], pairs["reference", "label:bob"]["left_out"]) == (1.0, 4)
    done = setup.blame(run, "--reference", setup.reference, "--labels", labels)
    assert "reference · label:ann" in done.stdout
    assert "0.57 [-0.12, 1.00]" in done.stdout
    assert "· not counted: unclear 1, missing 3" in done.stdout


def test_framed_pictures_are_kept_on_request(setup: Setup) -> None:
    run = setup.eval(PLANS)
    assert not (run / "error_split" / "pictures").exists()
    setup.split(run, "--reference", setup.reference, "--pictures")
    kept = {path.name for path in (run / "error_split" / "pictures").iterdir()}
    assert kept == {f"{step_id.replace('/', '_')}.png" for step_id in MISSES}


def test_a_run_at_work_is_left_alone(setup: Setup) -> None:
    import fcntl

    run = setup.eval(PLANS)
    held = os.open(run, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = setup.blame(run, "--reference", setup.reference)
    finally:
        os.close(held)
    assert done.returncode == 2
    assert "another process is at work" in done.stderr


def test_the_sample_brings_its_own_reference(tmp_path: Path) -> None:
    """With a grounder that reads nothing the words make no difference: every miss is the grounder's."""
    done = shell.call("--grounder", "center", "--limit", "12", "--log-dir", tmp_path, "--display", "none")
    assert done.returncode == 0, done.stderr
    run = shell.run_folder(tmp_path)
    done = shell.call("blame", run, "--display", "none", module="grounding")
    assert done.returncode == 0, done.stderr
    assert "grounding 100.0 % (11/11)" in done.stdout
    assert "the plan is the user's own words" in done.stdout

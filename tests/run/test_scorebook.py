"""Stored answers scored, scored again, and checked against figures worked out by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import Item, TinyDataset
from fakes.slow_server import slow_server
from shell import Bench

STEPS = 10


@pytest.fixture
def bench(tmp_path: Path, tiny_dataset: TinyDataset) -> Bench:
    """Two participants, 10 scored steps of 12."""
    return Bench(tmp_path, tiny_dataset(participants=2, steps=6, unscored=(2,)))


# --- scoring again ------------------------------------------------------------------------------------------------


def test_scoring_again_gives_the_same_and_needs_neither_data_nor_server(bench: Bench) -> None:
    with slow_server() as server:
        assert bench.call(server).returncode == 0
    shutil.rmtree(bench.data_dir)
    bench.card.unlink()
    folder = bench.run_folder
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in ("verdicts.jsonl", "summary.json", "time.json"):
        (folder / name).unlink()
    done = shell.call("score", folder, "--json", module="grounding")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
    assert done.stdout.encode() == kept["summary.json"]


@pytest.mark.parametrize("damage", ["predictions.jsonl", "plans.jsonl", "steps.jsonl", "run.json"])
def test_a_damaged_run_is_refused_with_the_file_and_line(bench: Bench, damage: str) -> None:
    assert bench.call(None, "--grounder", "center").returncode == 0
    path = bench.run_folder / damage
    found = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([found[0], b'{"step_id":"1/1","key":"k","point":"\xff"}\n', *found[2:]]))
    for args, module in (
        (["score", bench.run_folder], "grounding"),
        (bench.args(None, "--grounder", "center"), "grounding.eval"),
    ):
        done = shell.call(*args, module=module)
        if damage == "steps.jsonl" and module == "grounding.eval":
            continue  # Written anew by every run.
        assert done.returncode == 2
        assert str(path) in done.stderr
        assert damage == "run.json" or "line 2" in done.stderr


# --- known answers ------------------------------------------------------------------------------------------------


def box(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"x": left, "y": top, "width": width, "height": height}


BY_HAND: dict[str, list[tuple[Any, str, Any, Any]]] = {
    # task, instruction, boxes, where the recorded answer points
    "1": [
        ("bag", "open the shop", [box(10, 10, 10, 10)], [15, 15]),  # hit
        ("bag", "look at bags", None, None),  # no click
        ("bag", "the blue one", [box(0, 0, 5, 5), box(40, 30, 10, 10)], [50, 40]),  # hit, corner of the second box
        ("bag", "the blue one", [box(10, 10, 10, 10)], [21, 15]),  # miss by 1
        ("bag", "buy it", [box(10, 10, 10, 10)], [10, 20]),  # hit, corner
        ("gift", "find a card", [box(10, 10, 10, 10)], [20, 10]),  # hit, corner
    ],
    "2": [
        ("bag", "open the shop", [box(10, 10, 10, 10)], [23, 24]),  # miss: 3 across and 4 down
        ("bag", "take it", [box(10, 10, 10, 10)], [12, 12]),  # hit
        ("trip", "a night", [box(10, 10, 10, 10)], [12, 12]),  # hit
        ("trip", "two nights", [box(10, 10, 10, 10)], "null"),  # a reply without a place
        ("trip", "pay", [box(10, 10, 10, 10)], "absent"),  # no line at all
    ],
}


@pytest.fixture
def by_hand(tmp_path: Path, tiny_dataset: TinyDataset) -> Bench:
    def written(participant: str, items: list[Item]) -> None:
        del items[len(BY_HAND[participant]) :]
        for item, (task, instruction, boxes, _) in zip(items, BY_HAND[participant], strict=True):
            item.update(task=task, instruction=instruction, bounding_box=boxes)

    return Bench(tmp_path, tiny_dataset(participants=2, steps=6, unscored=(), history=None, edit=written))


def recorded(folder: Path) -> Path:
    answers = []
    for participant, steps in BY_HAND.items():
        for number, (*_, boxes, point) in enumerate(steps, start=1):
            if boxes is not None and point != "absent":
                answers.append({"step": f"{participant}/{number}", "point": None if point == "null" else point})
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    return path


def test_where_no_step_has_a_recorded_answer_nothing_was_measured(by_hand: Bench) -> None:
    (nothing := by_hand.folder / "nothing.jsonl").write_text("")
    done = by_hand.call(None, "--predictions", nothing)
    assert done.returncode == 2
    assert "none of the 10 steps has a recorded answer" in done.stderr
    again = shell.call("score", str(by_hand.run_folder), module="grounding")
    assert (again.returncode, "none of the 10 steps" in again.stderr) == (2, True)


def test_every_figure_is_what_a_pencil_gives(by_hand: Bench) -> None:
    done = by_hand.call(None, "--predictions", recorded(by_hand.folder), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found == shell.summary(by_hand.run_folder)
    assert found["status"] == "complete"
    # Tasks: 1/bag, 1/gift, 2/bag, 2/trip. Instructions: 3 + 1 + 2 + 3.
    assert found["counts"] == {
        "tasks": 4,
        "instructions": 9,
        "steps": 10,
        "skipped": 1,
        "hit": 6,
        "miss": 2,
        "unparsed": 1,
        "error": 0,
        "missing": 1,
    }

    def values(scores: dict[str, Any]) -> dict[str, tuple[Any, Any, Any]]:
        return {name: (pytest.approx(one["value"]), one.get("k"), one["n"]) for name, one in scores.items()}

    # Right instructions: 1/bag: shop and buy, not "the blue one" (one of its two steps misses); 1/gift: card;
    # 2/bag: the second; 2/trip: the first. Progress: 1/3, 1/1, 0/2, 1/3.
    assert values(found["scores"]["paper"]) == {
        "step_accuracy": (60.0, 6, 10),
        "instruction_accuracy": (500 / 9, 5, 9),
        "average_progress": (100 * (1 / 3 + 1 + 0 + 1 / 3) / 4, None, 4),
        "task_success": (25.0, 1, 4),
    }
    # The released evaluator pools the two tasks called "bag", counts steps, and measures across plus down:
    # bag: hit hit miss hit | miss hit -> 2/6; gift 1/1; trip: hit - - -> 1/3. Eight answers are 1 + 7 away in all.
    assert values(found["scores"]["official"]) == {
        "step_accuracy": (60.0, 6, 10),
        "average_progress": (100 * (2 / 6 + 1 + 1 / 3) / 3, None, 3),
        "task_success": (100 / 3, 1, 3),
        "average_distance": (1.0, None, 8),
    }
    one, two = found["groups"]["participant"]["1"], found["groups"]["participant"]["2"]
    assert one["counts"]["hit"] == 4
    assert one["scores"]["paper"]["task_success"]["value"] == 50.0
    assert one["scores"]["official"]["average_progress"]["value"] == 75.0
    assert two["scores"]["paper"]["step_accuracy"]["value"] == 40.0
    assert two["scores"]["official"]["average_distance"]["value"] == pytest.approx(7 / 3)

    verdicts = {one["step_id"]: one for one in shell.records(by_hand.run_folder / "verdicts.jsonl")}
    assert list(verdicts) == ["1/1", "1/3", "1/4", "1/5", "1/6", "2/1", "2/2", "2/3", "2/4", "2/5"]
    assert verdicts["2/1"]["distance_px"] == 5.0
    assert verdicts["2/4"]["outcome"] == "unparsed"
    assert verdicts["2/5"]["outcome"] == "missing"
    assert "2/5" in verdicts["2/5"]["reason"]


def test_the_table_shows_the_same_figures(by_hand: Bench) -> None:
    answers = recorded(by_hand.folder)
    paper = by_hand.call(None, "--predictions", answers).stdout
    for shown in ("60.0 %", "6/10 steps", "55.6 %", "5/9 instructions", "41.7 %", "4 tasks", "25.0 %", "1/4 tasks"):
        assert shown in paper
    assert "hit 6 · miss 2 · unparsed 1 · error 0 · missing 1  (of 10 scored; 1 without a click)" in paper
    assert "1 steps have no recorded answer and count as wrong" in paper
    official = by_hand.call(None, "--predictions", answers, "--scoring", "official").stdout
    for shown in ("score (official)", "60.0 %", "55.6 %", "3 tasks", "33.3 %", "1/3 tasks", "1.0 px", "8 answers"):
        assert shown in official


def test_a_plans_file_that_lacks_a_step_never_falls_back_on_the_users_words(by_hand: Bench) -> None:
    plans = {participant: {} for participant in BY_HAND}  # type: dict[str, dict[str, str]]
    for participant, steps in BY_HAND.items():
        for number, (_, instruction, *_rest) in enumerate(steps, start=1):
            plans[participant][str(number)] = f"the plan for {instruction}"
    del plans["1"]["3"]
    plans["2"]["2"] = "  "
    (by_hand.folder / "plans.json").write_text(json.dumps(plans))
    with slow_server(lambda _model, _text: "(15,15)") as server:
        arguments = by_hand.args(server, "--plans", by_hand.folder / "plans.json", "--json")
        done = shell.call(*arguments)
        assert done.returncode == 0, done.stderr
        assert server.requests == 8
        assert all(text.startswith("pointer: the plan for ") for text in server.texts)
    # Nothing is left to ask, so the server may be gone.
    again = shell.call(*arguments)
    assert again.returncode == 0, again.stderr
    found = json.loads(done.stdout)
    counts = found["counts"]
    assert (counts["steps"], counts["missing"], counts["unparsed"]) == (10, 1, 1)
    assert found["scores"]["paper"]["step_accuracy"]["n"] == 10
    verdicts = {one["step_id"]: one for one in shell.records(by_hand.run_folder / "verdicts.jsonl")}
    assert verdicts["1/3"]["outcome"] == "missing"
    assert "plans.json has no plan for 1/3" in verdicts["1/3"]["reason"]
    assert verdicts["2/2"]["outcome"] == "unparsed"

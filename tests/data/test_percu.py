from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from grounding.actions.parsing import parse_action
from grounding.data import inspect_dataset, is_desktop, layout_names, load_dataset, load_desktop
from grounding.data.fields import DatasetProblems, Problem
from grounding.data.layouts.percu import load
from grounding.errors import UserError
from grounding.records import Box, Size

Line = dict[str, Any]
RECORDING = Path(os.environ.get("GROUNDING_PC_TRACKER", "/nonexistent"))


def line(action: str, number: int = 1, **fields: Any) -> Line:
    return {"action": action, "screenshot": f"screenshot/{number}.png", **fields}


def write_task(folder: Path, name: str, lines: list[Line | str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
    path.write_text(text, encoding="utf-8")
    return path


def write_pictures(folder: Path, *numbers: int, size: tuple[int, int] = (1280, 720)) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        Image.new("L", size, number).save(folder / f"{number}.png")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A data set as PERCU's evaluator expects it: two kinds of tasks, three steps each."""
    root = tmp_path / "PERCU"
    words = {"second instruction": "Make it mine.", "thought": "Last time I chose blue."}
    steps = [
        line("click (640, 360)", 1, **words, rect={"left": 600, "top": 300, "right": 700, "bottom": 400}, element="OK"),
        line("press key enter", 2, **words, rect=None, element=None),
        line("finish", 3, **words),
    ]
    for kind in ("preference", "routine"):
        for name in ("task_2", "task_10"):
            write_task(root / "final_data" / f"{kind}_task", name, list(steps))
    write_pictures(root / "data" / "events" / "screenshot", 1, 2, 3)
    return root


def problems(root: Path, **options: Any) -> list[Problem]:
    with pytest.raises(DatasetProblems) as caught:
        load(root, **options)
    return list(caught.value.problems)


def test_the_release_layout_is_read(release: Path) -> None:
    dataset = load(release)
    assert [task.id for task in dataset.tasks] == [
        "preference/task_2", "preference/task_10", "routine/task_2", "routine/task_10",
    ]  # fmt: skip
    task = dataset.tasks[0]
    assert (task.kind, task.category) == ("preference", "preference")
    first, second, third = task.steps
    assert first.id == "preference/task_2/1"
    assert (first.thought, first.second_instruction) == ("Last time I chose blue.", "Make it mine.")
    assert (first.element, first.rect) == ("OK", Box(left_px=600, top_px=300, right_px=700, bottom_px=400))
    assert first.screenshot.size == Size(width=1280, height=720)
    assert (second.gold, second.gold_text) == (parse_action("press key: enter"), "press key enter")
    assert (second.element, second.rect, third.gold_text) == (None, None, "finish")


def test_a_trajectory_has_its_description_beside_it(tmp_path: Path) -> None:
    path = write_task(tmp_path / "events", "free_task_1", [line("wait")])
    path.with_suffix(".md").write_text("# Free Task\n**Description:** open the door.\n\n**Level:** easy\n")
    write_pictures(tmp_path / "events" / "screenshot", 1)
    (task,) = load(tmp_path).tasks
    assert (task.id, task.kind, task.description) == ("free_task_1", None, "open the door.")
    assert task.steps[0].second_instruction == "open the door."


def test_some_tasks_only(release: Path) -> None:
    assert [task.id for task in load(release, tasks=["routine/task_10"]).tasks] == ["routine/task_10"]
    (problem,) = problems(release, tasks=["routine/task_3"])
    assert "there is no such task" in str(problem)
    assert "preference/task_2" in problem.fix


EDITS: list[tuple[str, Callable[[Line], object], str, str]] = [
    ("action", lambda one: one.update(action="jump"), '"jump"', "begins with none of the twelve actions"),
    ("action", lambda one: one.update(action="press (10, 20)"), "press", "not refined yet"),
    ("action", lambda one: one.pop("action"), "", "is missing"),
    ("action", lambda one: one.update(action=3), "3", "must be text"),
    ("action", lambda one: one.update(action=" "), "", "is empty"),
    ("screenshot", lambda one: one.pop("screenshot"), "", "is missing"),
    ("screenshot", lambda one: one.update(screenshot="screenshot/9.png"), "9.png", "is in none of the folders"),
    ("screenshot", lambda one: one.update(screenshot="../1.png"), "..", "must be a path inside"),
    ("screenshot", lambda one: one.update(screenshot="/etc/passwd"), "/etc", "must be a path inside"),
    ("thought", lambda one: one.update(thought=["a"]), "[", "must be text"),
    ("second instruction", lambda one: one.update({"second instruction": 1}), "1", "must be text"),
    ("rect", lambda one: one.update(rect=[1, 2, 3, 4]), "[1", "must be null or an object"),
    ("rect.left", lambda one: one.update(rect={"top": 1, "right": 2, "bottom": 3}), "", "is missing"),
    ("other_users", lambda one: one.update(other_users="wait"), '"wait"', "must be a list of actions"),
    ("other_users[1]", lambda one: one.update(other_users=["wait", "hop"]), '"hop"', "none of the twelve"),
]


ODD: list[tuple[str, Callable[[Line], object], str]] = [
    ("action", lambda one: one.update(action="click (1281, 5)"), "outside its screenshot of 1280 x 720"),
    ("rect", lambda one: one.update(rect={"left": 9, "top": 1, "right": 2, "bottom": 3}), "ends before it begins"),
]


@pytest.mark.parametrize(("field", "edit", "what"), ODD)
def test_what_the_released_evaluator_scores_or_never_reads_is_odd_and_loaded(
    tmp_path: Path, field: str, edit: Callable[[Line], object], what: str
) -> None:
    one = line("click (5, 5)")
    edit(one)
    file = write_task(tmp_path / "preference", "a", [one])
    write_pictures(tmp_path / "events" / "screenshot", 1)
    dataset = load(tmp_path)
    assert dataset.tasks[0].steps[0].gold_text == one["action"]
    (odd,) = dataset.oddities
    assert odd.startswith(f"{file}: line 1: {field} = ")
    assert what in odd
    assert dataset.warnings == (f"odd annotations, used as they stand: 1 (1 {field}); `grounding check` lists them",)


@pytest.mark.parametrize(("field", "edit", "value", "what"), EDITS)
def test_one_wrong_field_is_one_problem_with_file_and_line(
    tmp_path: Path, field: str, edit: Callable[[Line], object], value: str, what: str
) -> None:
    wrong = line("click (1, 2)")
    edit(wrong)
    path = write_task(tmp_path / "preference", "a", [line("wait"), "", wrong])
    write_pictures(tmp_path / "events" / "screenshot", 1)
    (problem,) = problems(tmp_path)
    assert (problem.file, problem.line, problem.field) == (str(path), 3, field)
    assert value in problem.value
    assert what in problem.what
    assert f"{path}: line 3: {field}" in str(problem)


def test_all_problems_come_at_once_in_order(tmp_path: Path) -> None:
    write_task(tmp_path / "preference", "b", [line("jump"), "{", "[1]", line("hop", 2)])
    write_task(tmp_path / "preference", "a", [line("wait", 7)])
    write_pictures(tmp_path / "events" / "screenshot", 1)
    (tmp_path / "events" / "screenshot" / "2.png").write_bytes(b"GIF89a")
    found = problems(tmp_path)
    assert [(Path(one.file).name, one.line) for one in found] == [
        ("a.jsonl", 1), ("b.jsonl", 1), ("b.jsonl", 2), ("b.jsonl", 3), ("b.jsonl", 4), ("b.jsonl", 4),
    ]  # fmt: skip
    assert [one.field for one in found] == ["screenshot", "action", "", "", "action", "screenshot"]
    assert "is not JSON" in found[2].what
    assert "must hold an object" in found[3].what
    assert "is not a PNG" in found[5].what


def test_two_tasks_of_one_name_are_a_problem(tmp_path: Path) -> None:
    write_task(tmp_path / "x" / "routine_task", "b", [line("wait")])
    write_task(tmp_path / "y" / "routine_task", "b", [line("wait")])
    write_pictures(tmp_path / "events" / "screenshot", 1)
    (problem,) = problems(tmp_path)
    assert "gives the task id routine/b" in problem.what


def test_the_registry_knows_it(release: Path) -> None:
    assert "percu" in layout_names()
    assert is_desktop("percu")
    assert not is_desktop("sample-web")
    assert load_desktop("percu", release).name == "percu"
    assert inspect_dataset("percu", release).problems == ()
    with pytest.raises(UserError, match="holds desktop tasks"):
        load_dataset("percu", release)
    with pytest.raises(UserError, match="holds no desktop tasks"):
        load_desktop("sample-web")
    with pytest.raises(UserError, match="does not come with the package"):
        load_desktop("percu")


def test_check_lists_every_problem(release: Path) -> None:
    path = release / "final_data" / "preference_task" / "task_2.jsonl"
    path.write_text(path.read_text().replace("press key enter", "press key save"))
    words = [sys.executable, "-m", "grounding", "check", "--dataset", "percu", "--data-dir", str(release)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"{path}: line 2: action" in done.stdout
    assert "names a key that there is not: 'save'" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not RECORDING.is_dir(), reason="needs the folder of a real recording in GROUNDING_PC_TRACKER")
def test_a_real_recording_of_pc_tracker_is_read() -> None:
    (task,) = load(RECORDING, deep=True).tasks
    assert task.description == 'create a new blank slide with title "Hello, world" on desktop.'
    assert [step.gold_text for step in task.steps][-1] == "finish"
    assert len(task.steps) == 8
    assert {step.screenshot.size for step in task.steps} == {Size(width=1920, height=1080)}
    assert task.steps[0].element == "Start"
    assert task.steps[0].rect == Box(left_px=794, top_px=1020, right_px=850, bottom_px=1080)

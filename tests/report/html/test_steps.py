"""The steps of a page: deflated where they are many, the first ones where they are too many; nothing in them runs."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.data.history import history_window
from grounding.records import GroupLabel, Step
from grounding.report.html import steps
from grounding.report.html.gather import Windows
from grounding.report.html.page import write_page
from grounding.run.folder import RunFolder
from grounding.run.scorebook import ScoredClicks, weigh

from .runs import make_run, step_of, write_report
from .test_page import data_of


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of more than ten steps is large, and nothing is drawn, which takes longest."""
    monkeypatch.setattr("grounding.report.html.plots.draw_diagrams", lambda *_, **__: ())
    monkeypatch.setattr(steps, "LARGE_STEPS", 10)


def unpacked(run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(run["packed"])))
    return found


def two_people(folder: Path) -> ScoredClicks:
    """A run of two participants, with groups."""
    make_run(folder, 60, history=4)
    lines = []
    for number, line in enumerate((folder / "steps.jsonl").read_bytes().splitlines()):
        step = msgspec.json.decode(line, type=Step)
        groups = (GroupLabel(kind="platform", name="web" if number % 3 else "desktop"),)
        step = msgspec.structs.replace(step, participant="one" if number < 30 else "two", groups=groups)
        if number == 7:
            step = msgspec.structs.replace(step, history_entry=None)
        lines.append(msgspec.json.encode(step) + b"\n")
    (folder / "steps.jsonl").write_bytes(b"".join(lines))
    return weigh(RunFolder(folder))


@pytest.mark.usefixtures("large")
def test_a_large_page_has_what_a_small_one_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = two_people(tmp_path / "run")
    (run,) = data_of(write_page([scored], tmp_path / "large.html"))["runs"]
    monkeypatch.setattr(steps, "LARGE_STEPS", 100)
    (small,) = data_of(write_page([scored], tmp_path / "small.html"))["runs"]
    lists = ("shots", "tasks", "steps", "told")
    assert unpacked(run) == {name: small[name] for name in lists}
    assert {name: each for name, each in small.items() if name not in (*lists, "packed")} == {
        name: each for name, each in run.items() if name not in (*lists, "packed")
    }
    assert [run[name] for name in lists] == [[], [], [], []]
    assert small["packed"] == ""


@pytest.mark.parametrize(("limit", "most", "listed"), [("MOST_STEPS", 16, 16), ("MOST_LETTERS", 100, 3)])
def test_a_page_says_what_it_has_no_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, listed: int
) -> None:
    monkeypatch.setattr(steps, limit, most)
    (run,) = data_of(write_report(make_run(tmp_path / "run", 40)))["runs"]
    assert len(run["steps"]) == listed
    assert f"the first {listed} of 40 steps are listed here; run.frame() and export have all" in run["warnings"]
    assert max(step["shot"] for step in run["steps"]) < len(run["shots"])
    assert [at for task in run["tasks"] for at in task["steps"]] == list(range(listed))


def test_a_page_that_fails_leaves_the_old_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "run", 20)
    page = write_report(run)
    before = page.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grounding.report.html.plots.draw_diagrams", full)
    with pytest.raises(OSError, match="No space"):
        write_report(run)
    assert page.read_bytes() == before


def test_pictures_for_which_there_is_no_time_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding.report.html.pictures.MOST_S", -1)
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    (run,) = data_of(write_report(make_run(tmp_path / "run", 20)))["runs"]
    (said,) = (fact["text"] for fact in run["facts"] if fact["name"] == "pictures")
    assert said.startswith("0 of 4 screenshots have a small copy")
    assert {shot["thumb"] for shot in run["shots"]} == {""}
    assert all(shot["full"].startswith("file:///") for shot in run["shots"])


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=40),
    st.integers(0, 6),
    st.sampled_from(["session", "task"]),
)
def test_windows_are_those_of_the_runner(found: list[tuple[int, bool]], length: int, scope: Any) -> None:
    steps = []
    for number, (task, told) in enumerate(found):
        step = msgspec.structs.replace(step_of(number, Path("x.png")), task=task)
        steps.append(step if told else msgspec.structs.replace(step, history_entry=None))
    windows = Windows(length, scope)
    for number, step in enumerate(steps):
        told_of = [steps[at].history_entry for at in windows.of(step, number)]
        assert told_of == list(history_window(steps, number, length, scope))

"""The real program under Xvfb, with mouse and keyboard; then the files on disk are looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from person import QUESTIONS, Person, boxes, display, need_programs, until, write_folder

pytestmark = pytest.mark.slow
AMBER = (255, 244, 214)


@pytest.fixture(autouse=True)
def nobody_stays() -> Iterator[None]:
    """A program that a failed test left behind would lie over the next one's window."""
    yield
    Person.all_leave()


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need_programs()
    with display(tmp_path_factory.mktemp("display") / "xvfb.txt") as name:
        yield name


def test_draws_moves_resizes_deletes_and_undoes(screen: str, tmp_path: Path) -> None:
    ann = Person(screen, write_folder(tmp_path / "ann", 3), "--annotator", "ann")
    before = ann.items()
    ann.points(460, 340)
    ann.presses("ctrl+0")
    ann.wait_for_scale(1)
    # Backwards, from the bottom right corner.
    ann.drags((520, 420), (430, 360))
    ann.waits_for(lambda items: boxes(items[0]) == [(430, 360, 90, 60)])
    ann.drags((470, 390), (480, 385))
    ann.saves(lambda items: boxes(items[0]) == [(440, 355, 90, 60)])
    ann.drags((530, 415), (560, 430))
    ann.saves(lambda items: boxes(items[0]) == [(440, 355, 120, 75)])
    ann.presses("Right", "Right", "Down", "shift+Up", "alt+Right", "alt+Up")
    ann.saves(lambda items: boxes(items[0]) == [(442, 346, 121, 74)])
    # Far beyond the picture's edge: the box stays inside, with its size.
    ann.drags((500, 380), (500, -300))
    ann.saves(lambda items: boxes(items[0]) == [(442, 0, 121, 74)])
    ann.presses("Delete")
    ann.saves(lambda items: "bounding_box" not in items[0])
    for expected in ((442, 0, 121, 74), (442, 346, 121, 74)):
        ann.presses("ctrl+z")
        ann.saves(lambda items, expected=expected: boxes(items[0]) == [expected])
    ann.presses("ctrl+y")
    ann.saves(lambda items: boxes(items[0]) == [(442, 0, 121, 74)])
    # Undone to the beginning, the file is what it was.
    ann.presses(*["ctrl+z"] * 20)
    ann.saves(lambda items: items == before)
    ann.leaves()
    assert ann.items() == before


def test_the_same_box_at_every_zoom(screen: str, tmp_path: Path) -> None:
    zooms = {1: ["ctrl+0"], 2: ["ctrl+0", *["ctrl+plus"] * 3], 4: ["ctrl+0", *["ctrl+plus"] * 6], 0.53: ["ctrl+f"],
             0.5: ["ctrl+0", *["ctrl+minus"] * 3]}  # fmt: skip
    ann = Person(screen, write_folder(tmp_path / "ann", len(zooms) + 1), "--scale", "1.5")
    drawn = []
    for number, (scale, keys) in enumerate(zooms.items()):
        ann.points(460, 340)
        ann.presses(*keys)
        # Away from the squares, which the lines through the cursor would cut.
        ann.does("mousemove_relative", 0, 25)
        ann.wait_for_scale(scale)
        view_scale = ann.view()[0]
        ann.drags((440, 340), (480, 372))
        items = ann.saves(lambda items, number=number: len(boxes(items[number])) == 1)
        drawn.append((view_scale, boxes(items[number])[0]))
        ann.presses("d")
        until(lambda number=number: f"images/{number + 2}.png" in ann.title(), ann.why)
        ann.wait_for_picture()
    ann.leaves()
    for zoom, (left, top, width, height) in drawn:
        # Half a pixel of the screen is all that a hand can be off by; from 100 % on that is nothing.
        off = max(abs(left - 440), abs(top - 340), abs(left + width - 480), abs(top + height - 372))
        assert off == 0 if zoom >= 0.999 else off <= 0.5 / zoom + 0.5, (zoom, left, top, width, height)


def test_words_states_and_steps_by_keys_alone(screen: str, tmp_path: Path) -> None:
    ann = Person(screen, write_folder(tmp_path / "ann", 6, bounding_box=None), "--step", "2", "--annotator", "ann")
    before = ann.items()
    # Every letter of these words is a key of the program, which must not act while somebody types.
    ann.presses("i", "ctrl+a")
    ann.types("wand not? kid, jam 5")
    ann.presses("Return", "space", "c")
    ann.types("hard to see")
    ann.presses("Escape")
    items = ann.waits_for(lambda items: items[1].get("annotation", {}).get("comment") == "hard to see")
    assert items[1]["instruction"] == "wand not? kid, jam 5"
    assert items[1]["annotation"]["verified"] is True
    assert items[1]["annotation"]["annotator"] == "ann"
    assert items[1]["bounding_box"] is None
    assert [items[number] for number in (0, 2, 3, 4, 5)] == [before[number] for number in (0, 2, 3, 4, 5)]
    # Draw with W, copy to the next step, kind; "to do" and "not a click" are two things.
    ann.presses("d")
    until(lambda: "images/3.png" in ann.title(), ann.why)
    ann.points(460, 420)
    ann.presses("ctrl+0")
    ann.wait_for_scale(1)
    ann.presses("w")
    ann.drags((430, 360), (520, 400))
    ann.presses("ctrl+e", "ctrl+e", "ctrl+c", "d", "ctrl+v")
    ann.waits_for(lambda items: boxes(items[2]) == boxes(items[3]) == [(430, 360, 90, 40)])
    ann.presses("Down", "ctrl+c", "d", "ctrl+v", "d", "n")
    items = ann.waits_for(lambda items: boxes(items[4]) == [(430, 361, 90, 40)] and "bounding_box" not in items[5])
    assert boxes(items[3]) == [(430, 361, 90, 40)]
    assert items[2]["bounding_box"][0]["type"] == "icon"
    ann.presses("n")
    ann.waits_for(lambda items: "bounding_box" in items[5] and items[5]["bounding_box"] is None)
    ann.presses("Home")
    until(lambda: "images/1.png" in ann.title(), ann.why)
    ann.leaves()
    for item, old in zip(ann.items(), before, strict=True):
        assert item["own"] == old["own"]
        assert [key for key in item if key in old] == [key for key in old if key in item]


def test_looks_around_without_changing_anything(screen: str, tmp_path: Path) -> None:
    ann = Person(
        screen, write_folder(tmp_path / "ann", 2, bounding_box={"x": 430, "y": 360, "width": 90, "height": 40})
    )
    before = ann.items()

    def seen(scale: float, *words: object) -> tuple[float, float, float]:
        ann.does(*words)
        ann.wait_for_scale(scale)
        return ann.view()

    ann.points(460, 340)
    start = seen(1, "key", "ctrl+0")
    # What is under the cursor stays there; the wheel back is the way back.
    here = ann.on_screen((460, 340))[0]
    seen(2, "keydown", "ctrl", "click", 4, "click", 4, "click", 4, "keyup", "ctrl")
    # Each of the three steps is right to half a pixel of the screen.
    assert ann.on_screen((460, 340))[0] == pytest.approx(here, abs=2)
    back = seen(1, "keydown", "ctrl", "click", 5, "click", 5, "click", 5, "keyup", "ctrl")
    assert back == pytest.approx(start, abs=2)
    # Pushed by the middle button.
    ann.does("mousedown", 2, "sleep", 0.05, "mousemove_relative", 40, 30, "sleep", 0.05, "mouseup", 2)
    until(lambda: ann.view() == (1, back[1] + 40, back[2] + 30), lambda: f"{ann.view()}, before {back}")
    # A click on a box selects it and moves it by nothing, even where the hand trembles.
    ann.does("mousemove", *ann.on_screen((470, 375))[0], "mousedown", 1, "mousemove_relative", 1, 1, "mouseup", 1)
    ann.presses("ctrl+f", "Tab", "Escape", "d", "a", "End", "Home")
    ann.presses("F1")
    until(lambda: ann.does("search", "--onlyvisible", "--name", "^Keys$") != "", ann.why)
    ann.presses("Escape")
    until(lambda: ann.does("search", "--onlyvisible", "--name", "^Keys$") == "", ann.why)
    ann.leaves()
    assert ann.items() == before


def test_killed_in_the_middle_nothing_is_lost(screen: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "ann", 3)
    ann = Person(screen, folder)
    ann.points(460, 420)
    ann.presses("ctrl+0")
    ann.wait_for_scale(1)
    ann.drags((430, 360), (520, 400))
    # Killed as soon as the program knows of the box, most probably before it has saved.
    until(lambda: ann.title().startswith("●") or bool(boxes(ann.items()[0])), ann.why)
    ann.kills()
    json.loads((folder / QUESTIONS).read_text(encoding="utf-8"))
    again = Person(screen, folder)
    # It goes on at the first step that is still to do, which is the second now.
    assert "images/2.png" in again.title()
    again.leaves()
    assert boxes(again.items()[0]) == [(430, 360, 90, 40)]
    assert all("bounding_box" not in item for item in again.items()[1:])


def test_a_file_changed_by_others_is_not_overwritten(screen: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "ann", 2)
    ann = Person(screen, folder)
    items = ann.items()
    items[1]["instruction"] = "changed by somebody else"
    theirs = json.dumps(items)
    (folder / QUESTIONS).write_text(theirs, encoding="utf-8")
    ann.points(460, 420)
    ann.presses("ctrl+0", "n", "ctrl+s")
    until(lambda: bool((ann.sees() == AMBER).all(axis=2).any()), ann.why)
    assert (folder / QUESTIONS).read_text(encoding="utf-8") == theirs
    ann.kills()
    assert "Traceback" not in ann.why()


def test_words_are_corrected_beside_the_picture_and_survive_being_killed(screen: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "ann", 1, instruction="open the")
    (folder / "audio").mkdir()
    soundfile.write(folder / "audio" / "1.flac", np.zeros(8000, np.int16), 16_000)
    machine, corrections = folder / "transcriptions_pocketsphinx.json", folder / "transcriptions_GT.json"
    machine.write_text(json.dumps([{"audio": "audio/1.flac", "steps": ["images/1.png"], "text": "oh pen the"}]))
    heard = machine.read_bytes()
    ann = Person(screen, folder)
    ann.presses("r", "ctrl+a")
    ann.types("open the first one")
    until(lambda: corrections.exists() and "first one" in corrections.read_text(), ann.why)
    ann.kills()
    (kept,) = json.loads(corrections.read_text())
    assert (kept["text"], kept["checked"]) == ("open the first one", True)
    assert machine.read_bytes() == heard
    assert "Traceback" not in ann.why()


def test_two_actions_for_one_key_are_refused(screen: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "ann", 1)
    keys = tmp_path / "keys.yaml"
    keys.write_text("no-click: [D]\n", encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "annotate", str(folder), "--keys", str(keys)],
        env={**os.environ, "DISPLAY": screen}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert answer.returncode == 2
    assert len(answer.stderr.strip().splitlines()) == 1
    assert "next-step" in answer.stderr
    assert "no-click" in answer.stderr


def test_the_other_annotators_answer_is_taken_with_one_key(screen: str, tmp_path: Path) -> None:
    mine = {"x": 10, "y": 20, "width": 30, "height": 40}
    a = write_folder(tmp_path / "a" / "1", 3, bounding_box=mine)
    b = write_folder(tmp_path / "b" / "1", 3, bounding_box=mine)
    theirs = json.loads((b / QUESTIONS).read_text())
    theirs[1]["bounding_box"], theirs[2]["bounding_box"] = {**mine, "x": 200}, None
    (b / QUESTIONS).write_text(json.dumps(theirs))
    ann = Person(screen, a, "--open", "--annotator", "ann", command=("agree", a, b))
    # It begins at the first disagreement, not at the first step.
    assert "2/3" in ann.title()
    ann.presses("o")
    ann.waits_for(lambda items: boxes(items[1]) == [(200, 20, 30, 40)])
    ann.presses("z")
    until(lambda: "3/3" in ann.title(), ann.why)
    ann.presses("o")
    items = ann.waits_for(lambda items: items[2]["bounding_box"] is None)
    ann.leaves(1)
    assert boxes(items[0]) == [(10, 20, 30, 40)]
    again = subprocess.run([sys.executable, "-m", "annotate", "agree", str(a), str(b)], capture_output=True, timeout=60)
    assert again.returncode == 0

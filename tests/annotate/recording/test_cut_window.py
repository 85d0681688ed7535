"""The real window on a display of its own, with a mouse and a keyboard; the files on the disk are looked at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from screenplay import film
from test_segment_command import play

from annotate.recording.plan_file import read_plan
from annotate.recording.records import CutPlan
from grounding.loaders.realwebassist import QUESTIONS

PROGRAMS = ("Xvfb", "xdotool")
WIDTH, HEIGHT = 1300, 800
WINDOW_HEIGHT = HEIGHT - 40
PATIENCE_S = 60.0

pytestmark = pytest.mark.slow


@pytest.fixture
def screen() -> Iterator[str]:
    pytest.importorskip("tkinter", reason="this Python has no tkinter")
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=(write,), stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as numbers:
        name = f":{numbers.readline().strip()}"
    try:
        yield name
    finally:
        server.terminate()
        server.wait(timeout=20)


class Cutter:
    """Somebody at the window of one recording."""

    def __init__(self, screen: str, video: Path, folder: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "DISPLAY": screen}
        self._log = folder.with_suffix(".log")
        with self._log.open("ab") as out:
            command = [sys.executable, "-m", "annotate", "segment", str(video), "--out", str(folder), "--asr", "none"]
            self.program = subprocess.Popen(command, env=self._environment, stdout=out, stderr=out)
        until(lambda: "annotate segment" in self.title(), self.why)
        # The keys go to the window under the mouse.
        self.does("mousemove", WIDTH // 2, 300)
        time.sleep(1.0)

    def title(self) -> str:
        return self.does("search", "--onlyvisible", "--name", "annotate segment$", "getwindowname")

    def does(self, *words: object) -> str:
        answer = subprocess.run(
            ["xdotool", *map(str, words)],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return answer.stdout.strip()

    def presses(self, *keys: str) -> None:
        self.does("key", "--delay", "80", *keys)

    def x_of(self, time_s: float) -> int:
        return round(time_s / self.plan().duration_s * WIDTH)

    def drags_step(self, from_s: float, to_s: float) -> None:
        """The numbers are at the lower edge of the time line, above the line of status."""
        y = WINDOW_HEIGHT - 38
        self.does("mousemove", self.x_of(from_s), y, "mousedown", 1, "sleep", "0.1")
        for share in (0.3, 0.7, 1.0):
            self.does("mousemove", self.x_of(from_s + (to_s - from_s) * share), y, "sleep", "0.1")
        self.does("mouseup", 1)

    def plan(self) -> CutPlan:
        found = read_plan(self.folder)
        assert found is not None
        return found

    def waits_for(self, said: Callable[[CutPlan], bool]) -> CutPlan:
        until(lambda: said(self.plan()), lambda: f"{self.plan()}\n{self.why()}")
        return self.plan()

    def why(self) -> str:
        return self._log.read_text(encoding="utf-8")


@contextmanager
def at_work(screen: str, video: Path, folder: Path) -> Iterator[Cutter]:
    cutter = Cutter(screen, video, folder)
    try:
        yield cutter
    finally:
        cutter.program.kill()
        cutter.program.wait(timeout=20)


def until(happened: Callable[[], object], why: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end, why()
        time.sleep(0.1)


def test_a_person_corrects_a_cut_is_killed_goes_on_and_writes_it(screen: str, tmp_path: Path) -> None:
    video, folder = tmp_path / "session.mkv", tmp_path / "cut"
    film(play(), video, fps=12, keyframes_every=24)
    with at_work(screen, video, folder) as cutter:
        assert len(cutter.plan().steps) == 3
        first = cutter.plan().steps[0].instruction
        assert first is not None
        cutter.presses("i")
        cutter.does("type", "--delay", "30", "Click the blue box")
        cutter.presses("Escape")
        cutter.waits_for(lambda plan: "Click the blue box" in [one.text for one in plan.instructions])
        # A new step at a place on the time line that is clicked.
        cutter.does("mousemove", cutter.x_of(9.8), WINDOW_HEIGHT - 130, "click", 1)
        cutter.presses("s")
        plan = cutter.waits_for(lambda plan: len(plan.steps) == 4)
        assert plan.steps[2].screenshot_s == pytest.approx(9.8, abs=0.05)
        assert plan.steps[2].instruction == plan.steps[1].instruction
        # The last step is taken earlier, by its number.
        cutter.drags_step(plan.steps[3].screenshot_s, 10.5)
        plan = cutter.waits_for(lambda plan: abs(plan.steps[3].screenshot_s - 10.5) < 0.1)
        cutter.presses("Home")
        cutter.presses("m")
        cutter.waits_for(lambda plan: len(plan.steps) == 3)
        cutter.presses("ctrl+z")
        cutter.waits_for(lambda plan: len(plan.steps) == 4)
        cutter.presses("End", "Delete")
        kept = cutter.waits_for(lambda plan: len(plan.steps) == 3)
    # Killed: what was done is there.
    with at_work(screen, video, folder) as cutter:
        assert cutter.plan() == kept
        assert "3 steps" in cutter.title()
        cutter.presses("ctrl+s")
        until(lambda: (folder / QUESTIONS).exists(), cutter.why)
        cutter.presses("ctrl+q")
        assert cutter.program.wait(timeout=PATIENCE_S) == 0
        assert "Traceback" not in cutter.why()
    items = json.loads((folder / QUESTIONS).read_text(encoding="utf-8"))
    assert [item["recording"]["screenshot_s"] for item in items] == [
        pytest.approx(step.screenshot_s, abs=0.001) for step in kept.steps
    ]
    assert items[0]["instruction"] == "Click the blue box"
    assert sorted(path.name for path in (folder / "images").iterdir()) == ["1.png", "2.png", "3.png"]
    corrected = json.loads((folder / "transcriptions_GT.json").read_text(encoding="utf-8"))
    assert [one["checked"] for one in corrected] == [True, False]


def test_words_are_corrected_beside_the_picture_and_survive_being_killed(screen: str, tmp_path: Path) -> None:
    import numpy as np
    import soundfile
    from PIL import Image

    folder = tmp_path / "3"
    (folder / "images").mkdir(parents=True)
    (folder / "audio").mkdir()
    Image.new("RGB", (300, 200), (90, 120, 150)).save(folder / "images" / "1.png")
    soundfile.write(folder / "audio" / "1.flac", np.zeros(8000, np.int16), 16_000)
    item = {"task": "t", "instruction": "open the", "action": "click", "final_image": "images/1.png"}
    (folder / QUESTIONS).write_text(json.dumps([item]), encoding="utf-8")
    machine = folder / "transcriptions_pocketsphinx.json"
    machine.write_text(json.dumps([{"audio": "audio/1.flac", "steps": ["images/1.png"], "text": "oh pen the"}]))
    heard = machine.read_bytes()
    environment = {**os.environ, "DISPLAY": screen}
    log = tmp_path / "log"

    def does(*words: object) -> str:
        command = ["xdotool", *map(str, words)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False).stdout

    with log.open("wb") as out:
        command = [sys.executable, "-m", "annotate", str(folder)]
        program = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        until(
            lambda: "annotate" in does("search", "--onlyvisible", "--name", "annotate$", "getwindowname"), log.read_text
        )
        does("mousemove", WIDTH // 2, 400)
        time.sleep(2.0)
        does("key", "--delay", "80", "F8", "ctrl+a")
        does("type", "--delay", "30", "open the first one")
        corrections = folder / "transcriptions_GT.json"
        until(
            lambda: corrections.exists() and json.loads(corrections.read_text())[0]["text"] == "open the first one",
            log.read_text,
        )
    finally:
        program.kill()
        program.wait(timeout=20)
    assert json.loads(corrections.read_text())[0]["checked"] is True
    assert machine.read_bytes() == heard
    assert "Traceback" not in log.read_text()

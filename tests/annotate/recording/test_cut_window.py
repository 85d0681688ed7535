"""The real cut window on a display of its own, with a mouse and a keyboard; the files on the disk are looked at."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from person import Person, display, need_programs, until
from screenplay import film
from test_segment_command import play

from annotate.recording.plan import CutPlan, read_plan
from grounding.data.layouts.realwebassist import QUESTIONS

WIDTH, HEIGHT = 1300, 800
WINDOW_HEIGHT = HEIGHT - 40

pytestmark = pytest.mark.slow


class Cutter(Person):
    """Somebody at the window of one recording."""

    named = "annotate segment$"

    def begins(self) -> None:
        self.does("mousemove", WIDTH // 2, 300, "click", 1)
        time.sleep(1.0)

    def x_of(self, time_s: float) -> int:
        return round(time_s / self.plan().duration_s * WIDTH)

    def puts_cursor(self, time_s: float) -> None:
        self.does("mousemove", self.x_of(time_s), WINDOW_HEIGHT - 90, "click", 1)

    def plan(self) -> CutPlan:
        found = read_plan(self.folder)
        assert found is not None
        return found

    def waits_until(self, said: Callable[[CutPlan], bool]) -> CutPlan:
        until(lambda: said(self.plan()), lambda: f"{self.plan()}\n{self.why()}")
        return self.plan()


def test_a_person_corrects_a_cut_is_killed_goes_on_and_writes_it(tmp_path: Path) -> None:
    need_programs()
    video, folder = tmp_path / "session.mkv", tmp_path / "cut"
    film(play(), video, fps=12, keyframes_every=24)
    command = ("segment", video, "--out", folder, "--asr", "none")
    with display(tmp_path / "display.log", f"{WIDTH}x{HEIGHT}", manager=False) as screen:
        try:
            cutter = Cutter(screen, folder, command=command)
            assert len(cutter.plan().steps) == 3
            cutter.presses("Home", "i")
            cutter.types("Click the blue box")
            cutter.presses("Escape")
            cutter.waits_until(lambda plan: "Click the blue box" in [one.text for one in plan.instructions])
            # A new step at a place on the time line that is clicked.
            cutter.puts_cursor(9.8)
            cutter.presses("s")
            plan = cutter.waits_until(lambda plan: len(plan.steps) == 4)
            assert plan.steps[2].screenshot_s == pytest.approx(9.8, abs=0.05)
            assert plan.steps[2].instruction == plan.steps[1].instruction
            # The last step is taken earlier.
            cutter.presses("End")
            cutter.puts_cursor(10.5)
            cutter.presses("t")
            cutter.waits_until(lambda plan: abs(plan.steps[3].screenshot_s - 10.5) < 0.1)
            cutter.presses("Home", "m")
            cutter.waits_until(lambda plan: len(plan.steps) == 3)
            cutter.presses("ctrl+z")
            cutter.waits_until(lambda plan: len(plan.steps) == 4)
            cutter.presses("End", "Delete")
            kept = cutter.waits_until(lambda plan: len(plan.steps) == 3)
            cutter.kills()
            # What was done is there.
            cutter = Cutter(screen, folder, command=command)
            assert cutter.plan() == kept
            assert "3 steps" in cutter.title()
            cutter.presses("ctrl+s")
            until(lambda: (folder / QUESTIONS).exists(), cutter.why)
            cutter.leaves()
        finally:
            Person.all_leave()
    items = json.loads((folder / QUESTIONS).read_text(encoding="utf-8"))
    times = [item["recording"]["screenshot_s"] for item in items]
    assert times == pytest.approx([step.screenshot_s for step in kept.steps], abs=0.001)
    assert items[0]["instruction"] == "Click the blue box"
    assert sorted(path.name for path in (folder / "images").iterdir()) == ["1.png", "2.png", "3.png"]
    corrected = json.loads((folder / "transcriptions_GT.json").read_text(encoding="utf-8"))
    assert [one["checked"] for one in corrected] == [True, False]

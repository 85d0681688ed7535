"""A person at the window: a display, the program on it, a mouse and a keyboard, and eyes.

Where the picture lies on the screen is seen, not asked: the pictures have two coloured squares at known places.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

PROGRAMS = ("Xvfb", "xdotool", "openbox")
QUESTIONS = "questions_with_task_updated.json"
SIZE = (1200, 800)
SQUARE_PX = 20
MAGENTA_AT, CYAN_AT = (400, 300), (500, 300)
PATIENCE_S = 60.0  # How long anything may take on a busy machine; nothing here is expected to take a hundredth of it.


def need_programs() -> None:
    """Skip where the machine has not what a person needs."""
    pytest.importorskip("tkinter", reason="this Python has no tkinter")
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


def write_folder(folder: Path, steps: int, **fields: Any) -> Path:
    """A participant's folder of todo steps whose pictures have a magenta and a cyan square."""
    from PIL import Image

    (folder / "images").mkdir(parents=True)
    items = []
    for number in range(1, steps + 1):
        image = Image.new("RGB", SIZE, (150, 160, 170 + number % 50))
        for (left, top), colour in ((MAGENTA_AT, (255, 0, 255)), (CYAN_AT, (0, 255, 255))):
            image.paste(colour, (left, top, left + SQUARE_PX, top + SQUARE_PX))
        image.save(folder / "images" / f"{number}.png")
        items.append({"instruction": f"open number {number}", "task": 7, "action": "click",
                      "final_image": f"images/{number}.png", "own": {"kept": [number, 1.50]}, **fields})  # fmt: skip
    (folder / QUESTIONS).write_text(json.dumps(items, indent=2), encoding="utf-8")
    return folder


@contextmanager
def display(log: Path, size: str = "1500x950", *, manager: bool = True) -> Iterator[str]:
    """A display of its own with a window manager, gone afterwards."""
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset", "-r"]
    with log.open("w") as out:
        server = subprocess.Popen(command, pass_fds=(write,), stderr=out)
        os.close(write)
        with os.fdopen(read) as numbers:
            name = f":{numbers.readline().strip()}"
        processes = [server]
        if manager:
            # No keys of the window manager's own; without a file it has many.
            rules = log.with_name("openbox.xml")
            rules.write_text('<openbox_config xmlns="http://openbox.org/3.4/rc"></openbox_config>', encoding="utf-8")
            command, environment = ["openbox", "--config-file", str(rules)], {**os.environ, "DISPLAY": name}
            processes.insert(0, subprocess.Popen(command, env=environment, stderr=out, stdout=out))
        try:
            yield name
        finally:
            for process in processes:
                process.terminate()
                process.wait(timeout=20)


class Person:
    """Somebody who annotates one folder."""

    _programs: ClassVar[list[subprocess.Popen[bytes]]] = []
    named = " annotate$"  # The end of the window's title.

    def __init__(self, screen: str, folder: Path, *arguments: object, command: tuple[object, ...] = ()) -> None:
        self.folder, self.log = folder, folder.parent / f"{folder.name}.log"
        self._environment = {**os.environ, "DISPLAY": screen}
        self.screen = screen
        with self.log.open("ab") as out:
            words = [sys.executable, "-m", "annotate", *map(str, (*(command or (folder,)), *arguments))]
            self.program = subprocess.Popen(words, env=self._environment, stdout=out, stderr=out)
        self._programs.append(self.program)
        until(lambda: "annotate" in self.title(), self.why)
        self.begins()

    def begins(self) -> None:
        """Wait until the window can be used."""
        self.wait_for_picture()

    # --- hands ----------------------------------------------------------------------------------------------------

    def does(self, *words: object) -> str:
        """Let xdotool do something."""
        command = ["xdotool", *map(str, words)]
        answer = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=60, check=False)
        return answer.stdout.strip()

    def presses(self, *keys: str) -> None:
        """Press keys one after the other."""
        self.does("key", "--delay", "30", *keys)

    def types(self, text: str) -> None:
        """Type words."""
        self.does("type", "--delay", "3", text)

    def points(self, x_px: float, y_px: float) -> None:
        """Move the mouse to a place of the picture."""
        self.does("mousemove", *self.on_screen((x_px, y_px))[0])

    def clicks(self, x_px: float, y_px: float) -> None:
        """Click a place of the picture."""
        self.does("mousemove", *self.on_screen((x_px, y_px))[0], "click", 1)

    def drags(self, start: tuple[float, float], end: tuple[float, float], button: int = 1) -> None:
        """Press at one place of the picture, let go at another."""
        here, there = self.on_screen(start, end)
        between = [round((a + b) / 2) for a, b in zip(here, there, strict=True)]
        self.does(
            "mousemove", *here, "mousedown", button, "sleep", "0.05", "mousemove", *between, "sleep", "0.05",
            "mousemove", *there, "sleep", "0.05", "mouseup", button,
        )  # fmt: skip

    # --- eyes -----------------------------------------------------------------------------------------------------

    def sees(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The screen as an array of rows, columns and colours."""
        from PIL import ImageGrab

        return np.asarray(ImageGrab.grab(xdisplay=self.screen).convert("RGB"))

    def squares(self) -> list[tuple[float, float]]:
        """The middles of the magenta and the cyan square on the screen, from their edges; those that are seen."""
        red, green, blue = np.moveaxis(self.sees(), 2, 0)
        # Edges are smoothed at some zooms; half of a colour is as far on either side.
        magenta, cyan = (red > 215) & (blue > 215) & (green < 60), (green > 215) & (blue > 215) & (red < 60)
        middles = []
        for found in (magenta, cyan):
            rows, columns = np.nonzero(found)
            if len(rows) >= 9:
                middles.append((float(columns.min() + columns.max() + 1) / 2, float(rows.min() + rows.max() + 1) / 2))
        return middles

    def view(self) -> tuple[float, float, float]:
        """Scale of the picture on the screen, and where its corner is, from the two squares.

        The lines through the cursor must not cut the squares.
        """
        magenta, cyan = self.squares()
        scale = (cyan[0] - magenta[0]) / (CYAN_AT[0] - MAGENTA_AT[0])
        middle = (MAGENTA_AT[0] + SQUARE_PX / 2, MAGENTA_AT[1] + SQUARE_PX / 2)
        return scale, magenta[0] - middle[0] * scale, magenta[1] - middle[1] * scale

    def on_screen(self, *places: tuple[float, float]) -> list[tuple[int, int]]:
        """The screen's pixels where image coordinates lie."""
        scale, left, top = self.view()
        return [(round(left + x_px * scale), round(top + y_px * scale)) for x_px, y_px in places]

    def wait_for_scale(self, scale: float) -> None:
        """Wait until the picture lies still at a scale: on a busy machine it does at the one before, too."""
        until(lambda: len(self.squares()) == 2 and abs(self.view()[0] - scale) < 0.015, self.why)
        self.wait_for_picture()

    def wait_for_picture(self) -> None:
        """Wait until the picture lies still, drawn as finely as it will be."""
        until(lambda: len(self.squares()) == 2, self.why)
        last = self.sees()
        for _ in range(200):
            time.sleep(0.2)
            now = self.sees()
            if np.array_equal(last, now):
                return
            last = now

    def title(self) -> str:
        """The title of the program's window; empty without one."""
        return self.does("search", "--onlyvisible", "--name", self.named, "getwindowname")

    # --- the files ------------------------------------------------------------------------------------------------

    def items(self) -> list[dict[str, Any]]:
        """What the questions file says."""
        loaded: list[dict[str, Any]] = json.loads((self.folder / QUESTIONS).read_text(encoding="utf-8"))
        return loaded

    def saves(self, said: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Save, without waiting until the program does, and wait until the questions file says something."""
        self.presses("ctrl+s")
        return self.waits_for(said)

    def waits_for(self, said: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Wait until the questions file says something."""
        until(lambda: said(self.items()), lambda: f"{self.items()}\n{self.why()}")
        return self.items()

    def why(self) -> str:
        """What the program wrote to its terminal."""
        return self.log.read_text(encoding="utf-8")

    # --- the end --------------------------------------------------------------------------------------------------

    @classmethod
    def all_leave(cls) -> None:
        """End every program that is still there."""
        for program in cls._programs:
            program.kill()
            program.wait(timeout=20)
        cls._programs.clear()

    def kills(self) -> None:
        """Kill the program at once."""
        self.program.send_signal(signal.SIGKILL)
        self.program.wait(timeout=20)

    def leaves(self, code: int = 0) -> None:
        """Close the window as one should."""
        self.presses("ctrl+q")
        try:
            assert self.program.wait(timeout=PATIENCE_S) == code, self.why()
        finally:
            self.program.kill()
        assert "Traceback" not in self.why()


def boxes(item: dict[str, Any]) -> list[tuple[int, int, int, int]]:
    """The boxes of a step as the file has them."""
    found = item.get("bounding_box") or []
    found = [found] if isinstance(found, dict) else found
    return [(box["x"], box["y"], box["width"], box["height"]) for box in found]


def until(true: Callable[[], bool], why: Callable[[], str]) -> None:
    """Wait for something."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, why()
        time.sleep(0.1)

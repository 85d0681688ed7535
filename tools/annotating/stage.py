"""A virtual screen with the annotation program on it; everything is known from outside, as a person would see it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from PIL import Image, ImageGrab

PROGRAMS = ("Xvfb", "xdotool")
PATIENCE_S = 60.0
SETTLED_S = 1.0
FILLED_SHARE = 0.5
_VIEWABLE = 2  # X's number for a window that is shown, all that it is in included.


class StageError(Exception):
    """Something did not come to be in time, or the program ended."""


def missing() -> str:
    """What this machine lacks for it, in words; empty where everything is there."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    lacking += [name for name in ("tkinter", "Xlib") if find_spec(name) is None]
    return f"needs {', '.join(lacking)}" if lacking else ""


class Place:
    """A window's rectangle on the screen, in screen pixels."""

    def __init__(self, left: int, top: int, width: int, height: int) -> None:
        self.left, self.top, self.width, self.height = left, top, width, height


class Stage:
    """The screen and the program.

    Args:
        width: Of the screen, in pixels.
        height: Of the screen.
    """

    def __init__(self, width: int = 2048, height: int = 1200) -> None:
        self._screen = self._start_screen(width, height)
        self._program: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - read when the program has failed
        self.width, self.height = width, height

    def _start_screen(self, width: int, height: int) -> subprocess.Popen[bytes]:
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"]
        # Without -noreset the server starts anew when its last window closes, under the next program's feet. With -r no
        # key repeats itself, as one would that a busy machine lets go late.
        process = subprocess.Popen(
            [*command, "-noreset", "-r"], pass_fds=(write,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(write)
        with os.fdopen(read) as numbers:
            number = numbers.readline().strip()
        if not number:
            process.wait()
            raise StageError("Xvfb did not start")
        self.display = f":{number}"
        return process

    @property
    def environment(self) -> dict[str, str]:
        """What programs on the screen run with."""
        return {**os.environ, "DISPLAY": self.display}

    # --- the program ----------------------------------------------------------------------------------------------

    def open(self, *arguments: str | Path, width: int | None = None, height: int | None = None) -> None:
        """Start ``python -m annotate`` and wait for its window; it gets the size of the screen, or the given one."""
        self._program = subprocess.Popen(
            [sys.executable, "-m", "annotate", *map(str, arguments)],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            cwd=Path(__file__).resolve().parents[2], start_new_session=True,
        )  # fmt: skip
        self.until(lambda: self.title() != "", "the window")
        size = (width or self.width, height or self.height)
        self.until(lambda: self._resized(*size), "the window's size")
        self.until(self._laid_out, "the picture to take its place")

    def _resized(self, width: int, height: int) -> bool:
        window = self._window()
        if window is None:
            return False
        found = window.get_geometry()
        if (found.width, found.height) == (width, height):
            return True
        window.configure(x=0, y=0, width=width, height=height)
        window.display.flush()
        return False

    def _laid_out(self) -> bool:
        """Whether the picture's place stays where it is: Tk moves it some time after the window has its size."""
        before = self._picture_place()
        time.sleep(SETTLED_S)
        return before is not None and before == self._picture_place()

    def _picture_place(self) -> tuple[int, int, int, int] | None:
        if self._window() is None:
            return None
        place = self.canvas()
        return place.left, place.top, place.width, place.height

    @property
    def pid(self) -> int:
        """The program's process."""
        assert self._program is not None
        return self._program.pid

    def is_running(self) -> bool:
        """Whether the program has not ended."""
        return self._program is not None and self._program.poll() is None

    def wait_for_end(self) -> int:
        """Wait until the program has ended by itself; its exit code."""
        assert self._program is not None
        try:
            return self._program.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise StageError(f"the program did not end: {self.log()}") from error

    def kill(self) -> None:
        """Kill the program, as a power cut would."""
        assert self._program is not None
        self._program.send_signal(signal.SIGKILL)
        self._program.wait(PATIENCE_S)

    def log(self) -> str:
        """What the program wrote to the terminal."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Wait for something; fail where the program ends before, or patience does."""
        deadline = time.monotonic() + PATIENCE_S
        while not true():
            if not self.is_running():
                raise StageError(f"the program ended while waiting for {what}: {self.log()}")
            if time.monotonic() > deadline:
                raise StageError(f"waited too long for {what}: {self.log()}")
            time.sleep(0.01)

    # --- what is on the screen ------------------------------------------------------------------------------------

    def _window(self) -> Any:
        """The program's window; None where there is none, or where it just goes."""
        from Xlib import error

        with contextlib.suppress(error.BadWindow, error.BadDrawable):
            for window in self._root().query_tree().children:
                name = window.get_wm_class()
                if name is not None and name[1] == "Annotate" and window.get_attributes().map_state == _VIEWABLE:
                    return window
        return None

    def _root(self) -> Any:
        from Xlib import display

        if not hasattr(self, "_connection"):
            self._connection = display.Display(self.display)
        return self._connection.screen().root

    def title(self) -> str:
        """The window's title; empty where there is no window yet."""
        window = self._window()
        if window is None:
            return ""
        from Xlib import error

        with contextlib.suppress(error.BadWindow):
            found = window.get_full_text_property(self._connection.intern_atom("_NET_WM_NAME"))
            return str(found or window.get_wm_name() or "")
        return ""

    def canvas(self) -> Place:
        """Where the picture is looked at: the largest widget that is not filled by others."""
        window = self._window()
        if window is None:
            raise StageError(f"there is no window: {self.log()}")
        return max(_widgets(window, 0, 0), key=lambda place: place.width * place.height)

    def grab(self, place: Place | None = None) -> Image.Image:
        """The screen as it is, or a part of it; without the mouse pointer."""
        box = None
        if place is not None:
            box = (place.left, place.top, place.left + place.width, place.top + place.height)
        return ImageGrab.grab(bbox=box, xdisplay=self.display).convert("RGB")

    # --- the hand -------------------------------------------------------------------------------------------------

    def hand(self, *commands: str | int) -> None:
        """Move the mouse and press keys: words of xdotool, done before this returns."""
        subprocess.run(["xdotool", *map(str, commands)], env=self.environment, check=True, stdin=subprocess.DEVNULL)

    def keys(self, *names: str) -> None:
        """Press keys one after the other, by their X names."""
        self.hand("key", *names)

    def drag(self, start: tuple[int, int], end: tuple[int, int], through: Sequence[tuple[int, int]] = ()) -> None:
        """Press at one place of the screen and let go at another."""
        words: list[str | int] = ["mousemove", *start, "mousedown", 1]
        for place in (*through, end):
            words += ["mousemove", *place]
        self.hand(*words, "mouseup", 1)

    def close(self) -> None:
        """Take everything down."""
        if self._program is not None and self.is_running():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._program.pid, signal.SIGKILL)
            self._program.wait()
        if hasattr(self, "_connection"):
            self._connection.close()
        self._screen.terminate()
        self._screen.wait()
        self._log.close()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _widgets(window: Any, left: int, top: int) -> Iterator[Place]:
    """The places of all widgets that are not filled by others."""
    for child in window.query_tree().children:
        if child.get_attributes().map_state != _VIEWABLE:
            continue
        found = child.get_geometry()
        x, y = left + found.x, top + found.y
        inner = list(_widgets(child, x, y))
        # What arranges others is filled by them.
        if sum(place.width * place.height for place in inner) < FILLED_SHARE * found.width * found.height:
            yield Place(x, y, found.width, found.height)
        else:
            yield from inner

"""How fast is the annotation program's window?

Usage: python tools/bench/annotate_speed.py [--steps N] [--changes N] [--boxes N] [--screenshots DIR]

On a virtual screen of 2560x1440 (Xvfb) it opens a made participant of 2,500 steps with screenshots of 2560x1440, each
a file of its own, and measures

- going to the next step whose picture was decoded ahead, from the key to the pixels, the whole picture fitted into the
  canvas;
- frames while a box is drawn and while one is dragged, with 200 boxes on the canvas;
- saving after a change, and writing a change to the journal;
- opening: the document alone, and the program from its start to the first picture.

Each moment ends with a round trip to the X server, so that what it was asked to draw is drawn. CPU time is that of the
window's thread; wall time is what a person waits: the X server's work, and other work on the machine, are in it alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from annotating.stage import Stage, missing  # noqa: E402  (runs from a checkout, too)

from grounding.data.layouts.realwebassist import QUESTIONS  # noqa: E402

WIDTH, HEIGHT = 2560, 1440
PICTURES = 24
TARGET_CHANGE_MS, TARGET_FPS = 50.0, 60.0


class Times:
    """Wall and CPU seconds of something that was done several times."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    @contextmanager
    def once(self, round_trip: Callable[[], object]) -> Iterator[None]:
        """Time what is done inside, until the screen has it."""
        cpu, wall = time.thread_time(), time.perf_counter()
        yield
        round_trip()
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.thread_time() - cpu)

    def line(self, name: str, *, cpu: bool = True) -> str:
        """Milliseconds: median, 95th percentile and maximum, wall and, where it was ours, CPU."""
        parts = []
        for words, values in (("wall", self.wall), ("CPU", self.cpu))[: 2 if cpu else 1]:
            ordered = sorted(values)
            near_end = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
            figures = (statistics.median(ordered), near_end, ordered[-1])
            parts.append(f"{words} " + " / ".join(f"{1000 * figure:6.1f}" for figure in figures))
        return f"{name:<48} {'   '.join(parts)}   n={len(self.wall)}"

    @property
    def median_ms(self) -> float:
        """The middle wall time."""
        return 1000 * statistics.median(self.wall)

    @property
    def frames_per_s(self) -> float:
        """How many of these fit into a second of wall time."""
        return len(self.wall) / sum(self.wall)


def make_participant(folder: Path, screenshots: Path, steps: int, boxes: int) -> None:
    """A participant with enlarged screenshots; the first step has many boxes, the others one."""
    from PIL import Image

    sources = sorted(screenshots.rglob("*.png"))[:: max(1, len(list(screenshots.rglob("*.png"))) // PICTURES)][
        :PICTURES
    ]
    images = folder / "images"
    images.mkdir(parents=True)
    made = []
    for number, source in enumerate(sources):
        with Image.open(source) as image:
            large = image.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
        made.append(folder / f"made-{number}.png")
        large.save(made[-1], compress_level=6)
    items: list[dict[str, Any]] = []
    for step in range(steps):
        # A hard link is a file of its own for everybody who looks at names, and takes no room.
        os.link(made[step % len(made)], images / f"{step + 1}.png")
        count = boxes if step == 0 else 1
        items.append(
            {
                "task": f"task {step // 20}", "instruction": f"click the thing number {step}", "action": "click",
                "final_image": f"images/{step + 1}.png",
                "bounding_box": [
                    {"x": 20 + 120 * (n % 20), "y": 30 + 130 * (n // 20), "width": 90, "height": 60}
                    for n in range(count)
                ],
            }
        )  # fmt: skip
    for path in made:
        path.unlink()
    (folder / QUESTIONS).write_text(json.dumps(items), encoding="utf-8")


class Window:
    """The real window in this process, so that its CPU time can be told; events come from Tk itself."""

    def __init__(self, folder: Path) -> None:
        from annotate.core.document import Document
        from annotate.display import WindowOptions
        from annotate.window.main import MainWindow
        from annotate.window.panels import make_panels

        options = WindowOptions(folder=folder, annotator="bench")
        panels, keymap = make_panels(options)
        self.document = Document.open(folder, annotator="bench")
        self.window = MainWindow(self.document, options, keymap, panels)
        self.root, self.canvas, self.session = self.window.root, self.window.canvas, self.window.session
        self.root.geometry(f"{WIDTH}x{HEIGHT}+0+0")
        self.root.deiconify()
        self.root.update()
        self.session.go_to(0)
        self.canvas.focus_force()
        self.settle(0)

    def round_trip(self) -> None:
        """Draw what is to be drawn and wait until the X server has done it."""
        self.root.update()
        self.root.winfo_pointerxy()

    def settle(self, index: int) -> None:
        """Wait until the picture of this step is decoded and the window rests."""
        if index < len(self.document.entries):
            ahead = self.session.pictures.ask(self.document.image_path(index))
            while not ahead.done():
                self.root.update()
                time.sleep(0.005)
        rest = time.monotonic() + 0.25
        while time.monotonic() < rest:
            self.root.update()
            time.sleep(0.005)

    def changes(self, count: int) -> Times:
        """Press the key for the next step, its picture being there."""
        times = Times()
        for _ in range(count):
            index = self.session.index + 1
            self.settle(index)
            with times.once(self.round_trip):
                self.canvas.event_generate("<KeyPress-d>")
            if self.session.index != index or self.session.picture is None:
                raise SystemExit(f"step {index + 1} was not shown")
        return times

    def frames(self, press: tuple[float, float], count: int) -> Times:
        """Press on the picture there and draw the mouse along, a frame for each motion."""
        start = self.canvas.transform.to_view(*press)
        x, y = round(start.x_view), round(start.y_view)
        self.canvas.event_generate("<Motion>", x=x, y=y)
        self.canvas.event_generate("<ButtonPress-1>", x=x, y=y)
        self.root.update()
        times = Times()
        for step in range(1, count + 1):
            with times.once(self.round_trip):
                self.canvas.event_generate("<B1-Motion>", x=x + 3 * step, y=y + 2 * step, state=0x100)
        if self.canvas.preview is None:
            raise SystemExit("no box was in the hand: the picture was not there in time")
        self.canvas.event_generate("<ButtonRelease-1>", x=x + 3 * count, y=y + 2 * count)
        self.root.update()
        return times

    def close(self) -> None:
        """Leave without saving what the benchmark drew."""
        self.session.close()
        self.root.destroy()
        self.document.close()


def measure_window(folder: Path, given: argparse.Namespace) -> list[str]:
    """Going on, drawing, dragging."""
    window = Window(folder)
    lines = []
    fitted = window.changes(given.changes)
    lines.append(fitted.line("next step, whole picture fitted, ms"))
    window.session.go_to(0)
    window.settle(0)
    window.canvas.fit()
    if len(window.session.entry.boxes) != given.boxes:
        raise SystemExit("the first step has lost its boxes")
    window.session.perform("new-box")
    drawing = window.frames((15, 15), given.frames)
    lines.append(drawing.line(f"a frame while drawing, {given.boxes} boxes, ms"))
    window.session.select(given.boxes // 2)
    box = window.session.entry.boxes[given.boxes // 2]
    dragging = window.frames((box.x_px + box.width_px / 2, box.y_px + box.height_px / 2), given.frames)
    lines.append(dragging.line(f"a frame while dragging, {given.boxes} boxes, ms"))
    window.close()
    slowest = fitted.median_ms
    frames = min(drawing.frames_per_s, dragging.frames_per_s)
    lines.append(
        f"screenshot change {slowest:.0f} ms (target {TARGET_CHANGE_MS:.0f}: {_met(slowest <= TARGET_CHANGE_MS)}); "
        f"drawing {drawing.frames_per_s:.0f}, dragging {dragging.frames_per_s:.0f} frames a second "
        f"(target {TARGET_FPS:.0f}: {_met(frames >= TARGET_FPS)})"
    )
    return lines


def measure_document(folder: Path, count: int) -> list[str]:
    """Opening, changing and saving without a window."""
    import msgspec

    from annotate.core.document import Document

    opening, changing, saving = Times(), Times(), Times()
    for _ in range(3):
        with opening.once(lambda: None):
            document = Document.open(folder, annotator="bench")
        document.close()
    document = Document.open(folder, annotator="bench")
    for number in range(count):
        entry = document.entries[number]
        changed = msgspec.structs.replace(entry, comment=f"{entry.comment}.")
        with changing.once(lambda: None):
            document.change(number, changed, "edit comment")
        with saving.once(lambda: None):
            document.save()
    steps = len(document.entries)
    document.close()
    return [
        opening.line(f"opening the document of {steps:,} steps, ms"),
        changing.line("a change, into the journal on disk, ms"),
        saving.line(f"saving the file of {steps:,} steps, ms"),
    ]


def measure_start(stage: Stage, folder: Path) -> list[str]:
    """From the command to a window that shows its step."""
    times = Times()
    for _ in range(3):
        with times.once(lambda: None):
            stage.open(folder)
            stage.until(lambda: " 1/" in stage.title(), "the first step")
        stage.keys("ctrl+q")
        stage.wait_for_end()
    return [times.line("from the command to the window, ms", cpu=False)]


def _met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def main() -> int:
    """Print all figures; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--boxes", type=int, default=200)
    parser.add_argument("--screenshots", type=Path, default=ROOT / "datasets" / "sample-web")
    given = parser.parse_args()
    if lack := missing():
        print(lack, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="annotate-bench-") as scratch, Stage(WIDTH, HEIGHT) as stage:
        folder = Path(scratch, "1")
        make_participant(folder, given.screenshots, given.steps, given.boxes)
        os.environ["DISPLAY"] = stage.display
        print(f"{given.steps:,} steps of {WIDTH}x{HEIGHT}, {os.cpu_count()} cores; median / 95 % / max", flush=True)
        lines = measure_window(folder, given)
        lines[-1:-1] = [*measure_document(folder, given.changes), *measure_start(stage, folder)]
        print("\n".join(lines))
    return 1 if "MISSED" in lines[-1] else 0


if __name__ == "__main__":
    sys.exit(main())

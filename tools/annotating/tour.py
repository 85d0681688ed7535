"""A walk through the annotation program with mouse and keyboard, on a virtual screen, with a picture of each stop.

Usage: python tools/annotating/tour.py --out FOLDER [STOP …]

The pictures of docs/annotating.md are made by it: ``--out docs annotate proposals speech differences review cut``. The
other stops are what a page need not show: ``damaged`` (a damaged picture), ``changed`` (a file changed by another
program), ``full`` (a full disk; needs the right to mount one) and ``restart`` (killed, opened again, undone). Each stop
looks at the files that were written and fails where they are not what was done. Needs Xvfb, xdotool and a checkout.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from annotating.stage import Stage, missing  # noqa: E402  (runs from a checkout, too)
from grounding.data.layouts.realwebassist import QUESTIONS  # noqa: E402

SAMPLE = ROOT / "datasets" / "sample-web" / "1"
WIDTH, HEIGHT = 1440, 900
REST_S = 1.5
Items = list[dict[str, Any]]


class Tour:
    """One stop at a time: a folder to work in, the screen, and pictures into ``out``."""

    def __init__(self, stage: Stage, work: Path, out: Path) -> None:
        self.stage, self.work, self.out = stage, work, out

    def picture(self, name: str) -> None:
        """Keep what is on the screen now."""
        time.sleep(REST_S)
        name = "annotate" if name == "annotate" else f"annotate-{name}"
        self.stage.grab().quantize(256, dither=0).save(self.out / f"{name}.png", optimize=True)

    def folder(self, name: str, steps: int, *, boxes: bool = False, audio: bool = False) -> Path:
        """A participant's folder from the bundled sample, with or without its boxes and its recordings."""
        folder = self.work / name
        shutil.copytree(SAMPLE / "images", folder / "images")
        items = json.loads((SAMPLE / QUESTIONS).read_text(encoding="utf-8"))[:steps]
        if not boxes:
            items = [{key: item[key] for key in item if key != "bounding_box"} for item in items]
        (folder / QUESTIONS).write_text(json.dumps(items, indent=1), encoding="utf-8")
        if audio:
            shutil.copytree(SAMPLE / "audio", folder / "audio")
            heard = "transcriptions_pocketsphinx.json"
            shutil.copyfile(SAMPLE / heard, folder / heard)
        return folder

    def items(self, folder: Path) -> Items:
        """What the questions file says."""
        found: Items = json.loads((folder / QUESTIONS).read_text(encoding="utf-8"))
        return found

    def waits(self, said: Callable[[], object], what: str) -> None:
        """Wait until something is so."""

        def true() -> bool:
            with contextlib.suppress(OSError, json.JSONDecodeError, LookupError):
                return bool(said())
            return False

        self.stage.until(true, what)

    def at(self, x_px: float, y_px: float) -> tuple[int, int]:
        """Where a pixel of a sample's screenshot lies on the screen: in the middle of the canvas, at 100 % or less."""
        canvas = self.stage.canvas()
        scale = min((canvas.width - 24) / 1280, (canvas.height - 24) / 720, 1.0)
        left = canvas.left + canvas.width / 2 - 640 * scale
        top = canvas.top + canvas.height / 2 - 360 * scale
        return round(left + x_px * scale), round(top + y_px * scale)

    def draws(self, left: int, top: int, width: int, height: int) -> None:
        """Draw a box by hand."""
        start, end = self.at(left, top), self.at(left + width, top + height)
        middle = ((start[0] + end[0]) // 2, (start[1] + end[1]) // 2)
        self.stage.keys("w")
        self.stage.drag(start, end, [middle])
        time.sleep(0.3)

    def leaves(self) -> None:
        """Close the window as one should."""
        self.stage.keys("ctrl+q")
        if self.stage.wait_for_end() != 0 or "Traceback" in self.stage.log():
            raise SystemExit(self.stage.log())

    # --- the stops ------------------------------------------------------------------------------------------------

    def annotate(self) -> None:
        """Screenshots and nothing else become a participant: boxes, words, a task, a step that is no click."""
        folder = self.work / "ann"
        folder.mkdir()
        for number in (1, 2, 4, 5):
            shutil.copyfile(SAMPLE / "images" / f"{number}.png", folder / f"{number}.png")
        self.stage.open(folder, "--annotator", "ann")
        time.sleep(REST_S)
        for number, (words, boxes) in enumerate([
            ("search for a candle", [(362, 128, 556, 37)]), ("search for a candle", []), ("go back", [(0, 46, 40, 34)]),
            ("click on gift ideas", [(431, 189, 65, 19), (77, 372, 123, 43)]),
        ]):  # fmt: skip
            self.waits(lambda number=number: f" {number + 1}/4 " in self.stage.title(), f"step {number + 1}")
            time.sleep(REST_S / 2)
            for box in boxes:
                self.draws(*box)
            if not boxes:
                self.stage.keys("n")
            self.stage.keys("i")
            self.stage.hand("type", "--delay", "10", words)
            self.stage.keys("Escape")
            if number < 3:
                self.stage.keys("d")
        self.stage.keys("space", "ctrl+s")
        self.waits(lambda: self.items(folder)[3]["annotation"]["verified"], "the file")
        found = self.items(folder)
        assert [item["instruction"] for item in found] == ["search for a candle"] * 2 + [
            "go back",
            "click on gift ideas",
        ]
        assert found[1]["bounding_box"] is None
        assert len(found[3]["bounding_box"]) == 2
        self.stage.hand("mousemove", *self.at(640, -150))
        self.picture("annotate")
        self.leaves()

    def proposals(self) -> None:
        """One key shows what the machine found, one takes what is under the cursor."""
        folder = self.folder("proposals", 5)
        self.stage.open(folder, "--step", "5", "--annotator", "ann")
        time.sleep(REST_S)
        self.stage.hand("mousemove", *self.at(463, 198))
        self.stage.keys("p")
        time.sleep(REST_S)
        self.stage.keys("b")
        self.waits(lambda: self.stage.keys("ctrl+s") or self.items(folder)[4]["bounding_box"], "a taken proposal")
        print("taken:", self.items(folder)[4]["bounding_box"])
        self.picture("proposals")
        self.leaves()

    def speech(self) -> None:
        """What a recogniser heard is corrected beside the picture."""
        folder = self.folder("speech", 12, boxes=True, audio=True)
        heard = (folder / "transcriptions_pocketsphinx.json").read_bytes()
        self.stage.open(folder, "--step", "5", "--annotator", "ann")
        time.sleep(2 * REST_S)
        self.stage.keys("r", "ctrl+a")
        self.stage.hand("type", "--delay", "10", "okay click on gift ideas")
        corrected = folder / "transcriptions_GT.json"
        self.waits(lambda: "okay click on gift ideas" in corrected.read_text(), "the correction")
        checked = [one for one in json.loads(corrected.read_text()) if one.get("checked")]
        assert [one["text"] for one in checked] == ["okay click on gift ideas"]
        assert (folder / "transcriptions_pocketsphinx.json").read_bytes() == heard
        self.stage.hand("mousemove", *self.at(640, -150))
        self.picture("speech")
        self.leaves()

    def differences(self) -> None:
        """Another annotator's boxes over one's own, and the list of what differs."""
        mine, theirs = (self.folder(f"{name}/1", 12, boxes=True) for name in ("ann", "bob"))
        items = self.items(theirs)
        items[0]["bounding_box"] = None
        items[3]["bounding_box"]["x"] += 300
        items[4]["bounding_box"] = items[4]["bounding_box"][:1]
        (theirs / QUESTIONS).write_text(json.dumps(items), encoding="utf-8")
        self.stage.open("agree", mine.parent, theirs.parent, "--open", "--annotator", "ann")
        time.sleep(2 * REST_S)
        self.stage.keys("z", "z")
        self.stage.hand("mousemove", *self.at(640, -150))
        self.picture("differences")
        self.stage.keys("o", "ctrl+s")
        self.waits(lambda: len(self.items(mine)[4]["bounding_box"]) == 1, "the other one's answer")
        self.stage.keys("ctrl+q")
        assert self.stage.wait_for_end() == 1, "there were disagreements"

    def review(self) -> None:
        """The misses of a run, one after the other."""
        data = self.folder("data/1", 12, boxes=True).parent
        answers = self.work / "answers.jsonl"
        steps = [Path(item["final_image"]).stem for item in self.items(data / "1") if item["bounding_box"] is not None]
        answers.write_text("".join(json.dumps({"step": f"1/{one}", "point": [640, 400]}) + "\n" for one in steps))
        command = ["-m", "grounding.eval", "--dataset", "realwebassist", "--data-dir", data, "--predictions", answers]
        results = self.work / "results"
        subprocess.run(
            [sys.executable, *map(str, command), "--log-dir", str(results), "--display", "none"], check=False
        )
        (run,) = results.iterdir()
        self.stage.open("review", run, "--annotator", "ann")
        time.sleep(2 * REST_S)
        self.stage.keys("2")
        self.waits(lambda: '"grounding"' in (run / "labels.jsonl").read_text(), "the label")
        self.stage.hand("mousemove", *self.at(640, -150))
        self.picture("review")
        self.leaves()

    def cut(self) -> None:
        """A recording is cut into steps, corrected and written."""
        sys.path.insert(0, str(ROOT / "tests" / "annotate" / "recording"))
        from screenplay import film
        from test_cutting_quality import spoken_session

        video, folder = self.work / "session.mkv", self.work / "cut"
        film(spoken_session()[0], video, fps=15, keyframes_every=60)
        self.stage.open("segment", video, "--out", folder)
        time.sleep(4 * REST_S)
        self.stage.hand("mousemove", WIDTH // 2, 300)
        time.sleep(REST_S)
        self.stage.keys("Home")
        time.sleep(REST_S)
        self.stage.keys("Down", "Down", "i")
        self.stage.hand("key", "ctrl+a")
        self.stage.hand("type", "--delay", "10", "hmm just one. go back")
        self.stage.keys("Escape")
        self.waits(lambda: "go back" in (folder / "cuts.json").read_text(), "the correction")
        self.picture("cut")
        self.stage.keys("ctrl+s")
        self.waits(lambda: self.items(folder), "the folder")
        print("cut:", [(item["action"], item["instruction"]) for item in self.items(folder)])
        self.leaves()

    def restart(self) -> None:
        """Killed in the middle of work: opened again, all is there, and undo goes back."""
        folder = self.folder("restart", 3)
        self.stage.open(folder, "--step", "1")
        time.sleep(REST_S)
        self.draws(362, 128, 556, 37)
        self.stage.keys("Right", "c")
        self.stage.hand("type", "--delay", "10", "killed soon")
        self.stage.keys("Escape")
        self.stage.kill()
        self.stage.open(folder, "--step", "1")
        time.sleep(REST_S)
        self.picture("restart")
        self.stage.keys("ctrl+s")
        self.waits(lambda: self.items(folder)[0]["annotation"]["comment"] == "killed soon", "what was done before")
        self.stage.keys("ctrl+z", "ctrl+z", "ctrl+s")
        self.waits(lambda: self.items(folder)[0]["bounding_box"][0]["x"] == 362, "the box where it was drawn")
        self.stage.keys("ctrl+z", "ctrl+s")
        self.waits(lambda: "bounding_box" not in self.items(folder)[0], "nothing drawn")
        self.leaves()

    def damaged(self) -> None:
        """A damaged picture is said, and nobody is kept from going on."""
        folder = self.folder("damaged", 3)
        picture = folder / "images" / "2.png"
        picture.write_bytes(picture.read_bytes()[:20_000])
        self.stage.open(folder, "--step", "2")
        self.picture("damaged")
        self.stage.keys("n", "d", "ctrl+s")
        self.waits(lambda: self.items(folder)[1]["bounding_box"] is None and " 3/3 " in self.stage.title(), "step 3")
        self.leaves()

    def changed(self) -> None:
        """A file that another program changed is not written over; the annotator chooses."""
        folder = self.folder("changed", 3)
        self.stage.open(folder, "--step", "1")
        time.sleep(REST_S)
        items = self.items(folder)
        items[1]["instruction"] = "changed by somebody else"
        (folder / QUESTIONS).write_text(json.dumps(items), encoding="utf-8")
        self.stage.keys("n", "ctrl+s")
        self.picture("changed")
        assert self.items(folder) == items
        self.stage.kill()

    def full(self) -> None:
        """A full disk is said; once there is room again, what was done is saved."""
        small = self.work / "small"
        small.mkdir()
        with _mounted(small):
            folder = self.folder("small/1", 3)
            self.stage.open(folder, "--step", "1")
            time.sleep(REST_S)
            filler = small / "filler"
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 512)
            self.stage.keys("n", "ctrl+s")
            self.picture("full")
            assert "bounding_box" not in self.items(folder)[0]
            filler.unlink()
            self.stage.keys("ctrl+s")
            self.waits(lambda: self.items(folder)[0]["bounding_box"] is None, "the file")
            self.leaves()


@contextlib.contextmanager
def _mounted(place: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


STOPS = ("annotate", "proposals", "speech", "differences", "review", "cut", "restart", "damaged", "changed", "full")


def main() -> int:
    """Go through the stops."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stops", nargs="*", metavar="STOP", help=f"some of {', '.join(STOPS)} [default: all]")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the pictures")
    given = parser.parse_args()
    if lack := missing():
        print(lack, file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    for stop in given.stops or STOPS:
        with tempfile.TemporaryDirectory(prefix="tour-") as work, Stage(WIDTH, HEIGHT) as stage:
            getattr(Tour(stage, Path(work), given.out), stop)()
            print(stop, "done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

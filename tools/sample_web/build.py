"""Makes the bundled sample: serves the sites, drives a real browser, writes the data.

Needs Debian's chromium, xvfb, openbox, xdotool and the fonts named in README.md, and the pip packages
pillow, pyoxipng and websocket-client. Using the sample needs none of them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent))

from browser import Browser
from describe import write_readme, write_versions
from record import Recorder, Step, write_json
from scripts import PARTICIPANTS
from server import SITES, SiteServer
from session import Session

ROOT = Path(__file__).resolve().parents[2]


def record(name: str, out: Path, debug: Path | None) -> tuple[Recorder, str]:
    """Drive one participant's whole session into `out/<p>`."""
    who = next(item for item in PARTICIPANTS if item.name == name)
    server = SiteServer()
    recorder = Recorder(out / who.name, debug)
    # As a data: address the calibration page leaves no trace in the browser's history.
    start = "data:text/html," + quote((SITES / "common" / "calibrate.html").read_text(encoding="utf-8"))
    browser = Browser(who.width, who.height, who.scale, server.port, start)
    finished = False
    try:
        session = Session(browser, recorder)
        who.play(session)
        version, finished = browser.version(), True
    finally:
        if debug is not None and not finished:
            browser.grab().save(debug / f"{who.name}-stopped-here.png")
        browser.close()
        server.close()
    recorder.write()
    return recorder, version


def build(out: Path, names: list[str], debug: Path | None, jobs: int) -> None:
    """Record into a scratch folder and put it in place only when everything went well."""
    with tempfile.TemporaryDirectory(prefix="sample-web-out-") as scratch:
        folder = Path(scratch) / "sample-web"
        folder.mkdir()
        plans: dict[str, dict[str, str]] = {}
        steps: dict[str, list[Step]] = {}
        version = ""
        chosen = [who.name for who in PARTICIPANTS if who.name in names]
        with ProcessPoolExecutor(jobs) as pool:
            results = [pool.submit(record, name, folder, debug) for name in chosen]
            for name, result in zip(chosen, results, strict=True):
                recorder, version = result.result()
                plans[name], steps[name] = recorder.plan(), recorder.steps
                print(f"participant {name}: {len(recorder.steps)} steps", flush=True)
        (folder / "plans").mkdir()
        write_json(folder / "plans" / "reference.json", plans)
        write_versions(folder / "made-with.json", version)
        write_readme(folder / "README.md", steps)
        if out.exists():
            if list(out.glob("*/audio")):
                print("the speech goes with the old data: run tools/sample_speech/build.py and hear.py now", flush=True)
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, out)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "datasets" / "sample-web")
    parser.add_argument("--participant", action="append", help="only this one (may be repeated); needs --out")
    parser.add_argument("--debug-overlays", type=Path, metavar="DIR", help="also draw the gold boxes into DIR")
    parser.add_argument("--jobs", type=int, default=1, help="participants recorded at the same time")
    options = parser.parse_args()
    if options.participant and options.out == parser.get_default("out"):
        parser.error("--participant builds a part of the sample; give another --out")
    build(options.out, options.participant or [who.name for who in PARTICIPANTS], options.debug_overlays, options.jobs)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

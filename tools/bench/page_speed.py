"""Times the first page of a run over screenshots of 1080p, and how long a browser takes to open it.

    python tools/bench/page_speed.py /tmp/page --steps 1714

The run never was (`big_run.py`). Its screenshots are 40 of the sample's at 1920 x 1080 with a photograph in them, each
under many hashes, so that every step has a picture of its own to be read. No small picture is in a cache.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from big_run import write_run
from PIL import Image

from grounding.records import Screenshot, Size

SCREEN = Size(width=1920, height=1080)
SAMPLE = Path(__file__).parents[2] / "datasets" / "sample-web"
BUILD = """
import sys, time
from pathlib import Path
from grounding.report.html.page import write_page
from grounding.run.folder import RunFolder
from grounding.run.scorebook import score_run

scored = score_run(RunFolder(Path(sys.argv[1])))
start, cpu = time.time(), time.process_time()
write_page([scored], scored.folder / "report.html")
print(time.time() - start, time.process_time() - cpu)
"""


def write_screenshots(folder: Path, count: int, distinct: int = 40) -> tuple[Screenshot, ...]:
    """Screenshots of different hashes over some distinct files."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    found = sorted(SAMPLE.glob("*/images/*.png"))
    for number in range(distinct):
        with Image.open(found[number * len(found) // distinct]) as image:
            large = image.convert("RGB").resize((SCREEN.width, SCREEN.height), Image.Resampling.LANCZOS)
        noise = generator.integers(0, 255, (60, 80, 3), dtype=np.uint8)
        photograph = Image.fromarray(noise).resize((800, 600), Image.Resampling.BICUBIC)
        large.paste(photograph, (random.Random(number).randint(0, 1100), 300))
        large.save(folder / f"{number}.png")
    return tuple(
        Screenshot(path=str(folder / f"{number % distinct}.png"), size=SCREEN, sha256=f"{number:064x}")
        for number in range(count)
    )


def opened(page: Path) -> float:
    """Seconds until a browser shows the chosen step, of which it is told nothing before."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        tab.goto("about:blank")
        start = time.perf_counter()
        tab.goto(page.as_uri(), wait_until="commit")
        tab.wait_for_selector("#detail .said")
        taken = time.perf_counter() - start
        browser.close()
    return taken


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1714)
    given = parser.parse_args()
    run = given.folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    write_run(run, given.steps, shots=write_screenshots(given.folder / "screenshots", given.steps))
    cache = {**os.environ, "GROUNDING_NO_CACHE": "1", "PYTHONPATH": str(SAMPLE.parents[1])}
    done = subprocess.run([sys.executable, "-c", BUILD, run], env=cache, capture_output=True, text=True, check=True)
    wall_s, cpu_s = map(float, done.stdout.split())
    print(f"first page of {given.steps:,} steps: {wall_s:.1f} s, {cpu_s:.1f} s of CPU")
    print(f"opened in {opened(run / 'report.html'):.2f} s")

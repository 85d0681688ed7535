"""The pictures of README and docs/ that show results: real runs over the bundled sample, drawn by Chromium.

Usage: python tools/docs_pictures.py [--out docs] [PICTURE …]

``report-wide`` and ``report-narrow`` are a run's page, ``compare`` that of two runs, ``runs`` the table of a folder of
runs, ``sweep-plans`` the plot of a sweep, ``curation`` the page of curated products. Those of the annotation program
are made by ``tools/annotating/tour.py``.
Takes three minutes where the sample was never read before. Needs playwright and the program chromium.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
PLANS = ROOT / "datasets" / "sample-web" / "plans"


class Pictures:
    """Runs made once, and a method for each picture."""

    def __init__(self, browser: Browser, work: Path, out: Path) -> None:
        self.browser, self.work, self.out = browser, work, out
        self.command("eval", "--planner", "none", "replay", "--plans", *map(str, PLANS.glob("reference*")))
        self.command("eval", "--grounder", "center", "random")

    def command(self, *words: str) -> None:
        """Run one of ours."""
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        program = [sys.executable, "-m", "grounding"]
        subprocess.run([*program, *words], cwd=self.work, env=env, stdout=subprocess.DEVNULL, check=True)

    def run(self, name: str) -> Path:
        """The folder of the run that is called so."""
        return next((self.work / "results").glob(f"sample-web_{name}_*"))

    def shot(self, name: str, address: str, *, width: int, height: int, **more: Any) -> None:
        """A picture of a page, in at most 128 colours."""
        look = more.pop("look", lambda _page: None)
        page = self.browser.new_page(viewport={"width": width, "height": height}, **more)
        page.goto(address)
        page.wait_for_load_state("networkidle")
        look(page)
        page.wait_for_timeout(500)
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        image.quantize(128, dither=Image.Dither.NONE).save(self.out / f"{name}.png", optimize=True)
        page.close()

    def report_wide(self) -> None:
        """A missed step."""
        self.shot("report-wide", self._step("1/8"), width=1360, height=900, look=_to_list)

    def report_narrow(self) -> None:
        """The same on a phone, in the dark."""
        self.shot("report-narrow", self._step("1/8"), width=400, height=800, color_scheme="dark", look=_to_step)

    def _step(self, step: str) -> str:
        return f"{(self.run('none_ocr') / 'report.html').as_uri()}#step={step}"

    def compare(self) -> None:
        """Two runs and the steps that flipped."""
        self.command("compare", str(self.run("none_ocr")), str(self.run("replay-*_ocr")))
        page = max(
            (self.work / "results").glob("compare_*.html"), key=lambda path: path.stat().st_mtime
        )  # Not a matrix's.
        self.shot("compare", page.as_uri(), width=980, height=470)

    def runs(self) -> None:
        """All runs of a folder."""
        self.command("view", "results", "--out", "runs.html")
        self.shot("runs", (self.work / "runs.html").as_uri(), width=1360, height=720)

    def sweep_plans(self) -> None:
        """The plot of a sweep."""
        self.command("sweep", "--planner", "none", "replay", "--plans", *map(str, PLANS.glob("reference*")))
        (plot,) = (self.work / "results").glob("sweep_*/sweep.png")
        Image.open(plot).convert("RGB").quantize(64).save(self.out / "sweep-plans.png", optimize=True)

    def curation(self) -> None:
        """A user's checklist, and a product's page as it was seen and read."""
        self.command("eval", "--dataset", "sample-mall")
        page = next((self.work / "results").glob("sample-mall_*")) / "report.html"
        self.shot("curation", page.as_uri(), width=1400, height=1000, look=_to_product)


def _to_product(page: Any) -> None:
    page.evaluate("document.querySelector('#gallery').scrollIntoView()")
    page.evaluate("window.scrollBy(0, 800)")


def _to_list(page: Any) -> None:
    page.evaluate("document.querySelector('#gallery').scrollIntoView()")


def _to_step(page: Any) -> None:
    page.evaluate("document.querySelector('#detail').scrollIntoView()")


def main() -> None:
    """Make the pictures that are named, or all."""
    from playwright.sync_api import sync_playwright

    made: dict[str, Callable[[Pictures], None]] = {
        name.replace("_", "-"): method
        for name, method in vars(Pictures).items()
        if name in ("report_wide", "report_narrow", "compare", "runs", "sweep_plans", "curation")
    }
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    parser.add_argument("picture", nargs="*", choices=[*made, []], help=", ".join(made))
    given = parser.parse_args()
    program = shutil.which("chromium") or parser.error("needs the program chromium")
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        pictures = Pictures(browser, Path(work), given.out)
        for name in given.picture or made:
            made[name](pictures)
        browser.close()


if __name__ == "__main__":
    main()

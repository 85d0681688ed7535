"""The page of a training in a real browser: light, dark and narrow, values under the pointer and by keys, printed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from grounding.training.page.page import write_training_page
from grounding.training.records import MetricsLine

from .folders import folds_run, grounder_run, puma_run
from .test_page import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs the system's Chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        # As root, as in containers, Chromium has no sandbox.
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, folder: Path, **options: Any) -> Iterator[Page]:
    """A run's page; nothing may have been said on the console, and nothing but the file itself asked for."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    said: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("request", lambda request: asked.append(request.url))
    address = write_training_page(folder).as_uri()
    page.goto(address)
    yield page
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [address]
    context.close()


def test_values_are_told_under_the_pointer_and_by_keys(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, grounder_run(tmp_path / "run", steps=60)) as page:
        drawing = page.locator("#stage-1 svg[data-chart]").first
        name = drawing.get_attribute("data-chart")
        readout = page.locator(f"#{name}-readout")
        assert readout.inner_text() == ""
        drawing.hover()
        assert readout.inner_text().startswith("step 27: ")
        assert "train 0." in readout.inner_text()
        assert "mean around" in readout.inner_text()
        assert "held out 0." in readout.inner_text()
        # The line stands where the pointer is.
        box = drawing.bounding_box()
        line = drawing.locator(".cross").bounding_box()
        assert box is not None
        assert line is not None
        assert abs(line["x"] - (box["x"] + box["width"] / 2)) < 8
        drawing.focus()
        page.keyboard.press("End")
        assert readout.inner_text().startswith("step 60: ")
        page.keyboard.press("ArrowLeft")
        assert readout.inner_text().startswith("step 59: ")
        assert "(step 60)" in readout.inner_text()  # the nearest held-out figure is of another step
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        assert readout.inner_text().startswith("step 1: ")


def test_it_fits_every_window_in_light_and_dark(browser: Browser, tmp_path: Path) -> None:
    partial = grounder_run(tmp_path / "one", steps=30, done=20)
    for folder in (partial, folds_run(tmp_path / "two", steps=10), puma_run(tmp_path / "three")):
        with opened(browser, folder) as page:
            for width in (1280, 360):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                # No label of an axis is too small to read.
                sizes = page.eval_on_selector_all(
                    "svg[data-chart] text",
                    "all => all.filter(t => t.closest('details:not([open])') === null)"
                    ".map(t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a)",
                )
                assert min(sizes) >= 9
            colours = set()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert len(colours) == 2


def test_screenshots_gold_and_answers_lie_over_each_other(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, grounder_run(tmp_path / "run", steps=40)) as page:
        shot = page.locator("svg.shot").first
        outline = shot.evaluate("svg => { const b = svg.getBoundingClientRect(); return b.width / b.height; }")
        assert outline == pytest.approx(1280 / 720, rel=0.02)
        gold = [shot.locator("rect.gold").get_attribute(name) for name in ("x", "y", "width", "height")]
        assert gold == ["900", "200", "80", "30"]
        # The picture's own button shines through the region: the drawing and the pixels are of one scale.
        image = shot.locator("use").bounding_box()
        whole = shot.bounding_box()
        assert image is not None
        assert whole is not None
        assert abs(image["width"] - whole["width"]) < 3
        assert shot.locator("circle.answer").count() == 3


def test_hostile_texts_gaps_and_spikes(browser: Browser, tmp_path: Path) -> None:
    def edit(lines: list[MetricsLine]) -> list[MetricsLine]:
        return [msgspec.structs.replace(line, loss=(float("nan"), 1.0, 1e12)[line.step % 3]) for line in lines]

    folder = grounder_run(
        tmp_path / "r'u\"n", steps=30, edit=edit, instruction=HOSTILE, text=HOSTILE, card=HOSTILE, command=HOSTILE
    )
    with opened(browser, folder) as page:
        page.wait_for_timeout(200)
        assert page.title().startswith("<script>document.title='stolen'</script>")
        assert page.locator("img, iframe, object").count() == 0
        for drawing in page.locator("#stage-1 .charts").first.locator("svg[data-chart]").all():
            drawing.hover()
        assert "NaN" not in page.content()


def test_it_prints(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, grounder_run(tmp_path / "run", steps=20)) as page:
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
        assert page.pdf()[:5] == b"%PDF-"


def test_without_scripts_everything_is_still_there(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, grounder_run(tmp_path / "run", steps=20), java_script_enabled=False) as page:
        assert page.locator("#stage-1 svg[data-chart] path.line").count() > 5
        page.locator("#stage-1 summary").first.click()
        assert page.locator("#stage-1 figure details[open] tbody tr").count() == 20

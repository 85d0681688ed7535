"""The pages for who can't see them or has no mouse: axe-core finds no grave fault, and keys reach everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from grounding.records import Prediction, Step
from grounding.report.compare import compare_runs
from grounding.report.html.comparison import write_comparison
from grounding.report.html.live import write_overview
from grounding.report.html.page import write_page
from grounding.run.scorebook import ScoredClicks

from . import manyruns
from .browsing import opened, served
from .runs import answer, make_run, write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[ScoredClicks, ScoredClicks]:
    def other(number: int, step: Step) -> Prediction:
        return answer(number + 1, step)

    root = tmp_path_factory.mktemp("runs")
    made = make_run(root / "one"), make_run(root / "two", predict=other, grounder="other")
    write_report(made[0])
    return made


@pytest.fixture(scope="module")
def pages(runs: tuple[ScoredClicks, ScoredClicks]) -> Iterator[dict[str, str]]:
    """The pages' addresses by name; the table of runs is served, so that it has its boxes to tick."""
    one, two = runs
    root = one.folder.parent
    planned = [("none + fake", one), ("none + other", two)]
    queued = [manyruns.queued(name, run.folder.name, "complete") for name, run in planned]
    manyruns.write(root / "matrix_1", queued)
    files = {
        "run": one.folder / "report.html",
        "two runs": write_page(runs, root / "both.html"),
        "comparison": write_comparison(compare_runs([one.folder, two.folder])),
        "matrix": write_overview(root / "matrix_1", root / "matrix_1" / "report.html"),
    }
    with served(root) as address:
        yield {**{name: path.as_uri() for name, path in files.items()}, "runs": address, "served": f"{address}run/0/"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, pages: dict[str, str], scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    grave = []
    for name, address in pages.items():
        with opened(browser, address, color_scheme=scheme) as page:
            page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            if name == "runs":
                page.locator(".tick input").first.check()
            page.wait_for_timeout(300)
            found = Axe().run(page).response["violations"]
            grave += [
                (name, fault["id"], fault["nodes"][0]["html"])
                for fault in found
                if fault["impact"] in ("serious", "critical")
            ]
    assert grave == []


@pytest.mark.parametrize("name", ["run", "two runs", "comparison", "matrix", "runs", "served"])
def test_tab_reaches_every_control_and_shows_where_it_is(browser: Browser, pages: dict[str, str], name: str) -> None:
    with opened(browser, pages[name]) as page:
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.wait_for_timeout(300)
        there = page.evaluate(
            "chosen => { const all = [...document.querySelectorAll(chosen)].filter((one) => one.checkVisibility());"
            "all.forEach((one, at) => { one.dataset.control = at; }); return all.length; }",
            CONTROLS,
        )
        reached = set()
        for _ in range(there + 20):
            page.keyboard.press("Tab")
            at, width = page.evaluate(
                "() => { const one = document.activeElement, style = getComputedStyle(one);"
                "return [one.dataset.control, style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)]; }"
            )
            if at is None:
                continue
            assert width > 0, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
            reached.add(int(at))
        left = [at for at in range(there) if at not in reached]
        names = "left => left.map((at) => document.querySelector(`[data-control='${at}']`).outerHTML.slice(0, 120))"
        assert left == [], page.evaluate(names, left)


def test_a_diagram_is_walked_by_keys_and_filters(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["run"]) as page:
        drawing = page.locator("#plots figure", has_text="How far misses are off")
        parts = drawing.locator(".part")
        parts.first.focus()
        for _ in range(2):
            page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "show misses 10 to 30 px off"
        page.keyboard.press("Enter")
        assert page.input_value("#filter-off") == "10-30"
        off = [float(text.split()[-3]) for text in page.locator("#list .row .top").all_inner_texts()]
        assert off
        assert all(10 <= each <= 30 for each in off)
        # The same again takes the filter back.
        parts.nth(2).click()
        assert page.input_value("#filter-off") == ""
        page.locator("#plots figure", has_text="Tasks without a wrong step").locator(".part").first.click()
        assert "first-wrong" in page.evaluate("decodeURIComponent(location.hash)")


def test_the_picture_zooms_by_wheel_click_keys_and_buttons(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, f"{pages['run']}#step=1/3") as page:
        picture = page.locator("#detail svg.picture").first

        def view() -> list[float]:
            return [float(number) for number in (picture.get_attribute("viewBox") or "").split()]

        assert view() == [0, 0, 320, 200]
        picture.scroll_into_view_if_needed()
        box = picture.bounding_box()
        assert box is not None
        at = box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"]
        page.mouse.move(*at)
        page.wait_for_timeout(400)  # A wheel that has just scrolled the page is no zoom.
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(100)
        left, top, width, height = view()
        assert width < 320
        # What was under the pointer still is.
        assert left + 0.25 * width == pytest.approx(80, abs=1)
        assert top + 0.5 * height == pytest.approx(100, abs=1)
        mark = picture.locator("circle.click").bounding_box()
        page.keyboard.press("z")
        assert view() == [0, 0, 320, 200]
        again = picture.locator("circle.click").bounding_box()
        assert mark is not None
        assert again is not None
        assert mark["width"] == pytest.approx(again["width"], rel=0.05)
        page.mouse.click(*at)
        assert view()[2] == pytest.approx(200)
        before = view()[0]
        picture.focus()
        page.keyboard.press("ArrowRight")
        assert view()[0] > before
        page.keyboard.press("-")
        page.keyboard.press("+")
        page.get_by_label("the whole picture").click()
        assert view() == [0, 0, 320, 200]


def test_wrong_clicks_are_mapped_over_all_and_on_a_shared_screenshot(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["run"]) as page:
        dots = page.locator("#plots .map").first.locator(".dot")
        page.select_option("#filter-failure", "near")
        near = int(page.inner_text("#count").split()[0])
        assert dots.count() == near
        dots.nth(1).dispatch_event("click", {"bubbles": True})
        chosen = page.inner_text("#detail .bar b")
        page.locator("#detail summary", has_text="steps on this screenshot").click()
        shared = page.locator("#detail .going")
        shared.first.wait_for()
        assert shared.count() >= near
        other = next(
            each for each in shared.all() if chosen.split()[1] + "," not in (each.get_attribute("aria-label") or "")
        )
        other.dispatch_event("click", {"bubbles": True})
        assert page.inner_text("#detail .bar b") != chosen

"""The page in a real browser: looking, filtering, labelling; and what is hostile in it stays text."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grounding.webagents.agenticshop.page.page import write_curation_page
from grounding.webagents.agenticshop.reliability.agreeing import eligible, sampled
from grounding.webagents.agenticshop.reliability.labels import read_label_file
from webagents.agenticshop.page.runs import CHECKLIST, FAR, parts
from webagents.agenticshop.page.test_gather import HOSTILE

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A new page that may say nothing on its console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    yield page
    context.close()
    assert wrong == []


def count(tab: Any) -> str:
    found: str = tab.locator("#count").inner_text()
    return found


def test_verdicts_evidence_and_filters(tab: Any, tmp_path: Path) -> None:
    path = write_curation_page(tmp_path, **parts(tmp_path, tasks=7))
    tab.goto(path.as_uri())
    assert count(tab) == "7 of 7 tasks"
    assert tab.locator("#detail .card").count() == 4
    assert tab.locator("#tables table").count() == 2
    # A far quote is marked in its text, and the place of another is drawn on its picture.
    tab.locator("tr", has_text="Can be sent back").locator("button.marks").first.click()
    assert tab.locator("#detail mark").inner_text() == FAR
    inside = """() => {
        const of = (selector) => document.querySelector(`#detail ${selector}`).getBoundingClientRect();
        const m = of("mark"), p = of(".pagetext");
        return m.top >= p.top && m.bottom <= p.bottom;
    }"""
    assert tab.evaluate(inside)
    tab.locator("tr", has_text="Costs at most").locator("button.marks").first.click()
    assert tab.locator("#detail rect.region").get_attribute("x") == "615"
    assert tab.locator("#detail .viewer figcaption").inner_text().startswith("part 2 of 3")
    full = tab.evaluate("document.querySelectorAll('#detail svg.picture image')[1].getAttribute('href')")
    assert (tmp_path / full).exists()
    drawn = "async (source) => { const i = new Image(); i.src = source; await i.decode(); return i.naturalWidth; }"
    assert tab.evaluate(drawn, full) == 1280
    tab.keyboard.press("2")
    assert tab.locator("#evidence .badge").first.inner_text() == "listing"
    for name, value, left in (
        ("scenario", "explicit_title", "1 of 7 tasks"),
        ("outcome", "nothing curated", "1 of 7 tasks"),
        ("class", "blocked", "2 of 7 tasks"),
        ("flag", "no-evidence", "5 of 7 tasks"),
        ("error", "irrelevant", "1 of 7 tasks"),
        ("user", "U004", "1 of 7 tasks"),
    ):
        tab.select_option(f"#filter-{name}", value)
        assert count(tab) == left, name
        tab.select_option(f"#filter-{name}", "")
    tab.fill("#filter-q", 'U00 "kitchen, 5"')
    assert count(tab) == "1 of 7 tasks"
    tab.fill("#filter-q", "no such words")
    assert "No task is left" in tab.locator("#detail").inner_text()
    tab.fill("#filter-q", "")
    tab.select_option("#filter-dimension", "price_sensitivity")
    assert tab.locator("#detail .matrix .item-text").count() == 1
    assert tab.locator("#detail .card b").first.inner_text() == "0/1"
    tab.select_option("#filter-judge", "1")
    assert tab.locator("#detail .card b").first.inner_text() == "1/1"
    tab.select_option("#filter-sort", "worst")
    shares = [float(one.rstrip(" %")) for one in tab.locator(".item .top b").all_inner_texts()]
    assert shares == sorted(shares)
    # The address keeps what is looked at.
    tab.locator("#count").click()
    tab.keyboard.press("j")
    address = tab.url
    assert "dimension=price_sensitivity" in address
    shown = tab.locator("#detail .bar .muted").first.inner_text()
    tab.goto("about:blank")
    tab.goto(address)
    assert tab.locator("#detail .bar .muted").first.inner_text() == shown


def test_hostile_words_stay_words(tab: Any, tmp_path: Path) -> None:
    path = write_curation_page(tmp_path, **parts(tmp_path, words=HOSTILE))
    tab.goto(path.as_uri())
    assert tab.locator("#detail .said").text_content() == HOSTILE
    tab.keyboard.press("3")
    assert tab.locator("#evidence .where a").count() == 0
    tab.locator("tr", has_text="Costs at most").locator("button.marks").first.click()
    assert HOSTILE in (tab.locator("#detail .said-by").first.text_content() or "")
    tab.locator("details.trace summary").click()
    assert tab.locator("img[src='x']").count() == 0
    assert tab.locator("script[type='application/json']").count() == 1 + 4
    assert tab.locator("script:not([type])").count() == 1


def test_labels_are_blind_kept_saved_and_read_again(tab: Any, tmp_path: Path) -> None:
    made = parts(tmp_path, tasks=7)
    path = write_curation_page(tmp_path, **made)
    tab.goto(path.as_uri())
    tab.click("#mode")
    assert "site-search" not in tab.locator("body").inner_text()
    tab.fill("#annotator", "Ann B.")
    tab.fill("#sample", "4")
    tab.fill("#seed", "7")
    tab.click("#who button")
    classes = {one.step_id: one.page_class for one in made["extractions"]}
    drawn = sampled(7, 4, eligible(classes, "product"))
    assert tab.locator("#label").get_attribute("data-product") == drawn[0]
    said = tab.locator("#label").inner_text()
    assert "The page says so" not in said
    assert drawn[0] not in said
    assert tab.locator("#label .mark").count() == 0
    for key in "1231111":
        tab.keyboard.press(key)
    assert tab.locator("#progress").inner_text() == "7 of 7 items · 1 products done"
    tab.keyboard.press("n")
    tab.keyboard.press("1")
    tab.check("#unblind")
    assert tab.locator("#label .mark").count() == 2 * len(CHECKLIST)
    tab.keyboard.press("2")
    with tab.expect_download() as waiting:
        tab.click("#save")
    waiting.value.save_as(tmp_path / "ann.json")
    file = read_label_file(tmp_path / "ann.json")
    assert (file.annotator, file.seed, file.sample, file.pages) == ("Ann B.", 7, 4, "product")
    assert file.run_id == made["run_id"]
    first, second = file.products
    assert [one.label for one in first.labels][:3] == ["satisfied", "not-satisfied", "cant-tell"]
    assert (first.product, first.blind, second.product, second.blind) == (drawn[0], True, drawn[1], False)
    assert [one.text for one in first.labels] == [item.text for item in CHECKLIST]
    assert first.url.startswith("http://kettle.mall.test/p/")
    # The browser keeps them, and the first product that is not done is asked about.
    tab.reload()
    tab.click("#mode")
    assert tab.input_value("#annotator") == "Ann B."
    tab.fill("#sample", "4")
    tab.fill("#seed", "7")
    tab.click("#who button")
    assert tab.locator("#label").get_attribute("data-product") == drawn[1]
    assert tab.locator("#progress").inner_text() == "2 of 7 items · 1 products done"
    # Another browser goes on from the file, and refuses that of another run.
    other = msgspec.structs.replace(file, run_id="another")
    (tmp_path / "other.json").write_bytes(msgspec.json.encode(other))
    tab.evaluate("localStorage.clear()")
    tab.reload()
    tab.click("#mode")
    tab.set_input_files("#load", tmp_path / "other.json")
    assert "another run (another)" in tab.locator("#label [role=alert]").inner_text()
    tab.set_input_files("#load", tmp_path / "ann.json")
    assert tab.locator("#progress").inner_text() == "2 of 7 items · 1 products done"


def test_a_large_run_opens_quickly(tab: Any, tmp_path: Path) -> None:
    path = write_curation_page(tmp_path, **parts(tmp_path, tasks=350))
    started = time.monotonic()
    tab.goto(path.as_uri())
    assert count(tab) == "350 of 350 tasks"
    # About a second on a quiet machine: read lazily. The bound only catches what would be far from it.
    assert time.monotonic() - started < 15
    inside = tab.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    print(f"{path.stat().st_size / 1e6:.1f} MB, {inside:.0f} ms")

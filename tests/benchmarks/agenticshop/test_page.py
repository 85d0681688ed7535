"""The page in a real browser: looking, filtering, labelling; and what is hostile in it stays text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.agenticshop.runs import journals
from benchmarks.agenticshop.shown import CHECKLIST, FAR, shown_run
from grounding.benchmarks.agenticshop.agreement import read_label_file
from grounding.benchmarks.agenticshop.records import VerdictFlag
from grounding.benchmarks.agenticshop.rows import gather_curation, write_curation_page
from grounding.benchmarks.agenticshop.scorebook import score_curation

HOSTILE = "</script><img src=x onerror=alert(1)>@data@<!-- <script> &lt; \u2028"


def written(path: Path, **more: Any) -> Path:
    return write_curation_page(score_curation(shown_run(path / "run", **more)))


def test_rows_say_what_became_of_each_task_and_details_hold_the_evidence(tmp_path: Path) -> None:
    page, details = gather_curation(score_curation(shown_run(tmp_path / "run")))
    rows = page["tasks"]
    outcomes = ["judged, not-product, unreachable", "not-product, unreachable, judged", "error", "not-curated"]
    assert [row["outcome"] for row in rows] == outcomes
    assert rows[0]["classes"] == ["product", "listing", "error"]
    assert [one["errors"] for one in details[0]["products"]] == [[], ["irrelevant"], ["invalid"], []]
    assert [judge["name"] for judge in page["judges"]] == ["reference", "looker"]
    # Three products of seven items each, none satisfied of those that are none; of an error nothing was measured.
    assert [row["shares"][0][1] for row in rows] == [21, 21, 0, 21]
    product = details[0]["products"][0]
    assert ["price and shipping together", "39.80 EUR", "", ""] in product["facts"]
    assert ["price", "34.90 EUR", "json-ld", '"price": "34.90"'] in product["facts"]
    assert (FAR in product["text"], product["text_more"]) == (True, 0)
    assert [one["judge"] for one in product["judgements"]] == [0, 1]
    assert details[0]["products"][3]["extraction"] is None
    assert "no answer after 20 s" in str(details[0]["products"][2]["extraction"])


def test_nothing_that_is_said_is_markup_and_long_texts_are_cut(tmp_path: Path) -> None:
    html = written(tmp_path, words=HOSTILE).read_text(encoding="utf-8")
    # The index, a block for each task, and the page's own script.
    assert (html.count("</script>"), html.count('type="application/json"')) == (2 + 4, 1 + 4)
    assert "<img" not in html
    assert "secret" not in html
    assert "default-src 'none'" in html


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


@pytest.mark.slow
def test_verdicts_evidence_and_filters(tab: Any, tmp_path: Path) -> None:
    path = written(tmp_path, tasks=7)
    tab.goto(path.as_uri())
    assert count(tab) == "7 of 7 tasks"
    assert tab.locator("#detail .card").count() == 4
    assert tab.locator("#tables table").count() == 3
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
    full = tab.evaluate("document.querySelector('#detail svg.picture image').getAttribute('href')")
    assert (path.parent / full).exists()
    drawn = "async (source) => { const i = new Image(); i.src = source; await i.decode(); return i.naturalWidth; }"
    assert tab.evaluate(drawn, full) == 1280
    tab.keyboard.press("2")
    assert tab.locator("#evidence .badge").first.inner_text() == "listing"
    for name, value, left in (
        ("scenario", "explicit_title", "1 of 7 tasks"),
        ("outcome", "not-curated", "1 of 7 tasks"),
        ("class", "blocked", "2 of 7 tasks"),
    ):
        tab.select_option(f"#filter-{name}", value)
        assert count(tab) == left, name
        tab.select_option(f"#filter-{name}", "")
    tab.fill("#filter-q", "u005 kitchen,")
    assert count(tab) == "1 of 7 tasks"
    tab.fill("#filter-q", "no such words")
    assert "No task is left" in tab.locator("#detail").inner_text()
    tab.fill("#filter-q", "")
    before = tab.locator("#detail .card b").first.inner_text()
    tab.select_option("#filter-judge", "1")
    assert tab.locator("#detail .card b").first.inner_text() != before
    shown = tab.locator("#detail .top .muted").first.inner_text()
    tab.locator("#count").click()
    tab.keyboard.press("j")
    assert tab.locator("#detail .top .muted").first.inner_text() != shown


@pytest.mark.slow
def test_what_nobody_decided_is_marked_as_neither_and_counted_by_none(tab: Any, tmp_path: Path) -> None:
    folder = shown_run(tmp_path / "run", tasks=1, judges=("looker",))
    _, _, judgements = journals(folder)
    first = next(iter(judgements))
    flags: tuple[VerdictFlag, ...] = ("missing", "undecided")
    left = [msgspec.structs.replace(one, flags=(flag,)) for one, flag in zip(first.verdicts, flags, strict=False)]
    judgements.append(msgspec.structs.replace(first, verdicts=(*left, *first.verdicts[2:])))
    judgements.close()
    tab.goto(write_curation_page(score_curation(folder)).as_uri())
    assert tab.locator("#detail .matrix tr:has(button) td:nth-child(2) .mark.none").count() == 2
    assert tab.locator("#product-0 b").inner_text() == "3/5"


@pytest.mark.slow
def test_hostile_words_stay_words(tab: Any, tmp_path: Path) -> None:
    path = written(tmp_path, words=HOSTILE)
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


@pytest.mark.slow
def test_labels_are_blind_kept_saved_and_read_again(tab: Any, tmp_path: Path) -> None:
    scored = score_curation(shown_run(tmp_path / "run", tasks=7))
    path = write_curation_page(scored)
    tab.goto(path.as_uri())
    tab.click("#mode")
    assert "site-search" not in tab.locator("body").inner_text()
    tab.fill("#annotator", "Ann B.")
    tab.fill("#sample", "4")
    tab.fill("#seed", "7")
    tab.click("#who button")
    # The draw hangs on nothing but the seed and the ids of the products.
    drawn = ["low_involvement/U004/0", "casual_browsing/U006/0"]
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
    with tab.expect_download() as waiting:
        tab.click("#save")
    waiting.value.save_as(tmp_path / "ann.json")
    file = read_label_file(tmp_path / "ann.json")
    assert file.annotator == "Ann B."
    assert file.run_id == scored.info.run_id
    first, second = file.products
    assert [one.label for one in first.labels][:3] == ["satisfied", "not-satisfied", "cant-tell"]
    assert (first.product, second.product) == tuple(drawn)
    assert [one.text for one in first.labels] == [item.text for item in CHECKLIST]
    assert first.url.startswith("http://kettle.mall.test/p/")
    # The browser keeps them, and the first product that is not done is asked about.
    tab.reload()
    tab.click("#mode")
    tab.fill("#annotator", "Ann B.")
    tab.fill("#sample", "4")
    tab.fill("#seed", "7")
    tab.click("#who button")
    assert tab.locator("#label").get_attribute("data-product") == drawn[1]
    assert tab.locator("#progress").inner_text() == "1 of 7 items · 1 products done"
    # Another browser goes on from the file, and refuses that of another run.
    saved = json.loads((tmp_path / "ann.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**saved, "run_id": "another"}))
    tab.evaluate("localStorage.clear()")
    tab.reload()
    tab.click("#mode")
    tab.set_input_files("#load", tmp_path / "other.json")
    assert "another run (another)" in tab.locator("#label [role=alert]").inner_text()
    tab.set_input_files("#load", tmp_path / "ann.json")
    assert tab.locator("#progress").inner_text() == "1 of 7 items · 1 products done"

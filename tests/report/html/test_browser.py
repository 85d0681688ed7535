"""The page in a real browser, from a file and served: filters, keys, labels, two runs, hostile texts, many steps."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grounding.records import Point, Prediction, Step
from grounding.report.html.page import write_page
from grounding.run.journal import Journal

from .browsing import eventually, fits_a_phone, opened, served
from .runs import answer, make_run, write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

HOSTILE = "<script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\"></script>"


def chosen(page: Page) -> str:
    return page.inner_text("#detail .bar b").removeprefix("step ")


def count(page: Page) -> int:
    return int(page.inner_text("#count").split(" ")[0].replace(",", "").replace("None", "0"))


@pytest.fixture(scope="module")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run over the bundled sample, by the command that a user gives; its page is made by the run."""
    logs = tmp_path_factory.mktemp("logs")
    command = [sys.executable, "-m", "grounding.eval", "--grounder", "random", "--log-dir", str(logs)]
    done = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin", "HOME": str(logs)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (folder,) = [path for path in logs.iterdir() if path.name.startswith("sample-web")]
    assert f"report     {folder}/report.html\n" in done.stdout
    return folder


def test_the_report_of_a_real_run_opens_from_a_file(browser: Browser, sample_run: Path) -> None:
    with opened(browser, (sample_run / "report.html").as_uri()) as page:
        assert page.title() == "sample-web · none + random"
        assert page.locator("#strips .task").count() == 13
        assert page.locator("#strips .cell").count() == 300
        assert page.locator("#plots svg").count() == 8
        assert count(page) == 262
        summary = json.loads((sample_run / "summary.json").read_text())
        hits = summary["counts"]["hit"]
        assert f"{hits}/262 steps" in page.inner_text("#summary")
        page.select_option("#filter-outcome", "hit")
        assert count(page) == hits
        # The screenshot itself, at its full size.
        full = page.locator("#detail svg.picture image").nth(1).get_attribute("href")
        assert full is not None
        assert full.endswith(".png")


def test_filters_search_and_order(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, write_report(make_run(tmp_path / "run")).as_uri()) as page:
        assert count(page) == 36
        assert chosen(page) == "1/3"  # the first that is wrong
        page.select_option("#filter-outcome", "unparsed")
        assert count(page) == 3
        page.select_option("#filter-outcome", "")
        page.select_option("#filter-failure", "near")
        near = count(page)
        assert 0 < near < 36
        page.select_option("#filter-failure", "")
        page.fill("#filter-q", '"press thing 12"')
        assert count(page) == 1
        assert chosen(page) == "1/13"
        page.fill("#filter-q", "no such words")
        assert "None of 36" in page.inner_text("#count")
        page.fill("#filter-q", "")
        page.select_option("#filter-sort", "far")
        page.evaluate("document.getElementById('list').scrollTop = 0")
        page.wait_for_timeout(100)
        offs = page.eval_on_selector_all(
            ".row", "rows => rows.sort((a, b) => a.offsetTop - b.offsetTop).map(row => row.innerText)"
        )
        assert "px off" in offs[0]
        page.keyboard.press("Escape")


def test_keys_move_filter_search_and_show_help(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, write_report(make_run(tmp_path / "run")).as_uri()) as page:
        page.keyboard.press("j")
        assert chosen(page) == "1/4"
        page.keyboard.press("k")
        page.keyboard.press("k")
        assert chosen(page) == "1/2"
        page.keyboard.press("n")
        assert chosen(page) == "1/3"
        page.keyboard.press("w")
        assert count(page) == 20
        page.keyboard.press("x")
        assert count(page) == 36
        page.keyboard.press("/")
        page.keyboard.type("jjj")
        assert count(page) == 0
        page.keyboard.press("Escape")
        page.keyboard.press("x")
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#help").is_visible()


def test_a_link_leads_to_its_step_and_filters(browser: Browser, tmp_path: Path) -> None:
    address = write_report(make_run(tmp_path / "run")).as_uri()
    with opened(browser, f"{address}#step=1/24&outcome=miss") as page:
        assert chosen(page) == "1/24"
        assert page.input_value("#filter-outcome") == "miss"
        page.keyboard.press("j")
        assert page.evaluate("location.hash") == f"#step={chosen(page)}&outcome=miss"
        page.evaluate("location.hash = '#step=1/2'")
        eventually(page, "document.querySelector('#detail .bar b').innerText === 'step 1/2'")
    with opened(browser, f"{address}#step=%E0%A4%A&nonsense") as page:
        assert chosen(page) == "1/3"


def test_a_cell_of_a_strip_leads_to_its_step(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, write_report(make_run(tmp_path / "run")).as_uri()) as page:
        page.locator("#strips .cell").nth(9).click()
        assert chosen(page) == "1/10"  # a step without a click: the filters give way
        assert page.locator("#strips .cell.chosen").count() == 1


def test_gold_and_click_are_drawn_where_they_are(browser: Browser, tmp_path: Path) -> None:
    address = write_report(make_run(tmp_path / "run")).as_uri()
    with opened(browser, f"{address}#step=1/3") as page:
        big = page.locator("#detail svg.picture").first
        assert big.get_attribute("viewBox") == "0 0 320 200"
        gold = big.locator("rect.gold")
        assert [gold.get_attribute(name) for name in ("x", "y", "width", "height")] == ["100", "60", "40", "20"]
        mark = big.locator("circle.click")
        assert [mark.get_attribute(name) for name in ("cx", "cy")] == ["150", "90"]
        seen = big.evaluate("svg => { const b = svg.getBoundingClientRect(); return b.width / b.height; }")
        assert seen == pytest.approx(1.6, rel=0.02)
    with opened(browser, f"{address}#step=1/7") as page:
        assert page.locator("#detail polygon.gold").first.get_attribute("points") == "100,60 140,60 120,90"


def test_hostile_texts_are_shown_as_texts(browser: Browser, tmp_path: Path) -> None:
    def reply(number: int, step: Step) -> Prediction:
        x = (1e300, -5.0, 200.0)[number % 3]
        return Prediction(step_id=step.id, key="k", point=Point(x_px=x, y_px=2), raw=HOSTILE)

    scored = make_run(
        tmp_path / "r'u\"n", 4, instruction=lambda _: HOSTILE, predict=reply, grounder=HOSTILE,
        screenshot="a 'b' \"c\" <d> &amp; #1 %41.png",
    )  # fmt: skip
    with opened(browser, write_report(scored).as_uri()) as page:
        page.wait_for_timeout(300)
        assert page.title() == f"made · none + {HOSTILE}"
        assert page.inner_text("#detail .said") == HOSTILE
        assert HOSTILE in page.inner_text("#detail")
        assert page.locator("#detail img, #detail script, .row img, header img").count() == 0
        # The file with the odd name is found: its full picture is still there.
        assert page.locator("#detail svg.picture").first.locator("image").count() == 2
        page.keyboard.press("j")


def test_a_screenshot_that_has_gone_leaves_its_small_picture_and_says_so(browser: Browser, tmp_path: Path) -> None:
    path = write_report(make_run(tmp_path / "run"))
    moved = tmp_path / "elsewhere"
    shutil.move(tmp_path / "run", moved)
    for shot in tmp_path.glob("*.png"):
        shot.unlink()
    context = browser.new_context()
    page = context.new_page()
    page.goto((moved / path.name).as_uri())
    page.wait_for_selector("#detail .muted:not([hidden]) >> text=is not at")
    assert page.locator("#detail svg.picture").first.locator("image").count() == 1
    context.close()


def test_two_runs_side_by_side_and_only_the_flips(browser: Browser, tmp_path: Path) -> None:
    def other(number: int, step: Step) -> Prediction:
        return answer(number + 1, step)

    runs = [make_run(tmp_path / "one"), make_run(tmp_path / "two", predict=other)]
    with opened(browser, write_page(runs, tmp_path / "both.html").as_uri()) as page:
        before = count(page)
        one, two = ({v.step_id: v.outcome == "hit" for v in run.verdicts} for run in runs)
        flips = [name for name in one if one[name] != two[name]]
        page.select_option("#filter-flip", "any")
        assert count(page) == len(flips) < before
        page.select_option("#filter-flip", "won")
        assert count(page) == sum(two[name] for name in flips)
        assert page.locator("#detail svg.picture").first.locator("circle.click").count() == 2
        assert page.locator("#detail .badge").all_inner_texts()[1].startswith("2: ")
        page.select_option("#run-b", "-1")
        assert page.locator("#filter-flip").count() == 0


def test_thirty_thousand_steps_stand_in_a_page_and_all_are_reached(browser: Browser, tmp_path: Path) -> None:
    def other(number: int, step: Step) -> Prediction:
        return answer(number + 1, step)

    one = make_run(tmp_path / "one", 30_000, instruction=lambda number: f"{HOSTILE} \u2028${{{number}}}")
    path = write_report(one)
    assert path.stat().st_size < 3_000_000
    with opened(browser, path.as_uri()) as page:
        eventually(page, "document.querySelector('#count').innerText === '27,000 of 27,000 scored steps'")
        assert chosen(page) == "1/3"
        assert page.locator(".row").count() < 60
        # What a model or a data set says is text, also where it came deflated.
        assert page.title() == "made · none + fake"
        assert page.inner_text("#detail .said") == f"{HOSTILE} \u2028${{2}}"
        assert page.locator("#detail img, #detail script, .row img").count() == 0
        page.select_option("#filter-outcome", "unparsed")
        assert count(page) == len([verdict for verdict in one.verdicts if verdict.outcome == "unparsed"])
        page.keyboard.press("x")
        page.keyboard.press("j")
        assert page.evaluate("location.hash").startswith("#step=1/")
        page.evaluate("location.hash = '#step=1/29998'")
        eventually(page, "(document.querySelector('#detail .bar b') || {}).innerText === 'step 1/29998'")
        page.evaluate("location.hash = '#step=1/1002'")
        eventually(page, "(document.querySelector('#detail .bar b') || {}).innerText === 'step 1/1002'")
        assert page.locator("#detail .history .did").all_text_contents() == ["did 998", "did 999", "did 1000"]
        page.fill("#filter-q", '"${17357}"')
        eventually(page, "document.querySelector('#count').innerText === '1 of 27,000 scored steps'")
        assert chosen(page) == "1/17358"
        page.keyboard.press("Escape")
        page.keyboard.press("x")
        page.locator("#list").focus()
        page.keyboard.press("End")
        eventually(page, "!!document.querySelector('#row-29998')")
    two = make_run(tmp_path / "two", 1_000, predict=other)
    with opened(browser, write_page([one, two], tmp_path / "both.html").as_uri()) as page:
        eventually(page, "document.querySelector('#count').innerText.startsWith('27,000')")
        page.select_option("#filter-flip", "any")
        hit = {verdict.step_id: verdict.outcome == "hit" for verdict in one.verdicts}
        flips = [verdict for verdict in two.verdicts if hit[verdict.step_id] != (verdict.outcome == "hit")]
        assert count(page) == len(flips) < 27_000
        assert page.locator("#detail .badge").all_inner_texts()[1].startswith("2: ")


def test_it_fits_a_phone_in_light_and_dark(browser: Browser, tmp_path: Path) -> None:
    fits_a_phone(browser, write_report(make_run(tmp_path / "run")).as_uri())


# --- served -------------------------------------------------------------------------------------------------------


def test_people_label_misses_on_the_served_page(browser: Browser, tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    file = tmp_path / "run" / "labels.jsonl"
    with served(tmp_path / "run") as address, opened(browser, address) as page:
        page.keyboard.press("2")
        assert "Say who you are first" in page.inner_text("#detail")
        assert not file.exists()
        page.fill("#labeller", "ann")
        page.fill("#note", "<b>close</b> to it")
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.wait_for_selector(".choice[data-label=grounding][aria-pressed=true]")
        (line,) = map(json.loads, file.read_text().splitlines())
        assert (line["step"], line["label"], line["labeller"]) == ("1/3", "grounding", "ann")
        assert line["note"] == "<b>close</b> to it"
        assert line["plan"] == "Click thing 2"
        assert line["at"].endswith("Z")
        assert "1 person labelled 1 of 20 misses: grounding 1 (no score changes by it)" in page.inner_text("#summary")
        assert "<b>close</b>" in page.inner_text(".triage")
        page.fill("#labeller", "bob")
        page.locator("#labeller").blur()
        assert page.input_value("#note") == ""
        page.locator(".choice[data-label=annotation-wrong]").click()
        eventually(page, "document.querySelector('#summary').innerText.includes('2 people')")
        assert "disputed 1" in page.inner_text("#summary")
        page.select_option("#filter-label", "disputed")
        assert count(page) == 1
        page.locator(".choice >> text=withdraw").click()
        eventually(page, "document.querySelector('#summary').innerText.includes('1 person')")
        assert len(file.read_text().splitlines()) == 3
    # A page that is only a file shows them and takes none.
    from grounding.run.folder import RunFolder
    from grounding.run.scorebook import weigh

    with opened(browser, f"{write_report(weigh(RunFolder(tmp_path / 'run'))).as_uri()}#step=1/3") as page:
        assert "grounding (ann" in page.inner_text(".triage")
        assert page.locator(".choice").count() == 0


def test_the_served_page_follows_a_run(browser: Browser, tmp_path: Path) -> None:
    scored = make_run(
        tmp_path / "run", 8, status="started", predict=lambda number, step: answer(0, step) if number < 4 else None
    )
    with served(tmp_path / "run") as address, opened(browser, address) as page:
        assert "going on" in page.inner_text("#status")
        assert page.locator("#strips .cell.pending").count() == 4
        journal: Journal[Prediction] = Journal(scored.folder / "predictions.jsonl", Prediction)
        journal.append(Prediction(step_id="1/5", key="k", point=Point(x_px=120, y_px=70), raw="later"))
        journal.close()
        page.evaluate("document.querySelector('#detail .said').dataset.mine = 'yes'")
        eventually(page, "document.querySelectorAll('#strips .cell.pending').length === 3")
        # Who reads a step that has not changed is not disturbed.
        assert page.locator("#detail .said[data-mine=yes]").count() == 1

"""The page over several runs in a real browser: it follows, filters, orders, links, and fits a phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grounding.report.html.live import write_overview
from grounding.run.display import read_queue, write_queue

from . import manyruns
from .browsing import eventually, fits_a_phone, opened, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=\"document.title='stolen'\"></script><script>document.title='stolen'</script>"


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """Twenty-four runs in all states, four planners with six grounders."""
    root, runs = tmp_path / "results", []
    states = ["complete"] * 4 + ["partial", "failed"] + ["running"] * 5 + ["starting"] + ["waiting"] * 12
    names = [(f"planner-{a}", f"grounder-{b}") for a in range(4) for b in range(6)]
    for number, ((planner, grounder), state) in enumerate(zip(names, states, strict=True)):
        run_id = f"made_{planner}_{grounder}_{number:010x}"
        if state in ("complete", "partial", "running"):
            run = manyruns.begin(root / run_id, manyruns.asked(planner, grounder), 200)
            manyruns.answer(run, 200 if state == "complete" else 60, "hit", "miss", "hit")
            if state == "running":
                manyruns.say(run.path, {"hit": 36, "miss": 18}, steps=180)
            else:
                manyruns.finish(run)
        problem = HOSTILE if state == "failed" else ""
        runs.append(
            manyruns.queued(
                f"{planner} + {grounder}",
                run_id,
                state,
                steps=180,
                server=grounder,
                problem=problem,  # type: ignore[arg-type]
            )
        )
    manyruns.write(root / "matrix_1", runs, limit_usd=5.0)
    return root / "matrix_1"


def listed(page: Page) -> list[str]:
    return page.locator(".runs tbody th").all_inner_texts()


def test_a_file_shows_every_state_and_runs_nothing(browser: Browser, matrix: Path) -> None:
    out = write_overview(matrix, matrix.parent / "all.html")
    with opened(browser, out.as_uri()) as page:
        page.wait_for_timeout(300)
        assert page.title().endswith("matrix_1")
        assert page.locator(".runs tbody tr").count() == 24
        assert HOSTILE in page.inner_text(".runs .problem")
        assert page.locator("img, image, main script").count() == 0
        assert page.locator("#matrix td").count() == 24
        assert page.locator("#matrix td", has_text="66.7").count() == 10
        assert page.inner_text("#tiles").count("4 of 24") == 1
        page.click("#states [data-state=failed]")
        assert len(listed(page)) == 1
        assert page.inner_text("#count") == "1 of 24 runs"
        page.click("#states [data-state=failed]")
        page.fill("#find", "PLANNER-1 grounder-3")
        assert [text.splitlines()[0] for text in listed(page)] == ["planner-1 + grounder-3"]
        page.fill("#find", "")
        page.click("thead button[data-name=state]")
        assert page.locator(".runs tbody .state").all_inner_texts()[:6] == ["at work"] * 5 + ["starting"]
        assert page.get_attribute("th:has([data-name=state])", "aria-sort") == "ascending"


def test_runs_on_several_data_sets_are_told_apart_and_ticked_ones_compared(browser: Browser, tmp_path: Path) -> None:
    for dataset, grounder in (("one", "a"), ("one", "b"), ("two", "a")):
        asked = manyruns.asked("none", grounder, dataset=dataset)
        run = manyruns.begin(tmp_path / "results" / f"{dataset}_{grounder}", asked)
        manyruns.answer(run, 40, "hit", "miss", "hit" if grounder == "b" else "miss")
        manyruns.finish(run)
    with served(tmp_path / "results") as address, opened(browser, address) as page:
        assert page.locator("td.dataset").all_inner_texts() == ["one", "one", "two"]
        assert page.locator("#matrix-part").is_hidden()
        page.check(".tick input >> nth=0")
        page.check(".tick input >> nth=2")
        assert "can't be compared" in page.inner_text("#compare")
        page.select_option("#dataset", "one")
        assert [text.splitlines()[0] for text in listed(page)] == ["none + a", "none + b"]
        assert page.locator("#matrix td").all_inner_texts() == ["33.3", "66.7"]
        assert page.locator("thead button").all_inner_texts()[4:7] == [
            "task success",
            "average progress",
            "step accuracy",
        ]
        page.select_option("#dataset", "")
        page.uncheck(".tick input >> nth=2")
        page.check(".tick input >> nth=1")
        page.click("#compare a")
        page.wait_for_selector("main section table")
        assert "none + b against none + a" in page.inner_text("h1")
        assert "+33.3" in page.inner_text("main")
        page.click("summary")
        assert page.get_attribute(".flips a >> nth=0", "href") == "../../run/1/#step=1/3"
        page.go_back()
        page.wait_for_selector(".runs tbody tr")


def test_it_follows_runs_and_keeps_what_the_reader_holds(browser: Browser, matrix: Path) -> None:
    with served(matrix) as address, opened(browser, address) as page:
        assert page.inner_text("#status") == "runs are at work"
        page.fill("#find", "planner-1")
        page.focus(".runs tbody a >> nth=0")
        focused = page.evaluate("document.activeElement.innerText")
        run = read_queue(matrix).runs[6]
        row = page.locator(".runs tbody tr", has_text=run.name)
        assert "54 of 180" in row.inner_text()
        manyruns.say(matrix.parent / run.run_id, {"hit": 45, "miss": 18}, steps=180, spent_usd=0.5)
        eventually(page, "document.querySelector('.runs').innerText.includes('63 of 180')")
        assert page.evaluate("document.activeElement.innerText") == focused
        assert page.input_value("#find") == "planner-1"
        write_queue(matrix, read_queue(matrix).with_run(run.run_id, state="failed", problem="no server"))
        eventually(page, "document.querySelector('#warnings').innerText.includes('2 runs failed')")
        assert "no server" in row.inner_text()
        assert row.locator(".state").inner_text() == "failed"


def test_it_fits_a_phone_in_light_and_dark(browser: Browser, matrix: Path) -> None:
    address = write_overview(matrix, matrix.parent / "all.html").as_uri()
    fits_a_phone(browser, address)
    with opened(browser, address, viewport={"width": 360, "height": 740}) as page:
        # Every row is a card in which each figure says what it is.
        label = "getComputedStyle(document.querySelector('.runs td.num'), '::before').content"
        assert page.evaluate(label) != "none"

"""The page of a run over a shop: every episode with its target marked, and whatever is said is text on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.personalwab.shops import PRODUCTS, PROFILE, task
from grounding.benchmarks.personalwab.records import Episode, FunctionCall, Observation, Turn
from grounding.benchmarks.personalwab.rows import read, write_page
from grounding.benchmarks.personalwab.scoring import ShopAsked, ShopFolder, ShopRunInfo, TaskLine, score_shop
from grounding.run.journal import Journal

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "</script><img src=x onerror=alert(1)>&lt; \u2028"


def run_folder(path: Path, words: str) -> Path:
    texts = ("dataset", "select", "agent", "agent_identity", "model", "base_url", "memory", "user", "user_identity")
    asked = ShopAsked(
        **dict.fromkeys((*texts, "functions_identity", "version"), "x"),
        fingerprint="0" * 64,
        split="test",
        memory_length=3,
        memory_tokens=None,
        search="bm25",
        track="multi",
        max_steps=10,
        preset="paper",
        seed=0,
    )
    info = ShopRunInfo(
        run_id="x", status="started", signature="", asked=asked, data_dir="", command=words, versions={}, started_at=""
    )
    folder = ShopFolder(path)
    folder.create()
    folder.write_info(info)
    tasks = [task(id=f"test/{place}", instruction=words) for place in range(3)]
    lines = [TaskLine(task=one, earlier_behaviours=4, profile=PROFILE, product=PRODUCTS["B003"]) for one in tasks]
    folder.replace_lines("steps.jsonl", lines)
    named = enumerate(("B001", "B003"))
    text = str([f"Product {place}: \n- Title: {words}\n- Parent Asin: {asin}\n" for place, asin in named])
    turns = (
        Turn(
            call=FunctionCall(name="search_product_by_query", arguments=json.dumps({"query": words})),
            observation=Observation(text=text, asins=("B001", "B003")),
        ),
        Turn(call=FunctionCall(name="respond", arguments=json.dumps({"content": words})), user_reply=words),
        Turn(call=FunctionCall(name="stop", arguments="{}"), observation=Observation(text="ended")),
    )
    journal = Journal(path / "episodes.jsonl", Episode)
    journal.append(Episode(task_id="test/0", key="k", turns=turns, end="stopped", memory=words, memory_behaviours=1))
    journal.close()
    score_shop(folder)
    folder.release()
    return path


def test_the_page_shows_the_episode_marks_the_target_and_nothing_that_is_said_is_markup(tmp_path: Path) -> None:
    path = run_folder(tmp_path / "run", HOSTILE)
    first, second, _ = read(path).rows
    assert (first.outcome, first.result, first.scores["result"]) == ("found", "hit", 0.9)
    assert (second.outcome, second.was_asked) == ("missing", False)
    told = {note.title: note.text for note in first.notes}
    (search,) = [text for title, text in told.items() if title.startswith("1. search_product_by_query(")]
    assert f"2. {HOSTILE} (B003)  ← the target" in search
    assert any(title.startswith("2. respond(") for title in told)
    assert told["Memory of the user: 1 of 4 earlier purchases"] == HOSTILE
    assert "Price Sensitivity: High" in told["The user"]
    html = write_page(path, None).read_text()
    assert html.count("</script>") == 2
    assert "<img" not in html
    assert "default-src 'none'" in html
    assert "what followed what (figure 8)" in html


@pytest.mark.slow
def test_a_browser_draws_it_and_runs_nothing_else(tmp_path: Path, browser: Browser) -> None:
    path = write_page(run_folder(tmp_path / "run", HOSTILE), None)
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(path.as_uri())
    assert page.locator("#rows .row").count() == 3
    assert page.locator("#detail .said").text_content() == HOSTILE
    assert "← the target" in page.locator("#detail").inner_text()
    page.keyboard.press("j")
    page.fill("#filter-q", "no such words")
    page.wait_for_function("document.querySelectorAll('#rows .row').length === 0")
    page.close()
    assert wrong == []

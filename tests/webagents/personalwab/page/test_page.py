"""The page of a run over a shop: whatever a model or a shop says, it is text on it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("jsonschema")

from grounding.webagents.personalwab.page.content import MAX_MEMORY_CHARS, ShopPage
from grounding.webagents.personalwab.page.gather import gather_shop
from grounding.webagents.personalwab.page.page import render_shop, write_shop_page
from grounding.webagents.personalwab.records import Episode, FunctionCall, Observation, Turn
from grounding.webagents.personalwab.runfiles import ShopAsked, ShopFolder, ShopRunInfo, TaskLine
from grounding.webagents.personalwab.scorebook import ShopScored, score_shop
from webagents.personalwab.shops import PRODUCTS, PROFILE, task

HOSTILE = "</script><img src=x onerror=alert(1)>&lt; \u2028"


def run_folder(path: Path, *, words: str = "something to boil water in", memory: str = "it was fine") -> ShopScored:
    asked = ShopAsked(
        dataset="tiny",
        fingerprint="0" * 64,
        select="all",
        split="test",
        agent="rules",
        agent_identity="a",
        model="",
        base_url="",
        memory="last",
        memory_length=3,
        memory_tokens=None,
        user="",
        user_identity="",
        functions_identity="f",
        search="bm25",
        track="multi",
        max_steps=10,
        preset="paper",
        seed=0,
        version="1",
    )
    info = ShopRunInfo(
        run_id="x", status="started", signature="", asked=asked, data_dir="", command=words, versions={}, started_at=""
    )
    folder = ShopFolder(path)
    folder.create()
    folder.write_info(info)
    lines = [
        TaskLine(
            task=task(id=f"test/{place}", instruction=words),
            earlier_behaviours=4,
            profile=PROFILE,
            product=PRODUCTS["B003"],
        )
        for place in range(3)
    ]
    folder.write_tasks(lines)
    journal = folder.episodes()
    text = "".join(
        f"\nProduct {place}:\n- Title: {words}\n- Parent Asin: {asin}\n" for place, asin in enumerate(("B001", "B003"))
    )
    turns = (
        Turn(
            call=FunctionCall(name="search_product_by_query", arguments=json.dumps({"query": words})),
            observation=Observation(text=text, asins=("B001", "B003")),
        ),
        Turn(call=FunctionCall(name="respond", arguments=json.dumps({"content": words})), user_reply=words),
        Turn(call=FunctionCall(name="stop", arguments="{}"), observation=Observation(text="ended")),
    )
    journal.append(Episode(task_id="test/0", key="k", turns=turns, end="stopped", memory=memory, memory_behaviours=1))
    journal.close()
    scored = score_shop(folder)
    folder.release()
    return scored


def data_of(html: str) -> ShopPage:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert found is not None
    return msgspec.json.decode(found[1], type=ShopPage)


def test_the_page_shows_the_episode_and_marks_the_target(tmp_path: Path) -> None:
    page = gather_shop(run_folder(tmp_path / "run"))
    first, second, _ = page.tasks
    assert (first.outcome, first.paper, first.target) == ("found", 0.9, "B003")
    assert [turn.name for turn in first.turns] == ["search_product_by_query", "respond", "stop"]
    assert first.turns[0].asins == ("B001", "B003")
    assert first.turns[0].right
    assert first.turns[1].user == "something to boil water in"
    assert (second.outcome, second.turns) == ("missing", ())
    assert dict(first.profile)["Price Sensitivity"] == "High"
    assert page.products["B001"] == "something to boil water in"


def test_nothing_that_is_said_is_markup(tmp_path: Path) -> None:
    html = render_shop(gather_shop(run_folder(tmp_path / "run", words=HOSTILE, memory=HOSTILE)))
    assert html.count("</script>") == 2
    assert "<img" not in html
    assert data_of(html).tasks[0].instruction == HOSTILE
    assert "default-src 'none'" in html


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    page = gather_shop(run_folder(tmp_path / "run", memory="x" * (MAX_MEMORY_CHARS + 5)))
    assert page.tasks[0].memory.endswith("x … (5 characters more)")


@pytest.mark.slow
def test_a_browser_draws_it_and_runs_nothing_else(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    import shutil

    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("there is no chromium")
    path = write_shop_page(run_folder(tmp_path / "run", words=HOSTILE))
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(path.as_uri())
        assert page.locator(".item").count() == 3
        assert page.locator("#detail .said").text_content() == HOSTILE
        assert "← the target" in page.locator("li.target").inner_text()
        page.select_option("#outcome", "missing")
        assert page.locator("#count").inner_text() == "2 of 3 tasks"
        page.keyboard.press("j")
        page.fill("#words", "no such words")
        assert page.locator(".item").count() == 0
        opened.close()
    assert wrong == []

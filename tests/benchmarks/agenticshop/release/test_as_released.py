"""What the release's own programs sent and added up, recorded, beside what we send and add up.

``recorded/`` was made by running the release (github.com/happysnail06/AgenticShop at 884800f) with the ``openai``
package against a server that keeps requests: ``judge.json`` and ``extractor.json`` are what its Evaluator and its
Extractor sent for ``inputs.json`` and ``page.html``, ``search.jsonl`` what its gpt_search.py sent for the profiles of
``inputs.json``; ``reports.json`` has reports of a judge and what its collect_results.py made of them.
"""

from __future__ import annotations

import asyncio
import base64
import http.server
import io
import itertools
import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes import make
from PIL import Image

from grounding.benchmarks.agenticshop.agents.search import Interface, request_text
from grounding.benchmarks.agenticshop.extraction.model import ExtractionPrompts
from grounding.benchmarks.agenticshop.judge.base import JudgedProduct
from grounding.benchmarks.agenticshop.judge.model import ModelJudge, judge_prompt, official_messages, reply_form
from grounding.benchmarks.agenticshop.loader import read_curation
from grounding.benchmarks.agenticshop.records import DIMENSIONS, ChecklistItem, Judgement, PageClass, view_of
from grounding.benchmarks.agenticshop.release import read_evaluation, read_extraction
from grounding.benchmarks.agenticshop.released import (
    ReleasedWire,
    extraction_messages,
    extraction_text,
    open_released,
    page_text,
    part_bounds,
)
from grounding.benchmarks.agenticshop.scores import official_figures
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.calls import read_wording
from grounding.cards import SearchCard, find_card
from grounding.cards.places import models_dir
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.run.display import Progress

from ..made import made_curation, made_extraction, made_task, verdicts_of

RECORDED = Path(__file__).parent / "recorded"
INPUTS = json.loads((RECORDED / "inputs.json").read_text(encoding="utf-8"))
CHECKLIST = tuple(
    ChecklistItem(dimension=dimension, number=number, text=text)
    for dimension in DIMENSIONS
    for number, text in enumerate(INPUTS["checklist"].get(dimension, ()))
)


def encoded(messages: Any, prompt: Any) -> bytes:
    return ReleasedWire({}).encode("gpt-5-mini", messages, {}, tools=(reply_form(prompt),))


def test_the_judge_is_asked_byte_for_byte() -> None:
    prompt = judge_prompt("official")
    subject = JudgedProduct(checklist=CHECKLIST, extraction=read_extraction("t/u/0", INPUTS["extraction"]))
    sent = encoded(official_messages(prompt, subject), prompt)
    assert sent == (RECORDED / "judge.json").read_bytes()


def test_the_extractor_is_asked_byte_for_byte() -> None:
    prompt = read_wording("agenticshop", "extraction-release", ExtractionPrompts)
    html = (RECORDED / "page.html").read_text(encoding="utf-8")
    recorded = json.loads((RECORDED / "extractor.json").read_bytes())
    pictures = [message["content"][0]["image_url"] for message in recorded["input"][2:]]
    text = extraction_text(prompt, INPUTS["url"], html)
    sent = encoded(extraction_messages(prompt, text, pictures), prompt)
    assert sent == (RECORDED / "extractor.json").read_bytes()
    for url in pictures:
        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
            assert picture.format == "PNG"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<header>h</header><p>a<ruby>b<rt>c</rt></ruby><p> d&nbsp;e <template>t</template>", "a\nb\nd\xa0e"),
        ("<p>a</p><![CDATA[ x ]]><!-- y --><nav>z</nav>\n\n<pre>1\n\n 2</pre>", "a\nx\n1\n 2"),
    ],
)
def test_a_page_is_read_as_the_releases_library_reads_it(html: str, text: str) -> None:
    assert page_text(html) == text


def test_the_search_is_asked_byte_for_byte(tmp_path: Path) -> None:
    for profile, sent in zip(INPUTS["profiles"], (RECORDED / "search.jsonl").read_bytes().splitlines(), strict=True):
        (tmp_path / "open_user_profile.json").write_text(json.dumps([profile]))
        (task,) = read_curation(tmp_path).tasks
        card = find_card("gpt-4o-search", models_dir() / "search", SearchCard, builtin=(), kind="search model")
        assert Interface(card).request(request_text(view_of(task), in_words=False)) == sent


@pytest.mark.parametrize(("height", "parts"), [(300, 1), (720, 1), (721, 2), (1440, 3), (2160, 4), (9_000, 5)])
def test_a_page_is_cut_as_the_release_cuts_it(height: int, parts: int) -> None:
    bounds = part_bounds(height)
    assert len(bounds) == parts
    assert (bounds[0][0], bounds[-1][1]) == (0, height)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(bounds))


def figures_of(scenario: Any, users: dict[str, list[dict[str, Any] | None]]) -> Any:
    places = []
    for user, reports in users.items():
        task, judgements = made_task(user, scenario), {}
        for rank, stats in enumerate(reports):
            # A report that is none stands for one that is not recorded.
            read = read_evaluation(f"{task.id}/{rank}", stats and {"stats": stats}, task.checklist)
            judgements[f"{task.id}/{rank}"] = read
        urls = [f"http://a.test/{rank}" for rank in range(3)]
        extractions = tuple(made_extraction(task, rank, url) for rank, url in enumerate(urls))
        places.append(verdicts_of(task, made_curation(task, urls), extractions, judgements, "release"))
    return official_figures(places)


def test_scores_are_the_releases_digit_for_digit() -> None:
    recorded = json.loads((RECORDED / "reports.json").read_text())
    for scenario, users in recorded["reports"].items():
        found, expected = figures_of(scenario, users), recorded["figures"][scenario]
        assert found.satisfaction_percentage == expected["average_satisfaction_percentage"]
        assert {f"average_{name}_percentage": value for name, value in found.dimensions.items()} == {
            name: value for name, value in expected.items() if name.removeprefix("average_")[:-11] in DIMENSIONS
        }


def test_a_judge_that_was_asked_for_no_sum_has_no_official_figure() -> None:
    found = figures_of("explicit_title", {"u": [{"is_product_page": True}] * 3})
    assert (found.satisfaction_percentage, found.dimensions, found.products) == (None, {}, 0)


def test_a_report_without_a_sum_counts_as_0_beside_others() -> None:
    # So collect_results.py counts it; it takes any blanks around the digits, too.
    reports: list[dict[str, Any] | None] = [
        {"satisfaction_percentage": 50.0, "price_sensitivity_percentage": "1\u00a0/ 2"},
        {"is_product_page": True},
    ]
    found = figures_of("explicit_title", {"u": reports})
    assert (found.satisfaction_percentage, found.products) == (25.0, 2)
    assert found.dimensions["price_sensitivity"] == 50.0


def test_means_are_added_up_one_after_the_other() -> None:
    # Users whose sum by sum() of Python 3.12 rounds to another last digit.
    percentages = [26.05, 80.5, 54.87, 1.4, 71.97, 39.88, 82.48, 66.82]
    users: dict[str, list[dict[str, Any] | None]] = {
        f"u{number:02}": [{"satisfaction_percentage": one}] for number, one in enumerate(percentages)
    }
    total = 0.0
    for one in percentages:
        total += one
    assert figures_of("explicit_title", users).satisfaction_percentage == round(total / len(percentages), 4)
    assert round(math.fsum(percentages) / len(percentages), 4) != round(total / len(percentages), 4)


# --- over HTTP -----------------------------------------------------------------------------------------------------


@contextmanager
def vendor(*texts: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of the Responses API that says these texts one after the other, and keeps what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Nothing is logged."""

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            content = [{"type": "output_text", "text": texts[len(asked) - 1]}]
            output = [
                {"type": "web_search_call", "action": {"type": "search"}},
                {"type": "message", "content": content},
            ]
            usage = {"input_tokens": 100, "output_tokens": 10}
            body = json.dumps({"status": "completed", "model": "m", "output": output, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


def report(percentage: float, *, product: bool = True) -> str:
    stats = {"is_product_page": product, "satisfaction_percentage": percentage}
    page = {"accessible": True, "is_specific_product_page": product}
    return json.dumps({"page_accessibility": page, "stats": stats, "annotated_checklist": {}})


def judged_links(folder: Path, classes: tuple[PageClass, ...], *texts: str) -> tuple[Any, list[Judgement], list[Any]]:
    task = made_task()
    urls = [f"http://a.test/{rank}" for rank in range(len(classes))]
    extractions = tuple(
        made_extraction(task, rank, url, page_class=kind, **({} if kind == "product" else {"facts": None}))
        for rank, (url, kind) in enumerate(zip(urls, classes, strict=True))
    )
    price = {"input_usd": 1, "output_usd": 1, "date": "2026-11-01"}

    async def run(base_url: str) -> list[Judgement]:
        card, chat = make.planner_card(price=price), ChatOptions(base_url=base_url)
        how: Any = {"budget": Budget(None), "progress": Progress("none", {}, (), "products")}
        judge = ModelJudge(open_released(card, chat, flag="--judge-base-url", **how), released=True)
        products = [JudgedProduct(checklist=task.checklist, extraction=one) for one in extractions]
        try:
            return [await judge.judge(one, EvidenceFolder(folder), "k") for one in products]
        finally:
            await judge.aclose()

    with vendor(*texts) as (base_url, asked):
        found = asyncio.run(run(base_url))
    by_product = {one.step_id.removesuffix("/p@official"): one for one in found}
    return verdicts_of(task, made_curation(task, urls), extractions, by_product, "p@official"), found, asked


def test_one_good_and_two_bad_links_are_a_third(tmp_path: Path) -> None:
    texts = report(99.0), report(0.0, product=False), report(0.0, product=False)
    places, judgements, asked = judged_links(tmp_path, ("product", "listing", "error"), *texts)
    assert [one["tools"] for one in asked] == [[{"type": "web_search"}]] * 3
    assert official_figures([places]).satisfaction_percentage == 33.0
    assert [one.outcome for one in places] == ["judged", "not-product", "unreachable"]
    # Tokens and the search are paid.
    assert judgements[0].call is not None
    assert judgements[0].call.cost_usd == pytest.approx(0.01 + 110e-6)


def test_a_reply_that_cannot_be_read_twice_is_unparsed_and_in_no_score(tmp_path: Path) -> None:
    places, judgements, asked = judged_links(tmp_path, ("product", "product"), "what?", "no", "what?", report(50.0))
    assert len(asked) == 4
    assert [one.outcome for one in places] == ["unparsed", "judged", "not-curated"]
    assert places[0].share is None
    assert judgements[0].failure is not None
    assert (judgements[0].failure.kind, judgements[0].requests, judgements[1].requests) == ("unparsed", 2, 2)
    assert official_figures([places]).satisfaction_percentage == 50.0

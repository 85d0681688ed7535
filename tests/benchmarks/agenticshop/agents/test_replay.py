from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from grounding.benchmarks.agenticshop.agents.recorded import open_recorded
from grounding.benchmarks.agenticshop.records import Curation, CurationTask, TraceStep, view_of
from grounding.errors import UserError
from grounding.records import Call, Failure
from grounding.run.journal import Journal

from ..made import made_curation, made_task

A, B = "https://shop.example/a", "https://shop.example/b"


def curate(path: Path, task: CurationTask | None = None) -> Curation:
    return asyncio.run(open_recorded(path).curate(view_of(task or made_task()), "a key"))


def test_outputs_of_the_release(tmp_path: Path) -> None:
    products = [{"product_name": "Tea", "product_url": A, "reasoning": "cheap"}, {"product_url": B}]
    entries = [{"user": "u1", "search_results": products}, {"user": "u2", "search_results": [], "error": "too slow"}]
    file = tmp_path / "grocery_explicit_title_search_output.json"
    file.write_text(json.dumps(entries))
    for path in (file, tmp_path):
        found = [(one.url, one.name, one.reasoning) for one in curate(path).products]
        assert found == [(A, "Tea", "cheap"), (B, "", "")]
    assert curate(file, made_task("u2")).failure == Failure(kind="error", message="too slow")
    missing = curate(file, made_task("u1", "low_involvement")).failure
    assert missing is not None
    assert missing.kind == "missing"
    # Under another name it is for every scenario; the same content is the same agent.
    (tmp_path / "mine.json").write_text(json.dumps(entries))
    assert len(curate(tmp_path / "mine.json", made_task("u1", "low_involvement")).products) == 2
    assert open_recorded(file).identity == open_recorded(tmp_path).identity
    before = open_recorded(file).identity
    file.write_text(json.dumps(entries[:1]))
    assert open_recorded(file).identity != before


def test_an_earlier_run(tmp_path: Path) -> None:
    task, other = made_task(), made_task("u2")
    trace = (TraceStep(action="search", screenshot="ab" * 32 + ".png"),)
    none = Failure(kind="unparsed", message="no JSON")
    journal = Journal(tmp_path / "curations.jsonl", Curation)
    journal.append(made_curation(task, [A], failure=None))
    journal.append(made_curation(task, [B], trace=trace, call=Call(seconds=1.0, cost_usd=2.0), requests=3))
    journal.append(made_curation(other, [], failure=none))
    journal.close()
    for path in (tmp_path, tmp_path / "curations.jsonl"):
        found = curate(path)
        assert [one.url for one in found.products] == [B]
        assert (found.call, found.requests, found.trace) == (None, 3, (TraceStep(action="search"),))
        assert curate(path, other).failure == none


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{}", "is not a list of curated products"),
        ("a.json", '[{"search_results": []}]', "item 0: expected an object with a user"),
        ("a.json", '[{"user": "u", "search_results": [3]}]', "search_results must be a list of objects"),
        ("a.json", "[", "is no JSON"),
        ("a.jsonl", '{"step_id": "nonsense", "key": "k"}\n', "is no task of users"),
        ("a.txt", "x", "unknown form"),
        ("folder/a.txt", "x", r"no \*_search_output.json"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    with pytest.raises(UserError, match=said):
        open_recorded(path.parent if "/" in name else path)

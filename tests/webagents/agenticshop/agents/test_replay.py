from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.journal import Journal
from grounding.records import Call, Failure
from grounding.webagents.agenticshop.agents.recorded import open_recorded
from grounding.webagents.agenticshop.agents.replay import ReplayAgent
from grounding.webagents.agenticshop.records import Curation, CurationTask, TraceStep, view_of

from ..made import made_curation, made_task

A, B, C = ("https://shop.example/a", "https://shop.example/b", "https://shop.example/c")


def curate(path: Path, task: CurationTask | None = None) -> Curation:
    return asyncio.run(ReplayAgent(path).curate(view_of(task or made_task()), "a key"))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def urls(curation: Curation) -> list[str]:
    return [product.url for product in curation.products]


def test_outputs_of_the_release(tmp_path: Path) -> None:
    products = [{"product_name": "Tea", "product_url": A, "reasoning": "cheap"}, {"product_url": B}]
    entries = [{"user": "u1", "search_results": products}, {"user": "u2", "search_results": [], "error": "too slow"}]
    file = write(tmp_path / "grocery_explicit_title_search_output.json", json.dumps(entries))
    for path in (file, tmp_path):
        found = curate(path)
        assert urls(found) == [A, B]
        assert (found.products[0].name, found.products[0].reasoning, found.products[1].name) == ("Tea", "cheap", "")
    failed = curate(file, made_task("u2")).failure
    assert failed == Failure(kind="error", message="too slow")
    missing = curate(file, made_task("u1", "low_involvement")).failure
    assert missing is not None
    assert missing.kind == "missing"


def test_an_output_under_another_name_is_for_every_scenario(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.json", json.dumps([{"user": "u1", "search_results": [{"product_url": A}]}]))
    assert urls(curate(file)) == urls(curate(file, made_task("u1", "low_involvement"))) == [A]


def test_an_earlier_run(tmp_path: Path) -> None:
    task, other = made_task(), made_task("u2")
    trace = (TraceStep(action="search", screenshot="ab" * 32 + ".png"),)
    first = made_curation(task, [A], failure=None)
    second = made_curation(task, [B, C], trace=trace, call=Call(seconds=1.0, cost_usd=2.0), requests=3)
    failed = made_curation(other, [], failure=Failure(kind="unparsed", message="no JSON"))
    journal = Journal(tmp_path / "curations.jsonl", Curation)
    for one in (first, second, failed):
        journal.append(one)
    journal.close()
    for path in (tmp_path, tmp_path / "curations.jsonl"):
        found = curate(path)
        assert urls(found) == [B, C]
        assert (found.call, found.requests, found.trace) == (None, 3, (TraceStep(action="search"),))
        assert curate(path, other).failure == failed.failure


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", f"task_id,url,name\nexplicit_title/u1,{A},Tea\nexplicit_title/u1,{B},\nlow_involvement/u1,{C},\n"),
        ("a.csv", f"\ufeffuser,scenario,url\nu1,Exp. Title,{A}\nu1,grocery_explicit_title,{B}\nu1,home,{C}\n"),
        ("a.tsv", f"user\turl\nu1\t{A}\nu1\t{B}\n"),
        ("a.csv", f"user,url,rank\nu1,{B},1\nu1,{A},0\n"),
        ("a.jsonl", f'{{"user": "u1", "url": "{A}", "price": 3}}\n\n{{"user": "u1", "url": "{B}", "name": null}}\n'),
    ],
)
def test_tables(tmp_path: Path, name: str, text: str) -> None:
    assert urls(curate(write(tmp_path / name, text))) == [A, B]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "task_id,url\nexplicit_title/u1,\n", "line 2: there is no url"),
        ("a.csv", "task_id,url\nnonsense,http://a\n", "expected SCENARIO/USER"),
        ("a.csv", "url\nhttp://a\n", "neither a task_id nor a user"),
        ("a.csv", "user,url,rank\nu,http://a,first\n", "expected a whole number"),
        ("a.csv", "user,scenario,url\nu,nowhere,http://a\n", "no scenario is called 'nowhere'"),
        ("a.jsonl", '{"user": "u", "url": ["x"]}\n', "line 1"),
        ("a.json", "{}", "is not a list of curated products"),
        ("a.json", '[{"search_results": []}]', "item 0: expected an object with a user"),
        ("a.json", '[{"user": "u", "search_results": [3]}]', "search_results must be a list of objects"),
        ("a.json", "[", "is no JSON"),
        ("a.txt", "x", "unknown form"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("(", r"\(")):
        ReplayAgent(write(tmp_path / name, text))


def test_a_folder_without_anything(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no \*_search_output.json"):
        open_recorded("replay", tmp_path)


def test_the_same_content_is_the_same_agent(tmp_path: Path) -> None:
    first = ReplayAgent(write(tmp_path / "a.csv", f"user,url\nu1,{A}\n"))
    (tmp_path / "b").mkdir()
    second = ReplayAgent(write(tmp_path / "b" / "a.csv", f"user,url\nu1,{A}\n"))
    third = ReplayAgent(write(tmp_path / "a.csv", f"user,url\nu1,{B}\n"))
    assert first.identity == second.identity != third.identity
    assert first.owners == {(None, "u1")}

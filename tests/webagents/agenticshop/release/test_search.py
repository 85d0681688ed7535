from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.loaders.problems import DatasetProblems
from grounding.records import Failure
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.records import Curated, Curation, Target
from grounding.webagents.agenticshop.release import (
    read_search_input,
    read_search_output,
    write_search_input,
    write_search_output,
)

from ..made import made_curation, made_task

REAL = Path(__file__).resolve().parents[5] / "shared" / "data" / "agenticshop"
TASKS = (made_task("u1"), made_task("u2"), made_task("u1", "low_involvement"))

texts = st.text(max_size=30)
products = st.lists(st.tuples(texts, texts, texts), max_size=4).map(
    lambda found: tuple(Curated(rank=rank, url=a, name=b, reasoning=c) for rank, (a, b, c) in enumerate(found))
)
failures = st.builds(Failure, kind=st.just("error"), message=st.text(min_size=1, max_size=30))


def test_the_files_are_the_releases(tmp_path: Path) -> None:
    curations = {
        TASKS[0].id: made_curation(TASKS[0], ["http://a", "http://b"]),
        TASKS[2].id: made_curation(TASKS[2], [], failure=Failure(kind="error", message="too slow")),
    }
    written = write_search_output(tmp_path, TASKS, curations)
    assert [path.name for path in written] == [
        "grocery_explicit_title_search_output.json",
        "home_search_output.json",
    ]
    assert json.loads(written[0].read_text()) == [
        {
            "user": "u1",
            "search_results": [
                {"product_name": "Product 0", "product_url": "http://a", "reasoning": ""},
                {"product_name": "Product 1", "product_url": "http://b", "reasoning": ""},
            ],
        }
    ]
    assert json.loads(written[1].read_text()) == [{"user": "u1", "search_results": [], "error": "too slow"}]


@settings(max_examples=40)
@given(st.lists(st.none() | products | failures, min_size=3, max_size=3))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, answers: list[tuple[Curated, ...] | Failure | None]
) -> None:
    folder = tmp_path_factory.mktemp("outputs")
    curations = {}
    for task, answer in zip(TASKS, answers, strict=True):
        if isinstance(answer, Failure):
            curations[task.id] = Curation(step_id=task.id, key="", failure=answer)
        elif answer is not None:
            nothing = None if answer else Failure(kind="unparsed", message="the answer holds no products")
            curations[task.id] = Curation(step_id=task.id, key="", products=answer, failure=nothing)
    if not write_search_output(folder, TASKS, curations):
        return
    found = read_search_output(folder, TASKS)
    assert found.odd == ()
    again = {one.step_id: one for one in found.curations}
    # An answer without products has no words of its own in the release: it is a failure with the words that we gave it.
    unparsed = {name for name, one in curations.items() if one.failure is not None and one.failure.kind == "unparsed"}
    for name in unparsed:
        assert again.pop(name).failure == Failure(kind="error", message="the answer holds no products")
    assert again == {name: one for name, one in curations.items() if name not in unparsed}


def test_users_of_no_task_and_later_entries(tmp_path: Path) -> None:
    entries = [
        {"user": "u1", "search_results": [{"product_url": "http://first"}]},
        {"user": "stranger", "search_results": []},
        {"user": "u1", "search_results": [{"product_url": "http://last", "product_name": None, "reasoning": 3}]},
        {"user": "u2", "search_results": None},
    ]
    file = tmp_path / "home_search_output.json"
    file.write_text(json.dumps(entries))
    tasks = (made_task("u1", "low_involvement"), made_task("u2", "low_involvement"))
    found = read_search_output(file, tasks)
    assert found.odd == ("home_search_output.json: 1 users that the data set does not have, such as 'stranger'",)
    first, second = found.curations
    assert first.products == (Curated(rank=0, url="http://last", name="", reasoning="3"),)
    assert second.failure == Failure(kind="unparsed", message="the answer holds no products")


def test_a_name_without_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("[]")
    with pytest.raises(UserError, match="says no scenario"):
        read_search_output(tmp_path / "mine.json", TASKS)
    with pytest.raises(UserError, match=r"no \*_search_output"):
        read_search_output(tmp_path, TASKS)


# --- inputs --------------------------------------------------------------------------------------------------------


def test_inputs_hold_the_prompt_and_come_back_as_tasks(tmp_path: Path) -> None:
    tasks = (
        made_task("u1", query_type="", target=None),
        made_task("u2", query_type="", product_type=None, budget=None),
    )
    (path,) = write_search_input(tmp_path, tasks)
    entry = json.loads(path.read_text())[0]
    assert list(entry) == ["user", "seed_product_type", "prompt", "variables", "check_list"]
    assert 'The user says: "alder tea 50 bags".' in entry["prompt"]
    assert read_search_input(path) == tasks


def test_inputs_without_what_the_release_leaves_out(tmp_path: Path) -> None:
    task = made_task("u1", target=Target(title="Secret"))
    (path,) = write_search_input(tmp_path, [task])
    assert "Secret" not in path.read_text()
    (again,) = read_search_input(path)
    assert (again.query_type, again.target) == ("", None)


def test_inputs_that_are_wrong(tmp_path: Path) -> None:
    path = tmp_path / "home_search_input.json"
    path.write_text(json.dumps([{"user": "u1", "variables": {"user_query": ""}, "check_list": {}}]))
    with pytest.raises(DatasetProblems, match="user_query"):
        read_search_input(path)
    path.write_text("[3]")
    with pytest.raises(UserError, match="item 0"):
        read_search_input(path)


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_inputs_of_the_released_samples(tmp_path: Path) -> None:
    tasks = load_curation("agenticshop", REAL).tasks
    for path in write_search_input(tmp_path, tasks):
        for task in read_search_input(path):
            (same,) = [one for one in tasks if one.id == task.id]
            assert (task.query, task.context, task.checklist) == (same.query, same.context, same.checklist)

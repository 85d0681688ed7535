from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.loader import (
    MAX_TEXT_CHARS,
    curation_fingerprint,
    load_curation,
    profile_of,
    read_curation,
)
from grounding.benchmarks.agenticshop.records import DIMENSIONS, ROWS, CurationTask, Target, view_of
from grounding.data.fields import DatasetProblems
from grounding.errors import UserError

from .profiles import profile, profiles, write_profiles

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "agenticshop"


def one(folder: Path, key: str = "home", **more: Any) -> CurationTask:
    return read_curation(write_profiles(folder, [profile(**more)], key)).tasks[0]


def test_a_user_becomes_a_task_and_an_agent_is_told_neither_checklist_nor_target(tmp_path: Path) -> None:
    task = one(tmp_path, target={"title": "Mudlark 3", "brand": "Fenway", "product_type": "Shoes"})
    assert (task.id, task.user, task.scenario) == ("low_involvement/USER0", "USER0", "low_involvement")
    assert (task.product_type, task.budget, task.query_type) == ("Trail Shoes", "under $50", "categorical")
    assert task.query == "looking for a trail shoes"
    assert task.context.price_sensitivity == "price_sensitivity: cares about the trail shoes"
    assert [item.id for item in task.checklist] == [f"{dimension}/0" for dimension in DIMENSIONS]
    assert task.target == Target(title="Mudlark 3", brand="Fenway", product_type="Shoes")
    told = msgspec.json.encode(view_of(task)).decode()
    assert "Mudlark" not in told
    assert "Colour" not in told


def test_what_may_be_absent(tmp_path: Path) -> None:
    entry = profile(seed_product_type=None, budget_range=None, user_query="", target=None, extra=[1], other=2)
    del entry["situation"]
    del entry["user_context"]["price_sensitivity"]
    entry["check_list"] = {"price_sensitivity": ["cheap"], "review_sensitivity": [], "brand_preferences": None}
    found = read_curation(write_profiles(tmp_path, [entry], "open"))
    task = found.tasks[0]
    assert (task.product_type, task.budget, task.query, task.situation, task.target) == (None, None, "", "", None)
    assert [item.id for item in task.checklist] == ["price_sensitivity/0"]


def test_every_user_with_a_problem_is_said_with_its_place(tmp_path: Path) -> None:
    entries: list[Any] = profiles()
    entries[0]["user_query"] = " "
    entries[1]["check_list"]["price_sensitivity"] = ["fine", 3]
    entries[2]["check_list"]["colour"] = ["red"]
    entries[3]["user_context"] = "a text"
    entries[4]["user"] = "../etc"
    long = profile(0, user="long", situation="x" * (MAX_TEXT_CHARS + 1))
    many = profile(0, user="many", check_list={"brand_preferences": ["an item"] * 201})
    fine = profile(1, user="fine")
    entries += [17, profile(1, user="none", check_list={}), long, many, fine, fine]
    expected = (
        "item 0: user_query: Expected what the user says",
        "item 1: check_list.price_sensitivity[1]: Expected `str`, got `int`",
        "item 2: check_list: Object contains unknown field `colour`",
        "item 3: user_context: Expected `object`, got `str`",
        "item 4: user: Expected `str` matching regex",
        "item 5: Expected `object`, got `int`",
        "item 6: check_list: Expected items",
        "item 7: situation: Expected `str` of length <= 20000",
        "item 8: check_list.brand_preferences: Expected `array` of length <= 200",
        "item 10: user: fine is that of item 9 already",
    )
    with pytest.raises(DatasetProblems) as caught:
        read_curation(write_profiles(tmp_path, entries))
    for problem, begin in zip(caught.value.problems, expected, strict=True):
        assert str(problem).startswith(f"{tmp_path / 'home_user_profile.json'}: {begin}")


def test_any_of_the_files_will_do_and_the_order_is_the_papers(tmp_path: Path) -> None:
    for key in ("open", "home", "grocery_explicit_title"):
        write_profiles(tmp_path, [profile()], key)
    write_profiles(tmp_path, [profile()], "garden")
    found = read_curation(tmp_path)
    assert [task.scenario for task in found.tasks] == ["explicit_title", "low_involvement", "casual_browsing"]
    (task,) = read_curation(tmp_path, scenarios=["casual_browsing"]).tasks
    assert task.scenario == "casual_browsing"
    with pytest.raises(UserError, match="no users of high_involvement"):
        read_curation(tmp_path, scenarios=["high_involvement", "casual_browsing"])


def test_where_the_files_may_lie(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none of grocery_explicit_title_user_profile"):
        read_curation(tmp_path)
    write_profiles(tmp_path / "data" / "user_profiles_samples", [profile(0)])
    assert read_curation(tmp_path).tasks[0].user == "USER0"
    write_profiles(tmp_path / "data" / "user_profiles", [profile(1)])
    both = read_curation(tmp_path)
    assert [task.user for task in both.tasks] == ["USER1"]
    assert both.folder == str(tmp_path / "data" / "user_profiles")
    (tmp_path / "data" / "user_profiles" / "home_user_profile.json").unlink()
    write_profiles(tmp_path / "data" / "mine", [profile(1)])
    with pytest.raises(UserError, match=r"several folders \(mine, user_profiles_samples\)"):
        read_curation(tmp_path)


def test_by_name(tmp_path: Path) -> None:
    write_profiles(tmp_path, [profile()])
    assert load_curation("agenticshop", tmp_path).name == "agenticshop"
    with pytest.raises(UserError, match="say where it lies"):
        load_curation("agenticshop")
    with pytest.raises(UserError, match="its layout is realwebassist"):
        load_curation("sample-web")


def test_the_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    whole = read_curation(write_profiles(tmp_path / "a", profiles()))
    turned = read_curation(write_profiles(tmp_path / "b", profiles()[::-1]), name="other")
    changed = profiles()
    changed[2]["check_list"]["price_sensitivity"] = ["other words"]
    other = read_curation(write_profiles(tmp_path / "c", changed))
    assert whole.fingerprint == turned.fingerprint != other.fingerprint


texts = st.text(max_size=20).filter(lambda text: bool(text.strip()))


@settings(max_examples=40)
@given(data=st.data(), key=st.sampled_from(["home", "open"]))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, key: str) -> None:
    entry = profile(
        user_query=data.draw(texts),
        situation=data.draw(texts).strip(),
        check_list={dimension: data.draw(st.lists(texts, min_size=1, max_size=3)) for dimension in DIMENSIONS},
        target=data.draw(
            st.none() | st.fixed_dictionaries({"title": texts.map(str.strip), "brand": texts.map(str.strip)})
        ),
    )
    entry["user_query"] = entry["user_query"].strip()
    task = one(tmp_path_factory.mktemp("a"), key, **entry)
    again = read_curation(write_profiles(tmp_path_factory.mktemp("b"), [profile_of(task)], key)).tasks[0]
    assert again == task
    assert curation_fingerprint([again]) == curation_fingerprint([task])


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_the_released_samples() -> None:
    found = load_curation("agenticshop", REAL)
    assert len(found.tasks) == 35
    assert sum(len(task.checklist) for task in found.tasks) == 682
    for task in found.tasks:
        file = next(REAL.glob(ROWS[task.scenario].file("user_profile")))
        entry = next(one for one in json.loads(file.read_text()) if one["user"] == task.user)
        assert profile_of(task) == entry


def test_targets_come_from_the_raw_file_beside_the_profiles(tmp_path: Path) -> None:
    key = "grocery_explicit_title"
    folder = write_profiles(tmp_path / "data" / "user_profiles_samples", [profile()], key)
    before = read_curation(folder)
    assert before.tasks[0].target is None
    product = {"title": "Dark Roast", "store": "A Shop", "details": '{"Brand": "Alder"}', "categories": ["Coffee"]}
    users = {before.tasks[0].user: [{"stats": {}}, {"target": {"product": product}, "review": []}]}
    raw = tmp_path / "data" / "user_raw"
    raw.mkdir()
    (raw / "Grocery_and_Gourmet_Food.json").write_text(json.dumps(users))
    after = read_curation(folder)
    assert after.tasks[0].target == Target(title="Dark Roast", brand="Alder", product_type="Trail Shoes")
    # No agent and no judge sees it: the data are the same.
    assert after.fingerprint == before.fingerprint
    assert view_of(after.tasks[0]) == view_of(before.tasks[0])
    (raw / "Grocery_and_Gourmet_Food.json").write_text("[")
    with pytest.raises(UserError, match="not a file of AgenticShop's raw users"):
        read_curation(folder)

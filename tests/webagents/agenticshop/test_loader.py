from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.loaders.problems import DatasetProblems
from grounding.webagents.agenticshop.fingerprint import curation_fingerprint
from grounding.webagents.agenticshop.layout import MAX_TEXT_CHARS, profile_of
from grounding.webagents.agenticshop.loader import load_curation, read_curation
from grounding.webagents.agenticshop.records import DIMENSIONS, CurationTask, Target, view_of

from .profiles import profile, profiles, write_profiles

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "agenticshop"


def problems(folder: Path, entries: object, key: str = "home") -> list[str]:
    with pytest.raises(DatasetProblems) as caught:
        read_curation(write_profiles(folder, entries, key))
    return [str(problem) for problem in caught.value.problems]


def one(folder: Path, key: str = "home", **more: Any) -> CurationTask:
    return read_curation(write_profiles(folder, [profile(**more)], key)).tasks[0]


def test_a_user_becomes_a_task(tmp_path: Path) -> None:
    task = one(tmp_path)
    assert (task.id, task.user, task.scenario) == ("low_involvement/USER0", "USER0", "low_involvement")
    assert (task.product_type, task.budget, task.query_type) == ("Trail Shoes", "under $50", "categorical")
    assert task.query == "looking for a trail shoes"
    assert task.context.price_sensitivity == "price_sensitivity: cares about the trail shoes"
    assert [item.id for item in task.checklist] == [f"{dimension}/0" for dimension in DIMENSIONS]
    assert task.target is None


def test_an_agent_is_told_neither_checklist_nor_target(tmp_path: Path) -> None:
    task = one(tmp_path, target={"title": "Mudlark 3", "brand": "Fenway", "product_type": "Shoes"})
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
    assert found.warnings == (
        "open_user_profile.json: 1 of 1 users without a checklist in some dimension",
        "open_user_profile.json: 1 of 1 users without a context in some dimension",
        'open_user_profile.json: fields that nobody reads: "extra", "other"',
    )


def test_every_problem_at_once_with_its_place(tmp_path: Path) -> None:
    entries: list[Any] = profiles()
    entries[0]["user_query"] = " "
    entries[1]["check_list"]["price_sensitivity"] = ["fine", 3]
    entries[2]["check_list"]["colour"] = ["red"]
    entries[3]["user_context"] = "a text"
    entries[4]["user"] = "../etc"
    entries += [17, {**profile(1), "check_list": {}}, profile(2, seed_product_type=["x"])]
    found = problems(tmp_path, entries)
    path = tmp_path / "home_user_profile.json"
    expected = [
        f"{path}: item 0: (USER0) user_query",
        f"{path}: item 1: (USER1) check_list.price_sensitivity[1] = 3: must be text",
        f"{path}: item 2: (USER2) check_list.colour",
        f"{path}: item 3: (USER3) user_context",
        f"{path}: item 4: (../etc) user",
        f"{path}: item 5",
        f"{path}: item 6: (USER1) check_list",
        f"{path}: item 6: (USER1) user",
        f"{path}: item 7: (USER2) seed_product_type",
        f"{path}: item 7: (USER2) user",
    ]
    assert len(found) == len(expected)
    for problem, begin in zip(found, expected, strict=True):
        assert problem.startswith(begin)


def test_texts_have_bounds(tmp_path: Path) -> None:
    entry = profile(situation="x" * (MAX_TEXT_CHARS + 1))
    entry["check_list"]["brand_preferences"] = ["an item"] * 201
    found = problems(tmp_path, [entry])
    assert [problem.partition("(USER0) ")[2].partition(";")[0] for problem in found] == [
        "situation: has 20,001 characters",
        "check_list.brand_preferences: has 201 items",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "is empty"), ("{}", "must hold a list"), ("[]", "empty list"), ('[{"user": 1,', "is not JSON")],
)
def test_files_that_are_none(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "home_user_profile.json").write_text(content)
    with pytest.raises(DatasetProblems, match=said):
        read_curation(tmp_path)


def test_any_of_the_files_will_do_and_the_order_is_the_papers(tmp_path: Path) -> None:
    for key in ("open", "home", "grocery_explicit_title"):
        write_profiles(tmp_path, [profile()], key)
    write_profiles(tmp_path, [profile()], "garden")
    found = read_curation(tmp_path)
    assert [task.scenario for task in found.tasks] == ["explicit_title", "low_involvement", "casual_browsing"]
    assert found.warnings == ("garden_user_profile.json is passed over: no scenario has such a file",)
    assert [task.scenario for task in read_curation(tmp_path, scenarios=["casual_browsing"]).tasks] == [
        "casual_browsing"
    ]
    with pytest.raises(UserError, match="no users of high_involvement"):
        read_curation(tmp_path, scenarios=["high_involvement", "casual_browsing"])


def test_where_the_files_may_lie(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such folder"):
        read_curation(tmp_path / "nowhere")
    with pytest.raises(UserError, match="none of grocery_explicit_title_user_profile"):
        read_curation(tmp_path)
    write_profiles(tmp_path / "data" / "user_profiles_samples", [profile(0)])
    assert read_curation(tmp_path).tasks[0].user == "USER0"
    write_profiles(tmp_path / "data" / "user_profiles", [profile(1)])
    both = read_curation(tmp_path)
    assert [task.user for task in both.tasks] == ["USER1"]
    assert both.folder == str(tmp_path / "data" / "user_profiles")
    assert both.warnings == ("user_profiles_samples/ is passed over: the users are those of user_profiles/",)
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
    assert len(whole.fingerprint) == 64


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


@settings(max_examples=40)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*profile(), *DIMENSIONS, "title"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused_in_words(tmp_path_factory: pytest.TempPathFactory, junk: object) -> None:
    folder = tmp_path_factory.mktemp("junk")
    (folder / "home_user_profile.json").write_text(json.dumps([junk]))
    with pytest.raises(DatasetProblems):
        read_curation(folder)


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_the_released_samples() -> None:
    found = load_curation("agenticshop", REAL)
    assert len(found.tasks) == 35
    assert found.warnings == ()
    assert sum(len(task.checklist) for task in found.tasks) == 682
    for task in found.tasks:
        file = next(REAL.glob(f"{_KEYS[task.scenario]}_user_profile.json"))
        entry = next(one for one in json.loads(file.read_text()) if one["user"] == task.user)
        assert profile_of(task) == entry


_KEYS = {
    "explicit_title": "grocery_explicit_title",
    "attribute_specific": "grocery_attribute_specific",
    "brand_categorical": "grocery_brand_categorical",
    "high_involvement": "electronics",
    "low_involvement": "home",
    "aesthetic_driven": "clothing",
    "casual_browsing": "open",
}

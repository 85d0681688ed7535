from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.loaders.problems import Problem
from grounding.webagents.personalwab.layout import (
    PROFILE_FIELDS,
    JsonFile,
    read_history,
    read_instruction,
    read_product,
    read_profile,
)
from grounding.webagents.personalwab.records import Profile

from . import shopfiles

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "personalwab"


def raw(content: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(content).encode())


def test_a_product_as_the_release_has_it() -> None:
    found = read_product(raw(shopfiles.product("B1", description=["One.", "Two."], rating_number=1234)))
    assert (found.asin, found.title, found.main_category, found.store) == ("B1", "Thing B1", "Home", "Acme")
    assert (found.average_rating, found.rating_number, found.price) == (4.5, 1234, "9.5")
    assert (found.features, found.description) == (("Sturdy",), ("One.", "Two."))
    assert found.categories == ("Home", "Things")
    assert json.loads(found.details) == {"Color": "Red"}


def test_a_product_of_which_only_the_id_is_known() -> None:
    found = read_product(b'{"parent_asin": "B1"}')
    assert (found.title, found.average_rating, found.rating_number, found.price) == ("", None, None, "None")
    assert (found.features, found.description, found.categories, found.details) == ((), (), (), "{}")
    assert found == read_product(raw(dict.fromkeys(shopfiles.product(""), None) | {"parent_asin": "B1"}))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("average_rating", "4.1", 4.1),
        ("average_rating", "unknown", None),
        ("rating_number", "1,234", 1234),
        ("rating_number", 12.0, 12),
        ("price", 10.0, "10.0"),
        ("price", 10, "10.0"),
        ("price", "from 12.50", "from 12.50"),
        ("price", None, "None"),
        ("features", "one sentence", ("one sentence",)),
        ("description", None, ()),
        ("categories", ["Home", 3], ("Home", "3")),
        ("details", '{"a": 1}', '"{\\"a\\": 1}"'),
        ("details", {"Größe": "L"}, '{"Gr\\u00f6\\u00dfe": "L"}'),
    ],
)
def test_what_values_may_look_like(field: str, value: object, expected: object) -> None:
    assert getattr(read_product(raw(shopfiles.product("B1", **{field: value}))), field) == expected


@pytest.mark.parametrize(
    "content",
    [
        {"title": "no id"},
        {"parent_asin": 7},
        {"parent_asin": "B1", "title": 3},
        {"parent_asin": "B1", "features": [1]},
        {"parent_asin": "B1", "categories": "Home"},
        ["B1"],
        None,
    ],
)
def test_what_is_no_product(content: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_product(raw(content))


def test_a_history_keeps_the_order_of_the_file() -> None:
    first, second = read_history(raw([shopfiles.bought("P2", 20), shopfiles.bought("P1", 10, "train")]))
    assert [one.product.asin for one in (first, second)] == ["P2", "P1"]
    assert (first.split, second.split) == ("history", "train")
    assert (first.review.timestamp_ms, first.review.text, first.review.rating) == (20, "I like P2.", 5.0)


def test_a_review_without_a_product_is_of_the_one_beside_it() -> None:
    entry = shopfiles.bought("P2", 20)
    del entry["review"]["parent_asin"]
    assert read_history(raw([entry]))[0].review.asin == "P2"


@pytest.mark.parametrize("split", ["valid", "", None, 3])
def test_a_split_is_one_of_three(split: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_history(raw([{**shopfiles.bought("P2", 20), "split": split}]))


@pytest.mark.parametrize("at", ["20", None, 20.5, True])
def test_a_time_is_a_whole_number(at: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_history(raw([{**shopfiles.bought("P2", 20), "review": {"timestamp": at}}]))


def test_an_instruction_with_and_without_a_review() -> None:
    whole = shopfiles.asked("ann", "search", "P2", 20, "a mug")
    found = read_instruction(raw(whole))
    assert (found.user_id, found.text, found.type, found.timestamp_ms) == ("ann", "a mug", "search", 20)
    assert found.product.asin == "P2"
    assert found.review is not None
    del whole["target"]["review"]
    assert read_instruction(raw(whole)).review is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("type", "buy"), ("type", "Search"), ("user_id", 3), ("task", None), ("timestamp", "3"), ("target", {})],
)
def test_what_is_no_instruction(field: str, value: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_instruction(raw({**shopfiles.asked("ann", "search", "P2", 20), field: value}))


def test_a_profile_with_its_eleven_dimensions() -> None:
    given_ = {theirs: f"value of {theirs}" for theirs in PROFILE_FIELDS}
    found = read_profile(raw({"user_profile": given_}))
    assert found == read_profile(raw(given_))
    assert set(PROFILE_FIELDS.values()) == set(Profile.__struct_fields__)
    assert {getattr(found, ours): theirs for theirs, ours in PROFILE_FIELDS.items()} == {
        value: theirs for theirs, value in given_.items()
    }


def test_a_profile_with_holes_lists_and_more() -> None:
    found = read_profile(raw({"user_profile": {"Age": None, "Focus Aspect": ["Price", "Brand"], "Shoe Size": 44}}))
    assert found == Profile(focus_aspect="Price, Brand")


@pytest.mark.parametrize("content", [[], "High", {"user_profile": "High"}, {"user_profile": None}])
def test_what_is_no_profile(content: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_profile(raw(content))


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'{"a": 1', b"\xff\xfe", b'{"a": 1} x'])
def test_a_file_that_is_no_object_is_one_problem(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    problems: list[Problem] = []
    assert list(JsonFile(tmp_path / "a.json", problems).entries()) == []
    (problem,) = problems
    assert problem.file == str(tmp_path / "a.json")
    assert "can't be read as a JSON object" in problem.what


def test_a_file_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    problems: list[Problem] = []
    assert list(JsonFile(tmp_path / "a.json", problems).entries()) == []
    assert len(problems) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([*shopfiles.product(""), "timestamp", "split", "user_profile", "Age"])


@given(JSON | st.dictionaries(KEYS, JSON, max_size=8))
def test_any_json_is_read_or_refused(content: Any) -> None:
    for read in (read_product, read_history, read_profile, read_instruction):
        try:
            read(raw(content))
        except (msgspec.DecodeError, ValueError):
            continue


@given(st.fixed_dictionaries({"parent_asin": st.text()}, optional={"title": st.text(), "store": st.text()}))
def test_texts_are_kept_to_the_letter(content: dict[str, str]) -> None:
    found = read_product(raw(content))
    assert (found.asin, found.title, found.store) == (
        content["parent_asin"],
        content.get("title", ""),
        content.get("store", ""),
    )


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's own files are not beside the repository")
def test_the_releases_own_profiles() -> None:
    problems: list[Problem] = []
    file = JsonFile(REAL / "user_profiles.json", problems)
    found = {user: file.decode(entry, read_profile, user) for user, entry in file.entries()}
    assert problems == []
    assert len(found) == 1000
    profiles = [profile for profile in found.values() if profile is not None]
    assert len(profiles) == 1000
    for profile in profiles:
        assert profile.gender in ("Female", "Male")
        assert {profile.price_sensitivity, profile.diversity_preference, profile.interaction_complexity} <= {
            "High",
            "Medium",
            "Low",
        }
        assert all(getattr(profile, ours) for ours in PROFILE_FIELDS.values())
    first = found["AGXJUBBAVKMO62RX5O3BQMB6TJJQ"]
    assert first is not None
    assert (first.occupation, first.focus_aspect) == ("Writer", "Quality, Price, Comfort")

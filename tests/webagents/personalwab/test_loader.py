from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.loaders import DatasetProblems
from grounding.webagents.personalwab.fingerprint import shop_fingerprint
from grounding.webagents.personalwab.functions.recommend import read_numbers
from grounding.webagents.personalwab.loader import find_files, load_shop, read_shop
from grounding.webagents.personalwab.records import Profile, ShopDataset, ShopUser

from . import shops
from .shopfiles import (
    HISTORY_1,
    HISTORY_2,
    INSTRUCTIONS,
    PRODUCTS_1,
    PRODUCTS_2,
    PROFILES,
    Change,
    asked,
    bought,
    product,
    write_shop,
)

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "personalwab"
BOTH = ("train", "test")


def problems(folder: Path, change: Change, **options: Any) -> list[str]:
    with pytest.raises(DatasetProblems) as caught:
        read_shop(write_shop(folder, change), **options)
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


# --- good -----------------------------------------------------------------------------------------------------------


def test_a_sound_shop(tmp_path: Path) -> None:
    dataset = read_shop(write_shop(tmp_path), name="mine")
    assert dataset.name == "mine"
    assert [task.id for task in dataset.tasks] == ["test/0", "test/1", "test/2"]
    first = dataset.tasks[0]
    assert (first.user_id, first.type, first.target_asin, first.timestamp_ms) == ("ann", "review", "P4", 40)
    assert first.target_review is not None
    assert list(dataset.products) == ["P1", "P2", "P3", "P4", "P5"]
    assert {user: len(one.behaviours) for user, one in dataset.users.items()} == {"ann": 4, "bob": 1, "cy": 0}
    assert dataset.users["ann"].profile == Profile(gender="Female", age="25-34")
    assert dataset.users["cy"] == ShopUser(id="cy")
    assert dataset.warnings == ("1 tasks are of a user without any history", "1 tasks are of a user without a profile")


def test_behaviour_is_in_order_of_time_whatever_the_files_order(tmp_path: Path) -> None:
    dataset = read_shop(write_shop(tmp_path))
    assert [(one.asin, one.split) for one in dataset.users["ann"].behaviours] == [
        ("P1", "history"),
        ("P2", "history"),
        ("P3", "train"),
        ("P4", "test"),
    ]


@given(st.permutations([("P1", 10), ("P2", 20), ("P3", 20), ("P4", 20), ("P5", 30)]))
def test_equal_times_stay_in_the_files_order(tmp_path_factory: pytest.TempPathFactory, order: Any) -> None:
    def change(files: dict[str, Any]) -> None:
        files[HISTORY_1]["ann"] = [bought(asin, at) for asin, at in order]

    dataset = read_shop(write_shop(tmp_path_factory.mktemp("shop"), change))
    same = [asin for asin, at in order if at == 20]
    assert [one.asin for one in dataset.users["ann"].behaviours] == ["P1", *same, "P5"]


@pytest.mark.parametrize(
    ("splits", "ids"),
    [
        (("test",), ["test/0", "test/1", "test/2"]),
        (("train",), ["train/0"]),
        (BOTH, ["train/0", "test/0", "test/1", "test/2"]),
    ],
)
def test_only_the_instructions_of_the_splits_are_tasks(tmp_path: Path, splits: Any, ids: list[str]) -> None:
    dataset = read_shop(write_shop(tmp_path), splits=splits)
    assert [task.id for task in dataset.tasks] == ids
    assert [task.split for task in dataset.tasks] == [one.partition("/")[0] for one in ids]
    assert len(dataset.users["ann"].behaviours) == 4


def test_tasks_of_chosen_users(tmp_path: Path) -> None:
    dataset = read_shop(write_shop(tmp_path), users=("bob",))
    assert [task.id for task in dataset.tasks] == ["test/1"]
    assert set(dataset.users) == {"ann", "bob"}
    with pytest.raises(UserError, match="no instruction is left"):
        read_shop(tmp_path, users=("zoe",))


def test_equal_words_are_different_tasks(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[INSTRUCTIONS]["test"] += [asked("bob", "search", "P1", 50), asked("ann", "search", "P2", 55, "other")]

    dataset = read_shop(write_shop(tmp_path, change))
    assert len({task.id for task in dataset.tasks}) == 5
    assert len({(task.user_id, task.instruction) for task in dataset.tasks}) == 4
    assert "2 tasks share user and words with another; each counts" in dataset.warnings


@pytest.mark.parametrize("where", ["", "a", "a/b", "PersonalWAB/envs/pwab/data", "a/b/c/d/e"])
def test_files_may_lie_deeper(tmp_path: Path, where: str) -> None:
    write_shop(tmp_path / where)
    assert find_files(tmp_path).instructions == tmp_path / where / INSTRUCTIONS


def test_numbers_and_checkpoint_may_lie_elsewhere(tmp_path: Path) -> None:
    write_shop(tmp_path / "envs" / "data")
    (tmp_path / "envs" / "functions").mkdir()
    (tmp_path / "envs" / "functions" / "1000_ids.json").write_text("{}")
    (tmp_path / "envs" / "functions" / "pwab.pth").touch()
    files = find_files(tmp_path)
    assert files.numbers == tmp_path / "envs" / "functions" / "1000_ids.json"
    assert files.checkpoint == tmp_path / "envs" / "functions" / "pwab.pth"
    assert files.profiles == tmp_path / "envs" / "data" / PROFILES


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        for name in (HISTORY_2, PROFILES, INSTRUCTIONS):
            files[name] = b"\xef\xbb\xbf" + json.dumps(files[name]).encode()

    marked = read_shop(write_shop(tmp_path / "marked", change))
    assert marked.fingerprint == read_shop(write_shop(tmp_path / "plain")).fingerprint


def test_another_encoding_is_said(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[HISTORY_2] = json.dumps(files[HISTORY_2]).encode("utf-16")

    (problem,) = problems(tmp_path, change)
    assert problem.startswith("user_history_part_2.json: can't be read as a JSON object: ")


def test_a_shop_without_profiles(tmp_path: Path) -> None:
    dataset = read_shop(write_shop(tmp_path, lambda files: files.pop(PROFILES)))
    assert all(user.profile is None for user in dataset.users.values())
    assert "3 tasks are of a user without a profile" in dataset.warnings


def test_products_that_only_targets_and_histories_have_are_kept(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[HISTORY_1]["ann"].append(bought("OLD", 5))
        files[INSTRUCTIONS]["test"].append(asked("ann", "search", "NEW", 90))

    dataset = read_shop(write_shop(tmp_path, change))
    assert list(dataset.products) == ["P1", "P2", "P3", "P4", "P5", "NEW", "OLD"]


def test_the_files_products_stand_before_those_of_targets(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[PRODUCTS_1]["P1"]["title"] = "The true title"

    assert read_shop(write_shop(tmp_path, change)).products["P1"].title == "The true title"


def test_whoever_reads_is_told_of_every_file(tmp_path: Path) -> None:
    told: list[str] = []
    read_shop(write_shop(tmp_path), told=told.append)
    assert told == [PRODUCTS_1, PRODUCTS_2, HISTORY_1, HISTORY_2, INSTRUCTIONS]


# --- broken ---------------------------------------------------------------------------------------------------------


def test_every_problem_is_said_at_once(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[PRODUCTS_1]["P1"]["title"] = 3
        files[HISTORY_1]["ann"][0]["split"] = "later"
        files[PROFILES]["bob"] = "unknown"
        files[INSTRUCTIONS]["test"][1]["type"] = "buy"

    found = problems(tmp_path, change)
    assert [problem.partition(":")[0] for problem in found] == [PRODUCTS_1, HISTORY_1, PROFILES, INSTRUCTIONS]
    assert [problem.split(": ")[1] for problem in found] == ["P1", "ann", "bob", "test[1]"]


@pytest.mark.parametrize("name", [PRODUCTS_1, HISTORY_2, PROFILES, INSTRUCTIONS])
@pytest.mark.parametrize("content", [b"", b"[]", b"\x00", b'{"a":'])
def test_a_file_of_something_else(tmp_path: Path, name: str, content: bytes) -> None:
    found = problems(tmp_path, lambda files: files.update({name: content}))
    assert found[0].startswith(f"{name}: can't be read as a JSON object: ")
    assert len(found) == 1


def test_a_product_under_another_key(tmp_path: Path) -> None:
    found = problems(tmp_path, lambda files: files[PRODUCTS_2].update(P9=product("P4")))
    assert found == [
        'all_products_part_2.json: P9 = "P4": parent_asin is another than the key; make them the same',
    ]


def test_a_user_in_two_parts(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, lambda files: files[HISTORY_2].update(ann=[bought("P5", 3)]))
    assert found == f"{HISTORY_2}: ann: this user's history is in an earlier part already; keep it in one file"


def test_a_review_task_without_the_review(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, lambda files: files[INSTRUCTIONS]["test"][0]["target"].pop("review"))
    assert found == f"{INSTRUCTIONS}: test[0].target.review: is missing; a review task needs the user's own review"


def test_a_search_task_without_a_review_is_sound(tmp_path: Path) -> None:
    folder = write_shop(tmp_path, lambda files: files[INSTRUCTIONS]["test"][2]["target"].pop("review"))
    assert read_shop(folder).tasks[2].target_review is None


@pytest.mark.parametrize(("split", "other"), [("train", "test"), ("test", "train")])
def test_a_list_that_is_not_there(tmp_path: Path, split: Any, other: Any) -> None:
    (found,) = problems(tmp_path, lambda files: files[INSTRUCTIONS].pop(split), splits=(split,))
    assert found == f"{INSTRUCTIONS}: {split}: there is no such list; give the split that is there with --split"
    assert read_shop(tmp_path, splits=(other,)).tasks


def test_a_list_of_another_name(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, lambda files: files[INSTRUCTIONS].update(valid=[]))
    assert found.startswith(f"{INSTRUCTIONS}: valid: expected the lists train and test; ")


@pytest.mark.parametrize("content", [{}, "none", 3, None])
def test_a_list_that_is_no_list(tmp_path: Path, content: object) -> None:
    (found,) = problems(tmp_path, lambda files: files[INSTRUCTIONS].update(test=content))
    assert found.startswith(f"{INSTRUCTIONS}: test: Expected `array`")


@pytest.mark.parametrize("split", BOTH)
def test_empty_lists_leave_nothing_to_do(tmp_path: Path, split: Any) -> None:
    folder = write_shop(tmp_path, lambda files: files.update({INSTRUCTIONS: {"train": [], "test": []}}))
    with pytest.raises(UserError, match="no instruction is left to be done"):
        read_shop(folder, splits=(split,))


def test_other_splits_mistakes_are_not_looked_for(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        files[INSTRUCTIONS]["train"][0]["type"] = "buy"

    assert len(read_shop(write_shop(tmp_path, change)).tasks) == 3
    assert len(problems(tmp_path, change, splits=BOTH)) == 1


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ([INSTRUCTIONS], "no user_instructions.json in it, or up to 3 folders deeper"),
        ([HISTORY_1, HISTORY_2], r"no user_history\*.json; "),
        ([PRODUCTS_1, PRODUCTS_2], r"no all_products\*.json; "),
        ([HISTORY_1, HISTORY_2, PRODUCTS_1, PRODUCTS_2], r"no user_history\*.json and no all_products\*.json; "),
    ],
)
def test_a_part_that_is_needed_is_missed(tmp_path: Path, gone: list[str], said: str) -> None:
    def change(files: dict[str, Any]) -> None:
        for name in gone:
            del files[name]

    with pytest.raises(UserError, match=said):
        read_shop(write_shop(tmp_path, change))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such folder"):
        read_shop(tmp_path / "gone")


def test_another_layout_is_refused() -> None:
    with pytest.raises(UserError, match="'sample-web' holds no web functions to be called"):
        load_shop("sample-web")


def test_the_releases_card_says_how_to_get_it() -> None:
    with pytest.raises(UserError, match=r"git clone https://github\.com/HongruCai/PersonalWAB"):
        load_shop("personalwab")


def test_a_shop_by_the_layouts_name(tmp_path: Path) -> None:
    dataset = load_shop("personalwab", write_shop(tmp_path), users=("ann",), splits=("train",))
    assert (dataset.name, [task.id for task in dataset.tasks]) == ("personalwab", ["train/0"])


def test_a_shop_by_its_own_card(tmp_path: Path) -> None:
    write_shop(tmp_path / "files")
    card = tmp_path / "mine.yaml"
    card.write_text("name: mine\ntitle: Mine\nlayout: personalwab\nsource: here\nlicence: MIT\npath: files\n")
    assert load_shop(str(card)).name == "mine"


# --- fingerprint ----------------------------------------------------------------------------------------------------


def fingerprint(dataset: ShopDataset) -> str:
    return shop_fingerprint(dataset.tasks, dataset.users, dataset.products)


def test_the_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    one = read_shop(write_shop(tmp_path / "one"), name="one")

    def rearranged(files: dict[str, Any]) -> None:
        files["user_history_all.json"] = {**files.pop(HISTORY_2), **files.pop(HISTORY_1)}
        files["all_products.json"] = {**files.pop(PRODUCTS_1), **files.pop(PRODUCTS_2)}
        files[PROFILES] = dict(reversed(files[PROFILES].items()))

    other = read_shop(write_shop(tmp_path / "other" / "deep", rearranged), name="other")
    assert one.fingerprint == other.fingerprint == fingerprint(one)
    assert len(one.fingerprint) == 64


CHANGES: list[Change] = [
    lambda files: files[PRODUCTS_1]["P1"].update(title="Another"),
    lambda files: files[PRODUCTS_2].update(P6=product("P6")),
    lambda files: files.update({PRODUCTS_1: dict(reversed(files[PRODUCTS_1].items()))}),
    lambda files: files[HISTORY_1]["ann"].pop(),
    lambda files: files[HISTORY_1]["ann"][0]["review"].update(text="Hm."),
    lambda files: files[HISTORY_1]["ann"][0].update(split="train"),
    lambda files: files[PROFILES]["ann"]["user_profile"].update(Age="56+"),
    lambda files: files[PROFILES].pop("bob"),
    lambda files: files[INSTRUCTIONS]["test"][0].update(task="Other words"),
    lambda files: files[INSTRUCTIONS]["test"][0].update(timestamp=41),
    lambda files: files[INSTRUCTIONS]["test"].pop(),
    lambda files: files[INSTRUCTIONS]["test"].reverse(),
]


def test_every_change_of_content_changes_the_fingerprint(tmp_path: Path) -> None:
    found = [read_shop(write_shop(tmp_path / "whole")).fingerprint]
    for place, change in enumerate(CHANGES):
        found.append(read_shop(write_shop(tmp_path / str(place), change)).fingerprint)
    assert len(set(found)) == len(CHANGES) + 1


def test_the_order_of_tasks_and_users_does_not_matter() -> None:
    users = {name: ShopUser(id=name) for name in ("a", "b", "c")}
    tasks = [shops.task(id=f"test/{place}", user_id="a") for place in range(4)]
    known = shop_fingerprint(tasks, users, shops.PRODUCTS)
    assert shop_fingerprint(tasks[::-1], dict(reversed(users.items())), shops.PRODUCTS) == known
    assert shop_fingerprint(tasks, users, dict(reversed(shops.PRODUCTS.items()))) != known


# --- the release's own files, and size ------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's own files are not beside the repository")
def test_the_releases_own_profiles_and_numbers(tmp_path: Path) -> None:
    write_shop(tmp_path, lambda files: files.pop(PROFILES))
    for name in (PROFILES, "1000_ids.json"):
        (tmp_path / name).write_bytes((REAL / name).read_bytes())
    dataset = read_shop(tmp_path)
    assert all(user.profile is None for user in dataset.users.values())
    numbers = find_files(tmp_path).numbers
    assert numbers is not None
    found = read_numbers(numbers)
    assert (len(found), min(found.values()), max(found.values())) == (35_772, 3, 104_032)


@pytest.mark.slow
def test_a_shop_of_the_releases_size_is_read_in_bounded_time(tmp_path: Path) -> None:
    def change(files: dict[str, Any]) -> None:
        asins = [f"B{number:05}" for number in range(8_236)]
        files[PRODUCTS_1] = {asin: product(asin, features=["word " * 60] * 5) for asin in asins}
        del files[PRODUCTS_2]
        files[HISTORY_1] = {
            f"u{user}": [bought(asins[(user * 38 + place) % len(asins)], place) for place in range(38)]
            for user in range(1_000)
        }
        del files[HISTORY_2]
        kinds = ("search", "recommend", "review")
        files[INSTRUCTIONS] = {
            "train": [],
            "test": [asked(f"u{one % 1000}", kinds[one % 3], asins[one], 100) for one in range(2_174)],
        }

    folder = write_shop(tmp_path, change)
    started = time.process_time()
    dataset = read_shop(folder)
    assert time.process_time() - started < 30
    assert (len(dataset.tasks), len(dataset.users), len(dataset.products)) == (2_174, 1_000, 8_236)

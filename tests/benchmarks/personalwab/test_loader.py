"""Shops on disk: where their files may lie, what is read of them, and everything that is wrong at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shell

from grounding.benchmarks.personalwab.loader import find_files, inspect_shop, read_product, read_shop, statistics
from grounding.data.fields import DatasetProblems
from grounding.errors import UserError

Json = dict[str, Any]
Change = Callable[[dict[str, Any]], object]
"""Changes the files' contents by name in place, before they are written; what it removes is not written."""

INSTRUCTIONS, PROFILES = "user_instructions.json", "user_profiles.json"
HISTORY_1, HISTORY_2 = "user_history_part_1.json", "user_history_part_2.json"
PRODUCTS_1, PRODUCTS_2 = "all_products_part_1.json", "all_products_part_2.json"


def product(asin: str, **more: Any) -> Json:
    known = {
        "main_category": "Home",
        "title": f"Thing {asin}",
        "average_rating": 4.5,
        "rating_number": 12,
        "features": ["Sturdy"],
        "description": [],
        "price": 9.5,
        "store": "Acme",
        "categories": ["Home", "Things"],
        "details": {"Color": "Red"},
        "parent_asin": asin,
    }
    return {**known, **more}


def review(asin: str, at: int, **more: Any) -> Json:
    return {"rating": 5.0, "title": "Good", "text": f"I like {asin}.", "parent_asin": asin, "timestamp": at, **more}


def bought(asin: str, at: int, split: str = "history") -> Json:
    return {"product_info": product(asin), "review": review(asin, at), "split": split}


def asked(user: str, kind: str, asin: str, at: int, text: str = "something nice") -> Json:
    target = {"product_info": product(asin), "review": review(asin, at)}
    return {"user_id": user, "task": text, "type": kind, "timestamp": at, "target": target}


def contents() -> dict[str, Any]:
    """The files of a sound shop: users ann and bob with histories, cy without."""
    return {
        PRODUCTS_1: {asin: product(asin) for asin in ("P1", "P2", "P3")},
        PRODUCTS_2: {asin: product(asin) for asin in ("P4", "P5")},
        HISTORY_1: {"ann": [bought("P2", 20), bought("P1", 10), bought("P3", 30, "train"), bought("P4", 40, "test")]},
        HISTORY_2: {"bob": [bought("P1", 15)]},
        PROFILES: {user: {"user_profile": {"Gender": "Female", "Age": "25-34"}} for user in ("ann", "bob")},
        INSTRUCTIONS: {
            "train": [asked("ann", "search", "P3", 30, "something else")],
            "test": [
                asked("ann", "review", "P4", 40),
                asked("bob", "recommend", "P5", 50),
                asked("cy", "search", "P1", 60),
            ],
        },
    }


def write_shop(folder: Path, change: Change | None = None) -> Path:
    """Write the shop; the folder, for use as it is."""
    files = contents()
    if change is not None:
        change(files)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / name).write_bytes(raw)
    return folder


# --- what is read -----------------------------------------------------------------------------------------------------


def problems(folder: Path) -> list[str]:
    with pytest.raises(DatasetProblems) as found:
        read_shop(folder)
    return [f"{Path(one.file).name}: {one.field}: {one.what}" for one in found.value.problems]


def test_users_products_and_tasks_are_read(tmp_path: Path) -> None:
    shop = read_shop(write_shop(tmp_path))
    assert [(task.id, task.type, task.user_id, task.target_asin) for task in shop.tasks] == [
        ("test/0", "review", "ann", "P4"),
        ("test/1", "recommend", "bob", "P5"),
        ("test/2", "search", "cy", "P1"),
    ]
    ann = shop.users["ann"]
    assert [one.asin for one in ann.behaviours] == ["P2", "P1", "P3", "P4"], "the file's order"
    assert [one.asin for one in ann.oldest_first] == ["P1", "P2", "P3", "P4"]
    assert [one.asin for one in ann.before(20)] == ["P1"]
    assert ann.profile is not None
    assert shop.users["cy"].profile is None
    assert list(shop.products) == ["P1", "P2", "P3", "P4", "P5"]
    assert [task.id for task in read_shop(tmp_path, splits=("train",)).tasks] == ["train/0"]


def test_values_stay_as_they_stand_in_the_file() -> None:
    raw = product("P", price=12, average_rating=4, rating_number="1,032", store=None, main_category=None, details=None)
    read = read_product(raw)
    assert (read.price, read.average_rating, read.rating_number) == (12, 4, "1,032")
    assert (read.store, read.main_category, read.details) == (None, None, "null")
    assert isinstance(read.price, int)


def test_the_release_s_folders_are_found_from_the_clone_and_from_its_data(tmp_path: Path) -> None:
    data = write_shop(tmp_path / "clone" / "PersonalWAB" / "envs" / "pwab" / "data")
    recommender = data.parent / "functions" / "recommender"
    for name in ("checkpoint/pwab.pth", "data/1000_ids.json"):
        (recommender / name).parent.mkdir(parents=True)
        (recommender / name).write_bytes(b"x")
    for folder in (tmp_path / "clone", data):
        files = find_files(folder)
        assert files.instructions == data / INSTRUCTIONS
        assert (files.checkpoint, files.numbers) == (
            recommender / "checkpoint/pwab.pth",
            recommender / "data/1000_ids.json",
        )
        assert files.lacks == ""
    (recommender / "checkpoint/pwab.pth").write_bytes(b"")  # As a clone without large files has it.
    assert find_files(data).lacks == "checkpoint (*.pth)"


@pytest.mark.parametrize("name", [INSTRUCTIONS, "user_history", "all_products"])
def test_a_part_that_is_missing_is_said_with_what_is_there(name: str, tmp_path: Path) -> None:
    folder = write_shop(tmp_path / "shop")
    for file in folder.glob(f"{name}*"):
        file.unlink()
    with pytest.raises(UserError, match=f"no {name}.*it holds .*{PROFILES}"):
        read_shop(folder)
    with pytest.raises(UserError, match="there is no such folder"):
        read_shop(tmp_path / "none")


def test_every_fault_is_said_at_once_all_of_one_user_too(tmp_path: Path) -> None:
    def spoil(files: dict[str, Any]) -> None:
        files[PRODUCTS_1]["P1"]["parent_asin"] = "other"
        files[HISTORY_1]["ann"][0]["review"]["timestamp"] = "soon"
        files[HISTORY_1]["ann"][2]["split"] = "tomorrow"
        del files[HISTORY_1]["ann"][3]["product_info"]["parent_asin"]
        files[HISTORY_2]["ann"] = []
        files[PROFILES]["ann"] = 5
        files[INSTRUCTIONS]["test"][0]["target"]["review"] = None
        files[INSTRUCTIONS]["test"][1]["type"] = "dance"
        files[INSTRUCTIONS]["extra"] = []

    found = problems(write_shop(tmp_path, spoil))
    places = [one.split(": ")[:2] for one in found]
    assert places == [
        [PRODUCTS_1, "P1"],
        [HISTORY_1, "ann[0]"],
        [HISTORY_1, "ann[2]"],
        [HISTORY_1, "ann[3]"],
        [HISTORY_2, "ann"],
        [PROFILES, "ann"],
        [INSTRUCTIONS, "test[0]"],
        [INSTRUCTIONS, "test[1]"],
        [INSTRUCTIONS, "extra"],
    ]


def test_a_file_of_something_else_is_a_problem(tmp_path: Path) -> None:
    spoilt = {HISTORY_1: b"", PRODUCTS_1: b"[]", PROFILES: b"{", INSTRUCTIONS: b"\xff"}
    folder = write_shop(tmp_path)
    for name, content in spoilt.items():
        (folder / name).write_bytes(content)
    assert {one.partition(":")[0] for one in problems(folder)} == set(spoilt)


def test_a_byte_order_mark_is_no_matter_and_the_fingerprint_hangs_on_the_content(tmp_path: Path) -> None:
    first = read_shop(write_shop(tmp_path / "a")).fingerprint
    other = write_shop(tmp_path / "b")
    (other / PRODUCTS_1).write_bytes(b"\xef\xbb\xbf" + (other / PRODUCTS_1).read_bytes())
    assert read_shop(other).fingerprint == first
    more = write_shop(tmp_path / "c", lambda files: files[HISTORY_2]["bob"].append(bought("P2", 99)))
    assert read_shop(more).fingerprint != first


def test_check_counts_warns_and_finds_what_does_not_fit(tmp_path: Path) -> None:
    folder = write_shop(tmp_path / "shop", lambda files: files[INSTRUCTIONS]["train"].append(asked("b", "s", "P1", 1)))
    done = shell.call("check", "--dataset", "personalwab", "--data-dir", str(folder), module="grounding")
    assert done.returncode == 2
    assert "train[1]" in done.stdout
    sound = inspect_shop("personalwab", write_shop(tmp_path / "sound"))
    assert not sound.problems
    assert "3 users, 5 purchases, 5 products" in sound.summary
    assert any("get_recommendations_by_history will find nothing" in one for one in sound.warnings)
    assert "1 tasks are of a user without any history" in sound.warnings
    (tmp_path / "sound" / "x_ids.json").write_text("[]")
    (tmp_path / "sound" / "x.pth").write_bytes(b"no tensors")
    with pytest.raises(UserError, match="product ids and numbers"):
        inspect_shop("personalwab", tmp_path / "sound")


def test_what_the_paper_counts_is_counted(tmp_path: Path) -> None:
    folder = write_shop(tmp_path)
    table, shares = statistics(read_shop(folder, splits=None))
    assert (table["test"]["users"], table["test"]["instructions"], table["all"]["products"]) == (3, 3, 5)
    assert table["test"]["behaviours of a user"] == pytest.approx((3 + 1 + 0) / 3)
    assert table["train"]["search instructions"] == 1
    assert table["all"]["tokens of a product"] > 50
    assert shares["gender"] == {"Female": 2}

"""What is written is read back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from grounding.lockedfolder import LockedFolder
from grounding.webagents.personalwab.construction import writing
from grounding.webagents.personalwab.construction.jobs import instruction_jobs
from grounding.webagents.personalwab.construction.records import CutUser
from grounding.webagents.personalwab.construction.writing import NUMBERS_FILE, product_info, write_shop
from grounding.webagents.personalwab.layout import read_product
from grounding.webagents.personalwab.loader import read_shop
from grounding.webagents.personalwab.records import Behaviour, Product, Review
from webagents.personalwab.shops import BEHAVIOURS, PRODUCTS, PROFILE

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(
    st.builds(
        Product,
        asin=TEXT,
        title=TEXT,
        main_category=TEXT,
        average_rating=st.none() | st.floats(0, 5),
        rating_number=st.none() | st.integers(0, 10**9),
        features=st.lists(TEXT).map(tuple),
        description=st.lists(TEXT).map(tuple),
        price=TEXT | st.just("None"),
        store=TEXT,
        categories=st.lists(TEXT).map(tuple),
        details=st.dictionaries(TEXT, TEXT).map(json.dumps),
    )
)
def test_a_product_survives(product: Product) -> None:
    assert read_product(msgspec.json.encode(product_info(product))) == product


def users(count: int) -> list[CutUser]:
    splits = ["history"] * 6 + ["train", "test"]
    behaviours = tuple(
        Behaviour(asin=one.asin, review=one.review, split=split)  # type: ignore[arg-type]
        for one, split in zip(BEHAVIOURS, splits, strict=True)
    )
    return [CutUser(id=f"u{user}", behaviours=behaviours) for user in range(count)]


def write(folder: Path, count: int) -> None:
    jobs = instruction_jobs(users(count), "all", 0)
    write_shop(
        LockedFolder(folder), users(count), PRODUCTS, {"u0": PROFILE}, [(job, f"Do <it> {job.type}!") for job in jobs]
    )


def test_a_shop_survives(tmp_path: Path) -> None:
    write(tmp_path, 3)
    shop = read_shop(tmp_path, splits=("train", "test"))
    assert {user: one.behaviours for user, one in shop.users.items()} == {one.id: one.behaviours for one in users(3)}
    assert shop.users["u0"].profile == PROFILE
    assert shop.users["u1"].profile is None
    assert {asin: msgspec.structs.replace(one, details="") for asin, one in shop.products.items()} == PRODUCTS
    assert len(shop.tasks) == 18
    (review, *_) = [task for task in shop.tasks if task.type == "review" and task.split == "test"]
    assert review.instruction == "Do <it> review!"
    assert (review.target_asin, review.timestamp_ms) == ("B007", 700)
    assert review.target_review == Review(asin="B007", timestamp_ms=700, rating=5.0, text="I like the rain boots.")
    numbers = json.loads((tmp_path / NUMBERS_FILE).read_bytes())
    assert sorted(numbers.values()) == list(range(1, 9))


def test_parts_that_are_no_longer_needed_are_gone(tmp_path: Path) -> None:
    size, writing.USERS_A_PART = writing.USERS_A_PART, 2
    try:
        write(tmp_path, 5)
        assert len(list(tmp_path.glob("user_history_part_*.json"))) == 3
        assert len(read_shop(tmp_path).users) == 5
        write(tmp_path, 1)
    finally:
        writing.USERS_A_PART = size
    assert [path.name for path in tmp_path.glob("user_history_part_*.json")] == ["user_history_part_1.json"]
    assert len(read_shop(tmp_path).users) == 1

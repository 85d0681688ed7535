"""Amazon's files as they are published: plain and gzipped, line by line, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.webagents.personalwab.construction import amazon as reader
from grounding.webagents.personalwab.construction.amazon import find_categories, select_from_amazon
from grounding.webagents.personalwab.construction.records import Sampling, Selection
from webagents.personalwab.construction.raw import CATEGORIES, amazon, lines, product, review


def read(folder: Path, **sampling: int) -> Selection:
    said: list[str] = []
    return select_from_amazon(find_categories(folder, CATEGORIES), Sampling(**sampling), said.append)


def test_all_reviews_of_a_drawn_user_come_from_all_categories(tmp_path: Path) -> None:
    selection = read(amazon(tmp_path))
    assert [len(user.behaviours) for user in selection.users] == [12] * 6
    for user in selection.users:
        assert {one.asin[:2] for one in user.behaviours} == {"B0", "B1"}
        times = [one.review.timestamp_ms for one in user.behaviours]
        assert times == sorted(times)
    facts = selection.facts
    assert (facts.reviews_read, facts.eligible, facts.without_product) == (73, 6, 0)
    assert facts.products_read == 44
    one = selection.users[0].behaviours[0]
    bought = selection.products[one.asin]
    assert (bought.title, bought.price, bought.details) == (f"Thing {one.asin} of oak", "12.5", '{"Brand": "Acme"}')
    assert (one.review.rating, one.review.title) == (4.0, f"On {one.asin}")


def test_few_users_and_further_products(tmp_path: Path) -> None:
    folder = amazon(tmp_path)
    few = read(folder, users=1)
    assert set(few.products) == {one.asin for one in few.users[0].behaviours}
    more = read(folder, users=1, products=5)
    assert len(more.products) == len(few.products) + 5
    assert more.users == few.users
    every = read(folder, products=1000)
    assert {"FREE0", "FREE1"} < set(every.products)
    assert "NAMELESS" not in every.products


def test_only_lines_that_are_needed_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_whole: list[bytes] = []

    def counted(line: bytes) -> object:
        read_whole.append(line)
        return plain(line)

    plain = reader.read_product
    monkeypatch.setattr(reader, "read_product", counted)
    lines(tmp_path / "Electronics.jsonl", [review("U", f"B{place}", place) for place in range(6)])
    lines(tmp_path / "meta_Electronics.jsonl", [product(f"B{place}") for place in range(500)])
    select_from_amazon(find_categories(tmp_path, ["Electronics"]), Sampling(products=3), lambda _: None)
    assert len(read_whole) == 6 + 3


def test_missing_files_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        find_categories(tmp_path / "gone")
    lines(tmp_path / "Electronics.jsonl", [])
    with pytest.raises(UserError, match=r"no meta_Electronics\.jsonl\[\.gz\], no Home_and_Kitchen"):
        find_categories(tmp_path)


def test_a_damaged_line_is_named_with_its_number(tmp_path: Path) -> None:
    folder = amazon(tmp_path)
    path = folder / "reviews" / "Electronics.jsonl"
    path.write_bytes(path.read_bytes() + b"\n" + b'{"user_id": 3}\n')
    with pytest.raises(UserError, match=r"Electronics\.jsonl, line 39: Expected `str`, got `int`"):
        read(folder)


def test_a_cut_off_archive_is_said(tmp_path: Path) -> None:
    folder = amazon(tmp_path)
    path = folder / "reviews" / "Grocery_and_Gourmet_Food.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="can't be read to its end"):
        read(folder)
    path.write_bytes(b"no archive")
    with pytest.raises(UserError, match="can't be read to its end"):
        read(folder)


def test_a_damaged_product_is_named_only_where_it_is_needed(tmp_path: Path) -> None:
    folder = amazon(tmp_path)
    path = folder / "meta" / "meta_Electronics.jsonl"
    broken = product("FREE9", features=7)
    with path.open("ab") as file:
        file.write(json.dumps(broken).encode() + b"\n")
    assert "FREE9" not in read(folder).products
    with pytest.raises(UserError, match="the product FREE9 is damaged"):
        read(folder, products=1000)

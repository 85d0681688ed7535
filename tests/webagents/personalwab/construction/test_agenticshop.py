"""AgenticShop's raw users: ids and an order where the files have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.webagents.personalwab.construction.agenticshop import DAY_MS, select_from_agenticshop
from grounding.webagents.personalwab.construction.records import Sampling
from webagents.personalwab.construction.raw import agenticshop, said

REAL = Path(__file__).parents[5] / "shared" / "data" / "agenticshop" / "raw"


def test_the_first_entry_is_the_newest_and_times_are_days(tmp_path: Path) -> None:
    agenticshop(tmp_path, {"u": [said(f"thing {place}") for place in range(6)]})
    (user,) = select_from_agenticshop(tmp_path, Sampling()).users
    titles = select_from_agenticshop(tmp_path, Sampling()).products
    assert [titles[one.asin].title for one in user.behaviours] == [f"thing {place}" for place in (5, 4, 3, 2, 1, 0)]
    assert [one.review.timestamp_ms for one in user.behaviours] == [DAY_MS * day for day in range(1, 7)]
    assert user.behaviours[-1].split == "test"


def test_domains_take_turns(tmp_path: Path) -> None:
    entries = [said(f"{domain}{place}", domain=domain) for domain in ("a", "b") for place in range(3)]
    agenticshop(tmp_path, {"u": entries})
    selection = select_from_agenticshop(tmp_path, Sampling())
    titles = [selection.products[one.asin].title for one in selection.users[0].behaviours]
    assert titles == ["b2", "a2", "b1", "a1", "b0", "a0"]


def test_a_product_has_one_id_in_every_file_and_no_asin_looks_so(tmp_path: Path) -> None:
    same = said("kettle")
    agenticshop(tmp_path, {"u": [same, *(said(f"u{place}") for place in range(5))]})
    agenticshop(tmp_path, {"v": [same, *(said(f"v{place}") for place in range(5))]}, name="Home")
    selection = select_from_agenticshop(tmp_path, Sampling())
    first, second = ({one.asin for one in user.behaviours} for user in selection.users)
    (shared,) = first & second
    assert selection.products[shared].title == "kettle"
    assert selection.products[shared].details == '{"Brand": "Acme"}'
    assert all(len(asin) == 10 and asin.startswith("X") for asin in selection.products)
    assert len(selection.products) == 11


def test_a_user_of_two_files_is_one_and_a_repeated_review_counts_once(tmp_path: Path) -> None:
    agenticshop(tmp_path, {"u": [said(f"a{place}") for place in range(4)]}, name="A")
    agenticshop(tmp_path, {"u": [said("a1"), said("b"), said("a1", text="Other words.")]}, name="B")
    selection = select_from_agenticshop(tmp_path, Sampling())
    (user,) = selection.users
    assert len(user.behaviours) == 6
    assert (selection.facts.reviews_read, selection.facts.same_twice) == (7, 1)
    assert len({one.review.timestamp_ms for one in user.behaviours}) == 6


def test_what_is_no_such_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no \.json files"):
        select_from_agenticshop(tmp_path, Sampling())
    (tmp_path / "x.json").write_text('{"u": [{"review": [{"user_review": "no product"}]}]}')
    with pytest.raises(UserError, match=r"x\.json: not a file of AgenticShop's raw users: .*`product`"):
        select_from_agenticshop(tmp_path, Sampling())


@pytest.mark.skipif(not REAL.is_dir(), reason="AgenticShop's raw users are not there")
def test_the_real_users_can_be_drawn() -> None:
    selection = select_from_agenticshop(REAL, Sampling())
    assert (len(selection.users), selection.facts.reviews_read, selection.facts.same_twice) == (97, 1857, 30)
    assert all(one.split for user in selection.users for one in user.behaviours)
    assert select_from_agenticshop(REAL, Sampling(users=10)).users == selection.users[:10]

"""Who is written about, and that the item of the query stays out of what the context is written from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.webagents.agenticshop.construction.records import Subject
from grounding.webagents.agenticshop.construction.subjects import (
    domains,
    draw,
    find_files,
    product_name,
    seeds_in_history,
    subjects_of,
)
from grounding.webagents.agenticshop.records import SCENARIOS
from webagents.agenticshop.construction.raw import GROCERY, REAL, open_user, review, several, user, write


def made(folder: Path, *, seed: int = 0, official: bool = False, reviews: int = 10) -> tuple[Subject, ...]:
    return subjects_of(find_files(folder), seed=seed, users=None, reviews=reviews, official=official).subjects


def test_every_scenario_is_made_of_one_file() -> None:
    assert sorted(scenario for domain in domains() for scenario in domain.scenarios) == sorted(SCENARIOS)


def test_the_seed_and_all_that_was_said_of_it_stay_out(tmp_path: Path) -> None:
    name, entries = user("U", "Tea", "TEA ", "Cake", "Tea")
    write(tmp_path, (name, entries))
    for seed in range(8):
        (one,) = made(tmp_path, seed=seed)
        assert one.seed is not None
        kept = {product_name(said) for said in one.history}
        assert product_name(one.seed) not in kept
        assert len(one.history) + one.kept_out == 4
        assert one.kept_out == (3 if product_name(one.seed) == "tea" else 1)


def test_the_official_way_takes_the_files_item_and_leaves_it_in(tmp_path: Path) -> None:
    write(tmp_path, user("U", *(f"thing {place}" for place in range(12)), target=3))
    (one,) = made(tmp_path, official=True)
    assert one.seed is not None
    assert one.seed.product.title == "thing 3"
    assert [said.product.title for said in one.history] == [f"thing {place}" for place in range(10)]
    assert seeds_in_history((one,)) == 1


def test_a_draw_hangs_on_nobody_else(tmp_path: Path) -> None:
    alone, together = several(1), several(4)
    first = made(write(tmp_path / "a", *alone))[0]
    assert made(write(tmp_path / "b", *together))[0] == first
    assert made(write(tmp_path / "c", *reversed(together)))[-1] == first


def test_another_seed_draws_otherwise_and_the_same_one_the_same(tmp_path: Path) -> None:
    write(tmp_path, *several())
    drawn = {seed: tuple(one.seed for one in made(tmp_path, seed=seed)) for seed in range(5)}
    assert len(set(drawn.values())) > 1
    assert drawn[3] == tuple(one.seed for one in made(tmp_path, seed=3))


def test_an_open_user_has_no_seed_and_all_reviews(tmp_path: Path) -> None:
    write(tmp_path, open_user("O", *(f"thing {place}" for place in range(20))), name="open_curation")
    (one,) = made(tmp_path)
    assert one.seed is None
    assert len(one.history) == 20
    assert one.product_type == ""


def test_who_can_not_be_written_about_is_left_out_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, user("ONE", "Tea", "tea"), *several(1))
    found = subjects_of(find_files(tmp_path), seed=0, users=None, reviews=10, official=False)
    assert [one.user for one in found.subjects] == ["U0"]
    assert [(one.user, one.why) for one in found.skipped] == [("ONE", "reviews of fewer than 2 products")]


def test_only_files_that_belong_to_the_scenarios_are_read(tmp_path: Path) -> None:
    write(tmp_path, *several(1))
    write(tmp_path, *several(1), name="Electronics")
    (tmp_path / "notes.json").write_text("[]")
    assert [domain.name for domain, _ in find_files(tmp_path)] == [GROCERY, "Electronics"]
    assert [domain.name for domain, _ in find_files(tmp_path, ("high_involvement",))] == ["Electronics"]
    assert [domain.name for domain, _ in find_files(tmp_path / "Electronics.json")] == ["Electronics"]
    with pytest.raises(UserError, match=r"low_involvement.*Home_and_Kitchen\.json"):
        find_files(tmp_path, ("low_involvement",))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / f"{GROCERY}.json").write_text(json.dumps({"u": [{"review": [{"user_review": "no product"}]}]}))
    with pytest.raises(UserError, match=rf"{GROCERY}\.json: not a file of AgenticShop's raw users"):
        made(tmp_path)


@given(st.lists(st.sampled_from(["a", "A", "b ", "b", "c"]), min_size=1, max_size=12), st.text(max_size=8))
def test_one_of_the_products_is_drawn_however_often_each_is_there(titles: list[str], chance: str) -> None:
    import msgspec

    from grounding.webagents.rawusers import RawReview

    reviews = msgspec.convert([review(title) for title in titles], list[RawReview])
    drawn = draw(reviews, chance)
    assert drawn in reviews
    assert product_name(draw(list(reversed(reviews)), chance)) == product_name(drawn)


@pytest.mark.skipif(not REAL.is_dir(), reason="AgenticShop's raw users are not here")
def test_no_real_seed_is_in_its_context_and_officially_every_one_is() -> None:
    grocery = REAL / f"{GROCERY}.json"
    subjects = made(grocery)
    assert len(subjects) == 50
    assert all(one.seed is not None for one in subjects)
    assert seeds_in_history(subjects) == 0
    assert seeds_in_history(made(grocery, official=True)) == 50

"""Which field is the search box."""

from __future__ import annotations

from typing import Any

import pytest

from grounding.webagents.agenticshop.agents.searching.boxes import openers, read_candidates, search_boxes

Told = dict[str, Any]


def told(**more: Any) -> Told:
    plain: Told = {
        "kind": "box", "tag": "input", "type": "text", "role": "", "names": "", "label": "", "text": "", "action": "",
        "around": False, "fields": 1, "shown": True, "top": 50,
    }  # fmt: skip
    return {**plain, **more}


BOXES = [
    told(type="search", names="q"),
    told(names="query", label="Find… Find in the shop", action="/find"),
    told(names="term", label="Search 40 products", action="/results"),
    told(names="seek", label="search", fields=0),
    told(label="What are you looking for?"),
    told(role="searchbox", tag="div"),
    told(names="keyword"),
]


@pytest.mark.parametrize("box", BOXES)
def test_boxes_of_many_makes_are_found_among_other_fields(box: Told) -> None:
    others = [
        told(names="email", label="Your e-mail", top=10),
        told(names="coupon", label="Discount code", top=20),
        told(names="zip", label="ZIP for delivery", top=30),
        told(tag="textarea", names="comment", label="Your question"),
    ]
    found = search_boxes(read_candidates([*others, box]))
    assert [one.place for one in found] == [4]


def test_no_box_is_better_than_a_wrong_one() -> None:
    assert (
        search_boxes(read_candidates([told(names="email", label="Your e-mail"), told(names="name", label="Name")]))
        == ()
    )


def test_a_hidden_box_waits_for_its_opener() -> None:
    found = read_candidates(
        [told(type="search", shown=False), told(kind="opener", tag="a", names="research", label="Our research"),
         told(kind="opener", tag="button", label="Search", top=60)]
    )  # fmt: skip
    assert search_boxes(found) == ()
    assert [one.place for one in openers(found)] == [2, 1]


def test_of_equal_boxes_the_upper_one_is_first() -> None:
    found = search_boxes(read_candidates([told(names="q", top=900), told(names="q", top=20)]))
    assert [one.place for one in found] == [1, 0]


@pytest.mark.parametrize("meddled", [None, "x", [{"kind": "box"}], [told(top="high")]])
def test_a_page_that_meddles_is_found_out(meddled: object) -> None:
    with pytest.raises(ValueError, match="can't be read"):
        read_candidates(meddled)

"""Options with several values to the options of one run each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.errors import UserError
from grounding.run.several import addresses, combine


@given(
    st.lists(st.integers(0, 20), min_size=1, unique=True, max_size=4),
    st.lists(st.sampled_from(["ocr", "center", "oracle"]), unique=True, max_size=3),
    st.lists(st.sampled_from([None, 1, 2]), min_size=1, unique=True, max_size=3),
)
def test_every_combination_is_there_once(histories: list[int], grounders: list[str], limits: list[int | None]) -> None:
    given_values = {
        "history": histories,
        "grounder": grounders,
        "limit": limits,
        "base_url": (),
        "planner_base_url": (),
    }
    runs = combine(given_values, ("grounder", "limit", "history"), command="grounding")
    wanted = [(g, n, h) for g in grounders or ["ocr"] for n in limits for h in histories]
    assert [(run.grounder, run.limit, run.history) for run in runs] == wanted


def test_a_file_of_plans_belongs_to_replay_among_several_planners() -> None:
    values: dict[str, Any] = {
        "planner": ("none", "replay", "o3"),
        "plans": (Path("a"), Path("b")),
        "grounder": ("ocr",),
        "memory": ("thought",),
    }
    runs = combine(values, BENCHMARK.axes, command="")
    assert [(run.planner, run.plans) for run in runs] == [
        ("none", None),
        ("replay", Path("a")),
        ("replay", Path("b")),
        ("o3", None),
    ]
    with pytest.raises(UserError, match="Name `replay` among them"):
        combine({**values, "planner": ("none", "o3")}, BENCHMARK.axes, command="")


@pytest.mark.parametrize(
    ("given_addresses", "name", "wanted"),
    [
        (("http://a/v1", "http://b/v1"), "x", ("http://a/v1", "http://b/v1")),
        (("x=http://a/v1", "http://b/v1"), "x", ("http://a/v1",)),
        (("x=http://a/v1", "http://b/v1"), "y", ("http://b/v1",)),
        (("x=http://a/v1", "x=http://c/v1"), "x", ("http://a/v1", "http://c/v1")),
        (("my/card.yaml=https://a/v1?b=http://c",), "my/card.yaml", ("https://a/v1?b=http://c",)),
        (("nonsense",), "x", ("nonsense",)),
        ((), "x", ()),
    ],
)
def test_an_address_with_a_name_is_that_models(
    given_addresses: tuple[str, ...], name: str, wanted: tuple[str, ...]
) -> None:
    assert addresses(given_addresses, name) == wanted

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.loader import PairingDoubt, check_pairing, load_curation, read_curation
from grounding.benchmarks.agenticshop.records import CurationTask, Scenario

from .profiles import profiles, write_profiles

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "agenticshop"
CLEAN: tuple[Scenario, ...] = ("high_involvement", "low_involvement", "aesthetic_driven")


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> tuple[CurationTask, ...]:
    return read_curation(write_profiles(tmp_path_factory.mktemp("users"), profiles())).tasks


def reordered(tasks: Sequence[CurationTask], order: Sequence[int]) -> list[CurationTask]:
    """The same users, the query of place ``order[i]`` with user i."""
    return [msgspec.structs.replace(task, query=tasks[place].query) for task, place in zip(tasks, order, strict=True)]


def doubts(tasks: Sequence[CurationTask]) -> dict[str, PairingDoubt]:
    (report,) = check_pairing(tasks)
    return {doubt.task_id: doubt for doubt in report.doubts}


@settings(max_examples=40)
@given(st.permutations(range(5)))
def test_every_exchange_is_found_and_only_those(users: tuple[CurationTask, ...], order: list[int]) -> None:
    found = doubts(reordered(users, order))
    assert set(found) == {users[place].id for place, query in enumerate(order) if place != query}
    for place, query in enumerate(order):
        if place != query:
            assert found[users[place].id].like == users[query].id


def test_a_shared_query_says_nothing_of_anybody(users: tuple[CurationTask, ...]) -> None:
    shared = [msgspec.structs.replace(task, query=" Curate  a list ") for task in users]
    (report,) = check_pairing(shared)
    assert (report.doubts, report.queries) == ((), 0)
    (report,) = check_pairing(users[:1])
    assert report.queries == 0


# --- the release ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_the_released_samples_have_three_exchanged_queries_in_each_grocery_file() -> None:
    reports = {report.scenario: report for report in check_pairing(load_curation("agenticshop", REAL).tasks)}
    swapped = {
        "AH7KKC5MZSTA5JLCOIH6D6OXFXRQ": "AHPY6AUXGS3GHQZKSGXVYAKI6GUQ",
        "AHPY6AUXGS3GHQZKSGXVYAKI6GUQ": "AEQLRFSCJIRIKSYQ2KQJCIBP4RHQ",
        "AEQLRFSCJIRIKSYQ2KQJCIBP4RHQ": "AH7KKC5MZSTA5JLCOIH6D6OXFXRQ",
    }
    for scenario in ("explicit_title", "attribute_specific", "brand_categorical"):
        found = reports[scenario].doubts
        assert {doubt.task_id.split("/")[1]: doubt.like.split("/")[1] for doubt in found} == swapped
        assert min(doubt.gain for doubt in found) >= 0.24
    for scenario in CLEAN:
        assert reports[scenario].doubts == ()


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_every_order_of_the_released_clean_files_is_seen_through() -> None:
    tasks = load_curation("agenticshop", REAL).tasks
    moved = found = right = wrong = 0
    for scenario in CLEAN:
        of_one = [task for task in tasks if task.scenario == scenario]
        for order in itertools.permutations(range(5)):
            seen = doubts(reordered(of_one, order))
            for task, place, query in zip(of_one, range(5), order, strict=True):
                moved += place != query
                found += place != query and task.id in seen
                right += place != query and task.id in seen and seen[task.id].like == of_one[query].id
                wrong += place == query and task.id in seen
    assert (moved, found, right, wrong) == (1440, 1440, 1440, 0)

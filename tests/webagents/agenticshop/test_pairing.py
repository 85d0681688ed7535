from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.webagents.agenticshop.loader import load_curation, read_curation
from grounding.webagents.agenticshop.pairing import MAX_USERS, PairingDoubt, check_pairing, fit_table
from grounding.webagents.agenticshop.records import CurationTask, Scenario, UserContext

from .made import made_task
from .profiles import profiles, write_profiles

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "agenticshop"
RAW = REAL / "raw" / "Grocery_and_Gourmet_Food.json"
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


def test_queries_with_their_users_raise_no_doubt(users: tuple[CurationTask, ...]) -> None:
    (report,) = check_pairing(users)
    assert report.doubts == ()
    assert len(report.fits) == 5
    assert all(fit.margin < 0 for fit in report.fits)


@settings(max_examples=40)
@given(st.permutations(range(5)))
def test_every_exchange_is_found_and_only_those(users: tuple[CurationTask, ...], order: list[int]) -> None:
    found = doubts(reordered(users, order))
    assert set(found) == {users[place].id for place, query in enumerate(order) if place != query}
    for place, query in enumerate(order):
        if place != query:
            assert found[users[place].id].like == users[query].id
            assert found[users[place].id].kind == "exchanged"


def test_a_query_that_was_copied_fits_another(users: tuple[CurationTask, ...]) -> None:
    found = doubts(reordered(users, [0, 0, 2, 3, 4]))
    assert list(found) == [users[1].id]
    doubt = found[users[1].id]
    assert (doubt.kind, doubt.like, doubt.gain) == ("fits_another", users[0].id, 0.0)
    assert doubt.fit > doubt.own


def test_a_shared_query_says_nothing_of_anybody(users: tuple[CurationTask, ...]) -> None:
    shared = [msgspec.structs.replace(task, query=" Curate  a list ") for task in users]
    (report,) = check_pairing(shared)
    assert (report.doubts, report.passed_over, report.why_not) == ((), 5, "its users share their query")
    (report,) = check_pairing(users[:1])
    assert report.why_not == "there is nobody else to compare with"


def test_scenarios_are_looked_at_each_for_itself(users: tuple[CurationTask, ...]) -> None:
    other = [msgspec.structs.replace(task, scenario="high_involvement") for task in reordered(users, [1, 0, 2, 3, 4])]
    first, second = check_pairing([*users, *other])
    assert (first.scenario, len(first.doubts)) == ("low_involvement", 0)
    assert (second.scenario, len(second.doubts)) == ("high_involvement", 2)


def test_too_many_users_are_not_compared() -> None:
    (report,) = check_pairing([made_task(f"u{number}") for number in range(MAX_USERS + 1)])
    assert "2,001 users" in report.why_not


@settings(max_examples=40)
@given(st.lists(st.text(max_size=30), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_fits_are_shares(texts: list[str], rng: random.Random) -> None:
    tasks = [
        made_task(f"u{number}", query=text, product_type=rng.choice(texts), context=UserContext())
        for number, text in enumerate(texts)
    ]
    table = fit_table(tasks)
    assert table.shape == (len(texts), len(texts))
    assert ((table >= 0) & (table <= 1 + 1e-9)).all()
    check_pairing(tasks)


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
        assert {doubt.kind for doubt in found} == {"exchanged"}
        assert min(doubt.gain for doubt in found) >= 0.24
    for scenario in CLEAN:
        assert reports[scenario].doubts == ()
        assert max(fit.margin for fit in reports[scenario].fits) < -0.25
    assert reports["casual_browsing"].passed_over == 5


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


def raw_tasks(*, with_target: bool) -> list[CurationTask]:
    """A query from the title that each of the 50 raw users' queries would be made of, and what they say elsewhere."""
    tasks = []
    for user, (stats, history) in json.loads(RAW.read_text()).items():
        title = history["target"]["product"]["title"]
        reviews = [one for one in history["review"] if with_target or one["product"]["title"] != title][:10]
        said = " ".join(f"{one['user_review_title']} {one['user_review']} {one['product']['title']}" for one in reviews)
        query = "looking for " + " ".join(re.split(r"[,\-|(\u2013]", title)[0].split()[:8])
        context = UserContext(brand_preferences=said)
        category = stats["stats"]["main_category"]
        tasks.append(made_task(user, query=query, situation="", product_type=category, context=context, checklist=()))
    return tasks


@pytest.mark.slow
@pytest.mark.skipif(not RAW.is_file(), reason="the release's raw histories are not here")
@pytest.mark.parametrize(
    ("with_target", "detected", "false_alarms"),
    [(True, 0.97, 0.0), (False, 0.85, 0.12)],
    ids=["as-released", "held-out"],
)
def test_exchanges_among_fifty_raw_users(with_target: bool, detected: float, false_alarms: float) -> None:
    tasks = raw_tasks(with_target=with_target)
    assert len(doubts(tasks)) <= (0 if with_target else 1)
    rng = random.Random(5)
    moved = found = wrong = stayed = 0
    for _ in range(20):
        places = rng.sample(range(50), rng.choice([2, 3, 5, 10, 50]))
        order = list(range(50))
        for place, query in zip(places, [*places[1:], places[0]], strict=True):
            order[place] = query
        seen = doubts(reordered(tasks, order))
        moved += len(places)
        stayed += 50 - len(places)
        found += sum(tasks[place].id in seen for place in places)
        wrong += sum(tasks[place].id in seen for place in range(50) if place not in places)
    assert found / moved >= detected
    assert wrong / stayed <= false_alarms

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.benchmarks.agenticshop.loader import count_curation, inspect_curation, read_curation
from grounding.cli import app
from grounding.data.registry import ExpectedCounts, departures

from .profiles import profile, profiles, write_profiles

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "agenticshop"


def test_interchanged_queries_are_warnings(tmp_path: Path) -> None:
    entries = profiles()
    entries[0]["user_query"], entries[1]["user_query"] = entries[1]["user_query"], entries[0]["user_query"]
    found = inspect_curation("agenticshop", write_profiles(tmp_path, entries))
    assert found.problems == ()
    assert found.warnings[0] == (
        "low_involvement: 2 of 5 queries look like another user's; scores of these users say little"
    )
    assert found.warnings[1].startswith(
        'low_involvement/USER0 ("Trail Shoes"): the query "looking for a tea kettle" looks like that of USER1 '
        '("Tea Kettle"): fits '
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_profiles(tmp_path, [profile(user=None)])
    given = ["check", "--dataset", "agenticshop", "--data-dir", str(tmp_path)]
    assert app(given, result_action="return_value") == 2
    assert "item 0: user: Expected `str`, got `null`" in capsys.readouterr().out
    write_profiles(tmp_path, profiles())
    assert app(given, result_action="return_value") == 0
    printed = capsys.readouterr()
    counted = (
        "5 users, 5 tasks (5 low_involvement for 5 products of 6.0 items), 5 checklists with 30 items; the open web"
    )
    assert printed.out.startswith(f"no problems found: {counted}")
    assert "grounding: warning: 5 tasks, where the card says 350" in printed.err


def test_a_whole_data_set_departs_in_nothing_from_its_card(tmp_path: Path) -> None:
    write_profiles(tmp_path, profiles())
    write_profiles(tmp_path, profiles()[:2], "open")
    counts = count_curation(read_curation(tmp_path))
    assert counts.groups == {"scenario": {"low_involvement": 5, "casual_browsing": 2}}
    assert departures(counts, ExpectedCounts(tasks=7, groups=counts.groups)) == ()
    assert departures(counts, ExpectedCounts(tasks=8, groups=counts.groups)) == ("7 of 8 tasks",)


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_the_released_samples() -> None:
    found = inspect_curation("agenticshop", REAL)
    assert found.problems == ()
    assert sum("looks like that of" in warning for warning in found.warnings) == 9
    assert found.summary.startswith("25 users, 35 tasks (5 explicit_title for 5 products of 20.0 items,")

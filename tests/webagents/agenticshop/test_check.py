from __future__ import annotations

from pathlib import Path

import pytest

from grounding.cli import app
from grounding.errors import UserError
from grounding.webagents.agenticshop.check import inspect_curation

from .profiles import profile, profiles, write_profiles

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "agenticshop"


def test_a_sound_data_set_of_ones_own(tmp_path: Path) -> None:
    found = inspect_curation("agenticshop", write_profiles(tmp_path, profiles()))
    assert found.problems == ()
    assert found.summary == (
        "5 users, 5 tasks (5 low_involvement), 5 checklists with 30 items (5 brand preferences, 5 price sensitivity, "
        "5 review sensitivity, 5 functional requirements, 5 aesthetic preferences, 5 purchase preferences); "
        "the open web"
    )
    assert found.warnings == (
        "5 tasks, where the card says 350",
        "users by scenario, and what the card says: 0 explicit_title (50), 0 attribute_specific (50), 0 "
        "brand_categorical (50), 0 high_involvement (50), 5 low_involvement (50), 0 aesthetic_driven (50), 0 "
        "casual_browsing (50)",
    )


def test_interchanged_queries_and_doubtful_items_are_warnings(tmp_path: Path) -> None:
    entries = profiles()
    entries[0]["user_query"], entries[1]["user_query"] = entries[1]["user_query"], entries[0]["user_query"]
    entries[2]["check_list"]["brand_preferences"] = ["Seller is reputable", "If it is red, it is cheap"]
    found = inspect_curation("agenticshop", write_profiles(tmp_path, entries))
    assert found.problems == ()
    assert found.warnings[0] == (
        "low_involvement: 2 of 5 queries look like another user's; scores of these users say little"
    )
    assert found.warnings[1].startswith(
        'low_involvement/USER0 ("Trail Shoes"): the query "looking for a tea kettle" looks like that of USER1 '
        '("Tea Kettle"): fits '
    )
    assert found.warnings[3] == (
        "2 of 31 items of the checklists may not be one thing that the page decides: only under a condition (1), an "
        "opinion (1)"
    )


def test_problems(tmp_path: Path) -> None:
    found = inspect_curation("agenticshop", write_profiles(tmp_path, [profile(user=3)]))
    assert [problem.field for problem in found.problems] == ["user"]
    with pytest.raises(UserError, match="there is no such folder"):
        inspect_curation("agenticshop", tmp_path / "nowhere")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_profiles(tmp_path, [profile(user=None)])
    given = ["check", "--dataset", "agenticshop", "--data-dir", str(tmp_path)]
    assert app(given, result_action="return_value") == 2
    assert "item 0: user = null: must be text" in capsys.readouterr().out
    write_profiles(tmp_path, profiles())
    assert app(given, result_action="return_value") == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("no problems found: 5 users")
    assert "grounding: warning: 5 tasks, where the card says 350" in printed.err


def test_the_bundled_mall_is_sound() -> None:
    found = inspect_curation("sample-mall")
    assert (found.problems, found.warnings) == ((), ())
    assert "20 users, 20 tasks" in found.summary
    assert found.summary.endswith("4 shops of its own")


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_the_released_samples() -> None:
    found = inspect_curation("agenticshop", REAL)
    assert found.problems == ()
    assert sum("looks like that of" in warning for warning in found.warnings) == 9
    assert found.summary.startswith("25 users, 35 tasks (5 explicit_title,")

from __future__ import annotations

import pytest

from grounding.errors import UserError
from grounding.webagents.agenticshop.records import SCENARIOS
from grounding.webagents.agenticshop.scenarios import (
    ROWS,
    intent_of,
    row_of,
    scenario_named,
    scenario_of_profile,
    scenario_of_search_file,
)


def test_every_scenario_once_in_the_papers_order() -> None:
    assert tuple(row.scenario for row in ROWS) == SCENARIOS
    for names in ("key", "pipeline_key", "folder", "title", "column"):
        assert len({getattr(row, names) for row in ROWS}) == 7


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.scenario)
def test_every_name_leads_back(row) -> None:  # type: ignore[no-untyped-def]
    for name in (row.scenario, row.key, row.pipeline_key, row.title.upper(), row.column, row.folder):
        assert scenario_named(name) == row.scenario
    assert scenario_of_profile(row.profile_file) == row.scenario
    assert scenario_of_search_file(row.search_input_file) == row.scenario
    assert scenario_of_search_file(row.search_output_file) == row.scenario
    assert row_of(row.scenario) is row


def test_names_that_are_none() -> None:
    with pytest.raises(UserError, match="no scenario is called 'grocery'"):
        scenario_named("grocery")
    # Three scenarios share this folder, so that it names none of them.
    with pytest.raises(UserError):
        scenario_named("Grocery_and_Gourmet_Food")
    assert scenario_of_profile("home.json") is None
    assert scenario_of_search_file("home_user_profile.json") is None


def test_intents_as_in_the_papers_table_8() -> None:
    assert [intent_of(scenario) for scenario in SCENARIOS] == [
        *["target_finding"] * 3,
        *["alternative_selection"] * 3,
        "open_exploration",
    ]

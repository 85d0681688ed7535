"""The seven scenarios and every name that the paper and the release have for each: one table for everybody.

The release calls one scenario by up to four names: the key of its files, the folder of its results, the word of its
pipeline's option, and the paper's column. Which belongs to which: paper, tables 4 and 8; ``run_pipeline.py``,
``collect_results.py`` and ``gpt_search.py`` of the release.
"""

from __future__ import annotations

from typing import NamedTuple

from grounding.benchmarks.agenticshop.records import SCENARIOS, Intent, Scenario
from grounding.errors import UserError


class ScenarioRow(NamedTuple):
    """One scenario under all its names.

    ``key`` names the release's files, ``pipeline_key`` is its option ``--category``. ``folder`` is where its results
    lie below the model's folder, ``CATEGORY`` or ``CATEGORY/VARIANT``. ``title`` is the paper's column, ``query_type``
    what the release writes beside the queries, ``domain`` the paper's (table 8).
    """

    scenario: Scenario
    intent: Intent
    key: str
    pipeline_key: str
    folder: str
    title: str
    query_type: str
    domain: str

    @property
    def category(self) -> str:
        """The folder of its results without that of the variant: the name of its raw file, too."""
        return self.folder.partition("/")[0]

    @property
    def profile_file(self) -> str:
        """The name of its file of users."""
        return f"{self.key}_user_profile.json"

    @property
    def search_input_file(self) -> str:
        """The name of its file of prompts."""
        return f"{self.key}_search_input.json"

    @property
    def search_output_file(self) -> str:
        """The name of its file of curated products."""
        return f"{self.key}_search_output.json"


_FOOD, _HOME, _CLOTHES = "Grocery_and_Gourmet_Food", "Home_and_Kitchen", "Clothing_Shoes_and_Jewelry"
_TARGET: Intent = "target_finding"
_SELECTION: Intent = "alternative_selection"

ROWS = (
    ScenarioRow("explicit_title", _TARGET, "grocery_explicit_title", "grocery_explicit", f"{_FOOD}/explicit",
                "Exp. Title", "explicit_title", "Food"),
    ScenarioRow("attribute_specific", _TARGET, "grocery_attribute_specific", "grocery_attribute",
                f"{_FOOD}/attribute_specific", "Attr. Spec.", "attribute_specific", "Food"),
    ScenarioRow("brand_categorical", _TARGET, "grocery_brand_categorical", "grocery_brand",
                f"{_FOOD}/brand_categorical", "Brand Cat.", "brand_categorical", "Food"),
    ScenarioRow("high_involvement", _SELECTION, "electronics", "electronics", "Electronics",
                "High Inv.", "categorical", "Electronics"),
    ScenarioRow("low_involvement", _SELECTION, "home", "home", _HOME, "Low Inv.", "categorical", "Home"),
    ScenarioRow("aesthetic_driven", _SELECTION, "clothing", "clothing", _CLOTHES,
                "Aesthe. Driv.", "categorical", "Fashion"),
    ScenarioRow("casual_browsing", "open_exploration", "open", "open", "open_ended_curation",
                "Cas. Brow.", "generic", "All"),
)  # fmt: skip
"""In the order of the paper's table 4."""

_BY_SCENARIO: dict[Scenario, ScenarioRow] = {row.scenario: row for row in ROWS}


def row_of(scenario: Scenario) -> ScenarioRow:
    """All names of a scenario."""
    return _BY_SCENARIO[scenario]


def intent_of(scenario: Scenario) -> Intent:
    """What brings the users of a scenario to the web."""
    return _BY_SCENARIO[scenario].intent


def scenario_named(name: str) -> Scenario:
    """A scenario by any of its names, in small or capital letters; raises a UserError where none is called so."""
    wanted = name.strip().casefold()
    for row in ROWS:
        if wanted in {one.casefold() for one in (row.scenario, row.key, row.pipeline_key, row.title, row.folder)}:
            return row.scenario
    raise UserError(f"no scenario is called {name!r}; there are: {', '.join(SCENARIOS)}")


def scenario_of_search_file(file_name: str) -> Scenario | None:
    """The scenario of a file of prompts or of curated products by the file's name; None where it is none."""
    return next((row.scenario for row in ROWS if file_name in (row.search_input_file, row.search_output_file)), None)

"""The seven scenarios and every name that the paper and the release have for each: one table for everybody.

The release calls one scenario by up to four names: the key of its files, the folder of its results, the word of its
pipeline's option, and the paper's column. Which belongs to which: paper, tables 4 and 8; ``run_pipeline.py``,
``collect_results.py`` and ``gpt_search.py`` of the release.
"""

from __future__ import annotations

from typing import Literal

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.agenticshop.records import SCENARIOS, Intent, Scenario

ReleaseKey = Literal[
    "grocery_explicit_title",
    "grocery_attribute_specific",
    "grocery_brand_categorical",
    "electronics",
    "home",
    "clothing",
    "open",
]
"""What the release's files are named after: ``KEY_user_profile.json``, ``KEY_search_output.json``."""


class ScenarioRow(Record, frozen=True, kw_only=True):
    """One scenario under all its names.

    ``key`` names the release's files, ``pipeline_key`` is its option ``--category``. ``category`` and ``variant`` are
    the folders of its results, ``variant`` "" where there is none. ``title`` is the paper's column, ``column`` the
    same as a plain word for files. ``query_type`` is what the release writes beside the queries. ``domain`` is the
    paper's, table 8.
    """

    scenario: Scenario
    intent: Intent
    key: ReleaseKey
    pipeline_key: str
    category: str
    title: str
    column: str
    query_type: str
    domain: str
    variant: str = ""

    @property
    def folder(self) -> str:
        """Where the release puts the results of this scenario, below the model's folder, parted by ``/``."""
        return f"{self.category}/{self.variant}" if self.variant else self.category

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


_GROCERY = "Grocery_and_Gourmet_Food"

ROWS: tuple[ScenarioRow, ...] = (
    ScenarioRow(
        scenario="explicit_title",
        intent="target_finding",
        key="grocery_explicit_title",
        pipeline_key="grocery_explicit",
        category=_GROCERY,
        variant="explicit",
        title="Exp. Title",
        column="exp_title",
        query_type="explicit_title",
        domain="Food",
    ),
    ScenarioRow(
        scenario="attribute_specific",
        intent="target_finding",
        key="grocery_attribute_specific",
        pipeline_key="grocery_attribute",
        category=_GROCERY,
        variant="attribute_specific",
        title="Attr. Spec.",
        column="attr_spec",
        query_type="attribute_specific",
        domain="Food",
    ),
    ScenarioRow(
        scenario="brand_categorical",
        intent="target_finding",
        key="grocery_brand_categorical",
        pipeline_key="grocery_brand",
        category=_GROCERY,
        variant="brand_categorical",
        title="Brand Cat.",
        column="brand_cat",
        query_type="brand_categorical",
        domain="Food",
    ),
    ScenarioRow(
        scenario="high_involvement",
        intent="alternative_selection",
        key="electronics",
        pipeline_key="electronics",
        category="Electronics",
        title="High Inv.",
        column="high_inv",
        query_type="categorical",
        domain="Electronics",
    ),
    ScenarioRow(
        scenario="low_involvement",
        intent="alternative_selection",
        key="home",
        pipeline_key="home",
        category="Home_and_Kitchen",
        title="Low Inv.",
        column="low_inv",
        query_type="categorical",
        domain="Home",
    ),
    ScenarioRow(
        scenario="aesthetic_driven",
        intent="alternative_selection",
        key="clothing",
        pipeline_key="clothing",
        category="Clothing_Shoes_and_Jewelry",
        title="Aesthe. Driv.",
        column="aesthetic",
        query_type="categorical",
        domain="Fashion",
    ),
    ScenarioRow(
        scenario="casual_browsing",
        intent="open_exploration",
        key="open",
        pipeline_key="open",
        category="open_ended_curation",
        title="Cas. Brow.",
        column="cas_brow",
        query_type="generic",
        domain="All",
    ),
)
"""In the order of the paper's table 4."""

BY_SCENARIO: dict[Scenario, ScenarioRow] = {row.scenario: row for row in ROWS}

INTENT_TITLES: dict[Intent, str] = {
    "target_finding": "Target finding",
    "alternative_selection": "Alternative selection",
    "open_exploration": "Open exploration",
}


def row_of(scenario: Scenario) -> ScenarioRow:
    """All names of a scenario."""
    return BY_SCENARIO[scenario]


def intent_of(scenario: Scenario) -> Intent:
    """What brings the users of a scenario to the web."""
    return BY_SCENARIO[scenario].intent


def scenario_named(name: str) -> Scenario:
    """A scenario by any of its names, in small or capital letters.

    Raises:
        UserError: No scenario is called so.
    """
    wanted = name.strip().casefold()
    for row in ROWS:
        names = {row.scenario, row.key, row.pipeline_key, row.column, row.title, row.folder}
        if not row.variant:
            names.add(row.category)
        if wanted in {one.casefold() for one in names}:
            return row.scenario
    raise UserError(f"no scenario is called {name!r}; there are: {', '.join(SCENARIOS)}")


def scenario_of_profile(file_name: str) -> Scenario | None:
    """The scenario of a file of users by the file's name; None where it is none."""
    return next((row.scenario for row in ROWS if row.profile_file == file_name), None)


def scenario_of_search_file(file_name: str) -> Scenario | None:
    """The scenario of a file of prompts or of curated products by the file's name; None where it is none."""
    return next(
        (row.scenario for row in ROWS if file_name in (row.search_input_file, row.search_output_file)),
        None,
    )

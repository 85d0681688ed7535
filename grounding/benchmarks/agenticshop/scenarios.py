"""The seven scenarios and every name that the paper and the release have for each: one table for everybody.

The release calls one scenario by up to four names: the key of its files, the folder of its results, the word of its
pipeline's option, and the paper's column. Which belongs to which: paper, tables 4 and 8; ``run_pipeline.py``,
``collect_results.py`` and ``gpt_search.py`` of the release.
"""

from pathlib import Path
from typing import Literal

import msgspec

from grounding.benchmarks.agenticshop.records import SCENARIOS, Intent, Scenario
from grounding.errors import UserError
from grounding.records import Record

FileKind = Literal["user_profile", "search_input", "search_output"]
"""The release's files of users, of prompts and of curated products."""


class ScenarioRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``key`` names the release's files, ``pipeline_key`` its ``--category``, ``folder`` is where its results lie."""

    scenario: Scenario
    intent: Intent
    key: str
    pipeline_key: str
    folder: str
    title: str
    printed: str
    query_type: str
    domain: str

    @property
    def category(self) -> str:
        """The folder of its results without that of the variant: the name of its raw file, too."""
        return self.folder.partition("/")[0]

    def file(self, kind: FileKind) -> str:
        return f"{self.key}_{kind}.json"


ROWS = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes(), type=tuple[ScenarioRow, ...])
_BY_SCENARIO = {row.scenario: row for row in ROWS}


def row_of(scenario: Scenario) -> ScenarioRow:
    return _BY_SCENARIO[scenario]


def scenario_named(name: str) -> Scenario:
    """A scenario by any of its names, in small or capital letters; raises a UserError where none is called so."""
    wanted = name.strip().casefold()
    for row in ROWS:
        if wanted in {one.casefold() for one in (row.scenario, row.key, row.pipeline_key, row.title, row.folder)}:
            return row.scenario
    raise UserError(f"no scenario is called {name!r}; there are: {', '.join(SCENARIOS)}")


def scenario_of_search_file(file_name: str) -> Scenario | None:
    """The scenario of a file of prompts or of curated products by its name; None where it is none."""
    return next(
        (row.scenario for row in ROWS if file_name in (row.file("search_input"), row.file("search_output"))), None
    )

"""The layouts of AgenticShop's release, read and written: what its programs leave behind, and what they go on from."""

from __future__ import annotations

from grounding.webagents.agenticshop.release.evaluations import evaluation_json, read_evaluation
from grounding.webagents.agenticshop.release.extractions import extraction_json, read_extraction
from grounding.webagents.agenticshop.release.results import RecordedResults, read_eval_results, write_eval_results
from grounding.webagents.agenticshop.release.search import (
    RecordedCurations,
    read_search_input,
    read_search_output,
    write_search_input,
    write_search_output,
)
from grounding.webagents.agenticshop.release.whole import Exported, write_profiles, write_release

__all__ = [
    "Exported",
    "RecordedCurations",
    "RecordedResults",
    "evaluation_json",
    "extraction_json",
    "read_eval_results",
    "read_evaluation",
    "read_extraction",
    "read_search_input",
    "read_search_output",
    "write_eval_results",
    "write_profiles",
    "write_release",
    "write_search_input",
    "write_search_output",
]

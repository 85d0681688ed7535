"""The release's files of prompts, written, and of curated products, read and written.

``KEY_search_input.json``: ``[{"user", "seed_product_type", "prompt", "variables", "check_list"}, ...]``
``KEY_search_output.json``: ``[{"user", "search_results": [{"product_name", "product_url", "reasoning"}], "error"}]``
with ``error`` only where there is one.

What an output does not say is unknown: what the agent did, what it cost, and of which kind a failure was. An entry with
``error`` is a failure of the kind ``error``; one without any product is ``unparsed``. Where a user occurs twice, the
last entry counts, as in ``load_search_results`` of the release.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grounding.benchmarks.agenticshop.agents.search import curation_prompt, curation_prompts
from grounding.benchmarks.agenticshop.loader import checklist_of
from grounding.benchmarks.agenticshop.records import DIMENSIONS, Curated, Curation, CurationTask, Scenario, view_of
from grounding.benchmarks.agenticshop.release.evaluations import read_json, text_of
from grounding.benchmarks.agenticshop.scenarios import ROWS
from grounding.errors import UserError
from grounding.records import Failure, Record


class OutputEntry(Record, frozen=True, kw_only=True):
    """One entry of a file of curated products, and why there are none."""

    products: tuple[Curated, ...] = ()
    failure: Failure | None = None


def read_search_answers(path: Path) -> dict[str, OutputEntry]:
    """The entries of one file of curated products, by user; raises a UserError where it is something else."""
    decoded = read_json(path, "a list of curated products")
    if not isinstance(decoded, list):
        raise UserError(f'{path}: is not a list of curated products: [{{"user": ..., "search_results": [...]}}, ...]')
    names = {"url": "product_url", "name": "product_name", "reasoning": "reasoning"}
    found = {}
    for item, entry in enumerate(decoded):
        if not isinstance(entry, dict) or not isinstance(entry.get("user"), str):
            raise UserError(f"{path}: item {item}: expected an object with a user and search_results")
        results = entry.get("search_results") or []
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            raise UserError(f"{path}: item {item}: search_results must be a list of objects with a product_url")
        products = tuple(
            Curated(rank=rank, **{ours: text_of(one.get(theirs)) for ours, theirs in names.items()})
            for rank, one in enumerate(results)
        )
        failure, error = None, text_of(entry.get("error"))
        if not products:
            failure = Failure(kind="error" if error else "unparsed", message=error or "the answer holds no products")
        found[entry["user"]] = OutputEntry(products=products, failure=failure)
    return found


def search_outputs(path: Path) -> dict[Scenario, Path]:
    """The files of curated products in the folder of one model, by scenario; raises a UserError where none are."""
    found = {row.scenario: path / row.search_output_file for row in ROWS if (path / row.search_output_file).is_file()}
    if not found:
        raise UserError(f"{path}: no *_search_output.json in it; give the folder of one model")
    return found


def search_entry(task: CurationTask, curation: Curation) -> dict[str, Any]:
    """A curation as the release writes it; with ``error`` where it failed."""
    products = sorted(curation.products, key=lambda product: product.rank)
    results = [{"product_name": one.name, "product_url": one.url, "reasoning": one.reasoning} for one in products]
    error = {} if curation.failure is None else {"error": curation.failure.message}
    return {"user": task.user, "search_results": results, **error}


def input_entry(task: CurationTask) -> dict[str, Any]:
    """A task as ``prepare_search_input.py`` of the release writes it: the prompt, and what it was filled with."""
    return {
        "user": task.user,
        "seed_product_type": task.product_type,
        "prompt": curation_prompt(curation_prompts(), view_of(task)),
        "variables": {
            "seed_product_type": task.product_type,
            "situation": task.situation,
            "budget_range": task.budget,
            "user_query": task.query,
            **{dimension: getattr(task.context, dimension) for dimension in DIMENSIONS},
        },
        "check_list": checklist_of(task.checklist),
    }

"""A data set and a run's answers as one tree in the release's layout, so that its own programs can go on from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.agenticshop.layout import profile_of
from grounding.webagents.agenticshop.records import Curation, CurationTask, Extraction, Judgement, Scenario
from grounding.webagents.agenticshop.release.files import write_json
from grounding.webagents.agenticshop.release.results import write_eval_results
from grounding.webagents.agenticshop.release.search import write_search_input, write_search_output
from grounding.webagents.agenticshop.scenarios import row_of
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

ModelType = Literal["search_llms", "web_agents"]

PROFILE_INDENT = 4
_MODEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")


class Exported(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How much was written, and where the results lie."""

    users: int
    curations: int
    products: int
    results: str


def write_profiles(folder: Path, tasks: Sequence[CurationTask]) -> tuple[Path, ...]:
    """Write ``KEY_user_profile.json`` for every scenario; the paths of the files.

    Raises:
        UserError: A file can't be written.
    """
    by_scenario: dict[Scenario, list[CurationTask]] = {}
    for task in tasks:
        by_scenario.setdefault(task.scenario, []).append(task)
    written = []
    for scenario, of_scenario in by_scenario.items():
        path = folder / row_of(scenario).profile_file
        write_json(path, [profile_of(task) for task in of_scenario], indent=PROFILE_INDENT)
        written.append(path)
    return tuple(written)


def write_release(
    folder: Path,
    tasks: Sequence[CurationTask],
    *,
    model_type: ModelType,
    model: str,
    curations: Mapping[str, Curation],
    extractions: Mapping[str, Extraction],
    judgements: Mapping[str, Judgement],
    evidence: EvidenceFolder | None = None,
    wrapped: bool = True,
) -> Exported:
    """Write users, prompts, curated products and results below a folder, as the release's repository has them.

    Args:
        folder: Where to; it must not hold anything yet, so that no results of two runs are mixed.
        tasks: Those of the run.
        model_type: Of the release's two: models with a search of their own, or agents with a browser.
        model: The folder's name for the model.
        curations: By task id.
        extractions: By product id.
        judgements: Those of one judge, by product id.
        evidence: Where the pictures of the pages are; none are written without it.
        wrapped: Whether evaluations are written so that the release's collector reads them.

    Raises:
        UserError: The folder holds something, the name can't be that of a folder, or a file can't be written.
    """
    if not _MODEL.fullmatch(model):
        raise UserError(f"{model!r} can't be the name of a folder; give letters, digits, '_', '-' and '.'")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already and not empty; give a new folder")
    artifacts = folder / "product_curation_artifacts"
    results = folder / "eval_results" / model_type / model
    write_profiles(folder / "data" / "user_profiles", tasks)
    write_search_input(artifacts / "inputs", tasks)
    write_search_output(artifacts / model_type / model, tasks, curations)
    products = write_eval_results(results, tasks, extractions, judgements, evidence=evidence, wrapped=wrapped)
    return Exported(
        users=len({task.user for task in tasks}),
        curations=sum(task.id in curations for task in tasks),
        products=products,
        results=str(results),
    )

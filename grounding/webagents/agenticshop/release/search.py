"""The release's files of prompts and of curated products, read and written.

``KEY_search_input.json``: ``[{"user", "seed_product_type", "prompt", "variables", "check_list"}, ...]``
``KEY_search_output.json``: ``[{"user", "search_results": [{"product_name", "product_url", "reasoning"}], "error"}]``
with ``error`` only where there is one.

What an output does not say is unknown: what the agent did, what it cost, and of which kind a failure was. An entry with
``error`` is a failure of the kind ``error``; one without any product is ``unparsed``. Where a user occurs twice, the
last entry counts, as in ``load_search_results`` of the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding.errors import UserError
from grounding.loaders.fields import Fields
from grounding.loaders.problems import DatasetProblems, Problem
from grounding.records import Failure, Record
from grounding.webagents.agenticshop.agents.base import made
from grounding.webagents.agenticshop.agents.search.prompt import curation_prompt, curation_prompts
from grounding.webagents.agenticshop.layout import checklist_of, read_user
from grounding.webagents.agenticshop.records import (
    DIMENSIONS,
    Curated,
    Curation,
    CurationTask,
    Scenario,
    view_of,
)
from grounding.webagents.agenticshop.release.files import read_json, text_of, write_json
from grounding.webagents.agenticshop.scenarios import ROWS, row_of, scenario_of_search_file

INPUT_INDENT = 2
OUTPUT_INDENT = 4
NO_PRODUCTS = "the answer holds no products"


class OutputEntry(Record, frozen=True, kw_only=True):
    """One entry of a file of curated products. ``error`` is "" where there is none."""

    user: str
    products: tuple[Curated, ...] = ()
    error: str = ""

    @property
    def failure(self) -> Failure | None:
        """Why there are no products; None where there are."""
        if self.products:
            return None
        return (
            Failure(kind="error", message=self.error) if self.error else Failure(kind="unparsed", message=NO_PRODUCTS)
        )


class RecordedCurations(Record, frozen=True, kw_only=True):
    """Curations read from the release's outputs, in the order of the tasks. ``odd`` says what was passed over."""

    curations: tuple[Curation, ...]
    odd: tuple[str, ...] = ()


# --- outputs -------------------------------------------------------------------------------------------------------


def read_search_answers(path: Path) -> dict[str, OutputEntry]:
    """The entries of one file of curated products, by user.

    Raises:
        UserError: The file is something else; says where.
    """
    what = "a list of curated products"
    decoded = read_json(path, what)
    if not isinstance(decoded, list):
        raise UserError(f'{path}: is not {what}: expected [{{"user": ..., "search_results": [...]}}, ...]')
    found = {}
    for item, entry in enumerate(decoded):
        if not isinstance(entry, dict) or not isinstance(entry.get("user"), str):
            raise UserError(f"{path}: item {item}: expected an object with a user and search_results")
        found[entry["user"]] = _answer(path, item, entry)
    return found


def _answer(path: Path, item: int, entry: dict[str, Any]) -> OutputEntry:
    results = entry.get("search_results")
    if results is None:
        results = []
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise UserError(f"{path}: item {item}: search_results must be a list of objects with a product_url")
    products = tuple(
        Curated(
            rank=rank,
            url=text_of(one.get("product_url")),
            name=text_of(one.get("product_name")),
            reasoning=text_of(one.get("reasoning")),
        )
        for rank, one in enumerate(results)
    )
    return OutputEntry(user=entry["user"], products=products, error=text_of(entry.get("error")))


def search_outputs(path: Path) -> dict[Scenario, Path]:
    """The files of curated products in a folder, by scenario; of one file, that file under its name's scenario.

    Raises:
        UserError: There are none.
    """
    if path.is_file():
        scenario = scenario_of_search_file(path.name)
        if scenario is None:
            names = ", ".join(row.search_output_file for row in ROWS)
            raise UserError(f"{path}: the file's name says no scenario; expected one of: {names}")
        return {scenario: path}
    found = {row.scenario: path / row.search_output_file for row in ROWS if (path / row.search_output_file).is_file()}
    if not found:
        raise UserError(f"{path}: no *_search_output.json in it; give the folder of one model")
    return found


def read_search_output(path: Path, tasks: Sequence[CurationTask]) -> RecordedCurations:
    """The curations of a folder of outputs, or of one file, for those tasks that have one.

    Args:
        path: A folder with ``KEY_search_output.json`` files, or one of them.
        tasks: Those of the data set.

    Raises:
        UserError: A file can't be read or is something else.
    """
    curations, odd = [], []
    for scenario, file in search_outputs(path).items():
        answers = read_search_answers(file)
        of_scenario = {task.user: task for task in tasks if task.scenario == scenario}
        unknown = [user for user in answers if user not in of_scenario]
        if unknown:
            odd.append(f"{file.name}: {len(unknown)} users that the data set does not have, such as {unknown[0]!r}")
        curations += [as_curation(answers[user], task) for user, task in of_scenario.items() if user in answers]
    return RecordedCurations(curations=tuple(curations), odd=tuple(odd))


def as_curation(answer: OutputEntry, task: CurationTask, key: str = "") -> Curation:
    """An entry as the answer to a task."""
    return made(view_of(task), key, products=answer.products, failure=answer.failure)


def search_entry(task: CurationTask, curation: Curation) -> dict[str, Any]:
    """A curation as the release writes it; with ``error`` where it failed."""
    entry: dict[str, Any] = {
        "user": task.user,
        "search_results": [
            {"product_name": one.name, "product_url": one.url, "reasoning": one.reasoning}
            for one in sorted(curation.products, key=lambda product: product.rank)
        ],
    }
    if curation.failure is not None:
        entry["error"] = curation.failure.message
    return entry


def write_search_output(
    folder: Path, tasks: Sequence[CurationTask], curations: Mapping[str, Curation]
) -> tuple[Path, ...]:
    """Write ``KEY_search_output.json`` for every scenario that has a curation; the paths of the files.

    Args:
        folder: Where to; made where it isn't there.
        tasks: Those of the data set; the order of the entries is theirs.
        curations: By task id; a task without one gets no entry.

    Raises:
        UserError: A file can't be written.
    """
    written = []
    for scenario, of_scenario in _by_scenario(tasks).items():
        entries = [search_entry(task, curations[task.id]) for task in of_scenario if task.id in curations]
        if entries:
            path = folder / row_of(scenario).search_output_file
            write_json(path, entries, indent=OUTPUT_INDENT)
            written.append(path)
    return tuple(written)


# --- inputs --------------------------------------------------------------------------------------------------------


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


def write_search_input(folder: Path, tasks: Sequence[CurationTask]) -> tuple[Path, ...]:
    """Write ``KEY_search_input.json`` for every scenario; the paths of the files.

    Raises:
        UserError: A file can't be written.
    """
    written = []
    for scenario, of_scenario in _by_scenario(tasks).items():
        path = folder / row_of(scenario).search_input_file
        write_json(path, [input_entry(task) for task in of_scenario], indent=INPUT_INDENT)
        written.append(path)
    return tuple(written)


def read_search_input(path: Path) -> tuple[CurationTask, ...]:
    """The tasks of a ``KEY_search_input.json``. The kind of query and the target are not in it: "" and None.

    Raises:
        DatasetProblems: Entries are wrong; every problem is in it.
        UserError: The file is something else, or its name says no scenario.
    """
    scenario = scenario_of_search_file(path.name)
    if scenario is None:
        raise UserError(f"{path}: the file's name says no scenario; expected KEY_search_input.json")
    decoded = read_json(path, "a list of prompts")
    if not isinstance(decoded, list):
        raise UserError(f"{path}: is not a list of prompts: expected [{{...}}, ...]")
    problems: list[Problem] = []
    tasks = []
    for item, entry in enumerate(decoded):
        if not isinstance(entry, dict) or not isinstance(entry.get("variables"), dict):
            raise UserError(f"{path}: item {item}: expected an object with user, variables and check_list")
        profile = _profile(entry)
        tasks.append(read_user(Fields(str(path), item, profile, problems), profile, scenario).task)
    if problems:
        raise DatasetProblems(problems)
    return tuple(tasks)


def _profile(entry: dict[str, Any]) -> dict[str, Any]:
    variables = entry["variables"]
    said = {name: variables[name] for name in ("seed_product_type", "situation", "budget_range") if name in variables}
    context = {name: variables[name] for name in DIMENSIONS if name in variables}
    kept: dict[str, Any] = {name: entry[name] for name in ("user", "check_list") if name in entry}
    return {**kept, **said, "user_query": variables.get("user_query"), "user_context": context}


def _by_scenario(tasks: Iterable[CurationTask]) -> dict[Scenario, list[CurationTask]]:
    found: dict[Scenario, list[CurationTask]] = {}
    for task in tasks:
        found.setdefault(task.scenario, []).append(task)
    return found

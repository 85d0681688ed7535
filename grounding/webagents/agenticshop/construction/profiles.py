"""What was written, put together: subjects with context, need and checklist to tasks, tasks to the release's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from grounding.lockedfolder import LockedFolder
from grounding.webagents.agenticshop.construction.facts import brand_of
from grounding.webagents.agenticshop.construction.records import Checklist, Domain, Need, Subject
from grounding.webagents.agenticshop.layout import profile_of
from grounding.webagents.agenticshop.records import CurationTask, Scenario, Target, UserContext
from grounding.webagents.agenticshop.scenarios import row_of
from grounding.webagents.rawusers import details_of


def tasks_of(
    subject: Subject,
    scenarios: Sequence[Scenario],
    context: UserContext,
    need: Need,
    checklist: Checklist,
    open_query: str,
) -> tuple[CurationTask, ...]:
    """A user's tasks: one for each scenario that is made of the domain, with the query that belongs there."""
    return tuple(
        CurationTask(
            id=f"{scenario}/{subject.user}",
            user=subject.user,
            scenario=scenario,
            situation=need.situation,
            query=_query(scenario, need, open_query),
            query_type=row_of(scenario).query_type,
            context=context,
            checklist=checklist,
            product_type=subject.product_type or None,
            budget=need.budget or None,
            target=_target(subject),
        )
        for scenario in scenarios
    )


def _query(scenario: Scenario, need: Need, open_query: str) -> str:
    match scenario:
        case "explicit_title":
            return need.explicit_title
        case "attribute_specific":
            return need.attribute_specific
        case "brand_categorical":
            return need.brand_categorical
        case "casual_browsing":
            return open_query
    return need.categorical


def _target(subject: Subject) -> Target | None:
    if subject.seed is None:
        return None
    product = subject.seed.product
    details = details_of(product)
    brand = brand_of(product) or str(details.get("Manufacturer") or "")
    return Target(title=product.title, brand=brand, product_type=subject.product_type)


def all_tasks(
    subjects: Sequence[Subject],
    chosen: Mapping[str, tuple[Scenario, ...]],
    contexts: Mapping[str, UserContext],
    needs: Mapping[str, Need],
    checklists: Mapping[str, Checklist],
    open_query: str,
) -> tuple[CurationTask, ...]:
    """The tasks of every subject that has all three parts, in the subjects' order; parts are found by the id."""
    whole = [one for one in subjects if one.id in contexts and one.id in needs and one.id in checklists]
    return tuple(
        task
        for one in whole
        for task in tasks_of(one, chosen[one.domain], contexts[one.id], needs[one.id], checklists[one.id], open_query)
    )


def write_profiles(folder: LockedFolder, tasks: Sequence[CurationTask], domains: Sequence[Domain]) -> tuple[str, ...]:
    """Write a file for each scenario that there are users of; the names of the files.

    Raises:
        OSError: A file can't be written.
    """
    written = []
    for scenario in (scenario for domain in domains for scenario in domain.scenarios):
        users = [profile_of(task) for task in tasks if task.scenario == scenario]
        if users:
            name = row_of(scenario).profile_file
            folder.replace(name, json.dumps(users, ensure_ascii=False, indent=4).encode())
            written.append(name)
    return tuple(written)

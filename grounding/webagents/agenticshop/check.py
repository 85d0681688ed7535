"""What is wrong with a data set of users with needs, and what is odd: its name in; problems, warnings and counts out.

Everything that loading refuses is a problem. A query that looks like another user's, an item of a checklist that
nobody could check, and counts other than the card's are warnings: the data set can be used, and its scores mean less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.loaders.cards import ExpectedCounts
from grounding.loaders.counts import differences
from grounding.loaders.problems import DatasetProblems, shorten
from grounding.loaders.registry import Inspection, locate
from grounding.webagents.agenticshop.checklist import ChecklistLint, lint_tasks
from grounding.webagents.agenticshop.item_words import FlagReason
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.pairing import PairingDoubt, PairingReport, check_pairing
from grounding.webagents.agenticshop.records import SCENARIOS, CurationDataset, CurationTask

SHOWN_DOUBTS = 20

_OBJECTIONS: dict[FlagReason, str] = {
    "duplicate": "another item again",
    "compound": "several conditions",
    "conditional": "only under a condition",
    "subjective": "an opinion",
    "history": "the user's past",
    "calculation": "to be worked out",
    "comparison": "other products",
    "elsewhere": "not on the page",
    "absence": "that something is nowhere",
}


def inspect_curation(dataset: str, data_dir: Path | None = None) -> Inspection:
    """Read a data set whole and say what is wrong or odd.

    Args:
        dataset: The name or path of its card, or the name of the layout.
        data_dir: Where the files lie; not needed for a bundled data set.

    Raises:
        UserError: There is no such data set, or its files are not there.
    """
    try:
        found = load_curation(dataset, data_dir)
    except DatasetProblems as problems:
        return Inspection(problems=problems.problems)
    warnings = [*found.warnings, *_pairing(found.tasks), *lint_sentences(lint_tasks(found.tasks))]
    warnings += _counts(found, locate(dataset, data_dir).expected)
    return Inspection(warnings=tuple(warnings), summary=summary(found))


def summary(dataset: CurationDataset) -> str:
    """How much a data set holds, in one line."""
    users = len({task.user for task in dataset.tasks})
    lint = lint_tasks(dataset.tasks)
    by_scenario = Counter(task.scenario for task in dataset.tasks)
    parts = [f"{by_scenario[scenario]} {scenario}" for scenario in SCENARIOS if by_scenario[scenario]]
    dimensions = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in lint.by_dimension.items())
    shops = f"; {len(dataset.sites)} shops of its own" if dataset.sites else "; the open web"
    return (
        f"{users:,} users, {len(dataset.tasks):,} tasks ({', '.join(parts)}), {lint.checklists:,} checklists with "
        f"{lint.items:,} items ({dimensions}){shops}"
    )


def doubt_sentence(doubt: PairingDoubt, tasks: dict[str, CurationTask]) -> str:
    """One doubtful query in words: whose it is, what it says, whose it looks like, and how well it fits both."""
    mine, other = tasks[doubt.task_id], tasks[doubt.like]
    return (
        f"{doubt.task_id} ({_about(mine)}): the query {shorten(mine.query)} looks like that of {other.user} "
        f"({_about(other)}): fits {doubt.fit:.2f} there, {doubt.own:.2f} here"
    )


def pairing_sentences(reports: Sequence[PairingReport], tasks: Sequence[CurationTask]) -> list[str]:
    """What the look for interchanged queries found: a line for each scenario with doubts and one for each doubt."""
    known = {task.id: task for task in tasks}
    said = []
    for report in reports:
        if not report.doubts:
            continue
        looked_at = len(report.fits)
        said.append(
            f"{report.scenario}: {len(report.doubts)} of {looked_at} queries look like another user's; scores of these "
            "users say little"
        )
        said += [doubt_sentence(doubt, known) for doubt in report.doubts[:SHOWN_DOUBTS]]
        if len(report.doubts) > SHOWN_DOUBTS:
            said.append(f"{report.scenario}: … and {len(report.doubts) - SHOWN_DOUBTS} more")
    return said


def lint_sentences(lint: ChecklistLint) -> list[str]:
    """What is objected to in the checklists: a summary, no item by name."""
    if not lint.flagged:
        return []
    parts = [f"{_OBJECTIONS[reason]} ({count:,})" for reason, count in lint.by_reason.items()]
    return [
        f"{lint.flagged:,} of {lint.items:,} items of the checklists may not be one thing that the page decides: "
        f"{', '.join(parts)}"
    ]


def _about(task: CurationTask) -> str:
    return shorten(task.product_type or task.situation or task.scenario)


def _pairing(tasks: Sequence[CurationTask]) -> list[str]:
    return pairing_sentences(check_pairing(tasks), tasks)


def _counts(dataset: CurationDataset, expected: ExpectedCounts) -> list[str]:
    users, tasks = len({task.user for task in dataset.tasks}), len(dataset.tasks)
    counted = ExpectedCounts(participants=users, tasks=tasks, instructions=tasks)
    said = [*differences(counted, msgspec.structs.replace(expected, groups={}))]
    stated = expected.groups.get("scenario", {})
    by_scenario = Counter(str(task.scenario) for task in dataset.tasks)
    other = [f"{by_scenario[name]} {name} ({count})" for name, count in stated.items() if by_scenario[name] != count]
    if other:
        said.append(f"users by scenario, and what the card says: {', '.join(other)}")
    return said

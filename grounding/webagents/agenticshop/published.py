"""The tables of AgenticShop's paper with runs under them: scores, search success, errors, successes alone.

The paper's scores came out of the release's arithmetic over what its judge reported; what stands beside them of a run
is the reading ``paper``: the definition that the paper gives. The two agree only for a judge that adds up right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from grounding.places import published_dir
from grounding.webagents.agenticshop.records import SCENARIOS, Scenario
from grounding.webagents.agenticshop.scenarios import intent_of, row_of
from grounding.webagents.agenticshop.scorebook import CurationScored
from grounding.webagents.agenticshop.scores.behaviour import AttributionFigures
from grounding.webagents.agenticshop.scores.figures import Estimate
from grounding.webagents.agenticshop.scores.judged import ScenarioScore
from grounding.webagents.agenticshop.table import row_name
from grounding.webagents.printed import Place, PrintedTable, print_tables

FILE = "agenticshop.csv"
PAPER_DATASET = "agenticshop"
PRINTED: dict[Scenario, str] = {
    "explicit_title": "explicit title",
    "attribute_specific": "attribute specified",
    "brand_categorical": "brand and category",
    "high_involvement": "high involvement",
    "low_involvement": "low involvement",
    "aesthetic_driven": "aesthetic driven",
    "casual_browsing": "casual browsing",
}
"""How the file of figures names the scenarios."""


def print_published_curations(console: Console, results: Sequence[CurationScored]) -> None:
    """Print the paper's tables 4 to 7 with the runs under them, and what is odd about the figures.

    Raises:
        UserError: the figures are missing from this installation or damaged.
    """
    print_tables(console, published_dir() / FILE, TABLES, results, row_name)
    for result in results:
        if result.info.asked.dataset != PAPER_DATASET or result.info.asked.select != "all":
            asked = result.info.asked
            line = (
                f"warning    {row_name(result)}: other data than the paper's ({asked.dataset}, "
                f"{result.summary.counts.tasks} tasks, selection {asked.select}): not comparable with it"
            )
            console.print(Text(line, style="yellow"), soft_wrap=True, highlight=False)


def _of(read: Callable[[ScenarioScore], Estimate], scenario: Scenario) -> Callable[[CurationScored], float | None]:
    def own(result: CurationScored) -> float | None:
        summary = result.summary
        score = summary.of(summary.headline).scenarios.get(scenario) if summary.headline else None
        return None if score is None else _scaled(read(score), 100)

    return own


def _found(scenario: Scenario) -> Callable[[CurationScored], float | None]:
    return lambda result: _scaled(result.summary.search_success.get(scenario), 1)


def _links(read: Callable[[AttributionFigures], Estimate], scale: float) -> Callable[[CurationScored], float | None]:
    return lambda result: _scaled(read(result.summary.attribution), scale)


def _scaled(estimate: Estimate | None, scale: float) -> float | None:
    return None if estimate is None or estimate.value is None else scale * estimate.value


def _heading(scenario: Scenario) -> str:
    return row_of(scenario).title.replace(" ", "\n", 1)


def _scores(ending: str, read: Callable[[ScenarioScore], Estimate]) -> tuple[Place[CurationScored], ...]:
    return tuple(
        Place(column=f"{PRINTED[each]}{ending}", heading=_heading(each), own=_of(read, each), digits=2)
        for each in SCENARIOS
    )


TABLES: tuple[PrintedTable[CurationScored], ...] = (
    PrintedTable(number="4", about="score by scenario, all tasks, %", places=_scores("", lambda one: one.all)),
    PrintedTable(
        number="7",
        about="score by scenario, successes alone, %",
        places=_scores(", successful", lambda one: one.success),
    ),
    PrintedTable(
        number="5",
        about="target's brand and type found",
        places=tuple(
            Place(column=PRINTED[each], heading=_heading(each), own=_found(each), digits=2)
            for each in SCENARIOS
            if intent_of(each) == "target_finding"
        ),
    ),
    PrintedTable(
        number="6",
        about="errors of attribution",
        places=(
            Place(column="error percent", heading="wrong\nlinks %", own=_links(lambda one: one.error, 100), digits=2),
            Place(
                column="irrelevant share of errors",
                heading="of them\nirrelevant %",
                own=_links(lambda one: one.irrelevant, 100),
                digits=2,
            ),
            Place(
                column="invalid share of errors",
                heading="of them\ninvalid %",
                own=_links(lambda one: one.invalid, 100),
                digits=2,
            ),
            Place(column="no review page", heading="no\nreviews", own=_links(lambda one: one.no_review, 1), digits=2),
            Place(
                column="out of budget share of price failures",
                heading="over budget,\nof failed",
                own=_links(lambda one: one.over_budget, 1),
                digits=2,
            ),
        ),
    ),
)

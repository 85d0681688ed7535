"""What there is to choose from: the data sets, planners and grounders, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Literal

from rich.console import Console
from rich.table import Column, Table

from grounding import grounders, planners
from grounding.cards import ChatCard, GrounderCard, PlannerCard, read_cards
from grounding.loaders import dataset_cards
from grounding.places import models_dir

SERVED = {
    "vllm": "vLLM",
    "vllm-flags": "vLLM, with flags",
    "in-process": "in this process",
    "recorded": "recorded answers",
}
"""How a model can be run, in words."""


def print_catalogue(what: Literal["datasets", "planners", "grounders"]) -> None:
    """Print one of the three tables."""
    width = None if Console().is_terminal else 120
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    match what:
        case "datasets":
            console.print(_datasets())
        case "planners":
            console.print(_planners(read_cards(models_dir() / "planners", PlannerCard)))
        case "grounders":
            console.print(_grounders(read_cards(models_dir() / "grounders", GrounderCard)))


def served(card: ChatCard) -> str:
    """Where a card's model runs, in a few words."""
    if card.endpoint.base_url:
        return f"{card.endpoint.key_variable} for {card.endpoint.base_url}"
    return SERVED[card.serving.how]


def _datasets() -> Table:
    table = Table("--dataset", "what", "where from", "licence")
    for card in dataset_cards().values():
        table.add_row(card.name, card.title, "bundled" if card.path else card.source, card.licence)
    return table


def _planners(cards: Sequence[PlannerCard]) -> Table:
    table = Table("--planner", "what", "needs")
    for name, what in planners.BUILTIN.items():
        table.add_row(name, what, "nothing")
    for card in cards:
        needs = served(card) if card.endpoint.base_url else "a server: --planner-base-url http://HOST:PORT/v1"
        table.add_row("\n".join((card.name, *card.aliases)), f"{card.title}\n{card.model}", needs)
    for found in entry_points(group=planners.ENTRY_POINTS):
        table.add_row(found.name, f"from {found.dist.name if found.dist else found.value}", "see its package")
    return table


def _grounders(cards: Sequence[GrounderCard]) -> Table:
    model = Column("model", min_width=34)  # An id that is cut short can't be copied.
    table = Table("--grounder", model, "answers in", Column("prompt", max_width=22), "runs")
    for name, what in grounders.BUILTIN.items():
        table.add_row(name, what, "pixels", "", "anywhere")
    for card in cards:
        # Aliases that are ids are long, and the model's own is beside them.
        names = (card.name, *(alias for alias in card.aliases if "/" not in alias))
        table.add_row("\n".join(names), card.model, card.answer.space, card.order, served(card))
    for found in entry_points(group=grounders.ENTRY_POINTS):
        table.add_row(found.name, f"from {found.dist.name if found.dist else found.value}", "", "", "see its package")
    return table

"""What there is to choose from: the data sets, planners and grounders, as tables."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Literal

from rich.console import Console
from rich.table import Table

from grounding import grounders, planners
from grounding.cards import ChatCard, GrounderCard, PlannerCard, read_cards
from grounding.loaders import dataset_cards
from grounding.places import models_dir


def print_catalogue(what: Literal["datasets", "planners", "grounders"]) -> None:
    """Print one of the three tables."""
    width = None if Console().is_terminal else 120
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    match what:
        case "datasets":
            console.print(_datasets())
        case "planners":
            cards = read_cards(models_dir() / "planners", PlannerCard)
            console.print(_models("--planner", planners.BUILTIN, cards, planners.ENTRY_POINTS))
        case "grounders":
            cards_ = read_cards(models_dir() / "grounders", GrounderCard)
            console.print(_models("--grounder", grounders.BUILTIN, cards_, grounders.ENTRY_POINTS))


def _datasets() -> Table:
    table = Table("--dataset", "what", "where from", "licence")
    for card in dataset_cards().values():
        table.add_row(card.name, card.title, "bundled" if card.path else card.source, card.licence)
    return table


def _models(flag: str, builtin: dict[str, str], cards: tuple[ChatCard, ...], group: str) -> Table:
    table = Table(flag, "what", "needs")
    for name, what in builtin.items():
        table.add_row(name, what, "nothing")
    for card in cards:
        table.add_row("\n".join((card.name, *card.aliases)), f"{card.title}\n{card.model}", _needs(card))
    for found in entry_points(group=group):
        table.add_row(found.name, f"from {found.dist.name if found.dist else found.value}", "see its package")
    return table


def _needs(card: ChatCard) -> str:
    if card.endpoint.base_url and card.endpoint.key_variable:
        return f"{card.endpoint.key_variable} for {card.endpoint.base_url}"
    return card.endpoint.base_url or "a server: --base-url http://HOST:PORT/v1"

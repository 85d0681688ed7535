"""What there is to choose from: the data sets, planners, grounders and agents, as tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Literal

from rich.box import HEAVY_HEAD, SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from grounding import grounders, planners
from grounding.cards import ChatCard, GrounderCard, PlannerCard, PromptCard, SearchCard, read_cards
from grounding.desktop.agents import BUILTIN_AGENTS
from grounding.grounders.som.card import find_som_card
from grounding.loaders import dataset_cards
from grounding.places import models_dir
from grounding.planners.prompts import read_prompts
from grounding.planners.retirement import has_retired, today_utc
from grounding.webagents.agenticshop.options import AGENTS as CURATION_AGENTS
from grounding.webagents.agenticshop.options import RECORDED
from grounding.webagents.personalwab.options import AGENTS, OWN_MEMORY, WITHOUT_MODEL

SERVED = {
    "vllm": "vLLM",
    "vllm-flags": "vLLM, with flags",
    "in-process": "in this process",
    "recorded": "recorded answers",
}
"""How a model can be run, in words."""

WAYS = {
    "vLLM": "--grounder NAME where there is a GPU; or grounding serve NAME, and --base-url http://HOST:PORT/v1",
    "in this process": "--grounder NAME --backend hf after pip install 'grounding[hf]'; this runs Qwen-VL models, too",
    "recorded answers": "--predictions FILE",
}
"""What to type for each."""

WIDE = 118
LONGEST_ID = 34


def print_catalogue(
    what: Literal["datasets", "planners", "grounders", "agents", "search"], *, width: int | None = None
) -> None:
    """Print one of the tables, as wide as asked for: without a width as the terminal, elsewhere 120."""
    if width is None and not Console().is_terminal:
        width = 120
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    match what:
        case "datasets":
            console.print(_datasets())
        case "planners":
            console.print(_planners(read_cards(models_dir() / "planners", PlannerCard), today_utc()))
            console.print(_prompts(read_prompts(models_dir() / "prompts" / "planners")))
        case "grounders":
            cards = read_cards(models_dir() / "grounders", GrounderCard)
            console.print(_grounders(cards, console.width))
            console.print(_reasons(cards))
            console.print(_ways())
        case "agents":
            console.print(_agents(read_cards(models_dir() / "grounders", GrounderCard)))
            console.print(_shop_agents())
            console.print(_curation_agents())
        case "search":
            console.print(_search_models(read_cards(models_dir() / "search", SearchCard), today_utc()))


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


def _planners(cards: Sequence[PlannerCard], today: datetime.date) -> Table:
    """Every planner: its model, what it needs, US dollars per million tokens in and out, and its vendor's last day."""
    price = Column("$/M in, out", justify="right")
    table = Table("--planner", Column("model", min_width=27), "needs", price, "retires")
    for name, what in planners.BUILTIN.items():
        table.add_row(name, what, "nothing", "", "")
    for card in cards:
        needs = (card.endpoint.key_variable or "") if card.endpoint.base_url else "a server: --planner-base-url"
        cost = f"{card.price.input_usd:g}, {card.price.output_usd:g}" if card.price else ""
        retires = "" if card.retires is None else f"{card.retires}{' (past)' if has_retired(card, today) else ''}"
        table.add_row(card.name, card.model or card.title, needs, cost, retires)
    for found in entry_points(group=planners.ENTRY_POINTS):
        table.add_row(found.name, f"from {found.dist.name if found.dist else found.value}", "see its package", "", "")
    return table


def _search_models(cards: Sequence[SearchCard], today: datetime.date) -> Table:
    """Every model that searches the web itself: what it needs, and what tokens and searches cost."""
    price, fee = Column("$/M in, out", justify="right"), Column("$ for searching")
    table = Table(Column("--model", no_wrap=True), "model", Column("needs", no_wrap=True), price, fee, "retires")
    for card in cards:
        cost = f"{card.price.input_usd:g}, {card.price.output_usd:g}" if card.price else ""
        searching = f"{card.fee.usd:g} a {card.fee.per}" if card.fee else ""
        retires = "" if card.retires is None else f"{card.retires}{' (past)' if has_retired(card, today) else ''}"
        table.add_row(card.name, card.title, card.endpoint.key_variable or "", cost, searching, retires)
    return table


def _prompts(prompts: Sequence[PromptCard]) -> Table:
    table = Table("--planner-prompt", "what")
    for prompt in prompts:
        table.add_row(f"{prompt.name} ({prompt.version})", prompt.title)
    return table


def _grounders(cards: Sequence[GrounderCard], width: int) -> Table:
    """One row each; on a narrow page without the columns that ``grounding list`` can do without."""
    wide = width >= WIDE
    # Names and ids that are cut short can't be copied.
    columns = [Column("--grounder", no_wrap=True)]
    columns += [Column("model", min_width=LONGEST_ID, max_width=max(LONGEST_ID, width - WIDE + LONGEST_ID))]
    columns += [Column("answers in", no_wrap=True), Column("prompt", max_width=20)] if wide else []
    columns += [Column("runs", max_width=18 if wide else None)]
    table = Table(*columns, box=HEAVY_HEAD if wide else SIMPLE_HEAD, padding=(0, 1) if wide else (0, 1, 0, 0))

    def row(names: str, what: str, space: str, prompt: str, runs: str) -> None:
        table.add_row(names, what, *((space, prompt) if wide else ()), runs)

    for name, what in grounders.BUILTIN.items():
        row(name, what, "pixels", "", _builtin_needs(name))
    for card in cards:
        # Aliases that are ids are long, and the model's own is beside them.
        names = (card.name, *(alias for alias in card.aliases if "/" not in alias))
        row("\n".join(names), card.model, card.answer.space, card.order, served(card))
    for found in entry_points(group=grounders.ENTRY_POINTS):
        row(found.name, f"from {found.dist.name if found.dist else found.value}", "", "", "see its package")
    return table


def _agents(cards: Sequence[GrounderCard]) -> Table:
    """Who acts on desktop tasks: those without a model, and the cards that say how to ask in a model's own words."""
    table = Table(Column("--grounder", no_wrap=True), "model", "--style native answers in", "runs")
    for name, what in BUILTIN_AGENTS.items():
        table.add_row(name, what, "", "--predictions FILE" if name == "replay" else "anywhere")
    for card in cards:
        if card.action is not None:
            table.add_row(card.name, card.model, card.action.space, served(card))
    table.add_row("any other card", "of a grounder or a planner", "only --style percu", "as it says")
    return table


def _shop_agents() -> Table:
    """Who calls web functions for a user."""
    table = Table(Column("--agent", no_wrap=True), "what", Column("memory", no_wrap=True), "needs")
    for name, what in AGENTS.items():
        needs = "--model CARD; see grounding list planners"
        if name in WITHOUT_MODEL:
            needs = "--model-path FOLDER" if name == "puma-local" else "nothing"
        table.add_row(name, what, "its own" if name in OWN_MEMORY else "--memory", needs)
    return table


def _curation_agents() -> Table:
    """Who looks for products for a user."""
    table = Table(Column("--agent", no_wrap=True), "what", "needs")
    for name, what in CURATION_AGENTS.items():
        needs = "Chromium, installed"
        if name in RECORDED:
            needs = "--curations FILE_OR_FOLDER"
        elif name == "search":
            needs = "--model CARD; see grounding list search"
        elif name == "browsing":
            needs = "Chromium, installed; --model CARD; see grounding list planners"
        table.add_row(name, what, needs)
    return table


def _builtin_needs(name: str) -> str:
    """What a grounder that is built in needs."""
    if name == "replay":
        return "--predictions FILE"
    card = find_som_card(name, models_dir() / "pipelines")
    return "anywhere" if card is None else f"{card.endpoint.key_variable}, or --base-url"


def _reasons(cards: Sequence[GrounderCard]) -> Table:
    """Why a card's model is not simply served by vLLM."""
    table = Table("--grounder", "what is not simply vLLM, and why", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for card in cards:
        if card.serving.reason:
            table.add_row(card.name, f"{SERVED[card.serving.how]}: {card.serving.reason}")
    return table


def _ways() -> Table:
    table = Table("runs", "how", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, how in WAYS.items():
        table.add_row(name, how)
    return table

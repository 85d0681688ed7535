"""What there is to choose from: the data sets, planners, grounders and agents, as tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Literal

from rich.box import HEAVY_HEAD, SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from grounding import grounders, planners
from grounding.benchmarks.agenticshop.agents.base import registered as curation_agents
from grounding.benchmarks.desktop.agents import AGENTS as DESKTOP_AGENTS
from grounding.benchmarks.personalwab.options import AGENTS
from grounding.cards import ChatCard, GrounderCard, PlannerCard, PromptCard, SearchCard, read_cards
from grounding.cards.places import models_dir
from grounding.console import wide_console
from grounding.data import dataset_cards
from grounding.errors import install
from grounding.grounders.som.card import find_som_card
from grounding.planners.prompts import has_retired, read_prompts, today_utc
from grounding.terminal import Terminal

SERVED = {
    "vllm": "vLLM",
    "vllm-flags": "vLLM, with flags",
    "in-process": "in this process",
    "recorded": "recorded answers",
}
"""How a model can be run, in words."""

WAYS = {
    "vLLM": "--grounder NAME where there is a GPU; or grounding serve NAME, and --base-url http://HOST:PORT/v1",
    "in this process": f"--grounder NAME --backend hf after {install('hf')}; this runs Qwen-VL models, too",
    "recorded answers": "--predictions FILE",
    "hosted": "--grounder NAME, with its vendor's key: OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY",
}
"""What to type for each."""

VERIFIED = {
    "run": "the authors' own code was run beside the card: words, sizes of pictures and reading of replies agree",
    "read": "the authors' text or code was read; there was none to run, or it was not",
    "second-hand": "what others than the authors say or send",
}
"""How far a card was held against its source."""

WIDE = 120
LONGEST_ID = 34


Kind = Literal["datasets", "planners", "grounders", "agents", "search"]

KINDS: dict[Kind, tuple[str, str]] = {
    "datasets": ("--dataset", "what to evaluate on: the bundled samples, and public benchmarks"),
    "planners": ("--planner", "who rewrites the instruction, and the prompts for them"),
    "grounders": ("--grounder", "who finds the place on the screenshot"),
    "agents": ("--agent", "who acts: on desktops, in shops, through web functions"),
    "search": ("--model", "models that search the web themselves, for --agent search"),
}
"""What can be listed: the option that names one of them, and what they are."""


def print_kinds() -> None:
    table = Table("grounding list", "what", Column("there are", justify="right"))
    for kind, (_, words) in KINDS.items():
        table.add_row(kind, words, str(len(_names(kind))))
    _console(None).print(table)


def meant_by(word: str, command: str, commands: Sequence[str]) -> str:
    """What a stray word of a command line was perhaps meant to be: a command below it, or an option's value; or ""."""
    if near := get_close_matches(word, commands, 1):
        return f'Did you mean "grounding {command} {near[0]}"?'
    if command not in ("eval", "sweep"):
        return ""
    known = {option: _names(kind) for kind, (option, _) in KINDS.items()}
    exact = {option: [word] for option, names in known.items() if word in names}
    found = exact or {option: get_close_matches(word, names, 1, 0.75) for option, names in known.items()}
    meant = " or ".join(f"{option} {names[0]}" for option, names in found.items() if names)
    return f'Did you mean "grounding {command} {meant}"?' if meant else ""


def _names(kind: Kind) -> list[str]:
    if kind == "datasets":
        return list(dataset_cards())
    if kind == "search":
        return [card.name for card in read_cards(models_dir() / "search", SearchCard)]
    if kind == "planners":
        known = [card.name for card in read_cards(models_dir() / "planners", PlannerCard)]
        return [*planners.BUILTIN, *known, *(found.name for found in entry_points(group=planners.ENTRY_POINTS))]
    cards = read_cards(models_dir() / "grounders", GrounderCard)
    if kind == "agents":
        acting = [card.name for card in cards if card.action]
        return [*dict.fromkeys((*DESKTOP_AGENTS, *acting, *AGENTS, *curation_agents()))]
    others = (found.name for found in entry_points(group=grounders.ENTRY_POINTS))
    return [*grounders.BUILTIN, *(card.name for card in cards), *others]


def _console(width: int | None) -> Console:
    how: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    return wide_console(WIDE, **how) if width is None else Terminal(width=width, **how)


def print_catalogue(what: Kind, *, width: int | None = None) -> None:
    console = _console(width)
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
    return "hosted" if card.endpoint.base_url else SERVED[card.serving.how]


def _datasets() -> Table:
    table = Table("--dataset", "what", "where from", "licence")
    for card in dataset_cards().values():
        table.add_row(card.name, card.title, "bundled" if card.path else card.source, card.licence)
    return table


def _planners(cards: Sequence[PlannerCard], today: datetime.date) -> Table:
    price = Column("$/M in, out", justify="right")
    table = Table("--planner", Column("model", min_width=27), "needs", price, "retires")
    for name, what in planners.BUILTIN.items():
        table.add_row(name, what, "nothing", "", "")
    for card in cards:
        needs = (card.endpoint.key_variable or "") if card.endpoint.base_url else "a server: --planner-base-url"
        table.add_row(card.name, card.model or card.title, needs, _cost(card), _last_day(card, today))
    for found in entry_points(group=planners.ENTRY_POINTS):
        table.add_row(found.name, f"from {found.dist.name if found.dist else found.value}", "see its package", "", "")
    return table


def _search_models(cards: Sequence[SearchCard], today: datetime.date) -> Table:
    price, fee = Column("$/M in, out", justify="right"), Column("$ for searching")
    table = Table(Column("--model", no_wrap=True), "model", Column("needs", no_wrap=True), price, fee, "retires")
    for card in cards:
        searching = f"{card.fee.usd:g} a {card.fee.per}" if card.fee else ""
        needs = card.endpoint.key_variable or ""
        table.add_row(card.name, card.title, needs, _cost(card), searching, _last_day(card, today))
    return table


def _cost(card: ChatCard) -> str:
    return f"{card.price.input_usd:g}, {card.price.output_usd:g}" if card.price else ""


def _last_day(card: ChatCard, today: datetime.date) -> str:
    return "" if card.retires is None else f"{card.retires}{' (past)' if has_retired(card, today) else ''}"


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
    columns += [Column("runs; verified", max_width=18)]
    table = Table(*columns, box=HEAVY_HEAD if wide else SIMPLE_HEAD, padding=(0, 1) if wide else (0, 1, 0, 0))

    def row(names: str, what: str, space: str, prompt: str, runs: str, verified: str = "") -> None:
        table.add_row(names, what, *((space, prompt) if wide else ()), "; ".join(filter(None, (runs, verified))))

    for name, what in grounders.BUILTIN.items():
        row(name, what, "pixels", "", _builtin_needs(name))
    for card in cards:
        # Aliases that are ids are long, and the model's own is beside them.
        names = (card.name, *(alias for alias in card.aliases if "/" not in alias))
        row("\n".join(names), card.model, card.answer.space, card.order, served(card), card.verified or "")
    row("FILE.py:NAME", "a function of yours: (image, instruction) to (x, y)", "pixels", "", "anywhere")
    for found in entry_points(group=grounders.ENTRY_POINTS):
        row(found.name, f"from {found.dist.name if found.dist else found.value}", "", "", "see its package")
    return table


def _agents(cards: Sequence[GrounderCard]) -> Table:
    table = Table(Column("--grounder", no_wrap=True), "model", "--style native answers in", "runs")
    for name, agent in DESKTOP_AGENTS.items():
        table.add_row(name, agent.what, "", "--predictions FILE" if name == "replay" else "anywhere")
    table.add_row("FILE.py:NAME", "a function of yours: (image, instruction, memory) to an action", "", "anywhere")
    for card in cards:
        if card.action is not None:
            table.add_row(card.name, card.model, card.action.space, served(card))
    table.add_row("any other card", "of a grounder or a planner", "only --style percu", "as it says")
    return table


def _shop_agents() -> Table:
    table = Table(Column("--agent", no_wrap=True), "what", Column("memory", no_wrap=True), "needs")
    needs = {
        "model": "--model CARD; see grounding list planners",
        "folder": "--model-path FOLDER",
        "nothing": "nothing",
    }
    for name, agent in AGENTS.items():
        table.add_row(name, agent.what, "its own" if agent.memory else "--memory", needs.get(agent.needs, "nothing"))
    return table


def _curation_agents() -> Table:
    table = Table(Column("--agent", no_wrap=True), "what", "needs")
    needs = {
        "model": "--model CARD; see grounding list {}",
        "curations": "--curations FILE_OR_FOLDER",
        "nothing": "",
    }
    for name, entry in curation_agents().items():
        own = needs[entry.needs].format(entry.listed)
        table.add_row(name, entry.what, "; ".join(filter(None, ("Chromium, installed" * entry.browses, own))))
    table.add_row("FILE.py:NAME", "an agent of yours: a function that makes a CurationAgent", "what it needs")
    return table


def _builtin_needs(name: str) -> str:
    if name == "replay":
        return "--predictions FILE"
    card = find_som_card(name, models_dir() / "pipelines")
    return "anywhere" if card is None else f"{card.endpoint.key_variable}, or --base-url"


def _reasons(cards: Sequence[GrounderCard]) -> Table:
    table = Table("--grounder", "what is not simply vLLM, and why", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    alike: dict[str, list[str]] = {}
    for card in cards:
        if card.serving.reason:
            alike.setdefault(f"{SERVED[card.serving.how]}: {card.serving.reason}", []).append(card.name)
    for reason, names in alike.items():
        table.add_row("\n".join(names), reason)
    return table


def _ways() -> Table:
    table = Table("runs", "how", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, how in WAYS.items():
        table.add_row(name, how)
    table.add_section()
    for name, what in VERIFIED.items():
        table.add_row(f"verified: {name}", what)
    return table

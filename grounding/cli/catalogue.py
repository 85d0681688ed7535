"""What there is to choose from: the data sets, planners, grounders and agents, as tables."""

import datetime
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Literal

from rich.box import HEAVY_HEAD, SIMPLE_HEAD
from rich.table import Column, Table

from grounding import grounders, planners
from grounding.benchmarks.agenticshop.agents.base import registered as curation_agents
from grounding.benchmarks.desktop.agents import AGENTS as DESKTOP_AGENTS
from grounding.benchmarks.personalwab.options import AGENTS
from grounding.cards import ChatCard, GrounderCard, PlannerCard, SearchCard, read_cards
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
}  # How a model can be run, in words.
WAYS = {
    "vLLM": "--grounder NAME where there is a GPU; or grounding serve NAME, and --base-url http://HOST:PORT/v1",
    "in this process": f"--grounder NAME --backend hf after {install('hf')}; this runs Qwen-VL models, too",
    "recorded answers": "--predictions FILE",
    "hosted": "--grounder NAME, with its vendor's key: OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY",
}  # What to type for each.
VERIFIED = {
    "run": "the authors' own code was run beside the card: words, sizes of pictures and reading of replies agree",
    "read": "the authors' text or code was read; there was none to run, or it was not",
    "second-hand": "what others than the authors say or send",
}  # How far a card was held against its source.
WIDE = 120
LONGEST_ID = 34

Kind = Literal["datasets", "planners", "grounders", "agents", "search"]

KINDS: dict[Kind, tuple[str, str]] = {
    "datasets": ("--dataset", "what to evaluate on: the bundled samples, and public benchmarks"),
    "planners": ("--planner", "who rewrites the instruction, and the prompts for them"),
    "grounders": ("--grounder", "who finds the place on the screenshot"),
    "agents": ("--agent", "who acts: on desktops, in shops, through web functions"),
    "search": ("--model", "models that search the web themselves, for --agent search"),
}  # What can be listed: the option that names one of them, and what they are.


def print_kinds() -> None:
    rows = [(kind, words, str(len(_names(kind)))) for kind, (_, words) in KINDS.items()]
    wide_console(WIDE).print(_table(("grounding list", "what", Column("there are", justify="right")), rows))


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
        return [card.name for card in _search()]
    if kind == "planners":
        return [*planners.BUILTIN, *(card.name for card in _planners()), *(name for name, _ in _others(planners))]
    if kind == "agents":
        acting = [card.name for card in _grounders() if card.action]
        return [*dict.fromkeys((*DESKTOP_AGENTS, *acting, *AGENTS, *curation_agents()))]
    return [*grounders.BUILTIN, *(card.name for card in _grounders()), *(name for name, _ in _others(grounders))]


def _planners() -> tuple[PlannerCard, ...]:
    return read_cards(models_dir() / "planners", PlannerCard)


def _grounders() -> tuple[GrounderCard, ...]:
    return read_cards(models_dir() / "grounders", GrounderCard)


def _search() -> tuple[SearchCard, ...]:
    return read_cards(models_dir() / "search", SearchCard)


def _others(kind: Any) -> list[tuple[str, str]]:
    """Those of other packages, and which."""
    found = entry_points(group=kind.ENTRY_POINTS)
    return [(each.name, f"from {each.dist.name if each.dist else each.value}") for each in found]


def _table(columns: Sequence[str | Column], rows: Iterable[Sequence[str]], **how: Any) -> Table:
    table = Table(*columns, **how)
    for row in rows:
        table.add_row(*row)
    return table


def print_catalogue(what: Kind, *, width: int | None = None) -> None:
    how: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    console = wide_console(WIDE, **how) if width is None else Terminal(width=width, **how)
    today = today_utc()
    tables = {
        "datasets": lambda: [_dataset_table()],
        "planners": lambda: [_planner_table(today), _prompt_table()],
        "grounders": lambda: [_grounder_table(console.width), _reason_table(), _way_table()],
        "agents": lambda: [_agent_table(), _shop_agent_table(), _curation_agent_table()],
        "search": lambda: [_search_table(today)],
    }
    for table in tables[what]():
        console.print(table)


def served(card: ChatCard) -> str:
    return "hosted" if card.endpoint.base_url else SERVED[card.serving.how]


def _dataset_table() -> Table:
    cards = dataset_cards().values()
    rows = [(card.name, card.title, "bundled" if card.path else card.source, card.licence) for card in cards]
    return _table(("--dataset", "what", "where from", "licence"), rows)


def _planner_table(today: datetime.date) -> Table:
    rows = [(name, what, "nothing", "", "") for name, what in planners.BUILTIN.items()]
    for card in _planners():
        needs = (card.endpoint.key_variable or "") if card.endpoint.base_url else "a server: --planner-base-url"
        rows.append((card.name, card.model or card.title, needs, _cost(card), _last_day(card, today)))
    rows += [(name, whose, "see its package", "", "") for name, whose in _others(planners)]
    price = Column("$/M in, out", justify="right")
    return _table(("--planner", Column("model", min_width=27), "needs", price, "retires"), rows)


def _search_table(today: datetime.date) -> Table:
    rows = []
    for card in _search():
        searching = f"{card.fee.usd:g} a {card.fee.per}" if card.fee else ""
        needs = card.endpoint.key_variable or ""
        rows.append((card.name, card.title, needs, _cost(card), searching, _last_day(card, today)))
    price, fee = Column("$/M in, out", justify="right"), Column("$ for searching")
    return _table(
        (Column("--model", no_wrap=True), "model", Column("needs", no_wrap=True), price, fee, "retires"), rows
    )


def _cost(card: ChatCard) -> str:
    return f"{card.price.input_usd:g}, {card.price.output_usd:g}" if card.price else ""


def _last_day(card: ChatCard, today: datetime.date) -> str:
    return "" if card.retires is None else f"{card.retires}{' (past)' if has_retired(card, today) else ''}"


def _prompt_table() -> Table:
    prompts = read_prompts(models_dir() / "prompts" / "planners")
    return _table(("--planner-prompt", "what"), [(f"{one.name} ({one.version})", one.title) for one in prompts])


def _grounder_table(width: int) -> Table:
    rows = [(name, what, "pixels", "", _builtin_needs(name)) for name, what in grounders.BUILTIN.items()]
    for card in _grounders():
        # Aliases that are ids are long, and the model's own is beside them.
        names = "\n".join((card.name, *(alias for alias in card.aliases if "/" not in alias)))
        runs = "; ".join(filter(None, (served(card), card.verified)))
        rows.append((names, card.model, card.answer.space, card.order, runs))
    rows.append(("FILE.py:NAME", "a function of yours: (image, instruction) to (x, y)", "pixels", "", "anywhere"))
    rows += [(name, whose, "", "", "see its package") for name, whose in _others(grounders)]
    # Names and ids that are cut short can't be copied.
    name, runs_in = Column("--grounder", no_wrap=True), Column("runs; verified", max_width=18)
    model = Column("model", min_width=LONGEST_ID, max_width=max(LONGEST_ID, width - WIDE + LONGEST_ID))
    if width >= WIDE:
        space, prompt = Column("answers in", no_wrap=True), Column("prompt", max_width=20)
        return _table((name, model, space, prompt, runs_in), rows, box=HEAVY_HEAD)
    return _table((name, model, runs_in), [(*row[:2], row[4]) for row in rows], box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _agent_table() -> Table:
    rows = [
        (name, agent.what, "", "--predictions FILE" if name == "replay" else "anywhere")
        for name, agent in DESKTOP_AGENTS.items()
    ]
    rows.append(("FILE.py:NAME", "a function of yours: (image, instruction, memory) to an action", "", "anywhere"))
    rows += [(card.name, card.model, card.action.space, served(card)) for card in _grounders() if card.action]
    rows.append(("any other card", "of a grounder or a planner", "only --style percu", "as it says"))
    return _table((Column("--grounder", no_wrap=True), "model", "--style native answers in", "runs"), rows)


def _shop_agent_table() -> Table:
    needs = {"model": "--model CARD; see grounding list planners", "folder": "--model-path FOLDER"}
    rows = [
        (name, agent.what, "its own" if agent.memory else "--memory", needs.get(agent.needs, "nothing"))
        for name, agent in AGENTS.items()
    ]
    return _table((Column("--agent", no_wrap=True), "what", Column("memory", no_wrap=True), "needs"), rows)


def _curation_agent_table() -> Table:
    needs = {"model": "--model CARD; see grounding list {}", "curations": "--curations FILE_OR_FOLDER"}
    rows = [
        (name, agent.what, needs.get(agent.needs, "nothing").format(agent.listed))
        for name, agent in curation_agents().items()
    ]
    rows.append(("FILE.py:NAME", "an agent of yours: a function that makes a CurationAgent", "what it needs"))
    return _table((Column("--agent", no_wrap=True), "what", "needs"), rows)


def _builtin_needs(name: str) -> str:
    if name == "replay":
        return "--predictions FILE"
    card = find_som_card(name, models_dir() / "pipelines")
    return "anywhere" if card is None else f"{card.endpoint.key_variable}, or --base-url"


def _reason_table() -> Table:
    alike: dict[str, list[str]] = {}
    for card in _grounders():
        if card.serving.reason:
            alike.setdefault(f"{SERVED[card.serving.how]}: {card.serving.reason}", []).append(card.name)
    rows = [("\n".join(names), reason) for reason, names in alike.items()]
    columns = ("--grounder", "what is not simply vLLM, and why")
    return _table(columns, rows, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _way_table() -> Table:
    table = _table(("runs", "how"), WAYS.items(), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_section()
    for name, what in VERIFIED.items():
        table.add_row(f"verified: {name}", what)
    return table

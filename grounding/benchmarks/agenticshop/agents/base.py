"""What every agent takes and returns, and the agents by their names: a need in, a Curation out.

Whatever goes wrong in a task is recorded in its Curation. An answer that will not get better by asking again is
``unparsed`` (no products in the reply, the task's own limit of steps or seconds); infrastructure that failed is an
``error``, which is asked again when the run goes on. What a page or a model wrote is bounded before it is kept.

A new agent is one file beside this one, or one of the user's, named as ``FILE.py:NAME``::

    @agent("first-shop", "names the front pages of the first three shops")
    def first_shop(given: CurationServices) -> CurationAgent:
        return FirstShop()
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from grounding.benchmarks.calls import json_values
from grounding.cards import ChatCard
from grounding.cards.functions import is_function, loaded_function
from grounding.errors import UserError
from grounding.grounders.base import Offline
from grounding.llm.budget import Budget
from grounding.records import Failure
from grounding.run.display import Progress

from ..asking import one_line
from ..records import Curated, Curation, ShopperView
from ..web.browser import WebBrowser
from ..web.evidence import EvidenceFolder

if TYPE_CHECKING:
    from ..preparation import CurationOptions

# So many products of a reply are kept; the scores look at the first three.
MAX_PRODUCTS, MAX_TRACE_STEPS, MAX_CITED_URLS = 10, 400, 50
MAX_URL_CHARS, MAX_TEXT_CHARS, MAX_RAW_CHARS, MAX_SAID_CHARS = 2_048, 2_000, 20_000, 200_000
WORDS: dict[str, Any] = msgspec.yaml.decode(Path(__file__).with_name("words.yaml").read_bytes())


class CurationAgent(Offline, ABC):
    """Looks for products that fit a user; what stands here is that of an agent without a model.

    ``name`` is for tables. ``identity`` is canonical text of everything that can change an answer: the agent and its
    version, the model with its parameters, the wording, the rules of the loop; never an address, a key or a time.
    ``max_concurrency`` is how many tasks are worked on at once.
    """

    name = ""
    identity = ""
    max_concurrency = 1

    @abstractmethod
    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Look for products. Failures are recorded in the answer, not raised.

        Raises BudgetReached where the run's cost limit leaves no room, and a UserError about what is wrong for every
        task.
        """


class Browses(CurationAgent):
    """An agent that needs a browser: it is given one before the first task, with room for ``max_concurrency``."""

    web: WebBrowser
    evidence: EvidenceFolder

    def use(self, web: WebBrowser, evidence: EvidenceFolder) -> None:
        self.web, self.evidence = web, evidence


class AsksFirst(CurationAgent):
    """An agent with a chat model; ``most_requests`` is how many a task takes, ``uncounted`` what it takes beside."""

    card: ChatCard
    most_requests: int
    uncounted = ""

    @abstractmethod
    async def first(self, view: ShopperView) -> None:
        """Raise a NotSent with the first request about a task, which asks nobody."""


def made(view: ShopperView, key: str, **found: Any) -> Curation:
    """A task's Curation within bounds: with a failure there are no products, and no text is longer than is kept."""
    whole = Curation(step_id=view.task_id, key=key, **found)
    return msgspec.structs.replace(
        whole,
        products=tuple(map(_cut, whole.products[:MAX_PRODUCTS])) if whole.failure is None else (),
        trace=tuple(map(_cut, whole.trace[:MAX_TRACE_STEPS])),
        raw=whole.raw[:MAX_RAW_CHARS],
        ended=whole.ended[:MAX_TEXT_CHARS],
        seconds=round(whole.seconds, 3),
    )


def _cut(record: Any) -> Any:
    cut: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(record).items():
        if isinstance(value, str):
            cut[name] = value[: MAX_URL_CHARS if name == "url" else MAX_TEXT_CHARS]
        elif isinstance(value, tuple):
            cut[name] = tuple(url[:MAX_URL_CHARS] for url in value[:MAX_CITED_URLS])
    return msgspec.structs.replace(record, **cut)


# --- JSON of any shape, and the products that it or a text names ------------------------------------------------------


def decoded(content: bytes | str) -> Any:
    """None for what is no JSON."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def at(value: Any, *names: str) -> Any:
    """What stands under names within names; None where there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value: Any, *names: str) -> str:
    """The text there, "" for anything else."""
    found = at(value, *names)
    return found if isinstance(found, str) else ""


def each(value: Any, *names: str) -> list[dict[str, Any]]:
    """The objects of the list there."""
    found = at(value, *names)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


_LISTS = ("search_results", "products", "results")
# What OpenAI leaves in the text of a reply with a schema, between characters of private use.
_CITATION = re.compile("\ue200[^\ue201]{0,200}\ue201")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\[\]{}|\\^]{3,2000}", re.IGNORECASE)
_FRONT_PAGE = re.compile(r"https?://[^/?#]*/*\??(#.*)?", re.IGNORECASE)
_LIST_MARK = re.compile(r"^\s*(?:[-*\u2022]|\d{1,3}[.)])\s*")
_TAIL = ".,;:!?*_~\u2026\u3002"


def read_products(said: str) -> tuple[Curated, ...] | Failure:
    """The products of the last JSON in a reply that names any, in its order; else why there are none."""
    values = json_values(said)
    if found := next(filter(None, map(products_of, reversed(values))), None):
        return found
    why = "the JSON of the reply names no product" if values else "the reply holds no JSON"
    return Failure(kind="unparsed", message=f"{why}: {said.strip()[:120]!r}")


def products_of(value: Any) -> tuple[Curated, ...]:
    """The products of a JSON in the release's form, or one much like it; an address is kept as it stands."""
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    named = [one for one in each(value) if text(one, "product_url").strip()]
    return tuple(
        Curated(
            rank=rank,
            url=text(one, "product_url").strip(),
            name=one_line(_CITATION.sub("", text(one, "product_name"))),
            reasoning=one_line(_CITATION.sub("", text(one, "reasoning"))),
        )
        for rank, one in enumerate(named[:MAX_PRODUCTS])
    )


def named_products(said: str) -> tuple[Curated, ...]:
    """The products that a text names: JSON in the release's form, else addresses, called as what stands before them."""
    said = said[:MAX_SAID_CHARS]
    if not isinstance(read := read_products(said), Failure):
        return read
    found: dict[str, Curated] = {}
    for line in said.splitlines():
        end, whole = 0, one_line(_LIST_MARK.sub("", line))
        for match in _ADDRESS.finditer(line):
            url = match[0].rstrip(_TAIL)
            while url.endswith(")") and url.count(")") > url.count("("):
                url = url[:-1].rstrip(_TAIL)
            name = one_line(_LIST_MARK.sub("", line[end : match.start()])).strip("*:-\u2013\u2014()[] ")
            end = match.end()
            found.setdefault(url, Curated(rank=0, url=url, name=name[:300], reasoning=whole))
    # A shop's first page is a product only where nothing else is named.
    pages = [one for url, one in found.items() if not _FRONT_PAGE.fullmatch(url)] or list(found.values())
    return tuple(msgspec.structs.replace(one, rank=rank) for rank, one in enumerate(pages[:MAX_PRODUCTS]))


# --- the agents by their names ----------------------------------------------------------------------------------------


class CurationServices(NamedTuple):
    """What an agent may be made of; ``pages`` is how many may be shown at once."""

    options: CurationOptions
    budget: Budget
    progress: Progress
    pages: int


Make = Callable[[CurationServices], CurationAgent]


class CurationAgentEntry(NamedTuple):
    """A registered agent; ``listed`` is what of ``grounding list`` shows its models."""

    what: str
    make: Make
    needs: Literal["nothing", "model", "curations"] = "nothing"
    listed: str = "planners"


_AGENTS: dict[str, CurationAgentEntry] = {}


def agent(name: str, what: str, **more: Any) -> Callable[[Make], Make]:
    """Register what makes an agent; ``more`` are fields of :class:`CurationAgentEntry`."""

    def register(make: Make) -> Make:
        _AGENTS[name] = CurationAgentEntry(what, make, **more)
        return make

    return register


@cache
def registered() -> Mapping[str, CurationAgentEntry]:
    """All agents by their names, those without a model first."""
    from . import browsing, recorded, search, site_search  # noqa: F401

    kinds = ("nothing", "model", "curations")
    return dict(sorted(_AGENTS.items(), key=lambda one: (kinds.index(one[1].needs), one[0])))


def find_agent(name: str) -> CurationAgentEntry | None:
    """The agent of this name, or what ``FILE.py:NAME`` makes (UserErrors say why not); None where there is none."""
    if not is_function(name):
        return registered().get(name)
    make, source = loaded_function(name)

    def make_named(given: CurationServices) -> CurationAgent:
        found = make(given)
        if not isinstance(found, CurationAgent):
            raise UserError(f"--agent {name}: made {type(found).__name__}; expected a CurationAgent")
        found.identity = f"{hashlib.sha256(source).hexdigest()[:16]}|{found.identity}"
        return found

    known = next((one for one in _AGENTS.values() if one.make is make), CurationAgentEntry("", make))
    return known._replace(what=f"from {name}", make=make_named)

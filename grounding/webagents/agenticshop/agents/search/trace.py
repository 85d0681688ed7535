"""From what a model looked up to the steps of a trace. Pure functions.

- ``search: WORDS`` with the pages that it brought, where the vendor says which search brought which.
- ``open: URL`` and ``find: WORDS`` for pages that the model read.
- ``sources`` for pages that the vendor names without saying which search brought them.
- ``cite`` for the pages that the text itself cites.

Searching is seeking information, reading a page that was found is evaluating an alternative (paper, section 5.3); what
a citation was for, nobody says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grounding.webagents.agenticshop.agents.search.answers import Found, Lookup, SearchAnswer
from grounding.webagents.agenticshop.records import BehaviourKind, TraceStep

SEARCH, OPEN, FIND, SOURCES, CITE = "search: ", "open: ", "find: ", "sources", "cite"


def trace_of(answers: Sequence[SearchAnswer]) -> tuple[TraceStep, ...]:
    """The steps behind the parts of one answer, in order."""
    steps: list[TraceStep] = []
    for answer in answers:
        steps += [_step(one) for one in _with_sources(answer)]
        if answer.sources and not _one_search(answer):
            steps.append(_pages(SOURCES, answer.sources, kind="information_seeking"))
        if answer.cited:
            steps.append(_pages(CITE, answer.cited, kind=""))
    return tuple(steps)


def _one_search(answer: SearchAnswer) -> bool:
    return len(answer.lookups) == 1 and answer.lookups[0].kind == "search" and not answer.lookups[0].found


def _with_sources(answer: SearchAnswer) -> tuple[Lookup, ...]:
    """With a single search there is no doubt which one brought the sources."""
    if not (answer.sources and _one_search(answer)):
        return answer.lookups
    (only,) = answer.lookups
    return (Lookup(kind="search", words=only.words, found=answer.sources, problem=only.problem),)


def _step(lookup: Lookup) -> TraceStep:
    shown = {"search": SEARCH, "open": OPEN, "find": FIND}[lookup.kind] + lookup.words
    problem = f"error: {lookup.problem}" if lookup.problem else ""
    kind: BehaviourKind = "information_seeking" if lookup.kind == "search" else "alternative_evaluation"
    return _pages(shown, lookup.found, kind=kind, url=lookup.url, problem=problem)


def _pages(
    action: str, found: Sequence[Found], *, kind: BehaviourKind | Literal[""], url: str = "", problem: str = ""
) -> TraceStep:
    titles = list(dict.fromkeys(" ".join(page.title.split()) for page in found if page.title.strip()))
    return TraceStep(
        action=action,
        url=url,
        observation="\n".join([problem, *titles] if problem else titles),
        cited_urls=tuple(page.url for page in found),
        kind=kind,
    )

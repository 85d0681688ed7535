"""Why there is no page, in words that programs can tell apart: every failure's message begins with one of these."""

from __future__ import annotations

from typing import Literal, get_args

from grounding.records import Failure, FailureKind, Record

Trouble = Literal[
    "refused",
    "no-such-host",
    "no-answer",
    "too-many-redirects",
    "too-large",
    "too-slow",
    "not-a-page",
    "page-crashed",
    "no-network",
    "browser-crashed",
]
"""``refused``: the rules forbid the address, or one that it led to. ``no-such-host``: nobody has that name.
``no-answer``: connection or encryption failed. ``not-a-page``: a file, a picture or a download.
The last two are of this machine, not of the page."""

OURS: frozenset[Trouble] = frozenset({"no-network", "browser-crashed"})
"""Troubles of the infrastructure: asking again may help, and nothing is said of the page."""


class PageTrouble(Exception):
    """There is no page."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        super().__init__(message)
        self.trouble: Trouble = trouble
        self.message = message


class Refusal(Record, frozen=True, kw_only=True):
    """One thing that the guard did not let through. ``url`` is ``https://host:port`` where only that can be seen."""

    url: str
    trouble: Trouble
    message: str


def failure_of(trouble: Trouble, message: str) -> Failure:
    """The failure of a rendered page: ``error`` where the infrastructure is to blame, else ``missing``."""
    kind: FailureKind = "error" if trouble in OURS else "missing"
    return Failure(kind=kind, message=f"{trouble}: {message}")


def trouble_of(failure: Failure) -> Trouble | None:
    """Which trouble a page's failure tells of; None for words that are none of ours."""
    word = failure.message.partition(":")[0]
    for trouble in get_args(Trouble):
        if trouble == word:
            return trouble  # type: ignore[no-any-return]
    return None

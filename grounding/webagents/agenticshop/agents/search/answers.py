"""What a model with a search tool gives back, whichever vendor it is of."""

from __future__ import annotations

from typing import Literal

import msgspec

from grounding.records import Record
from grounding.wire import FILTERED


class Found(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A page that a search brought or a text cites. ``title`` is what the vendor calls it, "" where nothing."""

    url: str
    title: str = ""


class Lookup(Record, frozen=True, kw_only=True):
    """One use of the tool. ``words`` is the query, the address of a page opened, or what was looked for on a page.

    ``problem`` is the tool's own error, in the vendor's word.
    """

    kind: Literal["search", "open", "find"]
    words: str
    url: str = ""
    found: tuple[Found, ...] = ()
    problem: str = ""


class SearchAnswer(Record, frozen=True, kw_only=True):
    """A whole answer. ``sources`` are pages that no single search is said to have brought; ``cited`` those of the text.

    ``finish`` is the vendor's word for why it ended, ``cut_off`` whether the limit of output ended it. ``unfinished``
    is what has to be sent back for the model to go on, where the vendor paused it.
    """

    text: str
    model: str = ""
    finish: str = ""
    refused: bool = False
    cut_off: bool = False
    lookups: tuple[Lookup, ...] = ()
    sources: tuple[Found, ...] = ()
    cited: tuple[Found, ...] = ()
    unfinished: msgspec.Raw | None = None

    @property
    def stopped_on_purpose(self) -> bool:
        """Whether the vendor or the model declined, whatever of the answer came."""
        reason = self.finish.lower()
        return self.refused or reason in FILTERED or reason.startswith("content_filter")


def once(pages: list[Found]) -> tuple[Found, ...]:
    """The same pages without repetitions, in order."""
    return tuple({page.url: page for page in reversed(pages) if page.url}.values())[::-1]

"""What a page says of its product, as rules look at it, and where it says so."""

from __future__ import annotations

import datetime
import re

from grounding.records import Record
from grounding.webagents.agenticshop.records import Extraction, ProductFacts

MAX_QUOTE_CHARS = 300


class Finding(Record, frozen=True, kw_only=True):
    """What a rule says of a product. ``satisfied`` is None where the rule can't decide; ``quote`` is from the page.

    ``silent``: it is not satisfied because the page doesn't say.
    """

    satisfied: bool | None
    reason: str
    quote: str = ""
    silent: bool = False


class Shown(Record, frozen=True, kw_only=True):
    """The facts of a product and the text of its page. ``day`` is when it was fetched, None where nobody knows.

    ``fact_by_fact``: price, rating and the rest were looked for one by one, so that one which is not there is not on
    the page. A description that somebody wrote of a page is no such reading, and its silence shows nothing.
    """

    facts: ProductFacts
    text: str = ""
    text_cut: bool = False
    day: datetime.date | None = None
    fact_by_fact: bool = True

    def quote(self, field: str, *needles: str) -> str:
        """The words in which the page says a fact: those that the extractor noted, or a line of the text.

        Args:
            field: A field of ``ProductFacts``.
            *needles: What a line has to hold, the first that is found counts.
        """
        for source in self.facts.sources:
            if source.field == field and source.quote:
                return " ".join(source.quote.replace("\u200b", "").split())[:MAX_QUOTE_CHARS]
        return self.line(*needles)

    def line(self, *needles: str) -> str:
        """The first line of the page's text that holds one of these; "" where none does."""
        for needle in needles:
            if not needle.strip():
                continue
            pattern = re.compile(_word(needle.strip()), re.IGNORECASE)
            for line in self.text.splitlines():
                found = pattern.search(line)
                if found is not None:
                    return around(line, found.start())
        return ""

    def row(self, name: str, value: str) -> str:
        """The words of a line of the page's text from a fact's name to its value, else both as they were read."""
        pattern = re.compile(rf"{_word(name)}(?P<between>.*?){_word(value)}", re.IGNORECASE)
        rows = [found for line in self.text.splitlines() if (found := pattern.search(line)) is not None]
        if not rows:
            return f"{name}: {value}"[:MAX_QUOTE_CHARS]
        # A sentence may hold both, too; in a table they stand next to each other.
        return min(rows, key=lambda row: len(row["between"]))[0][:MAX_QUOTE_CHARS].strip()


def _word(needle: str) -> str:
    """The pattern of words that stand by themselves: "no" is not in "noise"."""
    return rf"(?<!\w){re.escape(needle)}(?!\w)"


def around(text: str, at: int) -> str:
    """What stands around a place of a text, as much as a quote holds, from a whole word on."""
    start = max(0, at - MAX_QUOTE_CHARS // 2)
    if start:
        blank = text.find(" ", start, at)
        start = at if blank < 0 else blank + 1
    return text[start : start + MAX_QUOTE_CHARS].strip()


def shown(extraction: Extraction) -> Shown | None:
    """What rules look at; None where nothing of a product is known."""
    page, facts = extraction.page, extraction.facts
    if page is None or facts is None:
        return None
    try:
        day = datetime.date.fromisoformat(page.fetched_at[:10])
    except ValueError:
        day = None
    return Shown(
        facts=facts, text=page.text, text_cut=page.text_cut, day=day, fact_by_fact=extraction.page_class == "product"
    )


def silent(what: str) -> Finding:
    """The finding where a page says nothing of what is asked: missing evidence fails."""
    return Finding(satisfied=False, reason=f"the page doesn't say {what}", silent=True)


def open_question(why: str, quote: str = "") -> Finding:
    """The finding where the rule can't decide."""
    return Finding(satisfied=None, reason=why, quote=quote)

"""What passes between drawing pairs, comparing them, and counting."""

from __future__ import annotations

from typing import Literal, get_args

from grounding.records import Call, Failure, Record
from grounding.webagents.rawusers import RawReview

Representation = Literal["query", "history", "context", "checklist"]
"""What stands for the user, in the order of the paper's table 2."""

REPRESENTATIONS: tuple[Representation, ...] = get_args(Representation)


class RatedPair(Record, frozen=True, kw_only=True):
    """Two products of one user, the first rated lower than the second.

    ``domain`` is the paper's, ``number`` counts the user's pairs in it. ``lower`` and ``higher`` are places in the
    user's list of reviews. ``first`` is which of the two is shown first where only one order is asked about.
    ``in_context`` says that the release wrote the user's context from the review of one of them or both.
    """

    domain: str
    user: str
    number: int
    lower: int
    higher: int
    first: Literal["lower", "higher"]
    in_context: bool

    @property
    def id(self) -> str:
        """Unique among pairs."""
        return f"{self.domain}/{self.user}/{self.number}"


class Described(Record, frozen=True, kw_only=True):
    """One way to stand for the user of a pair; ``variant`` tells several of one kind apart, such as queries."""

    representation: Representation
    variant: str
    text: str


class Comparison(Record, frozen=True, kw_only=True):
    """One question: which of two products fits the description better?

    ``order`` says which product is shown first.
    """

    pair: RatedPair
    described: Described
    lower: RawReview
    higher: RawReview
    order: Literal["lower", "higher"]

    @property
    def question(self) -> str:
        """The name of the question in both of its orders."""
        named = f"{self.described.representation}{f'.{self.described.variant}' if self.described.variant else ''}"
        return f"{self.pair.id}/{named}"

    @property
    def id(self) -> str:
        """Unique among comparisons."""
        return f"{self.question}/{self.order}-first"


class Choice(Record, frozen=True, kw_only=True):
    """An answer: which product was chosen, None where there is no answer or neither fits better (``tie``)."""

    step_id: str
    key: str
    chosen: Literal["lower", "higher"] | None = None
    tie: bool = False
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class Draw(Record, frozen=True, kw_only=True):
    """What was drawn, and how many users there are no pairs of."""

    pairs: tuple[RatedPair, ...]
    same_rating: int = 0
    without_history: int = 0
    too_few: int = 0

"""What passes between the parts of construction. Times are milliseconds since 1970 (UTC)."""

from __future__ import annotations

from typing import Literal

from grounding.records import Call, Failure, Record
from grounding.webagents.personalwab.records import Behaviour, Product, Profile, Review, Split, TaskType

PerPurchase = Literal["one", "all"]
ProfileFrom = Literal["all", "history"]

CATEGORIES = (
    "Electronics",
    "Home_and_Kitchen",
    "Grocery_and_Gourmet_Food",
    "Clothing_Shoes_and_Jewelry",
    "Health_and_Household",
)
"""The five of the paper (section 3.2.1), by their names in Amazon-Reviews-2023."""


class Sampling(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Whom to draw: how many users, with how many behaviours each, from how many candidates, and further products.

    ``products`` are those that the shop gets beside the ones that its users bought.
    """

    users: int = 1000
    min_behaviours: int = 5
    max_behaviours: int = 500
    products: int = 0
    seed: int = 0
    candidates: int = 1_000_000


class RawUser(Record, frozen=True, kw_only=True):
    """A user and all reviews that were found, in any order."""

    id: str
    reviews: tuple[Review, ...]


class SourceFacts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was read and what was left out, for ``made-with.json``.

    ``eligible`` is the number of users that could have been drawn, among the candidates that were counted.
    """

    source: str
    files: tuple[str, ...]
    times: str
    ids: str
    reviews_read: int
    products_read: int
    eligible: int
    same_twice: int = 0
    without_product: int = 0


class CutUser(Record, frozen=True, kw_only=True):
    """A drawn user: behaviour oldest first, each with its part of the time line."""

    id: str
    behaviours: tuple[Behaviour, ...]


class Selection(Record, frozen=True, kw_only=True):
    """Users that were drawn and all products of the shop."""

    users: tuple[CutUser, ...]
    products: dict[str, Product]
    facts: SourceFacts


class ProfileSubject(Record, frozen=True, kw_only=True):
    """A user to be described, and the behaviours that may be looked at, oldest first."""

    user_id: str
    behaviours: tuple[Behaviour, ...]


class Job(Record, frozen=True, kw_only=True):
    """One instruction to be written: whose, of which type, and about which behaviour. ``id`` is unique in a shop."""

    id: str
    user_id: str
    type: TaskType
    split: Split
    behaviour: Behaviour


class MadeProfile(Record, frozen=True, kw_only=True):
    """A user's profile or why there is none. ``raw`` is the reply as it came."""

    step_id: str
    key: str
    profile: Profile | None = None
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class MadeInstruction(Record, frozen=True, kw_only=True):
    """An instruction or why there is none. ``raw`` is the reply as it came."""

    step_id: str
    key: str
    text: str = ""
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None

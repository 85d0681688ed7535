"""What passes between the parts of construction."""

from __future__ import annotations

from grounding.records import Call, Failure, Record
from grounding.webagents.agenticshop.records import ChecklistItem, Scenario, UserContext
from grounding.webagents.rawusers import RawReview


class Domain(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A file of raw users, by its name without the ending, and the scenarios that are made of it."""

    name: str
    scenarios: tuple[Scenario, ...]

    @property
    def is_open(self) -> bool:
        """Whether its users are to explore, with no query and no item that one is made of."""
        return self.scenarios == ("casual_browsing",)


class Subject(Record, frozen=True, kw_only=True):
    """A user to be written about. ``history`` is what the context is written from, in the file's order.

    ``seed`` is the review of the item that the query is made of. In open exploration it is None, ``product_type`` "".
    ``kept_out`` counts the reviews of that item which were taken out of the history.
    """

    domain: str
    user: str
    product_type: str
    history: tuple[RawReview, ...]
    seed: RawReview | None = None
    kept_out: int = 0

    @property
    def id(self) -> str:
        """The name of the subject: one user can be in several files."""
        return f"{self.domain}/{self.user}"


class Need(Record, frozen=True, kw_only=True):
    """Why a user shops, for how much, and the words for it in four degrees of specificity; "" in open exploration."""

    situation: str
    budget: str = ""
    explicit_title: str = ""
    attribute_specific: str = ""
    brand_categorical: str = ""
    categorical: str = ""


Checklist = tuple[ChecklistItem, ...]


class MadeContext(Record, frozen=True, kw_only=True):
    """The context of one subject, or why there is none. ``step_id`` is the subject's id."""

    step_id: str
    key: str
    context: UserContext | None = None
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class MadeNeed(Record, frozen=True, kw_only=True):
    """The need of one subject, or why there is none."""

    step_id: str
    key: str
    need: Need | None = None
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class MadeChecklist(Record, frozen=True, kw_only=True):
    """The checklist of one subject, or why there is none. ``objections`` are those to the one that it replaces."""

    step_id: str
    key: str
    checklist: Checklist = ()
    objections: tuple[str, ...] = ()
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None

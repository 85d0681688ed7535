"""What is wrong with a checklist: its items in; repetitions, several conditions in one and what nobody can check out.

An item should be one thing that somebody with the product's page before them, and nothing else, says yes or no to
(paper, section 3.3.5: atomic and verifiable). What is flagged here is read from the words alone, so it is a hint: each
flag says which words raised it (see ``item_words.py`` for the reasons). Nothing is taken out of a checklist because of
a flag.

Held against one reader's judgement on the released checklists: of 60 flags drawn at random 54 were right, and of 60
items without a flag about 9 deserved one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from grounding.records import Record
from grounding.webagents.agenticshop.item_words import REASONS, FlagReason, objections
from grounding.webagents.agenticshop.records import DIMENSIONS, ChecklistItem, CurationTask, Dimension

FlagKind = Literal["duplicate", "compound", "uncheckable"]

ALIKE = 0.3
"""Items that share so much of their own words, without those that all items have, are one item twice."""

ALIKE_WORDS = 3
"""But they share at least so many."""


class ItemFlag(Record, frozen=True, kw_only=True):
    """One objection to one item.

    ``item`` is its id, ``words`` what raised the flag, ``other`` the id of the item that a duplicate repeats.
    """

    item: str
    reason: FlagReason
    words: str
    other: str = ""

    @property
    def kind(self) -> FlagKind:
        """The kind of the objection: a repetition, several conditions, or nothing that can be checked."""
        if self.reason == "duplicate" or self.reason == "compound":
            return self.reason
        return "uncheckable"

    @property
    def sentence(self) -> str:
        """The objection in words."""
        return f"{_SENTENCES[self.reason]}: {self.words}" + (f" ({self.other})" if self.other else "")


_SENTENCES: dict[FlagReason, str] = {
    "duplicate": "says what another item says",
    "compound": "has several conditions",
    "conditional": "holds only under a condition",
    "subjective": "asks for an opinion",
    "history": "rests on what the user did before",
    "calculation": "has to be worked out",
    "comparison": "rests on other products",
    "elsewhere": "rests on what is not on the page",
    "absence": "asks that something is nowhere",
}


class ChecklistLint(Record, frozen=True, kw_only=True):
    """What is objected to in all checklists of a data set; a checklist that several tasks share counts once.

    ``items`` is the number of items, ``by_dimension`` that of each dimension. ``flagged`` counts items with any flag,
    ``by_reason`` items with that flag, ``by_kind`` items with a flag of that kind.
    """

    checklists: int
    items: int
    flagged: int
    by_dimension: dict[Dimension, int]
    by_reason: dict[FlagReason, int]
    by_kind: dict[FlagKind, int]


def lint_checklist(items: Sequence[ChecklistItem]) -> tuple[ItemFlag, ...]:
    """All objections to one checklist, in the order of its items."""
    found = []
    for number, item in enumerate(items):
        found += [ItemFlag(item=item.id, reason=reason, words=words) for reason, words in objections(item.text).items()]
        repeated = _repeated(item, items[:number])
        if repeated is not None:
            other, words = repeated
            found.append(ItemFlag(item=item.id, reason="duplicate", words=words, other=other.id))
    return tuple(found)


def lint_tasks(tasks: Sequence[CurationTask]) -> ChecklistLint:
    """How much is objected to in the checklists of a data set."""
    distinct = {(task.user, task.checklist): task.checklist for task in tasks}
    by_dimension: Counter[Dimension] = Counter()
    by_reason: Counter[FlagReason] = Counter()
    by_kind: Counter[FlagKind] = Counter()
    flagged = 0
    for checklist in distinct.values():
        by_dimension.update(item.dimension for item in checklist)
        flags = lint_checklist(checklist)
        flagged += len({flag.item for flag in flags})
        by_reason.update(reason for _, reason in {(flag.item, flag.reason) for flag in flags})
        by_kind.update(kind for _, kind in {(flag.item, flag.kind) for flag in flags})
    return ChecklistLint(
        checklists=len(distinct),
        items=by_dimension.total(),
        flagged=flagged,
        by_dimension={dimension: by_dimension[dimension] for dimension in DIMENSIONS},
        by_reason={reason: by_reason[reason] for reason in REASONS if by_reason[reason]},
        by_kind=dict(by_kind),
    )


# --- repetitions ---------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)?")
_EVERYWHERE = frozenset(
    {"a", "an", "the", "and", "or", "of", "in", "on", "to", "is", "are", "for", "with", "by", "as", "at", "from", "be"}
    | {"product", "listing", "page", "seller", "item", "clear", "clearly", "explicit", "explicitly", "stated", "states"}
    | {"state", "listed", "lists", "list", "include", "includes", "including", "included", "provides", "provided"}
    | {"provide", "shows", "show", "shown", "description", "details", "detail", "specified", "specifies", "documents"}
    | {"documented", "document", "described", "describes", "describe", "information", "indicates", "specification"}
    | {"specifications", "that", "this", "rather", "than", "e", "g", "such", "any", "at", "least", "its", "it", "their"}
    | {"displays", "displayed", "display", "contains", "offers", "offered", "has", "have", "images", "within", "other"}
)


def _repeated(item: ChecklistItem, before: Sequence[ChecklistItem]) -> tuple[ChecklistItem, str] | None:
    own = _own_words(item.text)
    plain = _plain(item.text)
    for other in before:
        theirs = _own_words(other.text)
        common = own & theirs
        is_same = plain == _plain(other.text)
        is_alike = len(common) >= ALIKE_WORDS and len(common) >= ALIKE * len(own | theirs)
        if is_same or (is_alike and not _differ_in_numbers(own, theirs)):
            return other, ", ".join(sorted(common))[:120]
    return None


def _differ_in_numbers(own: set[str], theirs: set[str]) -> bool:
    mine, other = ({word for word in words if word[0].isdigit()} for words in (own, theirs))
    return bool(mine and other) and not mine & other


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _own_words(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {_singular(word) for word in words if word not in _EVERYWHERE}


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word

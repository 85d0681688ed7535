"""The release's files of users as they are on disk: one decoded JSON object in, a task out, or what is wrong with it.

A file is a list of::

    {"user": "AH7...", "seed_product_type": "Lids" | null, "situation": "...", "budget_range": "..." | null,
     "query_type": "categorical", "user_query": "...",
     "user_context": {DIMENSION: "a paragraph", ...}, "check_list": {DIMENSION: ["an item", ...], ...},
     "target": {"title": "...", "brand": "...", "product_type": "..."}}

``target`` is ours and may be left out: the release has none. What may be absent or null: the product type, the
situation, the budget, the kind of query, single dimensions of the context and of the checklist, and the query where the
scenario is open exploration, which has none (paper, section 3.2). Fields that are not known are passed over; the names
of dimensions are those of the paper and no others, because a misspelt one would lose its items.
"""

from __future__ import annotations

import re
from typing import Any

from grounding.loaders.fields import ABSENT, Fields
from grounding.records import Record
from grounding.webagents.agenticshop.records import (
    DIMENSIONS,
    ChecklistItem,
    CurationTask,
    Scenario,
    Target,
    UserContext,
)
from grounding.webagents.agenticshop.scenarios import intent_of

MAX_TEXT_CHARS = 20_000
"""Some fifteen times the longest text of the released samples (a paragraph of context with 1,300 characters)."""

MAX_ITEMS = 200
"""In one dimension of a checklist; the released samples have up to 6."""

KNOWN_FIELDS = frozenset(
    {
        "user",
        "seed_product_type",
        "situation",
        "budget_range",
        "query_type",
        "user_query",
        "user_context",
        "check_list",
        "target",
    }
)

_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}")
_TARGET_FIELDS = ("title", "brand", "product_type")
_DIMENSIONS = frozenset(DIMENSIONS)


class ReadUser(Record, frozen=True, kw_only=True):
    """One user of a file, and the names of the fields that nobody reads."""

    task: CurationTask
    unread: tuple[str, ...] = ()


def read_user(fields: Fields, values: dict[str, Any], scenario: Scenario) -> ReadUser:
    """One entry of a file of users. What is wrong is added to the problems of ``fields``: the task is then not used.

    Args:
        fields: Reads ``values`` and knows the file and the entry.
        values: The entry.
        scenario: Of the file.
    """
    user = _user(fields)
    reader = _Reader(fields)
    is_open = intent_of(scenario) == "open_exploration"
    task = CurationTask(
        id=f"{scenario}/{user}",
        user=user,
        scenario=scenario,
        situation=reader.optional("situation"),
        query=reader.optional("user_query") if is_open else reader.needed("user_query"),
        query_type=reader.optional("query_type"),
        product_type=reader.optional("seed_product_type") or None,
        budget=reader.optional("budget_range") or None,
        context=_context(reader),
        checklist=_checklist(reader),
        target=_target(reader),
    )
    return ReadUser(task=task, unread=tuple(sorted(set(values) - KNOWN_FIELDS)))


def _user(fields: Fields) -> str:
    user = fields.text("user", "give every user an id")
    if user.strip() and not _USER.fullmatch(user):
        fields.report(
            "user",
            "must be letters, digits, '_', '-' and '.', 128 at most, and begin with no '-' or '.'",
            "give the user another id: it names folders and answers",
            user,
        )
    return user


class _Reader:
    """Reads bounded texts and objects of one entry."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def needed(self, field: str) -> str:
        return self._bounded(field, self.fields.text(field, "write what the user says"))

    def optional(self, field: str) -> str:
        return self._bounded(field, self.fields.optional_text(field, "write text, or null").strip())

    def _bounded(self, field: str, text: str) -> str:
        if len(text) > MAX_TEXT_CHARS:
            self.fields.report(field, f"has {len(text):,} characters; at most {MAX_TEXT_CHARS:,}", "shorten it")
        return text

    def mapping(self, field: str, *, needed: bool) -> dict[str, Any]:
        """An object with names of its own; empty where there is none."""
        raw = self.fields.raw(field, "write an object with the six dimensions") if needed else self._get(field)
        if raw is ABSENT or (raw is None and not needed):
            return {}
        if not isinstance(raw, dict):
            self.fields.report(field, "must be an object", "write { and } around it", raw)
            return {}
        return raw

    def _get(self, field: str) -> object:
        return self.fields.raw(field, "") if self.fields.has(field) else ABSENT

    def known_only(self, field: str, found: dict[str, Any]) -> None:
        for name in sorted(set(found) - _DIMENSIONS):
            self.fields.report(
                f"{field}.{name}", "is no dimension", f"the dimensions are {', '.join(DIMENSIONS)}", found[name]
            )


def _context(reader: _Reader) -> UserContext:
    found = reader.mapping("user_context", needed=True)
    reader.known_only("user_context", found)
    nested = _Reader(reader.fields.nested(found, "user_context."))
    return UserContext(**{dimension: nested.optional(dimension) for dimension in DIMENSIONS})


def _checklist(reader: _Reader) -> tuple[ChecklistItem, ...]:
    found = reader.mapping("check_list", needed=True)
    reader.known_only("check_list", found)
    items: list[ChecklistItem] = []
    wrong = False
    for dimension in DIMENSIONS:
        texts = found.get(dimension)
        place = f"check_list.{dimension}"
        if texts is None:
            continue
        if not isinstance(texts, list):
            wrong = True
            reader.fields.report(place, "must be a list of texts", "write [ and ] around the items", texts)
            continue
        if len(texts) > MAX_ITEMS:
            reader.fields.report(place, f"has {len(texts):,} items; at most {MAX_ITEMS}", "take some out")
            wrong = True
            continue
        for number, text in enumerate(texts):
            if not isinstance(text, str) or not text.strip():
                wrong = True
                reader.fields.report(f"{place}[{number}]", "must be text", "write the item, or take it out", text)
            elif len(text) > MAX_TEXT_CHARS:
                wrong = True
                reader.fields.report(f"{place}[{number}]", f"has {len(text):,} characters", "shorten it")
            else:
                items.append(ChecklistItem(dimension=dimension, number=number, text=text))
    if not items and not wrong and reader.fields.has("check_list"):
        reader.fields.report("check_list", "has no items", "a user without a checklist can't be scored: take it out")
    return tuple(items)


def _target(reader: _Reader) -> Target | None:
    found = reader.mapping("target", needed=False)
    nested = _Reader(reader.fields.nested(found, "target."))
    known = {field: nested.optional(field) for field in _TARGET_FIELDS}
    return Target(**known) if any(known.values()) else None


def profile_of(task: CurationTask) -> dict[str, Any]:
    """A task as the release writes it, in the order of its fields; with ``target`` where the task has one.

    Reading this gives the same task again, but for numbers of items where items were left out.
    """
    profile: dict[str, Any] = {
        "user": task.user,
        "seed_product_type": task.product_type,
        "situation": task.situation,
        "budget_range": task.budget,
        "query_type": task.query_type,
        "user_query": task.query,
        "user_context": {dimension: getattr(task.context, dimension) for dimension in DIMENSIONS},
        "check_list": checklist_of(task.checklist),
    }
    if task.target is not None:
        profile["target"] = {field: getattr(task.target, field) for field in _TARGET_FIELDS}
    return profile


def checklist_of(items: tuple[ChecklistItem, ...]) -> dict[str, list[str]]:
    """A checklist as the release writes it: a list of texts for each of the six dimensions, in order of the numbers."""
    return {
        dimension: [one.text for one in sorted(items, key=lambda item: item.number) if one.dimension == dimension]
        for dimension in DIMENSIONS
    }

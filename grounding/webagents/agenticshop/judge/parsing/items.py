"""An item to a rule: one condition, or several that belong together without doubt."""

from __future__ import annotations

import re

from grounding.records import Record
from grounding.webagents.agenticshop.judge.conditions import AllOf, AnyOf, Rule
from grounding.webagents.agenticshop.judge.parsing.names import listed_names, name_rule
from grounding.webagents.agenticshop.judge.parsing.opinions import opinion_rule
from grounding.webagents.agenticshop.judge.parsing.plain import doubtful, plain, without_asides
from grounding.webagents.agenticshop.judge.parsing.prices import price_rule
from grounding.webagents.agenticshop.judge.parsing.stated import words_rule
from grounding.webagents.agenticshop.judge.parsing.terms import term_rule
from grounding.webagents.agenticshop.judge.parsing.wares import ware_rule
from grounding.webagents.agenticshop.records import ChecklistItem

VERSION = 1
"""Goes up when the same words are read otherwise: part of the rule judge's identity."""

MAX_ITEM_CHARS = 400
MAX_PARTS = 4

_AND = re.compile(r",? and |; (?:and )?|,? with ", re.IGNORECASE)
_OR = re.compile(r",? or ", re.IGNORECASE)
_SUBJECT = re.compile(
    r"(?:the )?(?:product|item|listing|product page|page|product listing|seller|it)\s+(?=(?:has|is|shows|offers"
    r"|states|displays|includes)\b)",
    re.IGNORECASE,
)


class Reading(Record, frozen=True, kw_only=True):
    """What was made of an item: a rule, or why there is none."""

    rule: Rule | None = None
    reason: str = ""


def read_item(item: ChecklistItem) -> Reading:
    """The rule of an item, or why no rule decides it.

    Conservative: every word of the item has to be accounted for by a pattern. An item of several conditions is read
    where each of them can be, and where they are joined by one kind of word only.

    >>> from grounding.webagents.agenticshop.records import ChecklistItem
    >>> text = "Rated 4 stars or more, with at least 10 reviews"
    >>> item = ChecklistItem(dimension="review_sensitivity", number=0, text=text)
    >>> read_item(item).rule.words
    'the average rating is at least 4 out of 5, and the number of ratings or reviews is at least 10'
    """
    text = plain(item.text)
    if len(text) > MAX_ITEM_CHARS:
        return Reading(reason=f"no rule reads an item of more than {MAX_ITEM_CHARS} characters")
    among = listed_names(text)
    if among is not None:
        return Reading(rule=among)
    # An aside that only gives examples may hold any word; what is left of the item may not.
    text = without_asides(text)
    doubt = doubtful(text)
    if doubt:
        return Reading(reason=f'"{doubt}" leaves open what is asked for')
    rule = _read(text, alone=item.dimension == "price_sensitivity")
    if rule is None:
        return Reading(reason="no rule fits these words")
    return Reading(rule=rule)


def _one(text: str, alone: bool) -> Rule | None:
    return (
        price_rule(text, alone=alone)
        or opinion_rule(text)
        or name_rule(text)
        or term_rule(text)
        or words_rule(text)
        or ware_rule(text)
    )


def _read(text: str, *, alone: bool) -> Rule | None:
    rule = _one(text, alone)
    if rule is not None:
        return rule
    together, either = _several(text, _AND, alone), _several(text, _OR, alone)
    if together and either:
        return None
    if together:
        return AllOf(rules=together)
    return AnyOf(rules=either) if either else None


def _several(text: str, joint: re.Pattern[str], alone: bool) -> tuple[Rule, ...]:
    """The rules of the parts of an item, split at one kind of word wherever both sides can be read."""
    joints = list(joint.finditer(text))
    if not joints or len(joints) >= 2 * MAX_PARTS:
        return ()
    opening = _SUBJECT.match(text)
    subject = opening[0] if opening is not None else ""
    for split in joints:
        first = _one(text[: split.start()].strip(" ,"), alone)
        if first is None:
            continue
        rest = text[split.end() :].strip(" ,")
        second = _one(rest, alone) or (_one(subject + rest, alone) if subject else None)
        if second is not None:
            return (first, second)
        more = _several(rest, joint, alone)
        if more and len(more) < MAX_PARTS:
            return (first, *more)
    return ()

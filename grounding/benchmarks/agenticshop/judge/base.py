"""What a judge is, what an answer of it hangs on, and what most of several judges say.

A judge sees the checklist and the stored evidence of one product, and never learns which agent found it at which rank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from grounding.grounders.base import Answerer, Offline
from grounding.records import Failure, Record

from ..asking import money_text
from ..records import ChecklistItem, Condition, Extraction, ItemVerdict, Judgement, ProductFacts, VerdictFlag, digest
from ..scores import UNDECIDED, spending_limits, words
from ..web.evidence import EvidenceFolder


class JudgedProduct(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One product and what it is judged by. The extraction's id holds the rank and is never shown to a judge."""

    checklist: tuple[ChecklistItem, ...]
    extraction: Extraction


class ProductJudge(Answerer, Protocol):
    """Says of each item of a checklist whether a product satisfies it; ``condition`` is what it is shown."""

    condition: Condition

    async def judge(self, subject: JudgedProduct, evidence: EvidenceFolder, key: str) -> Judgement:
        """Raises BudgetReached where the cost limit leaves no room, UserError where no product can be judged so."""


def judgement_id(product_id: str, judge: str) -> str:
    return f"{product_id}/{judge}"


def judgement_key(identity: str, subject: JudgedProduct) -> str:
    """What a judgement hangs on: the judge, the URL, the checklist's words and all of the evidence.

    Neither the agent nor the rank is in it, so the same product on the same evidence has the same key wherever it is
    judged for the same user. Of the time only the day counts, because a delivery date is read against it.
    """
    found, shown = subject.extraction, subject.extraction.page
    if shown is not None:
        shown = msgspec.structs.replace(shown, fetched_at=shown.fetched_at[:10], seconds=0.0, blocked_requests=0)
    return digest(identity, found.url, subject.checklist, shown, found.page_class, found.class_reason, found.facts)


def no_product(extraction: Extraction) -> str:
    """Why there is no product that could satisfy anything, in words; "" where there is one (paper, section 3.4)."""
    page, kind = extraction.page, extraction.page_class
    if page is None:
        return "there is no page to judge"
    if page.failure is not None:
        return f"the page can't be had: {page.failure.message}"
    return "" if kind in (None, "product") else f"no product's own page, but {kind} ({extraction.class_reason})"


def unjudged(
    judge: ProductJudge, subject: JudgedProduct, key: str, *, why: str = "", failure: Failure | None = None
) -> Judgement:
    """A judgement that satisfies nothing: there is no evidence (``why``), or a ``failure``: all is ``missing``."""
    flags: tuple[VerdictFlag, ...] = ("missing",) if failure else ()
    return Judgement(
        step_id=judgement_id(subject.extraction.step_id, judge.name),
        key=key,
        judge=judge.name,
        condition=judge.condition,
        verdicts=tuple(
            ItemVerdict(item=one.id, satisfied=False, reasoning=why, flags=flags) for one in subject.checklist
        ),
        failure=failure,
    )


MAJORITY = "majority"


def majority(judgements: Sequence[Judgement], checklist: Sequence[ChecklistItem]) -> Judgement:
    """What most judges say of each item of a product.

    An item is satisfied if strictly more judges say so than say that it is not. One that nobody decides is
    ``undecided``, or ``missing`` where no judge left it open on purpose. The evidence is that of the first of the
    majority. Where every judge failed, an error, which asking again may mend, is the failure before others.
    """
    failures = sorted((one.failure for one in judgements if one.failure), key=lambda one: one.kind != "error")
    standing = [one for one in judgements if one.failure is None]
    return Judgement(
        step_id=judgement_id(judgements[0].product, MAJORITY),
        key=digest([(one.judge, one.key) for one in judgements]),
        judge=MAJORITY,
        verdicts=tuple(_verdict(item, standing) for item in checklist),
        failure=None if standing else failures[0],
    )


def _verdict(item: ChecklistItem, judgements: Sequence[Judgement]) -> ItemVerdict:
    said = {each.judge: one for each in judgements for one in each.verdicts if one.item == item.id}
    decided = {judge: one for judge, one in said.items() if UNDECIDED.isdisjoint(one.flags)}
    if not decided:
        flag: VerdictFlag = "undecided" if any("undecided" in one.flags for one in said.values()) else "missing"
        return ItemVerdict(item=item.id, satisfied=False, reasoning="no judge decides it", flags=(flag,))
    yes, no = ([judge for judge, one in decided.items() if one.satisfied is side] for side in (True, False))
    agreeing = [decided[judge] for judge in (yes if len(yes) > len(no) else no)]
    best = next((one for one in agreeing if (one.quote or one.place) and not one.flags), agreeing[0])
    told = [f"satisfied: {', '.join(yes)}"] if yes else []
    told += [f"not satisfied: {', '.join(no)}"] if no else []
    tie = " (a tie is not satisfied)" if len(yes) == len(no) else ""
    return msgspec.structs.replace(best, reasoning="; ".join(told) + tie)


REFERENCE = "reference"


class ReferenceJudge(Offline):
    name = REFERENCE
    condition: Condition = "full"
    identity = "judge reference 2"

    async def judge(self, subject: JudgedProduct, evidence: EvidenceFolder, key: str) -> Judgement:  # noqa: ARG002
        extraction = subject.extraction
        why, failure = no_product(extraction), extraction.failure
        judgement = unjudged(self, subject, key, why=why, failure=failure)
        if why or failure is not None:
            return judgement
        verdicts = tuple(verdict(item, extraction.facts) for item in subject.checklist)
        return msgspec.structs.replace(judgement, verdicts=verdicts)


class Decided(NamedTuple):
    """What follows for one item: None where nothing does; ``quote`` is what it rests on, in the page's words."""

    satisfied: bool | None
    reason: str
    quote: str = ""


def verdict(item: ChecklistItem, facts: ProductFacts | None) -> ItemVerdict:
    yes, reason, quote = decide(item.text, facts)
    flags: tuple[VerdictFlag, ...] = ("no-evidence",) if yes and not quote else ()
    if yes is None:
        reason, flags = f"not decided: {reason}", ("undecided",)
    return ItemVerdict(item=item.id, satisfied=bool(yes), reasoning=reason, quote=quote, flags=flags)


_ITEMS: dict[str, str] = msgspec.yaml.decode((Path(__file__).parent / "items.yaml").read_bytes())
_VAGUE = re.compile(rf"\b(?:{_ITEMS.pop('vague')})\b", re.IGNORECASE)
# The forms of items that are read, in the order in which they are tried.
_RULES = {name: re.compile("".join(pattern.split("\n")), re.IGNORECASE) for name, pattern in _ITEMS.items()}
_CHOICE = re.compile(r",(?!\d)\s*(?:or |and )?|\s+or\s+", re.IGNORECASE)
_DURATION = re.compile(
    r"(?P<low>\d+)\s*(?:(?:-|\u2013|to)\s*(?P<high>\d+))?[\s-]*(?:business |working )?(?P<unit>day|week|month|year)",
    re.IGNORECASE,
)
_OTHER_SPELLING = re.compile(r"\d\.\d{3}(?!\d)|\d,\d\d?(?!\d)|\d\s\d")  # "1.299,99", "12,5" and "1 299".
_DENYING = re.compile(
    r"\b(?:no|non|without|(?:not|never|cannot|(?:is|are|do|does|wo|ca)n t)(?: (?:fully|entirely|completely))?)$"
)
_DENIED = re.compile(r"(?:no|none|not|false)\b", re.IGNORECASE)
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def decide(text: str, facts: ProductFacts | None) -> Decided:
    """What follows for an item's words from a page's facts; nothing where these are one text, as the release's are.

    >>> decide("Product brand is not Alder", ProductFacts(title="A tin", brand="Birch")).satisfied
    True
    """
    if facts is None or not facts.title:
        return Decided(None, "the page has no single facts")
    text = " ".join(text[:300].split()).rstrip(". ")
    for rule, pattern in _RULES.items():
        if (match := pattern.fullmatch(text)) and (found := _decided(rule, match, facts)):
            return found
    return Decided(None, "no rule reads this item")


def _decided(rule: str, match: re.Match[str], facts: ProductFacts) -> Decided | None:
    said = match.groupdict()
    denied = bool(said.get("no"))
    if rule in ("brand", "without", "field", "words") and _VAGUE.search(match[0]):
        return None
    match rule:
        case "stock":
            quote = next((one.quote for one in facts.sources if one.field == "availability" and one.quote), "")
            return Decided(facts.availability == ("sold_out" if denied else "in_stock"), "stock", quote)
        case "shipping":
            free = facts.shipping is not None and facts.shipping.amount == 0
            return Decided(free, "cost of shipping", facts.shipping_text or money_text(facts.shipping))
        case "count":
            count = facts.rating_count
            fewest = int(said["least"].replace(",", "")) + (said["above"] is not None)
            enough = count is not None and count >= fewest
            return Decided(enough, "number of ratings", str(count or ""))
        case "rating":
            rating, least = facts.rating, float(said["least"]) * 5 / float(said["best"] or 5)
            enough = rating is not None and rating >= least - 1e-9
            return Decided(enough, "average rating out of 5", "" if rating is None else f"{rating:g}")
        case "price":
            return _price(said["limit"], facts, shipped=bool(said["shipped"]))
        case "brand":
            brand = words(facts.brand)
            named = any(one and one == brand[: len(one)] for one in map(words, _CHOICE.split(said["names"])))
            return Decided(bool(brand) and named is not denied, "brand", facts.brand)
        case "days":
            return _days(said, facts)
        case "field":
            lines = [one for one in facts.attributes if words(one.name) == words(said["name"])]
            stated = " ".join(one.value for one in lines)
            same = any(_holds(stated, one) for one in _CHOICE.split(said["value"]))
            quote = f"{lines[0].name}: {lines[0].value}" if lines else ""
            return Decided(same is not denied, "a field of the page", quote) if lines else None
        case "without":
            value = said["value"]
            return _on_page(facts, (f"no {value}", f"free from {value}", f"{value} free"))
        case _:
            return _on_page(facts, _CHOICE.split(said["value"])) if len(words(said["value"])) <= 4 else None


def _price(limit: str, facts: ProductFacts, *, shipped: bool) -> Decided:
    paid = facts.total if shipped else facts.price
    if paid is None:
        return Decided(False, f"the page doesn't say what it costs{' with shipping' if shipped else ''}")
    if _OTHER_SPELLING.search(limit):
        return Decided(None, "the item's amount is not written as in English", money_text(paid))
    for one in map(spending_limits, limit.split(" or ")):
        if one.currency and one.currency == paid.currency:
            inside = (one.low is None or paid.amount >= one.low) and (one.high is None or paid.amount <= one.high)
            strict = re.match("under|below|over|above", limit, re.IGNORECASE) and paid.amount in (one.low, one.high)
            return Decided(inside and not strict, "price", money_text(paid))
    return Decided(None, f"the price is in {paid.currency or 'an unknown currency'}, the item is not", money_text(paid))


def _days(asked: dict[str, str], facts: ProductFacts) -> Decided:
    what, most = asked["what"].lower(), asked["bound"].lower() != "at least"
    texts = {"warranty": facts.warranty_text, "delivery": facts.delivery_text, "shipping": facts.delivery_text}
    said = texts.get(what, facts.returns_text)
    spans = [
        int((most and found["high"]) or found["low"]) * _UNIT_DAYS[found["unit"].lower()]
        for found in _DURATION.finditer(said)
    ]
    spans += [1] if re.search(r"\b(?:tomorrow|next day|overnight)\b", said, re.IGNORECASE) else []
    if said and not spans:
        return Decided(None, f"no number of days is read in what the page says of {what}", said[:200])
    limit = int(asked["number"]) * _UNIT_DAYS[asked["unit"].lower()]
    # A year is twelve months, and a month thirty days.
    enough = bool(spans) and (min(spans) <= limit * 1.02 if most else max(spans) >= limit * 0.98)
    return Decided(enough, f"days of {what}", said[:200])


def _on_page(facts: ProductFacts, phrases: Sequence[str]) -> Decided:
    lines = [
        facts.title,
        *(f"{one.name}: {one.value}" for one in facts.attributes),
        *facts.features,
        *(one.name for one in facts.variants if one.availability != "sold_out"),
        *re.split(r"(?<=[.!?])\s", facts.description),
    ]
    quote = next((line[:200] for phrase in phrases for line in lines if _holds(line, phrase)), "")
    return Decided(bool(quote), "words of the page", quote)


def _holds(line: str, phrase: str) -> bool:
    """Whether a phrase stands in a line of a page, and no "not" or "no" before it or, in "Name: no", behind it."""
    _, _, value = line.partition(": ")
    line = value if _DENIED.match(value) else line
    wanted = " ".join(_plain_words(phrase))
    said = f" {' '.join(_plain_words(line))} "
    places = [one.start() for one in re.finditer(re.escape(f" {wanted} "), said)] if wanted else []
    return any(wanted.startswith(("no ", "not ")) or not _DENYING.search(said[:place]) for place in places)


def _plain_words(text: str) -> tuple[str, ...]:
    """As :func:`words`; "0.5kg" is the number 0.5, which is not 5, and the word kg."""
    return words(re.sub(r"(?<=\d)[.,](?=\d)", "point", re.sub(r"(?<=\d)(?=[^\W\d])", " ", text)))

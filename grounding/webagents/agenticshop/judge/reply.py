"""A model's reply to verdicts: whatever stands around its JSON, item by item, and what is odd is flagged.

A reply can do no more than give verdicts on items that were asked about. What it says that they add up to is kept and
never used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from grounding.records import Box, Record, Size
from grounding.webagents.agenticshop.judge.evidence import ShownEvidence
from grounding.webagents.agenticshop.judge.quotes import is_quoted
from grounding.webagents.agenticshop.records import ChecklistItem, ItemVerdict, PlaceOnPage, Reported, VerdictFlag
from grounding.webagents.agenticshop.release.evaluations import read_reported

MAX_REPLY_CHARS = 400_000
MAX_REASONING_CHARS = 2_000
MAX_QUOTE_CHARS = 1_000
MAX_OBJECTS = 200
THOUSANDTHS = 1000.0
SAID_TWICE = "the judge says both"

_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_YES, _NO = (
    frozenset({"true", "yes", "success", "satisfied", "pass", "1"}),
    frozenset({"false", "no", "fail", "failed", "not satisfied", "not_satisfied", "unsatisfied", "0", "unknown"}),
)


class _Said(msgspec.Struct, frozen=True):
    """One verdict as a model writes it."""

    id: str
    satisfied: bool | str | int
    reasoning: str | None = None
    quote: str | None = None
    picture: int | str | None = None
    box: list[float] | None = None


class ReadVerdicts(Record, frozen=True, kw_only=True):
    """The verdicts of a reply, one for each item that was asked about, and what the judge reported beside."""

    verdicts: tuple[ItemVerdict, ...]
    reported: Reported | None = None


def reply_object(text: str, key: str) -> dict[str, Any] | None:
    """The JSON object of a reply that has a certain key; None where there is none.

    Thinking is passed over, and so are fences and words around the object. Of several the last counts: it is what the
    model came to.

    Args:
        text: The reply.
        key: A key that the object has to have, such as ``verdicts``.
    """
    found = None
    for each in _objects(_answer(text[:MAX_REPLY_CHARS])):
        if key in each:
            found = each
    return found


def _answer(text: str) -> str:
    """A reply behind its thinking, also where only the end of that is marked."""
    text = _THINKING.sub("", text)
    end = max(text.rfind("</think>"), text.rfind("</thinking>"))
    return text if end < 0 else text[end:]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects in a text that are in no other."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(MAX_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def read_verdicts(text: str, items: Sequence[ChecklistItem], shown: ShownEvidence) -> ReadVerdicts | None:
    """Read a reply; None where it holds no verdicts at all.

    A verdict on an item that was not asked about is passed over. An item without a verdict is ``missing``, and so is
    one that has two which differ.

    Args:
        text: The reply.
        items: What was asked about.
        shown: What the judge was shown.
    """
    found = reply_object(text, "verdicts") or {"verdicts": _rescued(text)}
    if not isinstance(found["verdicts"], list) or not found["verdicts"]:
        return None
    said: dict[str, list[_Said]] = {}
    for entry in found["verdicts"]:
        try:
            one = msgspec.convert(entry, _Said)
        except msgspec.ValidationError:
            continue
        said.setdefault(one.id.strip(), []).append(one)
    verdicts = tuple(_verdict(item, said.get(item.id, []), shown) for item in items)
    return ReadVerdicts(verdicts=verdicts, reported=_reported(found))


def _rescued(text: str) -> list[dict[str, Any]]:
    """The whole verdicts of a reply that breaks off in the middle, or that is verdicts without what goes around."""
    return [each for each in _objects(_answer(text[:MAX_REPLY_CHARS])) if {"id", "satisfied"} <= each.keys()]


def _verdict(item: ChecklistItem, said: list[_Said], shown: ShownEvidence) -> ItemVerdict:
    answers = {_satisfied(one.satisfied) for one in said}
    if not said or None in answers:
        return ItemVerdict(item=item.id, satisfied=False, flags=("missing",))
    if len(answers) > 1:
        return ItemVerdict(item=item.id, satisfied=False, reasoning=SAID_TWICE, flags=("missing",))
    return checked(item, said[0], shown, satisfied=True in answers)


def checked(item: ChecklistItem, said: _Said, shown: ShownEvidence, *, satisfied: bool) -> ItemVerdict:
    """A verdict with its evidence looked up: words in what was shown, a place on the pictures."""
    flags: list[VerdictFlag] = []
    quote = (said.quote or "").strip()[:MAX_QUOTE_CHARS]
    quoted = bool(quote) and is_quoted(quote, shown.words)
    if quote and not quoted:
        flags.append("quote-not-found")
    place = None
    if said.box is not None:
        place = _place(said, shown)
        if place is None:
            flags.append("region-off-page")
    if satisfied and not quote and said.box is None:
        flags.append("no-evidence")
    return ItemVerdict(
        item=item.id,
        satisfied=satisfied,
        reasoning=(said.reasoning or "").strip()[:MAX_REASONING_CHARS],
        quote=quote,
        place=place,
        flags=tuple(flags),
    )


def _satisfied(said: bool | str | int) -> bool | None:
    if isinstance(said, bool):
        return said
    word = str(said).strip().lower()
    return True if word in _YES else False if word in _NO else None


def _place(said: _Said, shown: ShownEvidence) -> PlaceOnPage | None:
    """The part of a picture that a model names, in that picture's pixels; None where there is no such part."""
    try:
        number = int(str(said.picture if said.picture is not None else 1 if len(shown.pictures) == 1 else "")) - 1
    except ValueError:
        return None
    if not 0 <= number < len(shown.pictures) or said.box is None or len(said.box) != 4:
        return None
    left, top, right, bottom = said.box
    if not (0 <= left < right <= THOUSANDTHS and 0 <= top < bottom <= THOUSANDTHS):
        return None
    return PlaceOnPage(segment=number, box=_pixels((left, top, right, bottom), shown.pictures[number].size))


def _pixels(box: tuple[float, float, float, float], size: Size) -> Box:
    across, down = size.width / THOUSANDTHS, size.height / THOUSANDTHS
    return Box(
        left_px=round(box[0] * across, 2),
        top_px=round(box[1] * down, 2),
        right_px=round(box[2] * across, 2),
        bottom_px=round(box[3] * down, 2),
    )


def _reported(found: dict[str, Any]) -> Reported | None:
    page = found.get("page")
    if isinstance(page, dict) and "page_accessibility" not in found:
        found = {**found, "page_accessibility": {"is_specific_product_page": page.get("is_product_page"), **page}}
    reported = read_reported(found)
    return None if reported == Reported() else reported

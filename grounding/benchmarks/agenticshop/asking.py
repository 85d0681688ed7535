"""Asking a chat model about a kept page: the wording, the fence around what others wrote, pictures, and two tries.

All that a page or an agent wrote stands inside a fence which nothing inside can end: its mark is made of what it
fences, so that whoever writes a page can't know it, and the same page always has the same one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from grounding.benchmarks.asking import Opened
from grounding.benchmarks.calls import json_values
from grounding.cards import ImageRule
from grounding.data.images import picture_sizes, prepare_picture
from grounding.llm.budget import together
from grounding.llm.chat import NO_PICTURES
from grounding.llm.wire import ImagePart, Message
from grounding.records import Call, Failure, ImageSizes, Record, Screenshot

from .records import Money, ProductFacts, Segment
from .web.evidence import EvidenceFolder

OFFICIAL = "official"
LONG_REPLY_TOKENS = 8192  # Room for verdicts on twenty items with their reasons and quotes, and for thinking before.
TRIES = 2  # A reply that can't be read is asked for once more; then it is unparsed.
MARK_DIGITS = 16
Render = Callable[[], Sequence[Message]]


def fence_mark(*texts: str) -> str:
    """What marks the lines around some texts, given as they will stand there: it is in none of them."""
    digest = hashlib.sha256(msgspec.json.encode(texts)).hexdigest()
    while any(digest[:MARK_DIGITS] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:MARK_DIGITS]


def visible(text: str) -> str:
    """A text with blanks for control characters, marks of direction and the like, but for tabs and new lines."""
    hidden = ("Cc", "Cf", "Cs")
    return "".join(one if one in "\n\t" or unicodedata.category(one) not in hidden else " " for one in text)


def bounded(text: str, limit: int) -> str:
    """A text without control characters, cut to a length; what was cut is said in a last line."""
    clean = visible(text)
    if len(clean) <= limit:
        return clean
    return f"{clean[:limit]}\n[cut off here: {limit} of {len(clean)} characters are shown]"


def one_line(text: str, most: int | None = None) -> str:
    """So that nobody's words can look like a line of ours; with ``most``, no longer than that."""
    whole = " ".join(visible(text).split())
    return whole if most is None or len(whole) <= most else whole[: most - 1] + "…"


_QUOTES = '\u2018\u2019\u201a\u201b`\u00b4\u2032"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033'
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_FOLDED = str.maketrans(dict.fromkeys(_QUOTES, "'") | dict.fromkeys(_DASHES, "-"))


def folded(text: str) -> str:
    """A text in one case, with one kind of blank, quote and dash; what can't be seen is a blank, as in the evidence.

    >>> folded("It\u2019s  4.6\u00a0Stars")
    "it's 4.6 stars"
    """
    text = unicodedata.normalize("NFKC", text.replace("\u2026", " ... ")).translate(_FOLDED)
    # Quotes within JSON are written with a backslash, and as they are in a reply.
    return " ".join(visible(text).replace("\\'", "'").casefold().split())


# Where a word begins and ends, and a number: "5" is in neither "4.5" nor "5,000". Many alphabets leave no blanks.
_CASELESS = ("Lo", "Lm")
_BEGINS, _ENDS = r"(?<![^\W_])(?:(?!\d)|(?<!\d[.,]))", r"(?![^\W_])(?:(?<!\d)|(?!,\d{3}))"


def stands_in(parts: Sequence[str], text: str) -> bool:
    """Whether folded parts stand in a folded text, by whole words and in their order; a long one may be cut in one."""
    end = 0  # Each is looked for once, behind the one before: a pattern of all of them could take hours.
    for part in parts:
        pattern = re.escape(part)
        if len(part) <= 40:
            pattern = ("" if unicodedata.category(part[0]) in _CASELESS else _BEGINS) + pattern
            pattern += "" if unicodedata.category(part[-1]) in _CASELESS else _ENDS
        found = re.compile(pattern).search(text, end)
        if found is None:
            return False
        end = found.end()
    return True


_STOCK = {"in_stock": "in stock", "sold_out": "sold out"}


def fact_lines(facts: ProductFacts) -> Iterator[tuple[str, str, str]]:
    """Field, name and words of each fact; what is unknown has no line."""
    free = facts.shipping is not None and not facts.shipping.amount
    forms = [(one.name, money_text(one.price), _STOCK.get(one.availability, "")) for one in facts.variants]
    starred = [(f"{one.rating:g} out of 5: " if one.rating is not None else "", one) for one in facts.reviews]
    said: list[tuple[str, str, str]] = [
        ("title", "title", facts.title),
        ("brand", "brand", facts.brand),
        ("seller", "seller", facts.seller),
        ("categories", "categories", " > ".join(facts.categories)),
        ("price", "price", money_text(facts.price)),
        ("list_price", "list price", money_text(facts.list_price)),
        ("shipping", "shipping", "free" if free else money_text(facts.shipping)),
        ("total", "price and shipping together", money_text(facts.total)),
        ("shipping_text", "shipping terms", facts.shipping_text),
        ("delivery_text", "delivery", facts.delivery_text),
        ("returns_text", "returns", facts.returns_text),
        ("warranty_text", "warranty", facts.warranty_text),
        ("availability", "availability", _STOCK.get(facts.availability, "")),
        ("rating", "rating", "" if facts.rating is None else f"{facts.rating:g} out of 5"),
        ("rating_count", "ratings or reviews", "" if facts.rating_count is None else str(facts.rating_count)),
        ("picture_count", "pictures", "" if facts.picture_count is None else str(facts.picture_count)),
        ("description", "description", facts.description),
        *(("features", "feature", feature) for feature in facts.features),
        *(("attributes", "attribute", f"{one_line(one.name)}: {one.value}") for one in facts.attributes),
        *(("variants", "form", ", ".join(filter(None, form))) for form in forms),
        *(("reviews", "review", f"{stars}{one.title} {one.text}") for stars, one in starred),
    ]
    yield from ((field, name, one_line(text)) for field, name, text in said if text)


def money_text(amount: Money | None) -> str:
    """An amount with its currency, "" for none.

    >>> money_text(Money(amount=12.5, currency="EUR")), money_text(Money(amount=12, currency="EUR"))
    ('12.50 EUR', '12 EUR')
    """
    if amount is None:
        return ""
    return f"{f'{amount.amount:.2f}'.removesuffix('.00')} {amount.currency}".strip()


def largest_sizes(segments: Sequence[Segment], rule: ImageRule) -> ImageSizes:
    """The sizes of the largest picture of a question; a ValueError where the model refuses its shape."""
    sizes = [picture_sizes(segment.size, rule) for segment in segments]
    return max(sizes, key=lambda each: each.sent.width * each.sent.height, default=NO_PICTURES)


def picture_part(segment: Segment, evidence: EvidenceFolder, rule: ImageRule) -> ImagePart:
    """A kept picture as it is sent; raises a UserError where it is not in the folder, or not what was kept."""
    evidence.get(segment.file)
    return ImagePart(url_json=prepare_picture(screenshot_of(segment, evidence), rule).url_json)


def screenshot_of(segment: Segment, evidence: EvidenceFolder) -> Screenshot:
    path, digest = evidence.path / segment.file, segment.file.partition(".")[0]
    return Screenshot(path=str(path), size=segment.size, sha256=digest)


MAX_REPLY_CHARS = 400_000
_TAG = "(?:think|thinking|reasoning)>"
_THOUGHT = re.compile(rf'("(?:[^"\\\n]|\\[^\n])*")|<{_TAG}.*?(?:</{_TAG}|\Z)|</{_TAG}', re.IGNORECASE | re.DOTALL)


def reply_objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a reply without its thinking, whatever stands around them. A tag in quotes is a page's."""
    text, answer, start = text[:MAX_REPLY_CHARS], "", 0
    for one in _THOUGHT.finditer(text):
        if one[1] is None:  # An end without a beginning: it began to think before its first word.
            answer = "" if one[0].startswith("</") else answer + text[start : one.start()]
            start = one.end()
    return [one for one in json_values(answer + text[start:]) if isinstance(one, dict)]


class Answer(Record, frozen=True, kw_only=True):
    """``found`` is what was read in the text, ``call`` what all tries took together."""

    text: str = ""
    found: Any = None
    call: Call | None = None
    tries: int = 1
    failure: Failure | None = None


async def ask(
    opened: Opened, render: Render, sizes: ImageSizes, read: Callable[[str], Any], *, tools: Sequence[Any] = ()
) -> Answer:
    """Ask, and once more where the reply can't be read: ``read`` then says why as a text, else brings what it found.

    ``render`` makes the messages, in a thread; ``sizes`` are those of the largest picture. Raises BudgetReached, and a
    UserError where the endpoint refuses every request, or evidence is missing in the folder.
    """
    answer = Answer()
    for number in range(1, TRIES + 1):
        asked = await opened.model.send(render, sizes, tools=tools)
        said, failure, found = asked.completion, asked.failure, None
        if said is not None and (said.refused or said.filtered):
            found = f"the model declined (finish reason {said.finish_reason or 'none'})"
        elif said is not None and isinstance(found := read(said.text), str) and said.finish_reason == "length":
            found = f"the reply was cut off (finish reason: length); {found}"
        if isinstance(found, str):
            failure = Failure(kind="unparsed", message=found)
        call = together([one for one in (answer.call, asked.call) if one is not None])
        answer = Answer(text="" if said is None else said.text, found=found, call=call, tries=number, failure=failure)
        if failure is None or failure.kind == "error":
            break
    return answer

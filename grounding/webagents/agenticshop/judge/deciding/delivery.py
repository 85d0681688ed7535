"""How long delivery takes, out of the words of a shop."""

from __future__ import annotations

import datetime
import re

from grounding.records import Record
from grounding.webagents.agenticshop.judge.parsing.quantities import COUNT, count

_DASHES = str.maketrans({dash: "-" for dash in "\u2010\u2011\u2012\u2013\u2014\u2212"})
_PART = re.compile(
    r"[;|\n•·!]+|(?<=\bdays):\s|(?<=\bweeks):\s|\.(?=\s|$)|,\s*(?=(?:arriv|deliver|ship|dispatch|sent|leaves"
    r"|express|standard|or )\w*)|\bthen\b"
    r"|\band (?=(?:arriv|deliver))",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\breturn|\brefund|\bexchange|\bsend (?:it|them) back\b|\bwarrant|\bguarantee|\bpostage\b", re.IGNORECASE
)
_DISPATCH = re.compile(r"\b(?:ships?|shipped|dispatch\w*|leaves|sent|processing|handling|despatch\w*)\b", re.IGNORECASE)
_DELIVERY = re.compile(
    r"\b(?:arriv\w*|deliver\w*|get it|receive\w*|at your door|shipping(?: time)?|transit)\b", re.IGNORECASE
)
_UNIT = r"(?P<kind>(?:business |working )?(?:hour|day|week))s?"
_SPAN = re.compile(rf"\b(?P<low>{COUNT})(?: ?(?:-|to) ?(?P<high>{COUNT}))?[- ]?{_UNIT}\b", re.IGNORECASE)
_SOON = (
    (re.compile(r"\bsame[- ]day\b|\btoday\b", re.I), 0.0),
    (re.compile(r"\bnext[- ]day\b|\btomorrow\b|\bovernight\b", re.I), 1.0),
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<{0}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\b{_MONTH.format('first')} (?P<day>\d{{1,2}})\b(?! ?%)|\b(?P<day2>\d{{1,2}})\.? {_MONTH.format('second')}\b"
    rf"|\b(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})\b",
    re.IGNORECASE,
)
_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0}
MAX_DAYS_AHEAD = 300
MAX_CHARS = 1_000


class Span(Record, frozen=True, kw_only=True):
    """From when to when something arrives, or is sent off, in days from now."""

    low_days: float
    high_days: float
    business: bool = False
    dispatch: bool = False

    @property
    def words(self) -> str:
        """The time in words."""
        what = "it is sent" if self.dispatch else "it arrives"
        kind = "business days" if self.business else "days"
        if self.low_days == self.high_days:
            return f"{what} within {self.high_days:.3g} {kind}"
        return f"{what} within {self.low_days:.3g} to {self.high_days:.3g} {kind}"


def delivery_spans(text: str, today: datetime.date | None) -> tuple[Span, ...]:
    """The times that a text names, in its order; a part that speaks of sending only is a time of dispatch.

    >>> [span.words for span in delivery_spans("Ships in 24 hours, arrives in 3-5 business days", None)]
    ['it is sent within 1 days', 'it arrives within 3 to 5 business days']

    Args:
        text: What a shop says of its delivery.
        today: The day against which dates are read; None: dates are passed over.
    """
    found = []
    for part in _PART.split(text[:MAX_CHARS].translate(_DASHES)):
        # A shop may say all of its terms in one line.
        if not part or not part.strip() or _OTHER.search(part):
            continue
        dispatch = bool(_DISPATCH.search(part)) and not _DELIVERY.search(part)
        found += _spans(part, dispatch, today)
    return tuple(dict.fromkeys(found))


def _spans(part: str, dispatch: bool, today: datetime.date | None) -> list[Span]:
    spans = []
    for each in _SPAN.finditer(part):
        kind = each["kind"].lower()
        business = kind.startswith(("business", "working"))
        per = 5.0 if business and kind.endswith("week") else _DAYS[kind.split()[-1]]
        low, high = _number(each["low"]) * per, _number(each["high"] or each["low"]) * per
        spans.append(Span(low_days=low, high_days=max(low, high), business=business, dispatch=dispatch))
    for pattern, after in _SOON:
        if pattern.search(part):
            spans.append(Span(low_days=after, high_days=after, dispatch=dispatch))
    if today is not None:
        ahead = sorted(days for each in _DATE.finditer(part) if (days := _ahead(each, today)) is not None)
        if ahead:
            spans.append(Span(low_days=ahead[0], high_days=ahead[-1], dispatch=dispatch))
    return spans


def _ahead(found: re.Match[str], today: datetime.date) -> float | None:
    """How many days a date lies ahead; one that is past this year is of the next."""
    try:
        if found["iso"]:
            date = datetime.date.fromisoformat(found["iso"])
        else:
            month = _MONTHS.index((found["first"] or found["second"]).lower()[:3]) + 1
            date = datetime.date(today.year, month, int(found["day"] or found["day2"]))
            if date < today:
                date = date.replace(year=today.year + 1)
    except ValueError:
        return None
    days = (date - today).days
    return float(days) if 0 <= days <= MAX_DAYS_AHEAD else None


def _number(text: str) -> float:
    found = count(text)
    return 0.0 if found is None else found.number

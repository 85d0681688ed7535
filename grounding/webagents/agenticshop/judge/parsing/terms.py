"""Items on delivery, returns, warranty and stock."""

from __future__ import annotations

import re

from grounding.webagents.agenticshop.judge.conditions import (
    ArrivesWithin,
    InStock,
    ReturnsAccepted,
    Rule,
    TermStated,
    WarrantyAtLeast,
)
from grounding.webagents.agenticshop.judge.parsing.quantities import COUNT, count

_WHERE = (
    r"(?:product page|product listing|seller listing|listing or seller page|product|listing|seller page|seller"
    r"|page|shop|store|retailer|item|it)"
)
_SAYS = (
    r"(?:(?:clearly|explicitly) )?(?:states|shows|lists|displays|indicates|includes|provides|documents|has|offers"
    r"|gives|mentions|describes)"
)
_IS_SAID = (
    r"(?:is|are) (?:clearly |explicitly )?(?:stated|shown|listed|displayed|indicated|documented|provided|given"
    r"|described|available)"
)
_ARTICLE = (
    r"(?:(?:an? |the |its |any )?(?:seller's |shop's |manufacturer's |manufacturer )?(?:clear |clearly stated "
    r"|stated |documented |explicit |written )*)"
)

# --- delivery -----------------------------------------------------------------------------------------------------

_TIME = rf"(?P<n>{COUNT}) ?-?(?P<kind>(?:business |working )?(?:day|week|hour))s?"
_WITHIN = (
    r"(?:within|in|in under|in at most|in no more than|takes at most|takes no more than|at most|of at most|no more "
    r"than|is at most|is)"
)
_ARRIVES = re.compile(
    rf"(?:(?:the )?(?:product|item|order|it|seller|listing|shop) )?(?:(?:offers|provides|shows|states|has|indicates) )?"
    rf"(?:an? )?(?:(?:estimated|standard|expected|stated|promised) )*"
    rf"(?:(?:is |can be |will be )?(?:delivery|delivers|delivered|arrives|arrive|arrival|delivery time|delivery "
    rf"estimate|shipping time)"
    rf"(?: (?:is|time|estimate|takes place|available|possible))*)"
    rf" {_WITHIN} {_TIME}(?: or (?:less|fewer|sooner))?",
    re.IGNORECASE,
)
_DISPATCHED = re.compile(
    rf"(?:(?:the )?(?:product|item|order|it|seller) )?(?:is )?(?:ships|shipped|dispatched|dispatches|sent|sent off"
    rf"|leaves the warehouse)"
    rf" {_WITHIN} {_TIME}(?: or (?:less|fewer|sooner))?",
    re.IGNORECASE,
)
_DELIVERY_STATED = re.compile(
    rf"(?:(?:the )?{_WHERE} {_SAYS} {_ARTICLE}(?:an? )?(?:estimated )?(?:delivery (?:time|estimate|window|date)"
    rf"|shipping estimate|"
    rf"estimated delivery(?: time)?|shipping speed or delivery window)s?"
    rf"|(?:the |an? )?(?:estimated )?(?:delivery (?:time|estimate|window|date)|estimated delivery)s? {_IS_SAID})",
    re.IGNORECASE,
)

# --- returns ------------------------------------------------------------------------------------------------------

_POLICY = (
    r"(?:returns?|refunds?|exchanges?)(?:(?: ?/ ?|, | or |, or | and )(?:returns?|refunds?|exchanges?|replacements?))*"
    r"(?: (?:policy or (?:returns?|refund/exchange) (?:information|process)|policy|policies|terms|conditions"
    r"|information|process))"
)
_DAYS_TOO = (
    r"(?P<days> ?\(including (?:the )?(?:timeframe|time frame|days|window|period)(?: for returns(?: or "
    r"refunds)?)?\)| with (?:a |the )?(?:clear )?(?:timeframe|time limit|number of days|days))?"
)
_RETURNS_STATED = re.compile(
    rf"(?:(?:the )?{_WHERE} {_SAYS} {_ARTICLE}{_POLICY}|(?:the |an? )?(?:seller's |clear "
    rf")?{_POLICY} {_IS_SAID}){_DAYS_TOO}",
    re.IGNORECASE,
)
_RETURNS = re.compile(
    rf"(?:(?:the )?{_WHERE} )?(?:(?:offers|allows|accepts|provides|has|gives|permits|includes) )?(?:an? "
    rf")?(?P<free>free )?"
    rf"(?:returns?|return window|return period|return policy)(?: (?:are|is))?(?: (?:accepted|allowed|possible"
    rf"|offered|permitted))?"
    rf"(?: (?P<how>within|for|of)(?: (?P<least>at least|a minimum of))? (?P<n>{COUNT}) ?-?(?P<kind>day|week|month)s?"
    rf"(?P<more> or (?:more|longer))?)?",
    re.IGNORECASE,
)
_PAID_FOR = re.compile(
    r"(?:the )?return (?:postage|shipping|costs?) (?:is|are) (?:free|paid by the (?:seller|shop|store|retailer))"
    r"|returns are free(?: of charge)?|(?:the )?(?:seller|shop|store|retailer) pays (?:for )?(?:the )?return "
    r"(?:postage|shipping|costs?)",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    rf"(?:(?:the )?{_WHERE} )?(?:(?:offers|allows|accepts|provides|has|gives|includes|states) )?(?:an? "
    rf")?(?P<least>at least (?:an? )?)?"
    rf"(?P<n>{COUNT})[- ](?P<kind>day|week|month)s?(?P<free> free)? (?:returns?(?: window| period| policy)?|return "
    rf"(?:window|period|policy))"
    rf"(?: (?:is|are) (?:offered|accepted|allowed|stated))?",
    re.IGNORECASE,
)
_CAN_RETURN = re.compile(
    rf"(?:the )?(?:product|item|it) can be (?:returned|sent back)(?P<free> (?:for free|at no cost|free of charge))?"
    rf"(?: (?:within|for)(?: (?P<least>at least))? (?P<n>{COUNT}) (?P<kind>day|week|month)s)?",
    re.IGNORECASE,
)

# --- warranty and stock -------------------------------------------------------------------------------------------

_COVER = r"(?:(?:manufacturer|manufacturer's|limited|product) )*(?:warranty|guarantee)"
_WARRANTY_STATED = re.compile(
    rf"(?:(?:the )?{_WHERE} {_SAYS} {_ARTICLE}{_COVER}(?: (?:details|terms|length|information|coverage|policy))?"
    rf"|(?:the |an? )?{_COVER}(?: (?:details|terms|length|information|coverage))? {_IS_SAID})",
    re.IGNORECASE,
)
_WARRANTY = re.compile(
    rf"(?:(?:the )?{_WHERE} )?(?:(?:offers|has|includes|provides|comes with|carries|states|lists|specifies|is "
    rf"covered by|"
    rf"must include|with) )?(?:an? )?(?:(?P<life>lifetime) {_COVER}"
    rf"|(?:(?:at least|a minimum of|minimum)(?: an?)? )?(?P<n>{COUNT})[- ](?P<kind>month|year)s?(?: or (?:more"
    rf"|longer))? {_COVER}"
    rf"|{_COVER} (?:of|is|lasts|for|period of|length of|lasting)?(?: (?:at least|a minimum "
    rf"of))? ?(?P<n2>{COUNT})[- ](?P<kind2>month|year)s?"
    rf"(?: or (?:more|longer))?)(?: (?:is|are) (?:offered|included|stated|provided))?",
    re.IGNORECASE,
)
_IN_STOCK = re.compile(
    rf"(?:(?:the )?{_WHERE}(?: availability)? )?(?:is |must be |should be |(?:is )?(?:shown|listed|indicated"
    rf"|marked)(?: as)? |shows )*"
    r"(?:currently )?(?:in[- ]stock|available (?:to buy|for purchase|to order)|not (?:sold out|out of stock))"
    r"(?: (?:now|at the moment|today))?",
    re.IGNORECASE,
)

_DAYS = {"day": 1.0, "week": 7.0, "month": 30.0, "hour": 1 / 24}
_MONTHS = {"month": 1.0, "year": 12.0}


def term_rule(text: str) -> Rule | None:
    """The rule of an item on delivery, returns, warranty or stock; None where it is no such item.

    Args:
        text: The item, plain and without asides.
    """
    return _delivery(text) or _returns(text) or _warranty(text) or (InStock() if _IN_STOCK.fullmatch(text) else None)


def _delivery(text: str) -> Rule | None:
    if _DELIVERY_STATED.fullmatch(text):
        return TermStated(term="delivery time")
    for pattern, dispatch in ((_ARRIVES, False), (_DISPATCHED, True)):
        found = pattern.fullmatch(text)
        if found is not None:
            kind = found["kind"].lower()
            business = kind.startswith(("business", "working"))
            per = 5.0 if business and kind.endswith("week") else _DAYS[kind.split()[-1]]
            return ArrivesWithin(days=_number(found["n"]) * per, business=business, dispatch=dispatch)
    return None


def _returns(text: str) -> Rule | None:
    stated = _RETURNS_STATED.fullmatch(text)
    if stated is not None:
        return TermStated(term="returns policy", with_days=stated["days"] is not None)
    if _PAID_FOR.fullmatch(text):
        return ReturnsAccepted(free=True)
    for pattern in (_CAN_RETURN, _WINDOW, _RETURNS):
        found = pattern.fullmatch(text)
        if found is None:
            continue
        # "Returns" alone, or "return policy" without a verb, asks for nothing yet.
        if (
            found["n"] is None
            and found["free"] is None
            and not re.search(r"accept|allow|possible|permit|offer|can be", text, re.I)
        ):
            return None
        days = 0.0 if found["n"] is None else _number(found["n"]) * _DAYS[found["kind"].lower()]
        return ReturnsAccepted(at_least_days=days, free=found["free"] is not None)
    return None


def _warranty(text: str) -> Rule | None:
    if _WARRANTY_STATED.fullmatch(text):
        return TermStated(term="warranty")
    found = _WARRANTY.fullmatch(text)
    if found is None:
        return None
    if found["life"]:
        return WarrantyAtLeast(lifetime=True)
    number, kind = (found["n"], found["kind"]) if found["n"] else (found["n2"], found["kind2"])
    return WarrantyAtLeast(months=_number(number) * _MONTHS[kind.lower()])


def _number(text: str) -> float:
    found = count(text)
    # The pattern lets nothing else through.
    assert found is not None
    return found.number

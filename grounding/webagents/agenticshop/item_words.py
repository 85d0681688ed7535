"""What can be said against the words of one item of a checklist: a text in; reasons and the words that raised them out.

Reasons why nobody could check an item:

- ``conditional``: begins with a condition ("if the price exceeds $25, …"); where that doesn't hold, neither yes nor no
  is right.
- ``subjective``: asks for an opinion ("attractive", "reputable", "to justify the price").
- ``history``: rests on what the user bought or likes, and doesn't say it.
- ``calculation``: a number that is on no page and has to be worked out.
- ``comparison``: rests on other products or on what is usual.
- ``elsewhere``: rests on something that is not on the product's page.
- ``absence``: asks that something is nowhere, which what one sees can't show.

Patterns are bounded, so that no text takes long.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

FlagReason = Literal[
    "duplicate",
    "compound",
    "conditional",
    "subjective",
    "history",
    "calculation",
    "comparison",
    "elsewhere",
    "absence",
]

REASONS: tuple[FlagReason, ...] = get_args(FlagReason)

_BRACKETS = re.compile(r"\([^()]{0,2000}\)|\[[^\[\]]{0,2000}\]")
_QUOTED = re.compile("\"[^\"]{0,200}\"|\u201c[^\u201d]{0,200}\u201d|(?<!\\w)['\u2018][^'\u2019]{0,200}['\u2019](?!\\w)")

_PREDICATES = (
    "is|are|has|have|shows?|lists?|includes?|states?|provides?|describes?|contains?|documents?|offers?|mentions?|"
    "allows?|indicates?|displays?|falls?|does|do|covers?|omits?|comes?|gives?|uses?|matches|match|links?|names?|carries"
)
_SEVERAL = (
    # Two verbs: "… lists the capacity and shows the certificate".
    re.compile(rf"\b(?:and|plus)(?: also| not)? (?:explicitly |clearly )?(?:{_PREDICATES})\b"),
    # A list in which every part is asked for: "materials, weave type, and care instructions".
    re.compile(r"\w[^,;:]{0,60}, (?:[^,;:]{1,60}, ){1,8}and \w[^,;:.]{0,40}"),
    re.compile(r"\b(?:along with|as well as|together with|in addition to|both \w+(?: \w+)? and)\b"),
    re.compile(r"\bwith (?:a minimum of|at least) "),
    re.compile(r";(?= \w)"),
    re.compile(r"\band (?:a|an|the) \w+"),
)
_IMPLIED = re.compile(
    rf"\b(?:listed|documented|provided|specified|stated|present|named|described) and (?:{_PREDICATES})\b"
)
"""Whoever "is listed and includes" is asked for one thing: what is included is listed."""

_ALTERNATIVES = re.compile(
    r"\b(?:one|any|either|some) of\b|\bsuch as\b|\bexamples?\b|\be\.g\.|\bincluding\b|\blike\b|\bbetween\b|:"
)
"""A list after these is one of choices: meeting one of them is enough."""

_PURPOSE = re.compile(
    r"\b(?:so (?:that )?[^.;]{0,60}\bcan be|(?:that )?allows? (?:direct |assess|judg|for )|allowing|enabling|"
    r"to (?:allow|assess|evaluate|enable|justify|verify|inform|weigh|support|facilitate|confirm|ensure|provide))\b.*$"
)
"""What an item is good for is no part of what it asks."""

_CONDITION = re.compile(
    r"^(?:if|when|where|unless|in case)\b[^,;]{0,120}|\b(?:if|when) (?:\w+ ){0,6}(?:is|are|exceeds?)\b"
)
_TAGGED_CONDITION = re.compile(
    r"\b(?:if (?:available|applicable|present|included|provided|any|different|needed)|where (?:available|applicable))\b"
)

_SUBJECTIVE = re.compile(
    r"\b(?:attractive|appealing|beautiful|pretty|tasteful|pleasing|stylish|elegant|lovely|nice|high-quality|"
    r"good[- ]quality|superior|excellent|reputable|trustworthy|meaningful|substantive|substantial|reasonabl[ey]|"
    r"competitive|adequate|sufficient|appropriate|suitable|worthwhile|worth|justif(?:y|ies)|excessive|"
    r"premium (?:appearance|look|feel|material|quality|branding)|clean(?:,)? (?:and )?(?:simple|modern|uncluttered)|"
    r"uncluttered|visually appealing|well-designed|well-made|good value|evidence of value|cheap-looking|"
    r"(?:fast|quick) (?:delivery|fulfil?lment|shipping)|timely|professional, |flashy|garish|positively|credible|"
    r"accurately|modest|convenient|responsive(?:ness)?|track record)\b"
)
_SAID_TO_BE = re.compile(r"\b(?:states?|stated|stating|described as|claims?|explicitly) (?:\w+ )?$")
_HISTORY = re.compile(
    r"\b(?:previously (?:purchased|bought|noted|owned)|previous purchases|past (?:purchases|orders)|purchase history|"
    r"(?:user|shopper|buyer)(?:'|\u2019)?s? (?:historical|historically|previous|previously|usual|typical|preferred|"
    r"past|own|accepted|wider|profile|context|history|tastes?|habits?|collection|existing|\w{0,20} ?preferences?)\b)"
)
_USERS = re.compile(r"\b(?:user|shopper)(?:'|\u2019)s\b")
_CALCULATION = re.compile(
    r"\b(?:divided by|price[- ]per|per[- ](?:unit|serving|ounce|piece|item|terabyte|bag|pack)[ -](?:price|cost|value)|"
    r"(?:cost|price) per \w+|unit price per|scales? to|proportion of|percentage of reviews|"
    r"-(?:piece|pack|count|ounce) equivalent)\b"
)
_CALCULATE = re.compile(r"\b(?:calculat\w*|compute|divided by)\b")
_SHOWN = re.compile(r"\b(?:displayed|shown|presented|listed|stated)\b")
_COMPARISON = re.compile(
    r"\b(?:compared? (?:to|with|against)|comparable to|competitive (?:with|versus)|relative to|"
    r"(?:lower|higher|cheaper|shorter|better|less|more|above|below) than (?:typical|average|other|comparable|similar|"
    r"alternative|competing|most|usual)\w*|than alternatives?|above[- ]average|below[- ]average|"
    r"typical (?:oem|market|basic|price)\w*|market averages?|other (?:same|similar|comparable)\S*|alternatives to|"
    r"than other|cheaper or|similar (?:models|products|items) (?:from|of|on)|more than alternative)\b"
)
_ELSEWHERE = re.compile(
    r"\b(?:third[- ]party|press(?: coverage)?|public records?|reviewer consensus|hands-on reviews?|community reports?|"
    r"checkout|across (?:multiple|several|other) (?:listings|products|purchases)|prior (?:listings|recalls)|"
    r"on major retailers|other retailers|official site|manufacturer site|manufacturer(?:'|\u2019)s (?:site|website)|"
    r"brand page|seller history|fulfil?lment history|restock frequency|industry recognition|ownership statement|"
    r"response history|order page|unboxing|upon arrival)\b"
)
_ALSO_HERE = re.compile(
    r"\b(?:listing|page|specifications?|specs|website|documentation|q&a)(?:,| details)? or (?:on )?(?:\w+ ){0,3}$"
)
"""Where the page is one of two places, what is on it is enough."""

_STILL_HERE = re.compile(
    r"^[^,;.]{0,60}(?: or on the product page|referenced on the (?:listing|product page)|linked from the)|"
    r"^ (?:certifications?|or product (?:page|documentation))"
)
_ABSENCE = re.compile(
    r"\b(?:no (?:\w+[ /,-]+){0,4}(?:reports?|mentions?|complaints?|recurring|prominent|consensus|failures?)|"
    r"without (?:indications?|reports?|mentions?)|(?:does|do) not (?:mention|report)|free of (?:complaints|reports))\b"
)
_EXPLAINED_CHARS = 60
_HYPHENS = {0x2010: "-", 0x2011: "-"}


def objections(text: str) -> dict[FlagReason, str]:
    """The reasons against an item with the words that raised them; at most one of each."""
    written = " ".join(text.translate(_HYPHENS).split())
    plain = written.casefold()
    bare = _bare(plain)
    asked = _PURPOSE.sub("", bare).rstrip()
    found: dict[FlagReason, str] = {}
    if several := _several(asked):
        found["compound"] = several
    if match := _CONDITION.search(_TAGGED_CONDITION.sub(" ", bare)):
        found["conditional"] = match[0].strip()
    if subjective := _opinion(written):
        found["subjective"] = subjective
    has_values = any(character.isdigit() for character in plain) or "(" in plain
    if (match := _HISTORY.search(bare) or _USERS.search(bare)) and (not has_values or _COMPARISON.search(bare)):
        found["history"] = match[0].strip()
    if (match := _CALCULATE.search(plain) or _CALCULATION.search(asked)) and not _is_shown(plain, match):
        found["calculation"] = match[0].strip()
    if match := _COMPARISON.search(asked):
        found["comparison"] = match[0].strip()
    if match := next((one for one in _ELSEWHERE.finditer(asked) if _is_elsewhere(asked, one)), None):
        found["elsewhere"] = match[0].strip()
    if match := _ABSENCE.search(asked):
        found["absence"] = match[0].strip()
    return {reason: found[reason] for reason in REASONS if reason in found}


def _bare(text: str) -> str:
    """The text without what stands in brackets or quotation marks."""
    return " ".join(_QUOTED.sub(" ", _BRACKETS.sub(" ", text)).split()).rstrip(".")


def _several(asked: str) -> str:
    """The words that join two conditions, "" where there are none. A list of choices is one condition."""
    for pattern in _SEVERAL:
        for match in pattern.finditer(asked):
            implied = any(one.end() == match.end() for one in _IMPLIED.finditer(asked))
            is_choice = " or " in match[0] or _ALTERNATIVES.search(asked[: match.end()])
            if not implied and not is_choice:
                return match[0].strip()[:80]
    return ""


def _opinion(written: str) -> str:
    """A word that asks for an opinion; "" where there is none, or where brackets after it say what it means.

    Words with a capital are names.
    """
    asked = _PURPOSE.sub("", _QUOTED.sub(" ", written))
    for match in _SUBJECTIVE.finditer(_BRACKETS.sub(lambda one: "(" + " " * (len(one[0]) - 2) + ")", asked)):
        explained = "(" in asked[match.end() : match.end() + _EXPLAINED_CHARS]
        examples = asked[match.end() :].split("(", 1)[-1].startswith(("e.g", "for example"))
        if (not explained or examples) and not _SAID_TO_BE.search(asked[: match.start()]):
            return match[0].strip(", ")
    return ""


def _is_elsewhere(asked: str, match: re.Match[str]) -> bool:
    return not _ALSO_HERE.search(asked[: match.start()]) and not _STILL_HERE.search(asked[match.end() :])


def _is_shown(plain: str, match: re.Match[str]) -> bool:
    """Whether the page itself is asked to show the worked-out number: then nobody has to work it out."""
    return "calculate" not in plain and "compar" not in plain and _SHOWN.search(plain, match.end()) is not None

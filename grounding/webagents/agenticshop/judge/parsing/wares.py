"""Items on the product itself: its forms, the lines of its table of facts, its pictures."""

from __future__ import annotations

import re

from grounding.records import Record
from grounding.webagents.agenticshop.judge.bounds import Bounds
from grounding.webagents.agenticshop.judge.conditions import (
    AttributeIs,
    AttributeStated,
    FormsAtLeast,
    MeasureWithin,
    Offered,
    PicturesWithin,
    Rule,
)
from grounding.webagents.agenticshop.judge.parsing.quantities import COUNT, DECIMAL, count, decimal, read_range
from grounding.webagents.agenticshop.judge.vocabulary import (
    COLOURS,
    MATERIALS,
    PIECES,
    SIZES,
    UNITS,
    kinds,
    tokens,
    word_set,
)

_NAMES = "|".join(
    sorted(
        word_set(
            "material colour color finish size capacity volume weight height width depth length diameter "
            "thickness wattage power voltage condition style shape pattern flavor flavour scent roast interface "
            "connectivity connection resolution format binding closure fit sleeve neckline rise heel sole outsole "
            "fabric composition rating certification grade battery memory storage ram brightness frequency range "
            "quantity count edition region origin platform compatibility layout language orientation pages paper "
            "ruling type caffeine intensity firmness"
        )
    )
)
_MODIFIERS = "|".join(
    sorted(
        word_set(
            "frame housing body outer inner upper lining shell main primary screen display total net gross item "
            "product overall seat back handle blade cable cord battery form weatherproof water unit pack country "
            "of fabric heel advertised listed print cover paper lug case band strap pile field view switch key "
            "nib tip page shade wall table leg base lid number pieces"
        )
    )
)
_NAME = (
    rf"(?:the )?(?P<name>(?:(?:{_MODIFIERS}) ){{0,3}}(?:{_NAMES}|battery life|form factor|form|field of view"
    rf"|number of pieces|country of origin))"
)
_SAID = (
    r"(?: (?:is|are|must be|should be)(?: explicitly| clearly)?(?: (?:listed|specified|stated|given|described"
    r"|documented))?(?: as)?"
    r"| (?:listed|specified|stated) as|:|(?= (?:under|over|at|between|of|up|more|less)\b)| equals| includes| (?:is "
    r")?within"
    r"|(?: is)? measures)"
)
_ATTRIBUTE = re.compile(
    rf"{_NAME}{_SAID}(?P<no> not)?(?: made of| of)? (?P<values>.+)"
    rf"|(?:(?:the )?(?:product|item|it) )?is (?P<no2>not )?made (?:of|from) (?P<material>.+)",
    re.IGNORECASE,
)
_STATED_AS = re.compile(
    rf"(?:the )?(?:listing|product page|page|product|description|product listing) (?:explicitly |clearly "
    rf")?(?:states|lists|specifies) {_NAME} as (?P<values>.+)",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"(?:the )?(?P<name>[A-Za-z][a-z]+(?:[ -][a-z]+){0,2}) (?:is|: ?) ?(?P<values>yes|no)", re.IGNORECASE
)
_CODE = re.compile(r"(?=.*[A-Z])(?:[A-Z]+-?\d+|[A-Z]{2,})(?: or (?:[A-Z]+-?\d+|[A-Z]{2,}))*")
_ANY_NAME = re.compile(r"(?:the )?(?P<name>[A-Za-z][A-Za-z-]+(?: [a-z]+)?) is (?P<values>.+)", re.IGNORECASE)
_STATED = re.compile(
    rf"{_NAME}(?: of the \w+)? is (?:clearly |explicitly )?(?:stated|listed|shown|specified|given)"
    rf"|(?:the )?(?:listing|product page|page) (?:clearly |explicitly )?(?:states|lists|shows|specifies) "
    rf"{_NAME.replace('<name>', '<name2>')}(?: of the \w+)?",
    re.IGNORECASE,
)
_LEVELS = frozenset({"low", "medium", "high", "none", "light", "dark"})
_LEVELLED = frozenset({"caffeine", "roast", "intensity", "firmness"})
_COLON = re.compile(r"(?P<name>[A-Z][A-Za-z]+(?: [A-Za-z]+){0,2}): (?P<values>.+)")
_RESERVED = word_set(
    "price total cost rating reviews review brand seller shipping delivery returns return warranty note product item "
    "listing page discount it stock budget count number manufacturer maker shop store"
)

_WITHIN_RANGE = re.compile(r"^(?:(?:in|within) )?(?:the )?(?:range (?:of|from)? ?)?", re.IGNORECASE)
_UNIT = "|".join(re.escape(unit) for unit in sorted({*UNITS, *PIECES, "amp", "amps", "a"}, key=len, reverse=True))

_FORM = (
    r"(?:sizes?|colou?rs?|colou?rways?|flavou?rs?|scents?|finish(?:es)?|lengths?|widths?|capacit(?:y|ies)|styles?"
    r"|patterns?)"
)
_OFFERED = re.compile(
    rf"(?:(?:the )?(?:product|item|listing|it|model) )?(?:is |can be )?(?:also )?(?:available|offered|comes"
    rf"|ordered|had|sold|had)"
    rf" in (?:the )?(?:(?P<kind>{_FORM}):? )?(?P<values>.+)"
    rf"|(?:the )?(?P<kind2>{_FORM}) (?P<values2>.+?) (?:is|are) (?:available|in stock|offered)"
    rf"|(?:the )?(?P<values3>.+?) (?P<kind3>size|colou?r|colou?rway|finish)(?: option)? is (?:available|in stock"
    rf"|offered)",
    re.IGNORECASE,
)
_FORMS = re.compile(
    rf"(?:(?:the )?(?:product|item|listing|it|model) )?(?:is )?(?:available|offered|comes|offers|lists|shows)(?: in)? "
    rf"(?:(?P<n>at least {COUNT}|{COUNT} or more)(?: different| distinct)?|(?P<some>multiple|several|more than one)) "
    rf"(?P<kind>{_FORM})(?: options| choices)?",
    re.IGNORECASE,
)
_PICTURED = re.compile(
    r"(?:(?:the )?(?:listing|page|product page|product|product listing) (?:shows|has|includes|contains|displays"
    r"|provides) )?"
    r"(?P<range>.+?) (?:product |clear )?(?:picture|image|photo|photograph)s?(?: of the product)?(?: (?:are|is) "
    r"(?:shown|available|included|provided))?",
    re.IGNORECASE,
)
_MORE_ONLY = re.compile(r"\b(?:clear|high-quality|quality)\b", re.IGNORECASE)

_VAGUE = word_set(
    "a an the with that which who than more less most mainly predominantly mostly neutral muted bright subdued "
    "natural high "
    "low good premium quality modern classic simple clean attractive durable comfortable lightweight sturdy "
    "elegant warm "
    "soft smooth heavy light dark deep vivid bold practical compact large-enough real genuine authentic other type "
    "types "
    "option options including includes any some all range tone tones ok okay least nice proper correct standard "
    "typical "
    "preferred clearly described shown visible using used easy well listed stated available but like look for in "
    "on at to "
    "it its this these those each both only also user users page product"
)
MAX_VALUE_WORDS = 4
MAX_VALUES = 12


class _Line(Record, frozen=True, kw_only=True):
    """A line of a table of facts as an item asks for it."""

    name: str
    said: str
    excluded: bool = False


def ware_rule(text: str) -> Rule | None:
    """The rule of an item on the product itself; None where it is no such item, or its words are a matter of taste.

    Args:
        text: The item, plain and without asides.
    """
    return _pictures(text) or _forms(text) or _offered(text) or _attribute(text)


def _pictures(text: str) -> Rule | None:
    found = _PICTURED.fullmatch(text)
    if found is None or _MORE_ONLY.search(text):
        return None
    said = found["range"].lower()
    if said in ("multiple", "several"):
        return PicturesWithin(bounds=Bounds(low=2))
    read = read_range(said, COUNT, count)
    return None if read is None else PicturesWithin(bounds=read.bounds)


def _forms(text: str) -> Rule | None:
    found = _FORMS.fullmatch(text)
    if found is None:
        return None
    number = None if found["some"] else count(re.sub(r"at least | or more", "", found["n"], flags=re.IGNORECASE))
    return FormsAtLeast(kind=form_kind(found["kind"]), at_least=2 if number is None else int(number.number))


def _offered(text: str) -> Rule | None:
    found = _OFFERED.fullmatch(text)
    if found is None:
        return None
    kind = found["kind"] or found["kind2"] or found["kind3"] or ""
    names = values(found["values"] or found["values2"] or found["values3"])
    if not names or (not kind and not all(_is_form(name) for name in names)):
        return None
    return Offered(any_of=names, kind=form_kind(kind) if kind else "")


def form_kind(word: str) -> str:
    """One word for a kind of form.

    >>> form_kind("Colorways"), form_kind("sizes"), form_kind("capacities")
    ('colour', 'size', 'capacity')
    """
    word = word.lower()
    if word.startswith(("color", "colour")):
        return "colour"
    if word.startswith("capacit"):
        return "capacity"
    return word.removesuffix("es") if word.startswith("finish") else word.removesuffix("s").replace("flavor", "flavour")


def _is_form(name: str) -> bool:
    """Whether a value is a colour or a size by itself, without the word."""
    words = tokens(name)
    return (bool(kinds(words, COLOURS)) and len(words) == 1) or (bool(set(words) & SIZES) and len(words) == 1)


def _attribute(text: str) -> Rule | None:
    asked = _YES_NO.fullmatch(text)
    if asked is not None:
        return AttributeIs(name=asked["name"].lower(), any_of=(asked["values"].lower(),))
    stated = _STATED.fullmatch(text)
    if stated is not None:
        return AttributeStated(name=(stated["name"] or stated["name2"]).lower().replace("color", "colour"))
    line = _line(text)
    if line is None:
        return None
    name, said, excluded = line.name.lower().replace("color", "colour"), line.said, line.excluded
    measured = None if excluded else _measure(name, said)
    if measured is not None:
        return measured
    if name in _LEVELLED and said.lower() in _LEVELS:
        return AttributeIs(name=name, any_of=(said.lower(),), excluded=excluded)
    names = values(said)
    return AttributeIs(name=name, any_of=names, excluded=excluded) if names else None


def _line(text: str) -> _Line | None:
    stated = _STATED_AS.fullmatch(text)
    if stated is not None:
        return _Line(name=stated["name"], said=stated["values"])
    found = _ATTRIBUTE.fullmatch(text)
    if found is not None and found["name"]:
        return _Line(name=found["name"], said=found["values"], excluded=found["no"] is not None)
    if found is not None:
        said = found["material"]
        known = all(kinds(tokens(each), MATERIALS) for each in values(said))
        return _Line(name="material", said=said, excluded=found["no2"] is not None) if known else None
    # Any name will do where the value can mean one thing only: a limit, or a code such as IP65.
    other = _ANY_NAME.fullmatch(text)
    if other is not None and not set(other["name"].lower().split()) & _RESERVED and _certain(other["values"]):
        return _Line(name=other["name"], said=other["values"])
    colon = _COLON.fullmatch(text)
    if colon is None or set(colon["name"].lower().split()) & _RESERVED:
        return None
    return _Line(name=colon["name"], said=colon["values"])


def _certain(said: str) -> bool:
    return _measure("", said) is not None or _CODE.fullmatch(said) is not None


def _measure(name: str, said: str) -> Rule | None:
    said = re.sub(r"^\((.*)\)$", r"\1", _WITHIN_RANGE.sub("", said))
    units = {unit.lower() for unit in re.findall(rf"\d\s*-?({_UNIT})(?![a-z])", said, re.IGNORECASE)}
    if len(units) > 1:
        return None
    unit = units.pop() if units else ""
    found = read_range(said, DECIMAL, decimal, _UNIT)
    if found is None:
        return None
    if unit in PIECES:
        unit = ""
    if unit and unit not in UNITS:
        return None
    return MeasureWithin(name=name, bounds=found.bounds, unit=unit)


def values(text: str) -> tuple[str, ...]:
    """The values in a list of values; none where any of them is vague, long or no value.

    >>> values("black or white"), values("bullet-style"), values("a neutral finish"), values("oak with brass feet")
    (('black', 'white'), ('bullet-style',), (), ())
    """
    text = text.strip()
    if text.lower().startswith("either "):
        text = text[len("either ") :]
    text = re.sub(r"^one of:? ", "", text, flags=re.IGNORECASE)
    parts = [part.strip().strip("\"'") for part in re.split(r",(?:\s*or\b)?|\s+or\s+", text) if part.strip()]
    if not parts or len(parts) > MAX_VALUES:
        return ()
    for part in parts:
        words = part.lower().split()
        bare = {word.strip("'\"") for word in words}
        if len(words) > MAX_VALUE_WORDS or bare & _VAGUE or " and " in f" {part.lower()} ":
            return ()
        if not re.fullmatch(r"[\w%./+\-'&\" °]+", part) or not tokens(part) or _negative(bare):
            return ()
    return tuple(dict.fromkeys(parts))


def _negative(words: set[str]) -> bool:
    return bool(words & {"not", "no", "non", "without", "never", "none"})

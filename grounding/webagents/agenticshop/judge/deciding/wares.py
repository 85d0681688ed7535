"""Rules on the product itself. What is not in the table of facts may still be said elsewhere: then no rule decides."""

from __future__ import annotations

import re

from grounding.records import Record
from grounding.webagents.agenticshop.judge.conditions import (
    AttributeIs,
    AttributeStated,
    FormsAtLeast,
    MeasureWithin,
    Offered,
    PicturesWithin,
)
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, open_question, silent
from grounding.webagents.agenticshop.judge.deciding.words import own_texts
from grounding.webagents.agenticshop.judge.vocabulary import (
    COLOURS,
    MATERIALS,
    PIECES,
    QUALIFIERS,
    SIZES,
    UNITS,
    kinds,
    places,
    tokens,
    word_set,
)
from grounding.webagents.agenticshop.records import Attribute, Variant

_SAME_NAME = {
    "materials": "material",
    "fabric": "material",
    "composition": "material",
    "sizes": "size",
    "colourway": "colour",
    "flavours": "flavour",
    "volume": "capacity",
    "certifications": "certification",
}
_EMPTY_WORDS = word_set("product item listed advertised main primary total overall of")
_MEASURE = re.compile(r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)\s*-?(?P<unit>[a-zA-Z°\"%]+)?")
_JOINED = re.compile(r"\s*(?:x|\u00d7|-|\u2013|to|by)\s*\d", re.IGNORECASE)
_TURNING = word_set("faux fake imitation artificial not no non without vegan")
_LABELLED = re.compile(r"\s*([A-Za-z]+)\s*:\s*([^,/|;]+)")


_YES_NO = {"yes": True, "no": False, "none": False, "without": False, "included": True}
_LEVELS = {"none": 0, "no": 0, "low": 1, "light": 1, "medium": 2, "high": 3, "dark": 3}


class Measured(Record, frozen=True, kw_only=True):
    """A number with what it measures ("" for a bare number), in the first unit of that measure."""

    number: float
    measure: str = ""


def attribute(rule: AttributeIs, page: Shown) -> Finding:
    """A line of the table of facts."""
    lines, exact = attribute_lines(rule.name, page)
    if not lines:
        return _elsewhere(rule, page)
    held = {_line_holds(rule, line) for line in lines}
    quote = "; ".join(f"{line.name}: {line.value}" for line in lines)
    reason = f"the page's table of facts says {quote}"
    if rule.excluded:
        held = {None if each is None else not each for each in held}
        answer = False if False in held else None if None in held else True
    else:
        answer = True if True in held and (exact or held == {True}) else False if held == {False} and exact else None
    if answer is None:
        return open_question(reason, quote)
    return Finding(satisfied=answer, reason=reason, quote=page.line(lines[0].value) or quote)


def attribute_lines(name: str, page: Shown) -> tuple[list[Attribute], bool]:
    """The lines for a name, and whether they are called just so; else those of parts, such as Lid material."""
    wanted = _name(name)
    exact = [line for line in page.facts.attributes if _name(line.name) == wanted]
    if exact:
        return exact, True
    return [line for line in page.facts.attributes if wanted < _name(line.name)], False


def _name(text: str) -> frozenset[str]:
    return frozenset(_SAME_NAME.get(word, word) for word in tokens(text) if word not in _EMPTY_WORDS)


def _line_holds(rule: AttributeIs, line: Attribute) -> bool | None:
    held = {_value_holds(value, line.value) for value in rule.any_of}
    return True if True in held else False if held == {False} else None


def _value_holds(value: str, said: str) -> bool | None:
    """Whether a line's value is, or names, the one that is asked for; None where the words may mean the same."""
    sought, words = tokens(value), tokens(said)
    straight, turned = _found(sought, words)
    if straight:
        return True
    if turned:
        return False if turned == "before" else None
    one, other = measures(value), measures(said)
    if one and other and one[0].measure and {each.measure for each in other} & {one[0].measure}:
        return any(
            each.measure == one[0].measure and abs(each.number - one[0].number) <= 0.005 * one[0].number
            for each in other
        )
    if len(sought) == 1 and words:
        for answers in (_YES_NO, _LEVELS):
            if sought[0] in answers and words[0] in answers:
                return answers[sought[0]] == answers[words[0]]
    for table in (COLOURS, MATERIALS):
        asked, there = kinds(sought, table), kinds(words, table)
        if asked and there:
            if len(sought) == 1 and sought[0] in table and sought[0] in there:
                return None if QUALIFIERS & set(words) else True
            if "100" in sought and there - asked:
                return False
            return None if asked & there else False
    if any(letter.isdigit() for letter in value) and any(letter.isdigit() for letter in said):
        return False
    if len(sought) == 1 and sought[0] in SIZES and len(words) == 1 and words[0] in SIZES:
        return False
    return None


def _found(sought: tuple[str, ...], words: tuple[str, ...]) -> tuple[bool, str]:
    """Whether a run of words stands in others by itself, and else how a word beside it turns it round."""
    turned = ""
    for at in places(words, sought):
        before, after = words[max(0, at - 1) : at], words[at + len(sought) : at + len(sought) + 1]
        if set(before) & _TURNING:
            turned = turned or "before"
        elif set(before) & QUALIFIERS or set(after) & QUALIFIERS:
            turned = "beside"
        else:
            return True, ""
    return False, turned


def _elsewhere(rule: AttributeIs, page: Shown) -> Finding:
    """A name that the table of facts does not have: the forms may show it, or the text, which no rule reads."""
    if not rule.excluded and rule.name in ("colour", "size") and page.facts.variants:
        return offered(Offered(any_of=rule.any_of, kind=rule.name), page)
    if set(rule.any_of) & {*_YES_NO, *_LEVELS}:
        if not _mentioned(rule.name, page) and not page.text_cut:
            return silent(f"anything of {rule.name}")
        why = f"the table of facts has no {rule.name}, and the page may speak of it"
        return open_question(why, page.line(rule.name))
    said = [value for value in rule.any_of if _said_anywhere(tokens(value), page)]
    if said:
        return open_question(
            f'the table of facts has no {rule.name}, and the page says "{said[0]}" elsewhere', page.line(said[0])
        )
    if page.text_cut:
        return open_question(f"the table of facts has no {rule.name}, and the page's text was cut off")
    if rule.excluded:
        return silent(f"what its {rule.name} is")
    # A word of the same kind may be the same thing: "aluminium" where "metal" is asked for.
    for table in (COLOURS, MATERIALS):
        words = {word for value in rule.any_of for word in tokens(value)}
        kin = {word for name in kinds(tuple(words), table) for word in table[name]}
        if any(_said_anywhere((word,), page) for word in kin):
            return open_question(f"the table of facts has no {rule.name}, and the page says something of it elsewhere")
    return silent(f"what its {rule.name} is")


def stated(rule: AttributeStated, page: Shown) -> Finding:
    """Whether the table of facts has a line of this name."""
    lines, exact = attribute_lines(rule.name, page)
    if lines and exact:
        said = f"{lines[0].name}: {lines[0].value}"
        quote = page.line(lines[0].value) or said
        return Finding(satisfied=True, reason=f"the page's table of facts says {said}", quote=quote)
    if lines or page.text_cut or _mentioned(rule.name, page):
        return open_question(f"the table of facts has no {rule.name}, and the text may say it")
    return silent(f"what its {rule.name} is")


def _mentioned(name: str, page: Shown) -> bool:
    """Whether the page speaks of something anywhere, in these words or in some that begin alike."""
    stems = {word[:6] for word in tokens(name)}
    return any(word[:6] in stems for text in (*own_texts(page), page.text) for word in tokens(text))


def _said_anywhere(sought: tuple[str, ...], page: Shown) -> bool:
    return any(places(tokens(text), sought) for text in (*own_texts(page), page.text))


def measure(rule: MeasureWithin, page: Shown) -> Finding:
    """A measure in the table of facts; two sides of a thing in one line are not told apart."""
    lines, exact = attribute_lines(rule.name, page)
    if not lines:
        last = tokens(rule.name)[-1:]
        if page.text_cut or _said_anywhere(last, page) or _said_anywhere(("dimensions",), page):
            return open_question(f"the table of facts has no {rule.name}, and the text may say it")
        return silent(f"what its {rule.name} is")
    kind, scale = UNITS.get(rule.unit, ("", 1.0))
    quote = "; ".join(f"{line.name}: {line.value}" for line in lines)
    reason = f"the page's table of facts says {quote}"
    held = set()
    for line in lines:
        fitting = {round(each.number, 9) for each in measures(line.value) if each.measure == kind}
        # One length may stand there twice, in centimetres and inches; two lengths are two sides.
        if not fitting or max(fitting) > 1.02 * min(fitting):
            return open_question(reason, quote)
        held.add(
            rule.bounds.holds(round(max(fitting) / scale, 6)) if len(fitting) == 1 else _both(rule, fitting, scale)
        )
    if len(held) > 1 or None in held or not exact:
        return open_question(reason, quote)
    return Finding(satisfied=held.pop(), reason=reason, quote=page.line(lines[0].value) or quote)


def _both(rule: MeasureWithin, numbers: set[float], scale: float) -> bool | None:
    held = {rule.bounds.holds(round(number / scale, 6)) for number in numbers}
    return held.pop() if len(held) == 1 else None


def measures(text: str) -> tuple[Measured, ...]:
    """The numbers of a text with what they measure, in the first unit of each measure.

    >>> [(each.number, each.measure) for each in measures("1.7 L (1700 ml)")]
    [(1.7, 'volume'), (1.7, 'volume')]
    """
    found: list[Measured] = []
    # Backwards, since "30 x 40 cm" says the unit of both at its end.
    following = ""
    for each in reversed(list(_MEASURE.finditer(text))):
        unit = (each["unit"] or "").lower()
        number = float(each["number"].replace(",", ""))
        joined = unit in ("x", "to", "by") or (not unit and _JOINED.match(text, each.end()) is not None)
        unit = following if joined else unit
        following = unit
        if not unit or unit in PIECES:
            found.append(Measured(number=number))
        elif unit in UNITS:
            kind, scale = UNITS[unit]
            found.append(Measured(number=number * scale, measure=kind))
        else:
            found.append(Measured(number=number, measure="?"))
    return tuple(reversed(found))


def offered(rule: Offered, page: Shown) -> Finding:
    """One of the forms in which the product comes."""
    sought = [tokens(value) for value in rule.any_of]
    fitting = [each for each in page.facts.variants if any(_is_form(words, each, rule.kind) for words in sought)]
    if fitting:
        there = [each for each in fitting if each.availability != "sold_out"]
        names = ", ".join(each.name for each in (there or fitting)[:5])
        reason = f"it comes in {names}" if there else f"{names} is sold out"
        return Finding(satisfied=bool(there), reason=reason, quote=page.quote("variants", (there or fitting)[0].name))
    lines = attribute_lines(rule.kind, page)[0] if rule.kind else []
    for line in lines:
        if any(_found(words, tokens(line.value))[0] for words in sought):
            return Finding(
                satisfied=True, reason=f"the table of facts says {line.name}: {line.value}", quote=line.value
            )
    if page.facts.variants and _closed(rule, page.facts.variants):
        names = ", ".join(each.name for each in page.facts.variants[:8])
        return Finding(
            satisfied=False, reason=f"it comes in {names}", quote=page.quote("variants", page.facts.variants[0].name)
        )
    if page.text_cut or any(_said_anywhere(words, page) for words in sought):
        return open_question("the forms that were found on the page don't show it, and the text may")
    return silent(f"that it comes in {' or '.join(rule.any_of)}")


def _is_form(sought: tuple[str, ...], form: Variant, kind: str) -> bool:
    labelled = _labels(form)
    words = tokens(labelled[kind]) if kind in labelled else tokens(form.name)
    if _found(sought, words)[0]:
        return True
    return len(sought) == 1 and sought[0] in COLOURS and sought[0] in kinds(words, COLOURS)


def _labels(form: Variant) -> dict[str, str]:
    """The kinds that a form's name names: ``{"size": "M"}`` of "Size: M"."""
    found: list[tuple[str, str]] = _LABELLED.findall(form.name)
    return {name.lower().replace("color", "colour"): value.strip() for name, value in found}


def _closed(rule: Offered, forms: tuple[Variant, ...]) -> bool:
    """Whether the forms name a word of the same list each, so that what is not named is not there."""
    asked, there = [tokens(value) for value in rule.any_of], [tokens(form.name) for form in forms]
    coloured = all(kinds(words, COLOURS) for words in (*asked, *there))
    return coloured or all(set(words) & SIZES for words in (*asked, *there))


def forms(rule: FormsAtLeast, page: Shown) -> Finding:
    """In how many sizes, colours or such it comes, where the forms say of what kind they are."""
    found = page.facts.variants
    if not found:
        lines = attribute_lines(rule.kind, page)[0]
        if lines or page.text_cut or _said_anywhere((rule.kind,), page) or _said_anywhere((f"{rule.kind}s",), page):
            return open_question(f"no rule reads in how many {rule.kind}s it comes")
        return silent(f"in how many {rule.kind}s it comes")
    values = {value for form in found if (value := _value_of(rule.kind, form))}
    quote = page.quote("variants", found[0].name)
    if not all(_value_of(rule.kind, form) for form in found):
        return open_question(f"the forms of the product don't say what their {rule.kind} is", quote)
    number = len(values)
    reason = f"it comes in {number} {rule.kind}{'' if number == 1 else 's'}"
    return Finding(satisfied=number >= rule.at_least, reason=reason, quote=quote)


def _value_of(kind: str, form: Variant) -> str:
    labelled = _labels(form)
    if kind in labelled:
        return labelled[kind].lower()
    words = tokens(form.name)
    if kind == "colour" and kinds(words, COLOURS):
        return " ".join(sorted(kinds(words, COLOURS)))
    if kind == "size":
        sized = [word for word in words if word in SIZES or word[0].isdigit()]
        return " ".join(sized)
    return ""


def pictures(rule: PicturesWithin, page: Shown) -> Finding:
    """How many pictures of the product there are."""
    number = page.facts.picture_count
    if number is None:
        return silent("how many pictures there are")
    return Finding(satisfied=rule.bounds.holds(number), reason=f"the page shows {number} pictures of it")

"""Rules on the forms in which a product comes, and on its pictures."""

from __future__ import annotations

import re

from grounding.webagents.agenticshop.judge.conditions import FormsAtLeast, Offered, PicturesWithin
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, open_question, silent
from grounding.webagents.agenticshop.judge.deciding.table import attribute_lines, said_anywhere
from grounding.webagents.agenticshop.judge.deciding.values import found
from grounding.webagents.agenticshop.judge.vocabulary import COLOURS, SIZES, kinds, tokens
from grounding.webagents.agenticshop.records import Variant

_LABELLED = re.compile(r"\s*([A-Za-z]+)\s*:\s*([^,/|;]+)")


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
        if any(found(words, tokens(line.value))[0] for words in sought):
            return Finding(
                satisfied=True,
                reason=f"the table of facts says {line.name}: {line.value}",
                quote=page.row(line.name, line.value),
            )
    if page.facts.variants and _closed(rule, page.facts.variants):
        names = ", ".join(each.name for each in page.facts.variants[:8])
        return Finding(
            satisfied=False, reason=f"it comes in {names}", quote=page.quote("variants", page.facts.variants[0].name)
        )
    if page.text_cut or any(said_anywhere(words, page) for words in sought):
        return open_question("the forms that were found on the page don't show it, and the text may")
    return silent(f"that it comes in {' or '.join(rule.any_of)}")


def _is_form(sought: tuple[str, ...], form: Variant, kind: str) -> bool:
    labelled = _labels(form)
    words = tokens(labelled[kind]) if kind in labelled else tokens(form.name)
    if found(sought, words)[0]:
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
        if lines or page.text_cut or said_anywhere((rule.kind,), page) or said_anywhere((f"{rule.kind}s",), page):
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

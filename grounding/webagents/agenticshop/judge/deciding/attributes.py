"""Rules on the table of facts. What is not in it may still be said elsewhere: then no rule decides."""

from __future__ import annotations

from grounding.webagents.agenticshop.judge.conditions import AttributeIs, AttributeStated, Offered
from grounding.webagents.agenticshop.judge.deciding.forms import offered
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, open_question, silent
from grounding.webagents.agenticshop.judge.deciding.table import attribute_lines, mentioned, said_anywhere
from grounding.webagents.agenticshop.judge.deciding.values import LEVELS, YES_NO, value_holds
from grounding.webagents.agenticshop.judge.vocabulary import COLOURS, MATERIALS, kinds, tokens
from grounding.webagents.agenticshop.records import Attribute


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
    return Finding(satisfied=answer, reason=reason, quote=page.row(lines[0].name, lines[0].value))


def _line_holds(rule: AttributeIs, line: Attribute) -> bool | None:
    held = {value_holds(value, line.value) for value in rule.any_of}
    return True if True in held else False if held == {False} else None


def _elsewhere(rule: AttributeIs, page: Shown) -> Finding:
    """A name that the table of facts does not have: the forms may show it, or the text, which no rule reads."""
    if not rule.excluded and rule.name in ("colour", "size") and page.facts.variants:
        return offered(Offered(any_of=rule.any_of, kind=rule.name), page)
    if set(rule.any_of) & {*YES_NO, *LEVELS}:
        if not mentioned(rule.name, page) and not page.text_cut:
            return silent(f"anything of {rule.name}")
        why = f"the table of facts has no {rule.name}, and the page may speak of it"
        return open_question(why, page.line(rule.name))
    said = [value for value in rule.any_of if said_anywhere(tokens(value), page)]
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
        if any(said_anywhere((word,), page) for word in kin):
            return open_question(f"the table of facts has no {rule.name}, and the page says something of it elsewhere")
    return silent(f"what its {rule.name} is")


def stated(rule: AttributeStated, page: Shown) -> Finding:
    """Whether the table of facts has a line of this name."""
    lines, exact = attribute_lines(rule.name, page)
    if lines and exact:
        said = f"{lines[0].name}: {lines[0].value}"
        quote = page.row(lines[0].name, lines[0].value)
        return Finding(satisfied=True, reason=f"the page's table of facts says {said}", quote=quote)
    if lines or page.text_cut or mentioned(rule.name, page):
        return open_question(f"the table of facts has no {rule.name}, and the text may say it")
    return silent(f"what its {rule.name} is")

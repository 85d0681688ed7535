"""The rule on words that a page has to say of its product."""

from __future__ import annotations

from grounding.webagents.agenticshop.judge.conditions import WordsStated
from grounding.webagents.agenticshop.judge.deciding.shown import MAX_QUOTE_CHARS, Finding, Shown, around, open_question
from grounding.webagents.agenticshop.judge.vocabulary import places, tokens, word_set

_TURNING = word_set("not no non never without isn aren cannot neither nor")
_NO = frozenset({"no", "none", "not", "false", "n/a"})
_WEAK = word_set("free safe proof resistant friendly grade made machine only certified in compatible wrapped")
REACH = 3
"""How many words before a term may turn it round."""


def own_texts(page: Shown) -> tuple[str, ...]:
    """What the page says of this very product: no reviews, and nothing of its neighbours."""
    facts = page.facts
    lines = (f"{line.name}: {line.value}" for line in facts.attributes)
    terms = (facts.shipping_text, facts.delivery_text, facts.returns_text, facts.warranty_text)
    return tuple(text for text in (facts.title, facts.description, *facts.features, *lines, *terms) if text)


def words(rule: WordsStated, page: Shown) -> Finding:
    """Whether the page says one of the words of its product."""
    sought = [tokens(each) for each in rule.any_of]
    texts = (page.facts.title,) if rule.title_only else own_texts(page)
    turned = ""
    for text in texts:
        said = _sentences(text)
        for words_of in said:
            for each in sought:
                for at in places(words_of, each):
                    if set(words_of[max(0, at - REACH) : at]) & _TURNING or set(words_of[at + len(each) :]) & _NO:
                        turned = turned or text
                    else:
                        return Finding(
                            satisfied=True,
                            reason=f'the page says "{_of(rule, sought, each)}"',
                            quote=_around(text, each),
                        )
    named = " or ".join(f'"{each}"' for each in rule.any_of)
    if turned:
        return open_question(f"the page says {named} beside a word that may deny it", turned[:MAX_QUOTE_CHARS])
    if rule.title_only:
        return Finding(
            satisfied=False, reason=f"the title doesn't say {named}", quote=page.facts.title[:MAX_QUOTE_CHARS]
        )
    everything = tokens(page.text)
    if any(places(everything, each) for each in sought):
        return open_question(
            f"{named} stands on the page, but not in what it says of this product", page.line(*rule.any_of)
        )
    if page.text_cut:
        return open_question(f"the text of the page was cut off and doesn't say {named} before that")
    heads = {word for each in sought for word in each if word not in _WEAK}
    if not rule.exact and heads & {*everything, *(word for text in texts for word in tokens(text))}:
        return open_question(f"the page doesn't say {named} in these words, and may in others")
    return Finding(satisfied=False, reason=f"the page doesn't say {named}", silent=True)


def _sentences(text: str) -> list[tuple[str, ...]]:
    """The words of a text, a sentence each, so that a "no" denies nothing in the next one."""
    parts = text.replace("!", ".").replace("?", ".").replace(";", ".").replace("\n", ". ").split(". ")
    return [tokens(part) for part in parts]


def _of(rule: WordsStated, sought: list[tuple[str, ...]], found: tuple[str, ...]) -> str:
    return rule.any_of[sought.index(found)]


def _around(text: str, sought: tuple[str, ...]) -> str:
    return around(text, max(0, text.lower().find(sought[0])))

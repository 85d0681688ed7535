"""Is a value of a table of facts the one that is asked for? True, False, or None where the words may mean the same."""

from __future__ import annotations

from grounding.webagents.agenticshop.judge.deciding.measures import measures
from grounding.webagents.agenticshop.judge.vocabulary import (
    COLOURS,
    EXCLUSIVE,
    MATERIALS,
    QUALIFIERS,
    SIZES,
    SYNTHETIC,
    kinds,
    places,
    tokens,
    word_set,
)

_TURNING = word_set("faux fake imitation artificial not no non without vegan")
YES_NO = {"yes": True, "no": False, "none": False, "without": False, "included": True}
LEVELS = {"none": 0, "no": 0, "low": 1, "light": 1, "medium": 2, "high": 3, "dark": 3}


def value_holds(value: str, said: str) -> bool | None:
    """Whether a line's value is, or names, the one that is asked for; None where the words may mean the same."""
    sought, words = tokens(value), tokens(said)
    straight, turned = found(sought, words)
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
    for alike in EXCLUSIVE:
        if len(sought) == 1 and sought[0] in alike and alike & set(words):
            return False
    if len(sought) == 1 and words:
        for answers in (YES_NO, LEVELS):
            if sought[0] in answers and words[0] in answers:
                return answers[sought[0]] == answers[words[0]]
    for table in (COLOURS, MATERIALS):
        asked, there = kinds(sought, table), kinds(words, table)
        if asked and there:
            if len(sought) == 1 and sought[0] in table and sought[0] in there:
                return None if QUALIFIERS & set(words) else True
            if "100" in sought and there - asked:
                return False
            return None if asked & there or (asked | there) <= SYNTHETIC else False
    if any(letter.isdigit() for letter in value) and any(letter.isdigit() for letter in said):
        return False
    if len(sought) == 1 and sought[0] in SIZES and len(words) == 1 and words[0] in SIZES:
        return False
    return None


def found(sought: tuple[str, ...], words: tuple[str, ...]) -> tuple[bool, str]:
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

"""A model's reply to the place it names, in the model's own space. Pure; the rule comes from the model's card."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from grounding.cards import AnswerRule
from grounding.coordinates import ModelBox, ModelPoint, Space

MAX_REPLY_CHARS = 20_000
MAX_COORDINATE = 1e9
"""No screen is that large in any space: a number beyond it (or one that overflows to infinity) names no place."""

_NUMBER = r"([-+]?(?:\d+(?:\.\d*)?|\.\d+))"
_POINT = rf"[(\[]\s*{_NUMBER}\s*,\s*{_NUMBER}\s*[)\]]"
_BOX = rf"[(\[]\s*{_NUMBER}\s*,\s*{_NUMBER}\s*(?:[)\]]\s*,\s*[(\[]|,)\s*{_NUMBER}\s*,\s*{_NUMBER}\s*[)\]]"


@lru_cache(maxsize=64)
def _patterns(rule: AnswerRule) -> tuple[re.Pattern[str], ...]:
    if rule.patterns:
        return tuple(re.compile(pattern) for pattern in rule.patterns)
    by_form = {"point": (_POINT,), "box": (_BOX,), "point_or_box": (_BOX, _POINT)}
    return tuple(re.compile(pattern) for pattern in by_form[rule.form])


def read_answer(reply: str, rule: AnswerRule) -> ModelPoint | ModelBox | None:
    """The place that a reply names, or None where it names none or declines.

    The refusal is looked for before any number is read. Of several matches the card's first or last counts; where
    both points and boxes are allowed, a box wins over the points that it is written with. Only the first 20,000
    characters are read, or the last where the last match counts.
    """
    answer = _section(reply, rule)
    if answer is None or declines(reply, rule):
        return None
    for pattern in _patterns(rule):
        matches = list(pattern.finditer(answer))
        if matches:
            match = matches[0 if rule.match == "first" else -1]
            numbers = _numbers(match)
            space = _space(numbers, rule)
            if len(numbers) == 2:
                return ModelPoint(space=space, x=numbers[0], y=numbers[1])
            if len(numbers) == 4:
                return ModelBox(space=space, x1=numbers[0], y1=numbers[1], x2=numbers[2], y2=numbers[3])
    return None


def declines(reply: str, rule: AnswerRule) -> bool:
    """Whether a reply says, in the form that the card knows, that there is no such place."""
    answer = _section(reply, rule)
    return rule.refusal is not None and answer is not None and re.search(rule.refusal, answer) is not None


def _section(reply: str, rule: AnswerRule) -> str | None:
    """The part of a reply that holds the answer, None where it is missing."""
    reply = reply[:MAX_REPLY_CHARS] if rule.match == "first" else reply[-MAX_REPLY_CHARS:]
    if rule.within is None:
        return reply
    found = re.search(rule.within, reply)
    return found[1] if found else None


def _space(numbers: tuple[float, ...], rule: AnswerRule) -> Space:
    on_grid = all(number.is_integer() for number in numbers) and any(number > 1 for number in numbers)
    return rule.whole_numbers if rule.whole_numbers is not None and on_grid else rule.space


def _numbers(match: re.Match[str]) -> tuple[float, ...]:
    """The groups that took part, as numbers; none at all where one of them can't be part of a place."""
    try:
        numbers = tuple(float(group) for group in match.groups() if group is not None)
    except ValueError:  # A card's own pattern may let words through.
        return ()
    return numbers if all(math.isfinite(number) and abs(number) <= MAX_COORDINATE for number in numbers) else ()

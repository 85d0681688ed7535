"""A model's reply to the number of a mark. Pure."""

from __future__ import annotations

import re

MAX_REPLY_CHARS = 20_000
_WORD = re.compile(r"[-+−]?[^\W_]*[0-9](?:[.,]?[^\W_])*")  # noqa: RUF001 - models write the true minus sign, too.
_NUMBER = re.compile(r"[0-9]{1,9}")


def read_number(reply: str, count: int) -> int | None:
    """The mark that a reply names, or None.

    None where it names no number, a number that is no mark (0, negative, more than ``count``), one that is no integer,
    or several different ones. Words with digits in them (``2nd``, ``x1``) are words. A number may be said twice.
    """
    if len(reply) > MAX_REPLY_CHARS:
        return None
    words = {word for word in _WORD.findall(reply) if not any(character.isalpha() for character in word)}
    if not words or not all(_NUMBER.fullmatch(word) for word in words):
        return None
    numbers = {int(word) for word in words}
    if len(numbers) != 1:
        return None
    (number,) = numbers
    return number if 1 <= number <= count else None

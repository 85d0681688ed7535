"""JSON in the words of a model: alone, in a fence, or with text around it. Pure functions."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_TRIES = 200
"""So many places of a text are tried as the beginning of JSON."""

_BEGINNING = re.compile(r"[\[{]")


def json_values(text: str) -> list[Any]:
    """Every outermost JSON object or list of a text, in order; what only looks like one is passed over."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place = tries = 0
    while tries < MAX_TRIES and (start := _BEGINNING.search(text, place)) is not None:
        tries += 1
        try:
            value, place = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            place = start.end()
        else:
            values.append(value)
    return values

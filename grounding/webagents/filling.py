"""Texts with places in them: values go in all at once, so that what a user wrote is never filled again."""

from __future__ import annotations

import re

_FIELD = re.compile(r"<[A-Z][A-Za-z _]*>|\{[A-Za-z]+\}")


def fill(template: str, **values: str) -> str:
    """Put values into the places ``<NAME>`` and ``{name}`` of a text, all at once; names as in the text, in any case.

    ``_`` in a keyword stands for a blank as well. A place without a value stays as it is.
    """
    given = {name.lower().replace("_", " "): value for name, value in values.items()}

    def put(match: re.Match[str]) -> str:
        return given.get(match[0][1:-1].lower().replace("_", " "), match[0])

    return _FIELD.sub(put, template)

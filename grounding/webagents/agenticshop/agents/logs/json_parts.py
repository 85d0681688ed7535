"""JSON files of logs, also such as were cut off while they were written: what is whole in them is read."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_OPENING = re.compile(r"[\[{]")
_BETWEEN = re.compile(r"[\s,]*")


def read_value(content: bytes) -> Any:
    """The decoded content; None where it is no whole JSON."""
    try:
        return msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_list(content: bytes, *, under: str | None = None) -> list[Any]:
    """The whole elements of a list, up to where the file was cut off.

    Args:
        content: The file.
        under: The name of the list within an object; None where the file itself is the list.
    """
    decoded = read_value(content)
    if decoded is not None:
        if under is not None:
            decoded = decoded.get(under) if isinstance(decoded, dict) else None
        return decoded if isinstance(decoded, list) else []
    text = content.decode("utf-8", "replace").lstrip("\ufeff")
    start = 0
    if under is not None:
        match = re.search(rf'"{re.escape(under)}"\s*:\s*', text)
        if match is None:
            return []
        start = match.end()
    if not text.startswith("[", start) and under is not None:
        return []
    opening = _OPENING.search(text, start)
    return [] if opening is None or opening[0] != "[" else _elements(text, opening.end())


def _elements(text: str, place: int) -> list[Any]:
    decoder = json.JSONDecoder()
    found: list[Any] = []
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between is not None else place
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return found
        found.append(value)

"""JSON that is edited as text: what nobody touched keeps every byte, from the form of its numbers to its line ends.

A value is known by where its text stands. An object's members and a list's elements can be replaced, added and removed;
new text is set out like the text around it. Keys that occur twice are kept; the last one counts, as in every reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from grounding.records import Record

_SPACE = re.compile(r"[ \t\r\n]*")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()


class Element(Record, frozen=True, kw_only=True):
    """One value: decoded, and where its text starts and ends."""

    value: object
    start: int
    end: int


class Member(Record, frozen=True, kw_only=True):
    """One member of an object: the key decoded, where the key's text starts, and the value."""

    key: str
    key_start: int
    element: Element


class Layout(Record, frozen=True, kw_only=True):
    """How the parts of a list or object are set out.

    ``newline`` is "" where they stand on one line. ``outer`` is the indentation of the closing bracket's line, ``unit``
    what each level adds. ``comma`` (on one line) and ``colon`` come with the blanks behind them. With ``ascii_only``
    all other characters are written as escapes.
    """

    newline: str = "\n"
    outer: str = ""
    unit: str = " "
    comma: str = ", "
    colon: str = ": "
    ascii_only: bool = False

    @property
    def inner(self) -> str:
        """What stands between two parts, without the comma, where each has a line of its own."""
        return self.newline + self.outer + self.unit


def read_element(text: str, start: int) -> Element:
    """The value that starts at ``start``.

    Raises:
        ValueError: there is no JSON value (``json.JSONDecodeError``), or a number has too many digits.
        RecursionError: it is nested too deeply.
    """
    value, end = _DECODER.raw_decode(text, start)
    return Element(value=value, start=start, end=end)


def elements(text: str, start: int = 0) -> list[Element]:
    """The elements of the list that starts at ``start``; errors as ``read_element``."""
    found: list[Element] = []
    at = skip_space(text, start + 1)
    if text[at : at + 1] == "]":
        return found
    while True:
        found.append(read_element(text, at))
        at = skip_space(text, found[-1].end)
        if text[at : at + 1] == "]":
            return found
        at = _expect(text, at, ",")


def members(text: str, start: int = 0) -> list[Member]:
    """The members of the object that starts at ``start``, in their order; errors as ``read_element``."""
    found: list[Member] = []
    at = skip_space(text, start + 1)
    if text[at : at + 1] == "}":
        return found
    while True:
        key = read_element(text, at)
        if not isinstance(key.value, str):
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        value = read_element(text, _expect(text, skip_space(text, key.end), ":"))
        found.append(Member(key=key.value, key_start=key.start, element=value))
        at = skip_space(text, value.end)
        if text[at : at + 1] == "}":
            return found
        at = _expect(text, at, ",")


def skip_space(text: str, at: int) -> int:
    """The first place from ``at`` on that is not white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting '{mark}' delimiter", text, at)
    return skip_space(text, at + 1)


def layout_of(text: str, fallback: Layout) -> Layout:
    """How the list or object ``text`` is set out; what it does not show is taken from ``fallback``."""
    lead = text[1 : skip_space(text, 1)]
    colon, comma = fallback.colon, fallback.comma
    if text.startswith("{"):
        found = members(text)
        if found:
            key_end = read_element(text, found[0].key_start).end
            colon = text[key_end : found[0].element.start]
        parts = [(member.key_start, member.element.end) for member in found]
    else:
        parts = [(element.start, element.end) for element in elements(text)]
    if not parts:
        return fallback
    if "\n" not in lead:
        if len(parts) > 1 and "\n" not in (between := text[parts[0][1] : parts[1][0]]):
            comma = between
        return Layout(newline="", comma=comma, colon=colon, unit=fallback.unit, ascii_only=fallback.ascii_only)
    newline = "\r\n" if "\r\n" in lead else "\n"
    inner = lead.rpartition("\n")[2]
    tail = text[parts[-1][1] : -1]
    outer = tail.rpartition("\n")[2] if "\n" in tail else ""
    unit = inner[len(outer) :] if inner.startswith(outer) and len(inner) > len(outer) else fallback.unit
    return Layout(newline=newline, outer=outer, unit=unit, comma=comma, colon=colon, ascii_only=fallback.ascii_only)


def deeper(layout: Layout) -> Layout:
    """The layout of a list or object that is a part of one with this layout."""
    return Layout(
        newline=layout.newline,
        outer=layout.outer + layout.unit,
        unit=layout.unit,
        comma=layout.comma,
        colon=layout.colon,
        ascii_only=layout.ascii_only,
    )


def write_value(value: object, layout: Layout) -> str:
    """The text of a new value, set out with ``layout`` where it is a list or object."""
    unit = layout.unit if layout.newline else None
    separators = ("," if layout.newline else layout.comma, layout.colon)
    text = json.dumps(value, ensure_ascii=layout.ascii_only, indent=unit, separators=separators)
    if not layout.ascii_only and _HALF_CHARACTER.search(text):
        # Half of a pair of UTF-16 is no character: it can be written as an escape only.
        text = json.dumps(value, ensure_ascii=True, indent=unit, separators=separators)
    # No string of JSON has a line end in it, so all of them are white space.
    return text.replace("\n", layout.newline + layout.outer) if layout.newline else text


def write_list(parts: Sequence[str], layout: Layout) -> str:
    """A list of values that are text already."""
    if not parts:
        return "[]"
    if not layout.newline:
        return f"[{layout.comma.join(parts)}]"
    return f"[{layout.inner}{(',' + layout.inner).join(parts)}{layout.newline}{layout.outer}]"


def indent(text: str, unit: str) -> str:
    """The text one level deeper: all its lines but the first."""
    return text.replace("\n", "\n" + unit)


def one_form(text: str) -> str:
    """A value in one form, keys in their order: blanks and escapes don't tell two values apart any more."""
    return json.dumps(json.loads(text))


def set_member(text: str, key: str, value: str, order: Sequence[str], layout: Layout) -> str:
    """The object ``text`` with ``value`` (text, too) as its member ``key``.

    A new member stands behind the last one of those that come before it in ``order``, or before the first one of those
    that come after it, or at the end.
    """
    found = members(text)
    for member in reversed(found):
        if member.key == key:
            return text[: member.element.start] + value + text[member.element.end :]
    new = json.dumps(key, ensure_ascii=layout.ascii_only) + layout.colon + value
    if not found:
        return f"{{{layout.inner}{new}{layout.newline}{layout.outer}}}" if layout.newline else f"{{{new}}}"
    between = f",{layout.inner}" if layout.newline else layout.comma
    rank = {name: place for place, name in enumerate(order)}
    own = rank.get(key, len(order))
    before = [member for member in found if key not in rank or rank.get(member.key, own) < own]
    after = [member for member in found if own < rank.get(member.key, -1)]
    if not before and after:
        return text[: after[0].key_start] + new + between + text[after[0].key_start :]
    end = (before or found)[-1].element.end
    return text[:end] + between + new + text[end:]


def remove_member(text: str, key: str) -> str:
    """The object ``text`` without its member ``key``; as it is where it has none."""
    while True:
        found = members(text)
        place = next((place for place, member in enumerate(found) if member.key == key), None)
        if place is None:
            return text
        if place > 0:
            text = text[: found[place - 1].element.end] + text[found[place].element.end :]
        elif len(found) > 1:
            text = text[: found[0].key_start] + text[found[1].key_start :]
        else:
            text = "{}"

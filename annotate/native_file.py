"""A questions file in the release layout: bytes in, items out, and back with every untouched byte as it was."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from pathlib import Path

from annotate.json_text import Element, Layout, deeper, elements, layout_of, skip_space
from annotate.native_item import Item, new_item, read_item
from annotate.records import Entry
from grounding.errors import UserError
from grounding.records import Record

NEW_FILE = Layout()
"""How a file is set out that was not there before: one blank more for each level."""


class Place(Record, frozen=True, kw_only=True):
    """An item, and the text between the one before it in the file and it; "" for the first one, and for new ones."""

    item: Item
    gap: str = ""


class NativeFile(Record, frozen=True, kw_only=True):
    """A questions file as it was read.

    ``head`` is the text before the first item, with the byte order mark if there is one, ``tail`` that behind the last.
    ``gap`` stands between two items that were not neighbours; ``layout`` is that of the file's list.
    """

    places: tuple[Place, ...]
    head: str
    tail: str
    gap: str
    layout: Layout


def read_native(content: bytes, path: Path) -> NativeFile:
    """The items of a questions file.

    NaN and Infinity are let be where they stand in fields that nobody changes; the loader refuses them.

    Args:
        content: The file's bytes.
        path: Where they are from, for messages.

    Raises:
        UserError: not UTF-8, no JSON, or no list.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 (byte {error.start}); save the file as UTF-8") from error
    start = skip_space(text, len("\ufeff") if content.startswith(codecs.BOM_UTF8) else 0)
    if not text[start:]:
        raise UserError(
            f"{path}: is empty: it must hold a JSON list, one element per step. Take it from a copy, or delete it"
        )
    if text[start] != "[":
        raise UserError(
            f"{path}: must hold a JSON list, one element per step; it begins with {text[start : start + 20]!r}"
        )
    try:
        found = elements(text, start)
        end = skip_space(text, found[-1].end if found else start + 1) + 1
        if skip_space(text, end) != len(text):
            raise json.JSONDecodeError("Extra data", text, skip_space(text, end))
        return _take_apart(text, start, end, found)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}: is not JSON: line {error.lineno}, column {error.colno}: {error.msg}. Correct the file there"
        ) from error
    except ValueError as error:
        raise UserError(f"{path}: holds a number with too many digits ({error})") from error
    except RecursionError as error:
        raise UserError(f"{path}: is nested too deeply") from error


def new_native(entries: Sequence[Entry]) -> NativeFile:
    """A file that is not there yet, with these steps."""
    inner = NEW_FILE.inner
    places = tuple(
        Place(item=new_item(entry, deeper(NEW_FILE)), gap="" if index == 0 else "," + inner)
        for index, entry in enumerate(entries)
    )
    return NativeFile(places=places, head="[" + inner, tail="\n]\n", gap="," + inner, layout=NEW_FILE)


def item_layout(file: NativeFile) -> Layout:
    """How a new item is to be set out: like the file's first one."""
    sample = next((place.item.text for place in file.places if place.item.is_object), "")
    return layout_of(sample, deeper(file.layout)) if sample else deeper(file.layout)


def write_native(file: NativeFile, texts: Sequence[str], gaps: Sequence[str]) -> bytes:
    """The bytes of the file with these items.

    Args:
        file: The file that they are from, or most of them.
        texts: The items' texts, in their order.
        gaps: What stood before each of them in the file; "" for what was first there, or is new.
    """
    if not texts:
        return (file.head.rstrip(" \t\r\n") + file.tail.lstrip(" \t\r\n")).encode("utf-8")
    parts = [file.head, texts[0]]
    for text, gap in zip(texts[1:], gaps[1:], strict=True):
        parts += (gap or file.gap, text)
    return "".join((*parts, file.tail)).encode("utf-8")


def _take_apart(text: str, start: int, end: int, found: Sequence[Element]) -> NativeFile:
    if not found:
        inner = NEW_FILE.inner
        tail = "\n]" + text[end:]
        return NativeFile(places=(), head=text[:start] + "[" + inner, tail=tail, gap="," + inner, layout=NEW_FILE)
    ascii_only = text.isascii() and "\\u" in text
    layout = layout_of(text[start:end], Layout(ascii_only=ascii_only))
    places, last = [], None
    for index, element in enumerate(found):
        gap = "" if last is None else text[last : element.start]
        item = read_item(element.value, text[element.start : element.end], index)
        places.append(Place(item=item, gap=gap))
        last = element.end
    gap = places[1].gap if len(places) > 1 else ("," + layout.inner if layout.newline else ", ")
    return NativeFile(
        places=tuple(places),
        head=text[: found[0].start],
        tail=text[found[-1].end :],
        gap=gap,
        layout=layout,
    )

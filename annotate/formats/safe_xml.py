"""Small XML files from strangers: a path in; a tree of plain elements out. No document types, no entities, bounded."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from grounding.errors import UserError
from grounding.records import Record

MAX_BYTES = 8_000_000
MAX_DEPTH = 16
MAX_ELEMENTS = 200_000


class Element(Record, frozen=True, kw_only=True):
    """An element: its name, its attributes, the text directly inside it (trimmed), and its children in order."""

    name: str
    attributes: dict[str, str]
    text: str
    children: tuple[Element, ...]

    def find(self, name: str) -> Element | None:
        """The first child of that name."""
        return next((child for child in self.children if child.name == name), None)

    def value(self, *path: str) -> str | None:
        """The text of the first element along a path of names; None where there is no such element."""
        here: Element | None = self
        for name in path:
            here = here.find(name) if here is not None else None
        return None if here is None else here.text


def read_xml(path: Path) -> Element:
    """The root element of a file.

    A document type is refused, and with it every entity beyond the five of XML itself: label files have none, and
    entities are how a small file is made to grow without end or to name other files.

    Raises:
        UserError: the file can't be read, is no XML, declares a document type, or is too large or too deep.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"is larger than {MAX_BYTES:,} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})") from error
    return parse_xml(content)


def parse_xml(content: bytes) -> Element:
    """The root element of a document; see :func:`read_xml`."""
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartDoctypeDeclHandler = builder.refuse_doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UserError(f"is not XML: {error}") from error
    except (LookupError, ValueError) as error:
        # An encoding that Python does not know, or one of several bytes.
        raise UserError(f"is not XML that can be read: {error}") from error
    if builder.root is None:
        raise UserError("is not XML: it has no element")
    return builder.root


class _Builder:
    """Puts the elements together from their ends."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[tuple[str, dict[str, str], list[str], list[Element]]] = []
        self._elements = 0

    def refuse_doctype(self, _name: str, _system: str | None, _public: str | None, _internal: bool) -> None:
        raise UserError("declares a document type (<!DOCTYPE …>), which label files do not need")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > MAX_ELEMENTS:
            raise UserError(f"has more than {MAX_ELEMENTS:,} elements")
        if len(self._open) >= MAX_DEPTH:
            raise UserError(f"is nested more than {MAX_DEPTH} elements deep")
        self._open.append((name, attributes, [], []))

    def text(self, text: str) -> None:
        if self._open:
            self._open[-1][2].append(text)

    def end(self, _name: str) -> None:
        name, attributes, texts, children = self._open.pop()
        element = Element(name=name, attributes=attributes, text="".join(texts).strip(), children=tuple(children))
        if self._open:
            self._open[-1][3].append(element)
        else:
            self.root = element

"""What there is to click and to fill in on a page, as a browser's script tells it, and how it is told to a model. Pure.

What a page says of itself is taken for data of unknown size and shape: it is converted strictly and cut off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from grounding.records import Box, Record
from grounding.webagents.agenticshop.agents.base import MAX_URL_CHARS

SCRIPT = Path(__file__).with_suffix(".js")
VERSION = 1
"""Goes up with every change of what is listed or how it is told: a model may answer differently."""

MAX_ELEMENTS = 150
MAX_LABEL_CHARS = 100
MAX_PATH_CHARS = 90

_KINDS = {
    "a": "link",
    "button": "button",
    "select": "choice",
    "textarea": "field",
    "summary": "toggle",
}
_INPUTS = {"submit": "button", "button": "button", "reset": "button", "image": "button"} | {
    name: name for name in ("checkbox", "radio", "file", "password", "range", "color")
}


class FormField(Record, frozen=True, kw_only=True):
    """A field of the form that an element belongs to."""

    type: str = ""
    name: str = ""
    autocomplete: str = ""


class FormAround(Record, frozen=True, kw_only=True):
    """The form that an element belongs to."""

    method: str = "get"
    fields: tuple[FormField, ...] = ()


class Element(Record, frozen=True, kw_only=True):
    """One element in view. ``number`` counts from 1; ``box`` is in pixels of the viewport."""

    number: int
    tag: str
    box: Box
    type: str = ""
    role: str = ""
    name: str = ""
    field: str = ""
    autocomplete: str = ""
    value: str = ""
    options: tuple[str, ...] = ()
    href: str = ""
    checked: bool = False
    disabled: bool = False
    form: FormAround | None = None

    @property
    def kind(self) -> str:
        """What it is, in a word for the list."""
        if self.role in ("button", "link", "checkbox", "radio", "tab", "option", "switch"):
            return self.role
        if self.role in ("searchbox", "combobox", "textbox"):
            return "field"
        if self.tag == "input":
            return _INPUTS.get(self.type, "field")
        return _KINDS.get(self.tag, "item")

    @property
    def takes_text(self) -> bool:
        """Whether something can be typed into it."""
        return self.kind in ("field", "password")


class PageElements(Record, frozen=True, kw_only=True):
    """All that is in view. ``top_px``, ``view_px`` and ``whole_px`` say which part of the page's height that is."""

    elements: tuple[Element, ...]
    title: str = ""
    top_px: int = 0
    view_px: int = 0
    whole_px: int = 0
    left_out: int = 0


class _ToldForm(msgspec.Struct):
    method: str
    fields: list[FormField]


class _Told(msgspec.Struct):
    tag: str
    type: str
    role: str
    name: str
    field: str
    autocomplete: str
    value: str
    options: list[str]
    href: str
    checked: bool
    disabled: bool
    box: tuple[float, float, float, float]
    form: _ToldForm | None


class _ToldPage(msgspec.Struct):
    elements: list[_Told]
    title: str
    top: float
    view: float
    whole: float
    left_out: int


def read_elements(told: Any) -> PageElements:
    """What the script told, as records; numbers in its order.

    Raises:
        ValueError: it is not what the script tells: the page has meddled with it.
    """
    try:
        page = msgspec.convert(told, type=_ToldPage, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"the page's elements can't be read: {error}") from None
    return PageElements(
        elements=tuple(_element(number, one) for number, one in enumerate(page.elements[:MAX_ELEMENTS], start=1)),
        title=_line(page.title, 200),
        top_px=max(0, int(page.top)),
        view_px=max(0, int(page.view)),
        whole_px=max(0, int(page.whole)),
        left_out=max(0, page.left_out),
    )


def _element(number: int, told: _Told) -> Element:
    left, top, right, bottom = told.box
    form = None
    if told.form is not None:
        form = FormAround(method=told.form.method[:10], fields=tuple(told.form.fields[:40]))
    return Element(
        number=number,
        tag=told.tag[:30],
        type=told.type[:30],
        role=told.role[:30],
        name=_line(told.name, 200),
        field=_line(told.field, 120),
        autocomplete=told.autocomplete[:60],
        value=_line(told.value, 100),
        options=tuple(_line(option, 60) for option in told.options[:20]),
        href=told.href[:MAX_URL_CHARS],
        checked=told.checked,
        disabled=told.disabled,
        box=Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom),
        form=form,
    )


def describe(element: Element) -> str:
    """An element in a few words, such as ``link "Oak lamp"``."""
    return f"{element.kind} {quoted(element.name, MAX_LABEL_CHARS)}"


def element_line(element: Element, page_url: str) -> str:
    """An element's line in the list."""
    parts = [f"[{element.number}] {describe(element)}"]
    if element.value:
        parts.append(f"now {quoted(element.value, 60)}")
    if element.options:
        parts.append("of " + ", ".join(quoted(option, 40) for option in element.options))
    if element.checked:
        parts.append("chosen")
    if element.disabled:
        parts.append("can't be used")
    where = _path(element.href, page_url)
    return " ".join(parts) + (f" → {where}" if where else "")


def quoted(text: str, most: int) -> str:
    """A page's text as a JSON string on one line, cut off: what stands in it can't leave the quotes."""
    cut = _line(text, most)
    return msgspec.json.encode(cut).decode()


def _path(href: str, page_url: str) -> str:
    """Where a link leads: the path on the page's own host, else the whole address; "" for no link to a page."""
    try:
        link, here = urlsplit(href), urlsplit(page_url)
    except ValueError:
        return ""
    if link.scheme not in ("http", "https"):
        return ""
    path = (link.path or "/") + (f"?{link.query}" if link.query else "")
    shown = path if link.netloc == here.netloc else f"{link.scheme}://{link.netloc}{path}"
    shown = "".join(character for character in shown if character.isprintable() and character not in '<>" ')
    return shown if len(shown) <= MAX_PATH_CHARS else shown[: MAX_PATH_CHARS - 1] + "…"


def _line(text: str, most: int) -> str:
    # Encoded once, so that a lone surrogate, which no request can carry, becomes a question mark.
    whole = " ".join(text.encode("utf-8", "replace").decode().split())
    printable = "".join(character if character.isprintable() else " " for character in whole)
    return printable if len(printable) <= most else printable[: most - 1] + "…"

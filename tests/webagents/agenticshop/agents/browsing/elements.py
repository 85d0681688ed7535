"""Elements for tests: what the script tells of a page, without one."""

from __future__ import annotations

from typing import Any

from grounding.webagents.agenticshop.agents.browsing.elements import Element, read_elements

Told = dict[str, Any]


def told(**more: Any) -> Told:
    """One element as the script tells it."""
    plain: Told = {
        "tag": "a", "type": "", "role": "", "name": "Oak lamp", "field": "", "autocomplete": "", "value": "",
        "options": [], "href": "http://shop.test/p/1", "checked": False, "disabled": False, "box": [10, 20, 110, 40],
        "form": None,
    }  # fmt: skip
    return {**plain, **more}


def page(*elements: Told, **more: Any) -> Told:
    """All that the script tells."""
    return {"elements": list(elements), "title": "Shop", "top": 0, "view": 720, "whole": 1500, "left_out": 0, **more}


def field(**more: Any) -> Told:
    """A text field."""
    return told(**{"tag": "input", "type": "text", "href": "", "name": "Search", "field": "q", **more})


def button(name: str, **more: Any) -> Told:
    """A button."""
    return told(tag="button", name=name, href="", **more)


def form(*fields: Told, method: str = "post") -> Told:
    """A form around an element."""
    return {"method": method, "fields": [{"type": "text", "name": "", "autocomplete": "", **one} for one in fields]}


def element(one: Told) -> Element:
    """As a record."""
    return read_elements(page(one)).elements[0]

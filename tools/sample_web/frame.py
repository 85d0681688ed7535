"""Where the browser's own controls are: tabs, their close buttons, back, reload, the address bar.

Chromium's UI DevTools (`--enable-ui-devtools`) tell the exact bounds of every native view, so nothing
is guessed from pixels.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from devtools import DevTools, DevToolsError
from geometry import Rect


class FrameError(RuntimeError):
    """The browser's own controls could not be read."""


@dataclass(frozen=True)
class View:
    """One native view of the browser window."""

    name: str
    box: Rect


def _has_view(node: dict[str, Any], name: str) -> bool:
    children = node.get("children", [])
    return name in node.get("attributes", []) or any(_has_view(child, name) for child in children)


class FrameReader:
    """Reads the native views of the one browser window."""

    def __init__(self, port: int, scale: float) -> None:
        self._tools = DevTools(f"ws://127.0.0.1:{port}/0")
        self._scale = scale
        self._tools.call("DOM.enable")
        self._tools.call("CSS.enable")

    def _walk(self, node: dict[str, Any], origin: tuple[float, float], wanted: set[str]) -> Iterator[View]:
        attributes = node.get("attributes", [])
        name = dict(zip(attributes[::2], attributes[1::2], strict=True)).get("name", "")
        if node["nodeName"] == "View":
            values = self._properties(node["nodeId"])
            if values.get("Visible") == "false":
                return
            origin = origin[0] + float(values["X"]), origin[1] + float(values["Y"])
            if name in wanted:
                box = Rect(*origin, float(values["Width"]), float(values["Height"]))
                yield View(name, box.scaled(self._scale))
        for child in node.get("children", []):
            yield from self._walk(child, origin, wanted)

    def _properties(self, node_id: int) -> dict[str, str]:
        """A view's own properties; X and Y are relative to its parent view."""
        answer = self._tools.call("CSS.getMatchedStylesForNode", nodeId=node_id)
        for rule in answer["matchedCSSRules"]:
            if rule["rule"]["selectorList"]["selectors"][0]["text"] == "View":
                return {item["name"]: item["value"] for item in rule["rule"]["style"]["cssProperties"]}
        raise FrameError(f"view {node_id} tells no bounds")

    def views(self, *names: str) -> list[View]:
        """The shown views with one of these class names, in tree order, in screen pixels."""
        for _ in range(20):
            root = self._tools.call("DOM.getDocument")["root"]
            window = next(item for item in root["children"] if _has_view(item, "BrowserView"))
            try:
                return list(self._walk(window, (0.0, 0.0), set(names)))
            except DevToolsError:
                # A view went away while the tree was read (a closing tab); read it again.
                time.sleep(0.2)
        raise FrameError("the browser's views do not come to rest")

    def close(self) -> None:
        """Close the connection."""
        self._tools.close()

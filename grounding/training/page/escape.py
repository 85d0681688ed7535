"""Text into HTML, so that nothing that a model or a data set says is anything but text that can be seen."""

from __future__ import annotations

import html
import re

_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that can't be seen and change what stands around them: marks of direction, and control characters."""


def text(said: object) -> str:
    r"""Any text as HTML text. What would turn the text around it is shown by its number instead.

    >>> text("<b>\u202egnp")
    '&lt;b&gt;[U+202E]gnp'
    """
    return html.escape(_HIDDEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", str(said)))

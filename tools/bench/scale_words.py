"""Numbers in words, tables and wrapped lines, for the scale benchmark's page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 120


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, its first column on the left and the others on the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph in lines; ``indent`` goes before the second and later ones."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def bullets(items: Sequence[str]) -> str:
    """A list in Markdown."""
    return "\n".join(wrapped(f"- {item}", "  ") for item in items)


def numbered(items: Sequence[str]) -> str:
    """A numbered list in Markdown."""
    return "\n".join(wrapped(f"{number}. {item}", "   ") for number, item in enumerate(items, start=1))


def size_text(count: float) -> str:
    """Bytes in the unit that suits them, decimal."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} bytes"


def count_text(count: float) -> str:
    """A number of steps, in billions or millions where it has some."""
    if count >= 1e9:
        return f"{count / 1e9:,.3g} billion"
    return f"{count / 1e6:,.3g} million" if count >= 1e6 else f"{count:,.0f}"


def percent_text(share: float) -> str:
    """A share of one as a whole percentage."""
    return f"{share * 100:.0f} %"

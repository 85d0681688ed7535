"""Words cut to the width that there is for them, with an ellipsis where something is missing."""

from __future__ import annotations

from collections.abc import Callable

_ELLIPSIS = "…"


class Elider:
    """Cuts lines of one font.

    A line is as wide as its characters are together: Tk is asked for each character once, not for each line, as lists
    have thousands of lines.

    Args:
        width_of: The width of a text in view pixels.
    """

    def __init__(self, width_of: Callable[[str], int]) -> None:
        self._width_of = width_of
        self._widths: dict[str, int] = {}

    def cut(self, words: str, width_view: float) -> str:
        """The words, or as much of their beginning as fits, with an ellipsis."""
        room = width_view - self._width(_ELLIPSIS)
        whole, fitting = 0, 0
        for number, character in enumerate(words, start=1):
            whole += self._width(character)
            if whole <= room:
                fitting = number
            elif whole > width_view:
                return words[:fitting].rstrip() + _ELLIPSIS
        return words

    def _width(self, character: str) -> int:
        found = self._widths.get(character)
        if found is None:
            found = self._widths[character] = self._width_of(character)
        return found

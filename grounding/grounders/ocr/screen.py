"""What was read from one screenshot: lines of text with their places. Records only."""

from __future__ import annotations

from grounding.records import Box, Record, Size


class TextWord(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One word of a line and its horizontal extent on the original screenshot."""

    text: str
    left_px: float
    right_px: float


class TextLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run of text on one line without a wide gap, its box around the ink, and how sure the reader is (0 to 1).

    ``framed`` tells that an edge runs above and below it at about the same distance: a button, or a field's content.
    """

    text: str
    box: Box
    confidence: float
    words: tuple[TextWord, ...]
    framed: bool = False


class Screen(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that was read from one screenshot.

    ``size`` is the image's own, ``model_size`` what the text detector was shown of it.
    """

    size: Size
    model_size: Size
    lines: tuple[TextLine, ...]

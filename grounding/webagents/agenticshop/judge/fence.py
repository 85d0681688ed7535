"""A fence around what others wrote, which nothing inside can end.

The mark of a fence is made of what it fences: whoever writes a page can't know it, and the same page always has the
same one, so that a question can be asked again word for word.
"""

from __future__ import annotations

import hashlib
import unicodedata

import msgspec

from grounding.records import Record

MARK_DIGITS = 16
_KEPT = "\n\t"


class Fence(Record, frozen=True, kw_only=True):
    """The two lines around a piece of data: ``PAGE-DATA MARK BEGIN what`` and ``PAGE-DATA MARK END``."""

    mark: str

    def around(self, what: str, text: str) -> str:
        """Data between its two lines.

        Args:
            what: One word of ours for what it is.
            text: What somebody else wrote.
        """
        return f"PAGE-DATA {self.mark} BEGIN {what}\n{text}\nPAGE-DATA {self.mark} END"


def fence_for(*texts: str) -> Fence:
    """The fence for some texts: its mark stands in none of them.

    Args:
        *texts: All that will stand inside it, as it will stand there.
    """
    digest = hashlib.sha256(msgspec.json.encode(texts)).hexdigest()
    while any(digest[:MARK_DIGITS] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return Fence(mark=digest[:MARK_DIGITS])


def bounded(text: str, limit: int) -> str:
    """A text without control characters, cut to a length; what was cut is said in a last line.

    Args:
        text: What somebody else wrote.
        limit: How many characters of it are shown.
    """
    clean = "".join(
        letter if letter in _KEPT or unicodedata.category(letter) not in ("Cc", "Cf", "Cs") else " " for letter in text
    )
    if len(clean) <= limit:
        return clean
    return f"{clean[:limit]}\n[cut off here: {limit} of {len(clean)} characters are shown]"

"""What an agent's browser answers when it is sent somewhere."""

from __future__ import annotations

from grounding.records import Record
from grounding.webagents.agenticshop.web.troubles import Trouble


class Arrived(Record, frozen=True, kw_only=True):
    """A document came. ``url`` is where it led, ``status`` what the server said, None for a step within a page."""

    url: str
    status: int | None = None


class Refused(Record, frozen=True, kw_only=True):
    """No document came. ``url`` is what was asked for; ``trouble`` and ``message`` say why."""

    url: str
    trouble: Trouble
    message: str


Visit = Arrived | Refused

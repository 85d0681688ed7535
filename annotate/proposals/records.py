"""What passes between the window and the process that looks at screenshots: requests in, proposals out."""

from __future__ import annotations

from typing import Literal

from annotate.proposals.snapping import Frame
from annotate.records import BoxKind, MarkedBox
from grounding.records import Record

Origin = Literal["widget", "text", "click"]
"""Who proposes: edges in the picture, the reader of texts, or a model that clicked there."""


class Proposal(Record, frozen=True, kw_only=True):
    """A rectangle that may be what is meant, its sides at the edges already. ``words`` is what is written in it."""

    frame: Frame
    origin: Origin
    kind: BoxKind = ""
    words: str = ""

    def as_box(self) -> MarkedBox:
        """The box that taking it makes."""
        frame = self.frame
        return MarkedBox(
            x_px=frame.left_px, y_px=frame.top_px, width_px=frame.width_px, height_px=frame.height_px, kind=self.kind
        )


class Request(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Look at a screenshot; ``instruction`` is what its text is compared with."""

    number: int
    image: str
    instruction: str


class Found(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was found so far: edges are faster than reading, so they are sent first and ``complete`` is False.

    ``meant`` is the place, in ``proposals``, of the one whose text fits the instruction best. ``problem`` says what
    went wrong; what could be found all the same is there.
    """

    number: int
    image: str
    instruction: str
    complete: bool
    proposals: tuple[Proposal, ...] = ()
    meant: int | None = None
    problem: str = ""
    seconds: float = 0.0

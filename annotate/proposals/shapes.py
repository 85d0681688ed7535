"""Proposals as shapes over the picture. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from annotate.proposals.records import Proposal
from annotate.window.panels import OverlayBox
from grounding.records import Box

COLOURS = {"widget": "#2563eb", "text": "#15803d", "click": "#dc2626"}


def shapes_of(proposals: Sequence[Proposal], meant: Proposal | None) -> tuple[OverlayBox, ...]:
    """Thin outlines in the colour of where each comes from; the one that is meant stands out."""
    return tuple(
        OverlayBox(
            box=_box(one),
            colour=COLOURS[one.origin],
            label="fits the instruction" if one == meant else "",
            dashed=False,
            halo=one == meant,
        )
        for one in proposals
    )


def chosen_shape(one: Proposal) -> OverlayBox:
    """The one that was chosen in the list, with its words."""
    return OverlayBox(box=_box(one), colour=COLOURS[one.origin], dashed=False, label=one.words)


def _box(one: Proposal) -> Box:
    frame = one.frame
    return Box(
        left_px=float(frame.left_px),
        top_px=float(frame.top_px),
        right_px=float(frame.right_px),
        bottom_px=float(frame.bottom_px),
    )

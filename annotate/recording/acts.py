"""From changes of the screen to what the user did: what belongs together, and what nobody did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec

from annotate.recording.records import ScreenChange
from grounding.records import Box

WAVE_S = 1.2
"""A page comes in waves: what follows within this time, the pointer still in its place, is the same action's doing."""
BLIND_WAVE_S = 0.8
"""The same where the pointer was not seen."""
TYPING_PAUSE_S = 2.5
SCROLL_PAUSE_S = 1.5
LETTER_SHARE = 0.001
HOVER_SHARE = 0.015
HOVER_END_S = 20.0
AT_HAND_S = 2.0
SPINNER_SHARE = 0.03
SPINNER_WAIT_S = 15.0
LEAST_REPEATS = 4
LONGEST_PERIOD_S = 30.0
EVEN = 0.1
"""How much the times between an animation's changes differ, as a share of their median."""
SMALL_SHARE = 0.25


def user_actions(changes: Sequence[ScreenChange]) -> list[ScreenChange]:
    """The changes that are, as far as can be seen, the user's actions, each from its first sign to its last wave.

    Changes in doubt stay out: the little things that light up under the pointer, and what comes back at even times.
    """
    real = [change for change in mark_animations(mark_hover_ends(changes)) if not change.doubt]
    joined: list[ScreenChange] = []
    for change in real:
        if joined and _same_action(joined[-1], change):
            joined[-1] = _join(joined[-1], change)
        else:
            joined.append(change)
    return joined


def mark_hover_ends(changes: Sequence[ScreenChange]) -> list[ScreenChange]:
    """The same changes; a small one that follows hovering in the same place is what lit up there going out again."""
    marked: list[ScreenChange] = []
    for change in changes:
        same = [
            one
            for one in marked[-6:]
            if change.onset_s - one.onset_s < HOVER_END_S and _same_place(one.box, change.box)
        ]
        ends = change.share <= HOVER_SHARE and bool(same) and same[-1].doubt == "hover"
        marked.append(msgspec.structs.replace(change, doubt="hover") if ends and not change.doubt else change)
    return marked


def mark_animations(changes: Sequence[ScreenChange]) -> list[ScreenChange]:
    """The same changes; those of a place that changes at even times, at least four times, are doubted.

    A slide show is one. A user who clicks the same place again and again does not keep such time.
    """
    doubted: set[int] = set()
    places: list[list[int]] = []
    for index, change in enumerate(changes):
        if change.kind != "change" or change.share > SMALL_SHARE or _at_hand(change):
            continue
        for place in places:
            if _same_place(changes[place[-1]].box, change.box):
                place.append(index)
                break
        else:
            places.append([index])
    for place in places:
        for run in _even_runs([changes[index].onset_s for index in place]):
            doubted.update(place[index] for index in run)
    return [
        msgspec.structs.replace(change, doubt="animation") if index in doubted and not change.doubt else change
        for index, change in enumerate(changes)
    ]


def _at_hand(change: ScreenChange) -> bool:
    """Whether the pointer had just come to the place that changed: somebody was there."""
    pointer, box = change.pointer, change.box
    if pointer is None or change.rested_s > AT_HAND_S:
        return False
    return box.left_px <= pointer.x_px <= box.right_px and box.top_px <= pointer.y_px <= box.bottom_px


def _even_runs(times_s: Sequence[float]) -> list[range]:
    """Runs of times that follow each other at the same distance, as positions."""
    gaps = [later - earlier for earlier, later in pairwise(times_s)]
    runs = []
    start = 0
    for end in range(1, len(gaps) + 1):
        middle = median(gaps[start:end])
        if end < len(gaps) and abs(gaps[end] - middle) <= EVEN * middle:
            continue
        if end - start + 1 >= LEAST_REPEATS and middle <= LONGEST_PERIOD_S:
            runs.append(range(start, end + 1))
        start = end
    return runs


def _same_place(one: Box, other: Box) -> bool:
    width = min(one.right_px, other.right_px) - max(one.left_px, other.left_px)
    height = min(one.bottom_px, other.bottom_px) - max(one.top_px, other.top_px)
    if width <= 0 or height <= 0:
        return False
    together = width * height
    return together / (_area(one) + _area(other) - together) > 0.5


def _same_line(one: Box, other: Box) -> bool:
    middle = (other.top_px + other.bottom_px) / 2
    return one.top_px <= middle <= one.bottom_px


def _area(box: Box) -> float:
    return (box.right_px - box.left_px) * (box.bottom_px - box.top_px)


def _same_action(earlier: ScreenChange, later: ScreenChange) -> bool:
    gap_s = later.onset_s - earlier.settled_s
    if earlier.kind == later.kind == "typing":
        return gap_s < TYPING_PAUSE_S
    if earlier.kind == later.kind == "scroll":
        return gap_s < SCROLL_PAUSE_S
    if earlier.kind == "typing" and later.share < LETTER_SHARE and _same_line(earlier.box, later.box):
        return gap_s < TYPING_PAUSE_S
    if "typing" in (earlier.kind, later.kind) or "scroll" in (earlier.kind, later.kind):
        return False
    if earlier.kind == "playing" and earlier.share < SPINNER_SHARE and later.pointer is not None:
        # A spinner turned until the page came.
        return gap_s < SPINNER_WAIT_S and later.rested_s >= later.onset_s - earlier.onset_s
    if earlier.pointer is None or later.pointer is None:
        return gap_s < BLIND_WAVE_S
    # The pointer has rested since before the first wave: nobody clicked elsewhere.
    return gap_s < WAVE_S and later.rested_s >= later.onset_s - earlier.onset_s


def _join(earlier: ScreenChange, later: ScreenChange) -> ScreenChange:
    return msgspec.structs.replace(
        earlier,
        settled_s=max(earlier.settled_s, later.settled_s),
        share=min(1.0, earlier.share + later.share),
        box=Box(
            left_px=min(earlier.box.left_px, later.box.left_px),
            top_px=min(earlier.box.top_px, later.box.top_px),
            right_px=max(earlier.box.right_px, later.box.right_px),
            bottom_px=max(earlier.box.bottom_px, later.box.bottom_px),
        ),
    )

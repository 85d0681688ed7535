"""Changes of a recorded screen, from one settled screen to the next, in one pass over small grey pictures.

For each pixel that differs from the last settled screen, the first picture is known that showed it, unless it went back
in between. Once the screen has stood still, what differs is a change, and its first picture is its onset. A pointer, a
caret that blinks and parts that always move are no change. (Finders of cuts in films compare whole pictures: a menu is
too small for them, and a film on a page too large. PySceneDetect's best finds two thirds of what this does.)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from grounding.records import Box, Point, Record

from ..core.records import overlap
from .video import Recording

Grey: TypeAlias = NDArray[np.uint8]
"""Height x width: a small picture, or a mask of one, 255 where something holds and 0 elsewhere."""
ActionKind = Literal["click", "type", "scroll"]
"""``click``: a part of the screen became another one, or began to move. ``type``: characters were added one by one.
``scroll``: the same content moved up or down."""

DIFFERENT = 14  # Grey levels by which a pixel must differ; lossy video stays below.
AROUND = np.ones((17, 17))
# A place always moves while it changed in about eight of the last twenty tenths of a second, the latest counting most;
# quiet, it begins anew. A page that takes a second to appear stays below.
SLOT_S, MEMORY_S = 0.1, 2.0
BUSY_SLOTS, QUIET_SLOTS = 8.0, 0.7
POINTER_SHARE, TRAIL = 0.045, 90  # Largest side of a pointer by the screen's height; how many places are known.
LOST_S = 0.3  # What moves on from place to place in steps no longer than this may be the pointer, lost from sight.
# What lights up under a pointer on its way: at most 200 x 150 pixels of Full HD. There it goes out again in that time.
HOVER_S, HOVER_SHARE, HOVER_END_S = 0.2, 0.015, 20.0
SCROLL_SHARE, SCROLL_LEFT = 0.15, 0.6  # Least share of the screen that scrolls; of the difference, what may be left.
# A screen that stands still so long is settled; after changes as small as a character a caret has blinked by then.
SETTLE_S, MINOR_SETTLE_S = 0.35, 0.6
# A smaller part that begins to move is a spinner; the page that comes within that time is the click's doing.
PLAYING_SHARE, SPINNER_WAIT_S = 0.02, 15.0
TYPING_S, LETTER_SHARE = 0.3, 0.001
PAUSE_S: dict[ActionKind, float] = {"click": 1.2, "type": 2.5, "scroll": 1.5}  # A page comes in waves, typing in words.


class ScreenChange(Record, frozen=True, kw_only=True):
    """One change of the screen, from a settled screen to the next settled one.

    ``onset_s`` is the first frame with it, ``settled_s`` the last that still changed.
    ``pointer`` is its upper left corner at the onset, if it was seen, ``rested_s`` how long it had not moved.
    ``is_hover``: small, while the pointer moved, so that it is no action of the user.
    """

    onset_s: float
    settled_s: float
    kind: ActionKind
    share: float
    box: Box
    pointer: Point | None = None
    rested_s: float = 0.0
    is_hover: bool = False


def find_changes(recording: Recording) -> list[ScreenChange]:
    """All changes of a recording's screen, hovering or not; the frames go by one at a time."""
    finder = ChangeFinder(recording.small_size, recording.width_px / recording.small_size[0])
    for time_s, luma in recording.small_frames():
        finder.feed(time_s, luma)
    return finder.finish()


class _Patch(NamedTuple):
    """A rectangle by its edges in pixels of the small picture; ``area`` of its pixels are meant."""

    left: int
    top: int
    right: int
    bottom: int
    area: int = 1

    @property
    def size(self) -> tuple[int, int]:
        return self.right - self.left, self.bottom - self.top

    @property
    def part(self) -> tuple[slice, slice]:
        return np.s_[self.top : self.bottom, self.left : self.right]

    def near(self, other: _Patch, margin: int) -> bool:
        """Whether the two rectangles come closer to each other than ``margin``, on both axes."""
        across = max(self.left, other.left) - min(self.right, other.right)
        return across < margin and max(self.top, other.top) - min(self.bottom, other.bottom) < margin


def _different(one: Grey, other: Grey) -> Grey:
    return np.asarray(cv2.threshold(cv2.absdiff(one, other), DIFFERENT, 255, cv2.THRESH_BINARY)[1], np.uint8)


def _patches(mask: Grey, join_px: int) -> list[_Patch]:
    """The patches of a mask; two no further apart than ``join_px`` to either side are one."""
    # With room to grow on all sides a patch begins, once it is larger, where it began before in the picture.
    mask, grow = np.pad(mask, join_px), 2 * join_px
    grown = cv2.dilate(mask, np.ones((grow + 1, grow + 1)))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(grown, connectivity=8)
    areas = np.bincount(labels[mask > 0], minlength=count)
    rows = zip(stats[1:].tolist(), areas[1:].tolist(), strict=True)
    return [_Patch(x, y, x + width - grow, y + height - grow, area) for (x, y, width, height, _), area in rows]


def _bounds(patches: Sequence[_Patch]) -> _Patch:
    left, top, right, bottom, area = zip(*patches, strict=True)
    return _Patch(min(left), min(top), max(right), max(bottom), sum(area))


def _is_scrolled(before: Grey, after: Grey, where: _Patch) -> bool:
    """Whether the content of a rectangle moved up or down, and did nothing else."""
    if min(where.size) < 24 or math.prod(where.size) < SCROLL_SHARE * after.size:
        return False
    old, new = before[where.part].astype(np.float32), after[where.part].astype(np.float32)
    (across, down), _ = cv2.phaseCorrelate(old, new)
    moved = round(down)
    if moved == 0 or abs(across) > 1 or abs(moved) >= where.size[1]:
        return False
    first, second = (old, new) if moved > 0 else (new, old)
    along = float(cv2.absdiff(second[abs(moved) :], first[: -abs(moved)]).mean())
    return along < SCROLL_LEFT * float(cv2.absdiff(new, old).mean())


class _Pointer:
    """Where the pointer is and was; ``home`` is its place on the settled screen, where it leaves a hole."""

    def __init__(self, height: int) -> None:
        self.side = max(6, round(height * POINTER_SHARE))
        self.place: _Patch | None = None
        self.home: _Patch | None = None
        self._trail: list[tuple[float, _Patch]] = []
        self._track: list[tuple[float, _Patch]] = []

    def at(self, time_s: float) -> tuple[_Patch | None, float]:
        return next(((place, time_s - at_s) for at_s, place in reversed(self._trail) if at_s < time_s), (None, 0.0))

    def travels(self, time_s: float) -> bool:
        """Whether it was on its way: a hand that clicks may shake, by less than the pointer's size."""
        places = [place for at_s, place in self._trail if abs(at_s - time_s) <= HOVER_S]
        if not places:
            return False
        return int(np.max(np.subtract(_bounds(places).size, places[0].size))) > self.side / 2

    def fits(self, patch: _Patch, times: float = 1) -> bool:
        return max(patch.size) <= times * self.side

    def follow(self, time_s: float, patches: list[_Patch], covered: Grey) -> bool:
        """Whether the pointer moved in a frame in which little changed, in ``patches``.

        It hides something where it is, in ``covered``, which changed and differs from the settled screen, and uncovers
        it where it was; what does not come in that pair is a caret or a character.
        """
        hidden = _patches(covered, join_px=1)
        if not hidden or not self.fits(now := _bounds(hidden)):
            return False

        def left(place: _Patch) -> bool:
            """Whether something went away from the middle of a place: a typed character stays."""
            x, y = (place.left + place.right) // 2, (place.top + place.bottom) // 2
            middle = _Patch(x, y, x + 1, y + 1)
            return place[:2] != now[:2] and any(one.near(middle, 0) for one in patches)

        if self.place is not None and left(self.place):
            self._track = []
        elif not (self._track and time_s - self._track[-1][0] < LOST_S and left(self._track[-1][1])):
            self._track = [(time_s, now)]
            return False
        else:
            # It is not where it was thought to be: what travels far enough is it, unlike a spinner or a caret.
            first = self._track[0][1]
            if max(abs(now.left - first.left), abs(now.top - first.top)) <= 2 * self.side:
                self._track.append((time_s, now))
                return False
        self._trail = [*self._trail, *self._track, (time_s, now)][-TRAIL:]
        self._track, self.place = [], now
        return True


class ChangeFinder:
    """Takes the pictures of a recording in order; ``scale`` is how many recorded pixels are one of theirs."""

    def __init__(self, small_size: tuple[int, int], scale: float) -> None:
        width, height = small_size
        self._scale, self._pointer = scale, _Pointer(height)
        self._times: list[float] = []
        self._previous: Grey = np.zeros((height, width), np.uint8)
        self._settled = self._differs = self._previous
        self._first_seen = np.full((height, width), -1, np.int32)
        self._major_s = self._moved_s = float("-inf")
        self._scrolls = self._majors = 0
        self._spinning: int | None = None
        self._changes: list[ScreenChange] = []
        # Of each pixel and what is around it: its recent changes, when they began, when the last one counted.
        self._recent = np.zeros((height, width), np.float32)
        self._since_s, self._counted_s = np.zeros((height, width)), np.full((height, width), -1.0)
        self._begun = self._always = np.zeros((height, width), bool)

    def feed(self, time_s: float, luma: Grey) -> None:
        if not self._times:
            self._times, self._previous, self._settled = [time_s], luma, luma.copy()
            return
        # Between two time stamps nothing changed: the screen may have settled in that time.
        self._look(time_s)
        self._times.append(time_s)
        changed = _different(luma, self._previous)
        before, self._previous = self._previous, luma
        if changed.any():
            self._differs = _different(luma, self._settled)
            self._count_busy(time_s, self._moving(time_s, before, changed))
            differs = self._differs > 0
            self._first_seen[differs & (self._first_seen < 0)] = len(self._times) - 1
            self._first_seen[~differs] = -1
        else:
            self._count_busy(time_s, changed)

    def finish(self) -> list[ScreenChange]:
        """The recording is over: all its changes, in order of time."""
        if self._times:
            self._look(self._times[-1] + 10 * SETTLE_S)
        return self._changes

    def _moving(self, time_s: float, before: Grey, changed: Grey) -> Grey:
        """What of a frame counts as moving: not the pointer, nor a page that scrolls."""
        calm = np.where(self._always, 0, changed).astype(np.uint8)
        patches = _patches(calm, join_px=1)
        if not patches:
            return changed
        self._moved_s = time_s
        # A pointer that moves by less than its size leaves one patch, at most twice as large on either side.
        if len(patches) <= 4 and all(self._pointer.fits(one, 2) for one in patches):
            is_none = self._pointer.follow(time_s, patches, calm & self._differs)
        else:
            is_none = _is_scrolled(before, self._previous, _bounds(patches))
            self._major_s, self._majors, self._scrolls = time_s, self._majors + 1, self._scrolls + is_none
        return np.zeros_like(changed) if is_none else changed

    def _count_busy(self, time_s: float, moving: Grey) -> None:
        self._recent *= math.exp((self._times[-2] - time_s) / MEMORY_S)
        fresh = (cv2.dilate(moving, AROUND) > 0) & (time_s - self._counted_s >= SLOT_S)
        self._since_s[fresh & (self._recent < QUIET_SLOTS)] = time_s
        self._recent[fresh] += 1
        self._counted_s[fresh] = time_s
        busy = self._recent > BUSY_SLOTS
        self._begun = self._begun | (busy & ~self._always)
        # What always moves is taken as it is, so that its end is no change; a moving edge has two sides.
        self._always = always = cv2.dilate(busy.astype(np.uint8), AROUND) > 0
        self._settled[always], self._first_seen[always], self._differs[always] = self._previous[always], -1, 0

    def _look(self, now_s: float) -> None:
        """Judge what differs from the settled screen, if it has stood still for long enough at ``now_s``."""
        if now_s - self._major_s < SETTLE_S or not (self._differs.any() or self._begun.any()):
            return
        pointer, rests_s = self._pointer, now_s - self._moved_s
        left = _patches(self._differs, join_px=2)
        # Neither the pointer nor the hole that it left.
        place, places = pointer.place, [one for one in (pointer.place, pointer.home) if one is not None]
        found = [one for one in left if not (pointer.fits(one) and any(one.near(place, 2) for place in places))]
        # The pointer, lost from sight, is no larger than it was.
        if not self._majors and len(found) <= 2 and place is not None:
            found = [] if all(np.max(np.subtract(one.size, place.size)) <= 2 for one in found) else found
        if found:
            where = _bounds(found)
            # Enough was typed to be told from a pointer, while the typing still goes on.
            typed_long = where.size[1] <= 1.5 * pointer.side and where.area > pointer.side**2
            if not (self._majors or rests_s >= MINOR_SETTLE_S or typed_long):
                return
            inside = [self._first_seen[one.part][self._differs[one.part] > 0] for one in found]
            seen, counts = np.unique(np.concatenate(inside), return_counts=True)
            # Fewer pixels than a pointer's may be one that came before.
            first = int(seen[np.argmax(counts.cumsum() >= pointer.side**2)] if self._majors else seen[0])
            kind: ActionKind = "scroll" if self._majors and self._scrolls * 2 >= self._majors else "click"
            # Characters come one by one.
            if not self._majors and self._times[seen[-1]] - self._times[first] > TYPING_S:
                kind = "type"
            self._emit(first, kind, where)
        elif self._begun.any():
            # A pointer may have come by before.
            since_s = np.sort(self._since_s[self._begun])
            first = min(bisect_left(self._times, since_s[len(since_s) // 10]), len(self._times) - 1)
            x, y, width, height = cv2.boundingRect(self._begun.astype(np.uint8))
            where = _Patch(x, y, x + width, y + height, width * height)
            if place is not None and where.area >= PLAYING_SHARE * self._differs.size and place.near(where, 0):
                self._emit(first, "click", where)
            else:
                self._spinning = first if self._spinning is None else min(first, self._spinning)
                self._settle()
        elif left and rests_s >= SETTLE_S:
            self._settle()

    def _emit(self, first: int, kind: ActionKind, where: _Patch) -> None:
        began, self._spinning = self._spinning, None
        if began is not None and (turned_s := self._times[first] - self._times[began]) <= SPINNER_WAIT_S:
            # Where something began to turn, and the pointer has rested since: the click that both came of.
            place, rested_s = self._pointer.at(self._times[first])
            first = began if place is not None and rested_s >= turned_s else first
        onset_s, share, scale = self._times[first], where.area / self._differs.size, self._scale
        place, rested_s = self._pointer.at(onset_s)
        left, top, right, bottom = (edge * scale for edge in where[:4])
        self._changes.append(
            ScreenChange(
                onset_s=onset_s,
                settled_s=max(onset_s, min(self._moved_s, self._times[-1])),
                kind=kind,
                share=share,
                box=Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom),
                pointer=None if place is None else Point(x_px=place.left * scale, y_px=place.top * scale),
                rested_s=rested_s,
                is_hover=kind == "click" and share <= HOVER_SHARE and self._pointer.travels(onset_s),
            )
        )
        self._settle()

    def _settle(self) -> None:
        self._settled, self._differs = self._previous.copy(), np.zeros_like(self._differs)
        self._first_seen[:] = -1
        self._scrolls = self._majors = 0
        self._begun = np.zeros_like(self._begun)
        self._pointer.home = self._pointer.place


def user_actions(changes: Sequence[ScreenChange]) -> list[ScreenChange]:
    """The changes that are the user's actions, each from its first sign to its last wave. What lights up under the
    pointer stays out, and so does the same place going out again.
    """
    joined: list[ScreenChange] = []
    hovers: list[ScreenChange] = []
    for change in changes:
        since_s = change.onset_s - HOVER_END_S
        lit = any(one.onset_s > since_s and overlap(one.box, change.box) > 0.5 for one in hovers)
        if change.is_hover or (change.share <= HOVER_SHARE and lit):
            hovers.append(change)
        elif joined and _same_action(joined[-1], change):
            joined[-1] = replace(joined[-1], settled_s=max(joined[-1].settled_s, change.settled_s))
        else:
            joined.append(change)
    return joined


def _same_action(earlier: ScreenChange, later: ScreenChange) -> bool:
    # Where the pointer has rested since before the first wave of a page, nobody clicked elsewhere.
    blind = earlier.pointer is None or later.pointer is None
    rests = later.kind != "click" or blind or later.rested_s >= later.onset_s - earlier.onset_s
    same = (earlier.kind == later.kind and rests) or (earlier.kind == "type" and later.share < LETTER_SHARE)
    return same and later.onset_s - earlier.settled_s < PAUSE_S[earlier.kind]

"""Changes of a recorded screen, from one settled screen to the next, in one pass over small grey pictures.

Every picture is held against the last settled screen. For each pixel that differs, the first picture is known that
showed it, unless it went back in between, as under a pointer that passes. Once the screen has stood still long enough,
what differs is a change, and its first picture is its onset. A pointer, a caret that blinks and parts that always move
are neither a change nor do they keep a screen from being settled. (Finders of cuts in films compare whole pictures: a
menu is too small for them, and a film on a page too large. PySceneDetect's best finds two thirds of what this does.)

A mask is uint8, height x width, 255 where something holds and 0 elsewhere.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from grounding.records import Box, Point, Record

from ..core.records import overlap
from .video import Recording

Grey: TypeAlias = NDArray[np.uint8]
ChangeKind = Literal["change", "typing", "scroll", "playing"]
"""``change``: the screen became another one, or a part of it. ``typing``: characters were added one by one.
``scroll``: the same content moved up or down. ``playing``: a part began to move and went on, such as a video."""

DIFFERENT = 14
"""Grey levels (of 256) by which a pixel of the small picture must differ; lossy video stays below."""
MOST_PATCHES = 60
"""More are not told apart: whoever asks has seen that it is neither a pointer nor a caret."""
TILE_PX = 8
"""Side of a tile of the small picture; on a recording of 1920 pixels that is 32 of them."""
SLOT_S, MEMORY_S = 0.1, 2.0
BUSY_SLOTS, CALM_SLOTS, QUIET_SLOTS = 8.0, 2.0, 0.7
"""A tile is busy from about eight of the last twenty tenths of a second on in which it changed, the latest counting
most, until it falls below two; quiet, it begins anew. A page that takes a second to appear stays below; a picture that
changes five times a second gets there in three."""
POINTER_SHARE = 0.045
"""Largest side of a pointer as a share of the screen's height: 48 pixels of 1080."""
LOST_S = 0.3
"""Within this time something that moves on from place to place may be the pointer, which was lost from sight."""
TRAIL = 90
"""How many of the pointer's latest places are known: three seconds of moving."""
HOVER_S, HOVER_SHARE, HOVER_END_S = 0.2, 0.015, 20.0
"""Largest share of the screen that lights up under a pointer on its way, such as a menu of 200 x 150 pixels of Full
HD; where it does so again in this time, it goes out."""
SCROLL_SHARE, SCROLL_LEFT = 0.15, 0.6
"""Least share of the screen, as a rectangle, that can scroll (in a small one a list's rows are too much alike), and how
much of the difference may be left once the move is undone."""
SETTLE_S, MINOR_SETTLE_S = 0.35, 0.6
"""How long a screen must stand still to be settled: shorter than a person needs between two actions. After changes as
small as a character: a caret has blinked by then."""
PLAYING_SHARE = 0.02
"""A smaller part that begins to move is a spinner or a caret of a kind; the page that it announces is the change."""
SPINNER_WAIT_S = 15.0
"""How long something small, such as a spinner, may turn before the page comes that the user clicked for."""
TYPING_S = 0.3
WAVE_S, BLIND_WAVE_S = 1.2, 0.8
"""A page comes in waves: what follows within this time, the pointer still in its place, is the same action's doing. The
second is for a pointer that was not seen."""
TYPING_PAUSE_S, SCROLL_PAUSE_S = 2.5, 1.5
LETTER_SHARE = 0.001


class ScreenChange(Record, frozen=True, kw_only=True):
    """One change of the screen, from a settled screen to the next settled one.

    ``before_s`` is the time stamp of the last frame that does not show it, ``onset_s`` of the first frame that does,
    ``settled_s`` of the last frame that still changed. ``box`` holds all that changed, ``share`` is the share of the
    screen's pixels that did. ``pointer`` is where the pointer's upper left corner was when it began, where it had been
    seen; ``rested_s`` for how long it had not moved by then. ``is_hover``: small, and under way while the pointer
    moved, so that it is no action of the user.
    """

    before_s: float
    onset_s: float
    settled_s: float
    kind: ChangeKind
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
    """A patch in pixels of the small picture: it covers ``left`` to ``left + width``, and ``area`` pixels of that."""

    left: int
    top: int
    width: int
    height: int
    area: int = 1

    def near(self, other: _Patch, margin: int) -> bool:
        """Whether the two rectangles come closer to each other than ``margin``, on both axes."""
        across = max(self.left, other.left) - min(self.left + self.width, other.left + other.width)
        down = max(self.top, other.top) - min(self.top + self.height, other.top + other.height)
        return across < margin and down < margin

    @property
    def part(self) -> tuple[slice, slice]:
        """Where it is in a picture."""
        return np.s_[self.top : self.top + self.height, self.left : self.left + self.width]


def _different(one: Grey, other: Grey) -> Grey:
    return np.asarray(cv2.threshold(cv2.absdiff(one, other), DIFFERENT, 255, cv2.THRESH_BINARY)[1], np.uint8)


def _patches(mask: Grey, join_px: int) -> list[_Patch]:
    """The patches of a mask, the largest first; two no further apart than ``join_px`` to either side are one."""
    # With room to grow on all sides a patch begins, once it is larger, where it began before in the picture.
    mask = np.pad(mask, join_px)
    grown = cv2.dilate(mask, np.ones((2 * join_px + 1, 2 * join_px + 1)))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(grown, connectivity=8)
    areas = np.bincount(labels[mask > 0], minlength=count)
    order = sorted(range(1, count), key=lambda label: -int(stats[label, cv2.CC_STAT_AREA]))[:MOST_PATCHES]
    grow = 2 * join_px
    rows = ((*map(int, stats[label, :4]), int(areas[label])) for label in order)
    return [_Patch(left, top, width - grow, height - grow, area) for left, top, width, height, area in rows]


def _bounds(patches: Iterable[_Patch]) -> _Patch:
    """The smallest rectangle around some patches, at least one; its area is the sum of theirs."""
    patches = tuple(patches)
    left, top = min(one.left for one in patches), min(one.top for one in patches)
    right, bottom = max(one.left + one.width for one in patches), max(one.top + one.height for one in patches)
    return _Patch(left, top, right - left, bottom - top, sum(one.area for one in patches))


class _BusyTiles:
    """Which tiles of the picture always move, by a count of their recent changes.

    Attributes:
        mask: Busy tiles and their neighbours, as large as the picture: a moving edge is in both.
    """

    def __init__(self, width: int, height: int) -> None:
        shape = math.ceil(height / TILE_PX), math.ceil(width / TILE_PX)
        self.mask = np.zeros((height, width), bool)
        self._recent, self._since_s = np.zeros(shape, np.float32), np.zeros(shape)
        self._in_slot, self._busy = np.zeros(shape, bool), np.zeros(shape, bool)
        self._slot = 0

    def add(self, time_s: float, changed: Grey | None) -> list[float]:
        """Count a frame's changes, if any; when each of the tiles that became busy now had begun to change."""
        slot = int(time_s / SLOT_S)
        if slot != self._slot:
            self._recent *= math.exp(-(slot - self._slot) * SLOT_S / MEMORY_S)
            self._in_slot[:] = False
            self._slot = slot
        if changed is not None:
            # Each tile's largest value: shrinking by averages would lose single pixels.
            grid = cv2.dilate(changed, np.ones((TILE_PX, TILE_PX)), anchor=(0, 0))[::TILE_PX, ::TILE_PX]
            fresh = (grid > 0) & ~self._in_slot
            self._since_s[fresh & (self._recent < QUIET_SLOTS)] = time_s
            self._recent[fresh] += 1
            self._in_slot |= fresh
        begun = (self._recent > BUSY_SLOTS) & ~self._busy
        over = (self._recent < CALM_SLOTS) & self._busy
        if begun.any() or over.any():
            self._busy = (self._busy | begun) & ~over
            tiles = cv2.dilate(self._busy.astype(np.uint8), np.ones((3, 3))) > 0
            height, width = self.mask.shape
            self.mask = tiles.repeat(TILE_PX, axis=0).repeat(TILE_PX, axis=1)[:height, :width]
        return [float(one) for one in self._since_s[begun]]


class _PointerTrail:
    """The pointer's latest places with the times when it got there, and where it was on the settled screen.

    Attributes:
        side: Largest side of a pointer, in pixels of the small picture.
        place: Where it is; None while it was not seen.
        home: Where it was when the screen was last settled: it leaves a hole there.
    """

    def __init__(self, height: int) -> None:
        self.side = max(6, round(height * POINTER_SHARE))
        self.place: _Patch | None = None
        self.home: _Patch | None = None
        self._trail: list[tuple[float, _Patch]] = []
        self._track: list[tuple[float, _Patch]] = []

    def at(self, time_s: float) -> tuple[_Patch | None, float]:
        """Where it was at a time, and for how long by then."""
        return next(((place, time_s - at_s) for at_s, place in reversed(self._trail) if at_s < time_s), (None, 0.0))

    def travels(self, time_s: float) -> bool:
        """Whether it was on its way: a hand that clicks may shake, by less than the pointer's size."""
        places = [place for at_s, place in self._trail if abs(at_s - time_s) <= HOVER_S]
        if len(places) < 2:
            return False
        whole = _bounds(places)
        return max(whole.width - places[0].width, whole.height - places[0].height) > self.side / 2

    def fits(self, patch: _Patch, times: float = 1) -> bool:
        """Whether a patch is no larger than so many pointers."""
        return max(patch.width, patch.height) <= times * self.side

    def follow(self, time_s: float, patches: list[_Patch], covered: Grey) -> bool:
        """Look at a frame in which little changed, in ``patches``; whether the pointer moved in it.

        ``covered`` is what changed and now differs from the settled screen: the pointer hides something where it is,
        and where it was the settled screen is back. Patches that do not come in that pair are a caret or a character.
        """
        hidden = [one for one in _patches(covered, join_px=1) if one.area >= 2]
        if not hidden or not self.fits(now := _bounds(hidden)):
            return False
        if self.place is None or not _left(self.place, patches, now):
            # It is not where it was thought to be: what travels far enough, step by step, is it.
            if not (self._track and time_s - self._track[-1][0] < LOST_S and _left(self._track[-1][1], patches, now)):
                self._track = []
            self._track.append((time_s, now))
            first = self._track[0][1]
            # A spinner turns in its place, and a caret goes on by a character.
            if max(abs(now.left - first.left), abs(now.top - first.top)) <= 2 * self.side:
                return False
        else:
            self._track = [(time_s, now)]
        self._trail = [*self._trail, *self._track][-TRAIL:]
        self._track = self._track[-1:]
        self.place = now
        return True

    def unexplained(self, patches: list[_Patch]) -> list[_Patch]:
        """Of what differs from the settled screen that which is neither the pointer nor the hole that it left."""
        if self.home is None and self.place is not None:
            # Where it was before it was first seen.
            holes = [one for one in patches if self.fits(one) and not one.near(self.place, 2)]
            self.home = holes[0] if len(holes) == 1 else None
        places = [place for place in (self.place, self.home) if place is not None]
        return [one for one in patches if not (self.fits(one) and any(one.near(place, 2) for place in places))]

    def is_as_small(self, patch: _Patch) -> bool:
        """Whether a patch may be the pointer, lost from sight: no larger than it was when it was seen."""
        place = self.place
        return place is not None and patch.width <= place.width + 2 and patch.height <= place.height + 2


def _left(place: _Patch, patches: list[_Patch], now: _Patch) -> bool:
    """Whether something went away from the middle of a place, and is elsewhere now: a typed character stays."""
    middle = _Patch(place.left + place.width // 2, place.top + place.height // 2, 1, 1)
    return (place.left, place.top) != (now.left, now.top) and any(one.near(middle, 0) for one in patches)


def _is_scrolled(before: Grey, after: Grey, where: _Patch) -> bool:
    """Whether the content of a rectangle moved up or down, and did nothing else."""
    if min(where.height, where.width) < 24 or where.width * where.height < SCROLL_SHARE * after.size:
        return False
    old, new = before[where.part].astype(np.float32), after[where.part].astype(np.float32)
    (across, down), _ = cv2.phaseCorrelate(old, new)
    moved = round(down)
    if moved == 0 or abs(across) > 1 or abs(moved) >= where.height:
        return False
    first, second = (old, new) if moved > 0 else (new, old)
    along = float(cv2.absdiff(second[abs(moved) :], first[: -abs(moved)]).mean())
    return along < SCROLL_LEFT * float(cv2.absdiff(new, old).mean())


class ChangeFinder:
    """Takes the pictures of a recording in order and finds the changes of its screen.

    ``small_size`` is width and height of the pictures, ``scale`` how many recorded pixels are one of theirs.
    """

    def __init__(self, small_size: tuple[int, int], scale: float) -> None:
        width, height = small_size
        self._scale = scale
        self._tiles, self._pointer = _BusyTiles(width, height), _PointerTrail(height)
        self._times: list[float] = []
        self._previous: Grey = np.zeros((height, width), np.uint8)
        self._settled = self._differs = self._previous
        self._first_seen = np.full((height, width), -1, np.int32)
        self._major_s = self._moved_s = float("-inf")
        self._scrolls = self._majors = 0
        self._spinning: int | None = None
        self._playing_since_s: list[float] = []
        self._playing: list[_Patch] = []
        self._changes: list[ScreenChange] = []

    def feed(self, time_s: float, luma: Grey) -> None:
        """Look at the next picture."""
        if not self._times:
            self._times, self._previous, self._settled = [time_s], luma, luma.copy()
            return
        # Between two time stamps nothing changed: the screen may have settled in that time.
        self._look(time_s)
        self._times.append(time_s)
        changed = _different(luma, self._previous)
        before, self._previous = self._previous, luma
        if cv2.countNonZero(changed):
            self._differs = _different(luma, self._settled)
            self._count_busy(time_s, self._judge(time_s, before, changed))
            differs = self._differs > 0
            self._first_seen[differs & (self._first_seen < 0)] = len(self._times) - 1
            self._first_seen[~differs] = -1
        else:
            self._count_busy(time_s, None)

    def finish(self) -> list[ScreenChange]:
        """The recording is over: all its changes, in order of time."""
        if self._times:
            self._look(self._times[-1] + 10 * SETTLE_S)
        return self._changes

    def _judge(self, time_s: float, before: Grey, changed: Grey) -> Grey | None:
        """What kind of frame this is: nothing but what always moves, a pointer or a character, or more.

        Returns what counts as moving: not the pointer, nor a page that scrolls.
        """
        calm = np.where(self._tiles.mask, 0, changed).astype(np.uint8)
        patches = _patches(calm, join_px=1) if cv2.countNonZero(calm) else []
        if not patches:
            return changed
        self._moved_s = time_s
        # A pointer that moves by less than its size leaves one patch, at most twice as large on either side.
        if len(patches) <= 4 and all(self._pointer.fits(one, 2) for one in patches):
            return None if self._pointer.follow(time_s, patches, calm & self._differs) else changed
        self._major_s = time_s
        self._majors += 1
        if not _is_scrolled(before, self._previous, _bounds(patches)):
            return changed
        self._scrolls += 1
        return None

    def _count_busy(self, time_s: float, changed: Grey | None) -> None:
        since_s, busy = self._tiles.add(time_s, changed), self._tiles.mask
        if since_s:
            self._playing_since_s += since_s
            self._playing.append(_Patch(*cv2.boundingRect(busy.astype(np.uint8))))
        if busy.any():
            # What always moves is taken as it is, so that its end is no change.
            self._settled[busy] = self._previous[busy]
            self._first_seen[busy] = -1
            self._differs[busy] = 0

    def _look(self, now_s: float) -> None:
        """Judge what differs from the settled screen, if it has stood still for long enough at ``now_s``."""
        if now_s - self._major_s < SETTLE_S:
            return
        if not cv2.countNonZero(self._differs) and not self._playing:
            self._scrolls = self._majors = 0
            return
        # A pixel is noise, and a narrow line a caret.
        side = self._pointer.side
        left = [
            one for one in _patches(self._differs, join_px=2) if one.area >= 2 and (one.width > 2 or one.height > side)
        ]
        found = self._pointer.unexplained(left)
        if not self._majors and len(found) <= 2 and all(self._pointer.is_as_small(one) for one in found):
            found = []
        if found:
            where = _bounds(found)
            # Enough was typed to be told from a pointer, while the typing still goes on.
            typed_long = where.height <= 1.5 * side and where.area > side**2
            if self._majors or now_s - self._moved_s >= MINOR_SETTLE_S or typed_long:
                self._take(found, where)
        elif self._playing:
            self._take_playing(_bounds(self._playing))
        elif left and now_s - self._moved_s >= SETTLE_S:
            self._rebase()

    def _take(self, patches: list[_Patch], where: _Patch) -> None:
        inside = np.zeros_like(self._differs)
        for one in patches:
            inside[one.part] = self._differs[one.part]
        side, (seen, counts) = self._pointer.side, np.unique(self._first_seen[inside > 0], return_counts=True)
        # Fewer pixels than a pointer's may be one that came before.
        first = int(seen[np.argmax(counts.cumsum() >= side**2)] if self._majors else seen[0])
        kind: ChangeKind = "change"
        if self._majors:
            kind = "scroll" if self._scrolls * 2 >= self._majors else "change"
        # Characters come one by one.
        elif where.height <= 1.5 * side and self._times[seen[-1]] - self._times[first] > TYPING_S:
            kind = "typing"
        self._emit(first, kind, where)

    def _take_playing(self, where: _Patch) -> None:
        # A pointer may have come by before.
        began_s = sorted(self._playing_since_s)[len(self._playing_since_s) // 10]
        first = min(bisect_left(self._times, began_s), len(self._times) - 1)
        place, where = self._pointer.place, where._replace(area=where.width * where.height)
        if place is not None and where.area >= PLAYING_SHARE * self._differs.size and place.near(where, 0):
            self._emit(first, "playing", where)
        else:
            self._spinning = first if self._spinning is None else min(first, self._spinning)
            self._rebase()

    def _emit(self, first: int, kind: ChangeKind, where: _Patch) -> None:
        began, self._spinning = self._spinning, None
        if began is not None and (turned_s := self._times[first] - self._times[began]) <= SPINNER_WAIT_S:
            # Where something began to turn, and the pointer has rested since: the click that both came of.
            place, rested_s = self._pointer.at(self._times[first])
            first = began if place is not None and rested_s >= turned_s else first
        onset_s, share, scale = self._times[first], where.area / self._differs.size, self._scale
        place, rested_s = self._pointer.at(onset_s)
        self._changes.append(
            ScreenChange(
                before_s=self._times[max(0, first - 1)],
                onset_s=onset_s,
                settled_s=max(onset_s, min(self._moved_s, self._times[-1])),
                kind=kind,
                share=share,
                box=Box(
                    left_px=where.left * scale,
                    top_px=where.top * scale,
                    right_px=(where.left + where.width) * scale,
                    bottom_px=(where.top + where.height) * scale,
                ),
                pointer=None if place is None else Point(x_px=place.left * scale, y_px=place.top * scale),
                rested_s=rested_s,
                is_hover=kind == "change" and share <= HOVER_SHARE and self._pointer.travels(onset_s),
            )
        )
        self._rebase()

    def _rebase(self) -> None:
        """The screen is settled as it is, the pointer a part of it, which leaves a hole there when it goes."""
        self._settled, self._differs = self._previous.copy(), np.zeros_like(self._differs)
        self._first_seen[:] = -1
        self._scrolls = self._majors = 0
        self._playing, self._playing_since_s = [], []
        self._pointer.home = self._pointer.place


# --- what the user did ------------------------------------------------------------------------------------------------


def user_actions(changes: Sequence[ScreenChange]) -> list[ScreenChange]:
    """The changes that are, as far as can be seen, the user's actions, each from its first sign to its last wave.

    What lights up under the pointer stays out, and so does the same place going out again.
    """
    joined: list[ScreenChange] = []
    hovers: list[ScreenChange] = []
    for change in changes:
        recent = [one for one in hovers if change.onset_s - one.onset_s < HOVER_END_S]
        lit = any(overlap(one.box, change.box) > 0.5 for one in recent)
        if change.is_hover or (change.share <= HOVER_SHARE and lit):
            hovers = [*hovers[-5:], change]
        elif joined and _same_action(joined[-1], change):
            settled_s = max(joined[-1].settled_s, change.settled_s)
            joined[-1] = replace(joined[-1], settled_s=settled_s, share=min(1.0, joined[-1].share + change.share))
        else:
            joined.append(change)
    return joined


def _same_action(earlier: ScreenChange, later: ScreenChange) -> bool:
    gap_s, kinds = later.onset_s - earlier.settled_s, {earlier.kind, later.kind}
    middle = (later.box.top_px + later.box.bottom_px) / 2
    letter = later.share < LETTER_SHARE and earlier.box.top_px <= middle <= earlier.box.bottom_px
    if kinds == {"typing"} or (earlier.kind == "typing" and letter):
        return gap_s < TYPING_PAUSE_S
    if kinds == {"scroll"}:
        return gap_s < SCROLL_PAUSE_S
    if kinds & {"typing", "scroll"}:
        return False
    if earlier.pointer is None or later.pointer is None:
        return gap_s < BLIND_WAVE_S
    # The pointer has rested since before the first wave: nobody clicked elsewhere.
    return gap_s < WAVE_S and later.rested_s >= later.onset_s - earlier.onset_s

"""Changes of a recorded screen, from one settled screen to the next, in one pass over small grey pictures.

Every picture is held against the last settled screen. For each pixel that differs, the first picture is known that
showed it, unless it went back in between, as under a pointer that passes. Once the screen has stood still long enough,
what differs is a change, and its first picture is its onset. A pointer, a caret that blinks and parts that always move
are neither a change nor do they keep a screen from being settled.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

import msgspec

from annotate.recording.blobs import Blob, blobs, bounds
from annotate.recording.busy import BusyTiles
from annotate.recording.masks import both, different
from annotate.recording.pointer import PointerTrail
from annotate.recording.records import ChangeKind, ScreenChange
from annotate.recording.scrolling import scrolled_by
from grounding.records import Box, Point

if TYPE_CHECKING:
    from annotate.recording.masks import Grey
    from annotate.recording.video import SmallFrame

REFINED = 40
"""Most grey levels by which lossy video still corrects itself, on the average of the pixels that differ."""
SAME_CONTENT = 0.9
"""Least correlation of a patch with itself before it was corrected."""
SETTLE_S = 0.35
"""How long a screen must stand still to be settled: shorter than a person needs between two actions."""
MINOR_SETTLE_S = 0.6
"""The same for changes as small as a character: a caret has blinked by then."""
HOVER_SHARE = 0.015
"""Largest share of the screen that lights up under a passing pointer; a menu of 200 x 150 pixels of Full HD."""
HOVER_S = 0.2
PLAYING_SHARE = 0.02
"""A smaller part that begins to move is a spinner or a caret of a kind; the page that it announces is the change."""
TYPING_S = 0.3
SPINNER_WAIT_S = 15.0
"""How long something small, such as a spinner, may turn before the page comes that the user clicked for."""
SCROLL_SHARE = 0.15
"""Least share of the screen, as a rectangle, that can scroll: in a small one a list's rows are too much alike."""
FEW = 6
CARET_SHAPE = 3
SIGNS = 12
"""How many pictures are searched for the first that shows more than a caret."""


class ChangeFinder:
    """Takes the pictures of a recording in order and finds the changes of its screen.

    Args:
        small_size: Width and height of the pictures that will come, in pixels.
        scale: Recorded pixels per pixel of them.
    """

    def __init__(self, small_size: tuple[int, int], scale: float) -> None:
        import numpy as np

        self._width, self._height = small_size
        self._scale = scale
        self._busy = BusyTiles(*small_size)
        self._pointer = PointerTrail(self._height)
        self._times = array("d")
        self._previous: Grey | None = None
        self._settled: Grey | None = None
        self._first_seen = np.full((self._height, self._width), -1, np.int32)
        self._differs: Grey = np.zeros((self._height, self._width), np.uint8)
        self._calm_mask: Grey | None = None
        self._major_s = float("-inf")
        self._moved_s = float("-inf")
        self._scrolls = self._majors = self._first_major = 0
        self._settled_s = 0.0
        self._spinning: int | None = None
        self._began_playing: tuple[list[float], Blob] | None = None
        self.changes: list[ScreenChange] = []

    def feed(self, frame: SmallFrame) -> None:
        """Look at the next picture."""
        import cv2

        if self._previous is None or self._settled is None:
            self._times.append(frame.time_s)
            self._previous, self._settled = frame.luma, frame.luma.copy()
            return
        # Between two time stamps nothing changed: the screen may have settled in that time.
        self._look(frame.time_s)
        self._times.append(frame.time_s)
        changed = different(frame.luma, self._previous)
        before, self._previous = self._previous, frame.luma
        if not cv2.countNonZero(changed):
            self._count_busy(frame.time_s, None)
            return
        self._differs = different(frame.luma, self._settled)
        self._judge(frame.time_s, before, frame.luma, changed)
        self._note_first_seen(len(self._times) - 1)

    def finish(self) -> list[ScreenChange]:
        """The recording is over: all its changes, in order of time."""
        if self._times:
            self._look(self._times[-1] + 10 * SETTLE_S)
        return self.changes

    def _judge(self, time_s: float, before: Grey, luma: Grey, changed: Grey) -> None:
        import cv2

        calm = changed if self._calm_mask is None else both(changed, self._calm_mask)
        patches = blobs(calm, join_px=1) if cv2.countNonZero(calm) else []
        if not patches:
            self._count_busy(time_s, changed)
            return
        if self._pointer.is_minor(patches):
            self._moved_s = time_s
            earlier = self._pointer.moved_s
            self._pointer.follow(time_s, patches, calm, self._differs)
            self._count_busy(time_s, changed if self._pointer.moved_s == earlier else None)
            return
        self._major_s = self._moved_s = time_s
        if not self._majors:
            self._first_major = len(self._times) - 1
        self._majors += 1
        if len(patches) <= FEW:
            self._follow_beside(time_s, patches, calm)
        where = bounds(patches)
        scrolled = None
        if where.width * where.height >= SCROLL_SHARE * luma.size:
            scrolled = scrolled_by(before, luma, where)
        self._scrolls += scrolled is not None
        self._count_busy(time_s, None if scrolled is not None else changed)

    def _follow_beside(self, time_s: float, patches: list[Blob], changed: Grey) -> None:
        """The pointer may be on its way while something else, such as the button under it, lights up."""
        import numpy as np

        small = [one for one in patches if self._pointer.looks_like_one(one)]
        if not small:
            return
        only = np.zeros_like(changed)
        for one in small:
            only[one.top : one.top + one.height, one.left : one.left + one.width] = 255
        self._pointer.follow(time_s, small, both(changed, only), self._differs, known_only=True)

    def _count_busy(self, time_s: float, changed: Grey | None) -> None:
        import numpy as np

        begun, over = self._busy.add(time_s, changed)
        if begun or over:
            mask = self._busy.mask()
            if begun:
                self._remember_playing(mask)
            self._calm_mask = np.where(mask > 0, 0, 255).astype(np.uint8) if self._busy.any() else None
        if self._calm_mask is not None and self._settled is not None and self._previous is not None:
            # What always moves is taken as it is, so that its end is no change.
            moving = self._calm_mask == 0
            self._settled[moving] = self._previous[moving]
            self._first_seen[moving] = -1
            self._differs[moving] = 0

    def _remember_playing(self, mask: Grey) -> None:
        import numpy as np

        rows, columns = np.nonzero(mask)
        place = Blob(
            left=int(columns.min()),
            top=int(rows.min()),
            width=int(np.ptp(columns)) + 1,
            height=int(np.ptp(rows)) + 1,
            area=int((mask > 0).sum()),
        )
        since_s = self._busy.begun_s()
        if self._began_playing is not None:
            since_s, place = [*self._began_playing[0], *since_s], bounds([place, self._began_playing[1]])
        self._began_playing = (since_s, place)

    def _playing_since(self) -> int | None:
        """The picture in which something began to move; a pointer may have come by before."""
        if self._began_playing is None:
            return None
        since_s = sorted(self._began_playing[0])
        return min(bisect_left(self._times, since_s[len(since_s) // 10]), len(self._times) - 1)

    def _note_first_seen(self, index: int) -> None:
        differs = self._differs > 0
        self._first_seen[differs & (self._first_seen < 0)] = index
        self._first_seen[~differs] = -1

    def _look(self, now_s: float) -> None:
        """Judge what differs from the settled screen, if it has stood still for long enough at ``now_s``."""
        import cv2

        if now_s - self._major_s < SETTLE_S:
            return
        if not cv2.countNonZero(self._differs) and self._began_playing is None:
            self._scrolls = self._majors = 0
            return
        left = [one for one in blobs(self._differs, join_px=2) if not self._is_noise(one)]
        self._pointer.find_hole(left)
        unexplained = [one for one in left if not self._pointer.explains(one)]
        if not self._majors and all(self._pointer.is_as_small(one) for one in unexplained) and len(unexplained) <= 2:
            unexplained = []
        if not unexplained:
            if self._began_playing is not None:
                self._take_playing()
            elif left and now_s - self._moved_s >= SETTLE_S:
                self._rebase()
            return
        if self._majors == 0 and now_s - self._moved_s < MINOR_SETTLE_S and not self._typed_long(unexplained):
            return
        self._take(unexplained)

    def _is_noise(self, patch: Blob) -> bool:
        return patch.area < 2 or self._is_caret(patch) or self._is_same_content(patch)

    def _is_caret(self, patch: Blob) -> bool:
        return patch.width <= 2 and patch.height <= self._pointer.side

    def _is_same_content(self, patch: Blob) -> bool:
        """Whether a patch shows what it showed, only better: lossy video refines a picture that has come to rest."""
        import cv2

        assert self._previous is not None
        assert self._settled is not None
        rows, columns = slice(patch.top, patch.top + patch.height), slice(patch.left, patch.left + patch.width)
        now, then = self._previous[rows, columns], self._settled[rows, columns]
        if cv2.mean(cv2.absdiff(now, then), self._differs[rows, columns])[0] > REFINED:
            return False
        return float(cv2.matchTemplate(now, then, cv2.TM_CCOEFF_NORMED)[0, 0]) > SAME_CONTENT

    def _typed_long(self, patches: list[Blob]) -> bool:
        """Whether enough was typed to be told from a pointer, while the typing still goes on."""
        where = bounds(patches)
        return self._is_text_line(where) and where.area > self._pointer.side**2

    def _take(self, patches: list[Blob]) -> None:
        import numpy as np

        where = bounds(patches)
        region = np.zeros_like(self._differs)
        for one in patches:
            region[one.top : one.top + one.height, one.left : one.left + one.width] = 255
        first = self._onset(both(region, self._differs))
        playing = self._playing_since()
        if playing is not None and self._times[first] - self._times[playing] < 1.5:
            first = min(first, playing)
        kind: ChangeKind = "change"
        if self._majors == 0:
            kind = "typing" if self._is_text_line(where) and self._spread_s(region) > TYPING_S else "change"
        elif self._scrolls * 2 >= self._majors:
            kind = "scroll"
        self._emit(first, kind, where)
        self._rebase()

    def _onset(self, differs: Grey) -> int:
        """The first picture that shows a change; where the pointer rested meanwhile it hides when it came."""
        import numpy as np

        seen = np.where(differs > 0, self._first_seen, -1)
        bare = seen.copy()
        places = [place for time_s, place in self._pointer.trail if time_s >= self._settled_s]
        for place in (*places, self._pointer.home, self._pointer.place):
            if place is not None:
                top, left = max(0, place.top - 2), max(0, place.left - 2)
                bare[top : place.top + place.height + 2, left : place.left + place.width + 2] = -1
        if self._majors and np.count_nonzero((bare >= 0) & (bare < self._first_major)) < self._pointer.side**2:
            # A pointer that nobody followed came before.
            bare[bare < self._first_major] = -1
        for pixels in (bare, seen):
            indices = [int(index) for index in np.unique(pixels[pixels >= 0])]
            for index in indices[:SIGNS]:
                came = np.where(pixels == index, 255, 0).astype(np.uint8)
                if any(not (self._is_caret(one) and one.height >= CARET_SHAPE * one.width) for one in blobs(came)):
                    return index
            if indices:
                return indices[0]
        return len(self._times) - 1

    def _spread_s(self, region: Grey) -> float:
        """How long it took until the last of what differs had come: characters come one by one."""
        seen = self._first_seen[(region > 0) & (self._first_seen >= 0)]
        return self._times[int(seen.max())] - self._times[int(seen.min())] if len(seen) else 0.0

    def _is_text_line(self, where: Blob) -> bool:
        return where.height <= 1.5 * self._pointer.side

    def _take_playing(self) -> None:
        first = self._playing_since()
        assert first is not None
        assert self._began_playing is not None
        around = self._began_playing[1]
        where = msgspec.structs.replace(around, area=around.width * around.height)
        place = self._pointer.place
        if place is not None and where.area >= PLAYING_SHARE * self._width * self._height and place.near(where, 0):
            self._emit(first, "playing", where)
        else:
            self._spinning = first if self._spinning is None else min(first, self._spinning)
        self._rebase()

    def _emit(self, first: int, kind: ChangeKind, where: Blob) -> None:
        first = self._since_spinner(first)
        onset_s, before_s = self._times[first], self._times[max(0, first - 1)]
        share = where.area / (self._width * self._height)
        place, rested_s = self._pointer_at(onset_s)
        hover = kind == "change" and share <= HOVER_SHARE and self._moved_far(onset_s)
        self.changes.append(
            ScreenChange(
                before_s=before_s,
                onset_s=onset_s,
                settled_s=max(onset_s, min(self._moved_s, self._times[-1])),
                kind=kind,
                share=share,
                box=self._recorded_box(where),
                pointer=None if place is None else Point(x_px=place.left * self._scale, y_px=place.top * self._scale),
                rested_s=rested_s,
                doubt="hover" if hover else "",
            )
        )

    def _since_spinner(self, first: int) -> int:
        """Where something began to turn, and the pointer has rested since: the click that both came of."""
        began, self._spinning = self._spinning, None
        if began is None or self._times[first] - self._times[began] > SPINNER_WAIT_S:
            return first
        place, rested_s = self._pointer_at(self._times[first])
        return began if place is not None and rested_s >= self._times[first] - self._times[began] else first

    def _moved_far(self, time_s: float) -> bool:
        """Whether the pointer was on its way: a hand that clicks may shake, by less than its size."""
        places = [place for moved_s, place in self._pointer.trail if abs(moved_s - time_s) <= HOVER_S]
        if len(places) < 2:
            return False
        whole = bounds(places)
        return max(whole.width - places[0].width, whole.height - places[0].height) > self._pointer.side / 2

    def _pointer_at(self, time_s: float) -> tuple[Blob | None, float]:
        for moved_s, place in reversed(self._pointer.trail):
            if moved_s < time_s:
                return place, time_s - moved_s
        return (None, 0.0)

    def _recorded_box(self, where: Blob) -> Box:
        return Box(
            left_px=where.left * self._scale,
            top_px=where.top * self._scale,
            right_px=(where.left + where.width) * self._scale,
            bottom_px=(where.top + where.height) * self._scale,
        )

    def _rebase(self) -> None:
        assert self._previous is not None
        self._settled = self._previous.copy()
        self._settled_s = self._times[-1]
        self._first_seen[:] = -1
        self._differs[:] = 0
        self._scrolls = self._majors = 0
        self._began_playing = None
        self._pointer.settle()

"""Where the mouse pointer is, from the two small patches that change when it moves: where it was and where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.recording.blobs import Blob, blobs, bounds
from annotate.recording.masks import both

if TYPE_CHECKING:
    from annotate.recording.masks import Grey

POINTER_SHARE = 0.045
"""Largest side of a pointer as a share of the screen's height: 48 pixels of 1080."""

LOST_S = 0.3
"""Within this time something that moves on from place to place may be the pointer, which was lost from sight."""
ALIKE = 2.5
"""By how much its size may seem to change: it becomes a hand, or stands before a ground of its own colour."""
TRAIL = 90
"""How many of its latest places are known: three seconds of moving."""


class PointerTrail:
    """The pointer's last place on the small picture, since when it has been there, and how it came there.

    Attributes:
        place: Where it is; None while it was not seen.
        moved_s: When it got there.
        home: Where it was when the screen was last settled: it leaves a hole there.
        trail: Its latest places with their times.
    """

    def __init__(self, height: int) -> None:
        self.side = max(6, round(height * POINTER_SHARE))
        self.place: Blob | None = None
        self.moved_s = float("-inf")
        self.home: Blob | None = None
        self.trail: list[tuple[float, Blob]] = []
        self._track: list[tuple[float, Blob]] = []

    def looks_like_one(self, patch: Blob) -> bool:
        """Whether a patch is no larger than a pointer."""
        return patch.width <= self.side and patch.height <= self.side

    def is_minor(self, patches: list[Blob]) -> bool:
        """Whether a frame's patches are no more than a moved pointer, a caret, a character: few and small."""
        # A pointer that moves by less than its size leaves one patch, at most twice as large on either side.
        return len(patches) <= 4 and all(
            patch.width <= 2 * self.side and patch.height <= 2 * self.side for patch in patches
        )

    def follow(
        self,
        time_s: float,
        patches: list[Blob],
        changed: Grey,
        differs: Grey,
        *,
        known_only: bool = False,
    ) -> None:
        """Look at a minor frame: ``changed`` against the frame before, ``differs`` against the last settled screen.

        The pointer hides something where it is now, so that the picture differs there; where it was, the settled screen
        is back. Patches that do not come in that pair are a caret or a character. With ``known_only`` it is not
        looked for where it is not known to be.
        """
        covered = both(changed, differs)
        if self.home is not None:
            # The hole that it leaves differs from the settled screen, too.
            home = self.home
            covered[home.top : home.top + home.height, home.left : home.left + home.width] = 0
        hidden = [one for one in blobs(covered, join_px=1) if one.area >= 2]
        if not hidden:
            return
        now = bounds(hidden)
        if not self.looks_like_one(now):
            now = hidden[0]
        if not self.looks_like_one(now):
            return
        if self.place is not None and self._left(self.place, patches, now) and now.area <= ALIKE * self.place.area:
            if 2 * now.area < self.place.area:
                # A small move shows only a rim of it: the pointer keeps its size, in the middle of what changed.
                now = self._same_size(bounds(patches))
            self._track = [(time_s, now)]
            self._arrive(self._track)
        elif not known_only:
            self._search(time_s, patches, now)

    def _search(self, time_s: float, patches: list[Blob], now: Blob) -> None:
        """The pointer is not where it was thought to be: what travels far enough, step by step, is it."""
        if not (self._track and time_s - self._track[-1][0] < LOST_S and self._left(self._track[-1][1], patches, now)):
            self._track = []
        self._track.append((time_s, now))
        first = self._track[0][1]
        # A spinner turns in its place, and a caret goes on by a character.
        if max(abs(now.left - first.left), abs(now.top - first.top)) > 2 * self.side:
            self._arrive(self._track)
            self._track = self._track[-1:]

    def _arrive(self, track: list[tuple[float, Blob]]) -> None:
        self.trail = [*self.trail, *track][-TRAIL:]
        self.moved_s, self.place = track[-1]

    def _same_size(self, around: Blob) -> Blob:
        assert self.place is not None
        return Blob(
            left=max(0, around.left + (around.width - self.place.width) // 2),
            top=max(0, around.top + (around.height - self.place.height) // 2),
            width=self.place.width,
            height=self.place.height,
            area=self.place.area,
        )

    @staticmethod
    def _left(place: Blob | None, patches: list[Blob], now: Blob) -> bool:
        """Whether something went away from the middle of a place, and is elsewhere now: a typed character stays."""
        if place is None or (place.left, place.top) == (now.left, now.top):
            return False
        x, y = place.left + place.width // 2, place.top + place.height // 2
        return any(one.left <= x < one.left + one.width and one.top <= y < one.top + one.height for one in patches)

    def find_hole(self, patches: list[Blob]) -> None:
        """Where the pointer was before it was first seen: a patch of its size that changed when it set out."""
        if self.home is None and self.place is not None:
            holes = [one for one in patches if self.looks_like_one(one) and not one.near(self.place, 2)]
            if len(holes) == 1:
                self.home = holes[0]

    def settle(self) -> None:
        """The screen is settled as it is: the pointer is part of it, and leaves a hole there when it goes."""
        self.home = self.place

    def explains(self, patch: Blob) -> bool:
        """Whether a patch that differs from the settled screen is the pointer, or the hole that it left."""
        return self.looks_like_one(patch) and any(
            place is not None and patch.near(place, 2) for place in (self.place, self.home)
        )

    def is_as_small(self, patch: Blob) -> bool:
        """Whether a patch may be the pointer, lost from sight: no larger than it was when it was seen."""
        place = self.place
        return place is not None and patch.width <= place.width + 2 and patch.height <= place.height + 2

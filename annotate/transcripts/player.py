"""Playing a part of a sound, slower and again and again, and where it is by now. Knows no window and no sound card."""

from __future__ import annotations

import time
from collections.abc import Callable

from annotate.recording.sound import Sound
from annotate.transcripts.devices import Device
from annotate.transcripts.stretching import stretched
from grounding.errors import UserError

SPEEDS = (1.0, 0.75, 0.5)
AGAIN_AFTER_S = 0.4
"""The pause before a part is repeated."""


class Player:
    """Plays on a device, which is opened with the first sound.

    Args:
        open_device: Gives the device, or raises a UserError that says why there is none.
        clock: Seconds that go on.
    """

    def __init__(self, open_device: Callable[[], Device], clock: Callable[[], float] = time.monotonic) -> None:
        self._open = open_device
        self._clock = clock
        self._device: Device | None = None
        self._sound: Sound | None = None
        self._start_s = self._end_s = 0.0
        self._speed = 1.0
        self._again = False
        self._began_s: float | None = None
        self._ended_s: float | None = None

    def play(
        self, sound: Sound, start_s: float = 0.0, end_s: float | None = None, *, speed: float = 1.0, again: bool = False
    ) -> None:
        """Play a part of a sound in place of what plays now.

        Args:
            sound: The whole.
            start_s: From when.
            end_s: Until when; None for the end.
            speed: 0.5 for half as fast; the pitch stays.
            again: Repeat it until ``stop``.

        Raises:
            UserError: There is nothing here that plays sound, or the package for another speed is missing.
        """
        self.stop()
        self._start_s = min(max(0.0, start_s), sound.seconds)
        self._end_s = min(sound.seconds if end_s is None else max(self._start_s, end_s), sound.seconds)
        part = sound.between(self._start_s, self._end_s)
        if not len(part.samples):
            return
        self._sound, self._speed, self._again = stretched(part, speed), speed, again
        self._begin()

    def stop(self) -> None:
        """Be silent."""
        if self._device is not None:
            self._device.stop()
        self._began_s = self._ended_s = self._sound = None

    def position_s(self) -> float | None:
        """Where in the whole sound it is now; None while nothing plays. Call it often: it also starts the next turn.

        Raises:
            UserError: The device could not play after all.
        """
        if self._sound is None or self._device is None:
            return None
        now_s = self._clock()
        if self._began_s is not None:
            at_s = self._start_s + (now_s - self._began_s) * self._speed
            if self._still_playing() or at_s < self._end_s:
                return min(at_s, self._end_s)
            self._began_s, self._ended_s = None, now_s
            if not self._again:
                self.stop()
                return None
        if self._ended_s is not None and now_s - self._ended_s >= AGAIN_AFTER_S:
            self._begin()
            return self._start_s
        return self._end_s

    @property
    def playing(self) -> bool:
        """Whether something plays, or will again."""
        return self._sound is not None

    def _still_playing(self) -> bool:
        assert self._device is not None
        try:
            return self._device.playing()
        except UserError:
            self.stop()
            raise

    def _begin(self) -> None:
        assert self._sound is not None
        if self._device is None:
            # Without a device nothing is being played.
            sound, self._sound = self._sound, None
            self._device = self._open()
            self._sound = sound
        self._device.start(self._sound)
        self._began_s, self._ended_s = self._clock(), None

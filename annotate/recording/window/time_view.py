"""Which part of a recording the time line shows, and where on it a time is. Pure."""

from __future__ import annotations

from grounding.records import Record

LEAST_SPAN_S = 1.0


class TimeView(Record, frozen=True, kw_only=True):
    """A span of a recording over so many pixels, from left to right. It never leaves the recording."""

    duration_s: float
    width_px: int
    start_s: float = 0.0
    span_s: float = 0.0
    """How much is shown, in seconds; 0 for all of it."""

    @property
    def shown_s(self) -> float:
        """How much is shown, in seconds, never 0."""
        return self.span_s or max(self.duration_s, LEAST_SPAN_S)

    def to_x(self, time_s: float) -> float:
        """Pixels from the left edge; outside of it for a time that is not shown."""
        return (time_s - self.start_s) / self.shown_s * self.width_px

    def to_s(self, x_px: float) -> float:
        """The time at a place, within the recording."""
        return min(max(0.0, self.start_s + x_px / max(1, self.width_px) * self.shown_s), self.duration_s)

    def zoomed(self, factor: float, x_px: float) -> TimeView:
        """A view that shows ``factor`` times less, with the same time under ``x_px`` as far as the ends allow."""
        span_s = min(max(LEAST_SPAN_S, self.shown_s / factor), max(self.duration_s, LEAST_SPAN_S))
        start_s = self.to_s(x_px) - x_px / max(1, self.width_px) * span_s
        return self._at(start_s, span_s)

    def moved(self, by_s: float) -> TimeView:
        """The same span, later by so many seconds."""
        return self._at(self.start_s + by_s, self.shown_s)

    def with_time(self, time_s: float) -> TimeView:
        """A view in which a time is to be seen: this one, or one with that time a fifth from the left."""
        if self.start_s <= time_s <= self.start_s + self.shown_s:
            return self
        return self._at(time_s - self.shown_s / 5, self.shown_s)

    def as_wide(self, width_px: int) -> TimeView:
        """The same span over another width."""
        return TimeView(duration_s=self.duration_s, width_px=width_px, start_s=self.start_s, span_s=self.span_s)

    def ticks(self, least_px: float) -> list[float]:
        """Times in round distances, at least so many pixels apart, for the ruler."""
        steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
        distance_s = next((one for one in steps if one / self.shown_s * self.width_px >= least_px), steps[-1])
        first = int(self.start_s / distance_s)
        count = int(self.shown_s / distance_s) + 2
        times = [round(distance_s * (first + number), 3) for number in range(count)]
        return [one for one in times if self.start_s <= one <= min(self.duration_s, self.start_s + self.shown_s)]

    def _at(self, start_s: float, span_s: float) -> TimeView:
        start_s = min(max(0.0, start_s), max(0.0, self.duration_s - span_s))
        return TimeView(duration_s=self.duration_s, width_px=self.width_px, start_s=start_s, span_s=span_s)


def clock(time_s: float, digits: int = 1) -> str:
    """A time as people read it: ``12:05.3``, with the hour where there is one.

    >>> clock(725.31)
    '12:05.3'
    """
    whole = round(time_s, digits)
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(int(minutes), 60)
    # With the point, where there are digits after it.
    width = 3 + digits if digits else 2
    text = f"{minutes:02d}:{seconds:0{width}.{digits}f}" if hours else f"{minutes}:{seconds:0{width}.{digits}f}"
    return f"{hours}:{text}" if hours else text

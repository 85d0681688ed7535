"""A range of numbers with its two ends, which may be open, and how it is said."""

from __future__ import annotations

from collections.abc import Callable

from grounding.records import Record


class Bounds(Record, frozen=True, kw_only=True):
    """Which numbers will do. An end that is None has no limit; an open end does not belong to the range.

    >>> Bounds(low=3.5, high=4.5).holds(4.5), Bounds(high=50, high_open=True).holds(50)
    (True, False)
    """

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False

    def holds(self, number: float) -> bool:
        """Whether a number is in the range."""
        return not self.below(number) and not self.above(number)

    def below(self, number: float) -> bool:
        """Whether a number is too small."""
        if self.low is None:
            return False
        return number <= self.low if self.low_open else number < self.low

    def above(self, number: float) -> bool:
        """Whether a number is too large."""
        if self.high is None:
            return False
        return number >= self.high if self.high_open else number > self.high

    @property
    def empty(self) -> bool:
        """Whether no number is in it."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def words(self, show: Callable[[float], str] = lambda number: f"{number:g}") -> str:
        """The range in words.

        >>> Bounds(high=50, high_open=True).words(), Bounds(low=2, high=2).words(), Bounds(low=1, high=2).words()
        ('under 50', 'exactly 2', 'from 1 to 2')

        Args:
            show: Writes one number.
        """
        if self.low is not None and self.low == self.high:
            return f"exactly {show(self.low)}"
        if self.low is not None and self.high is not None and not self.low_open and not self.high_open:
            return f"from {show(self.low)} to {show(self.high)}"
        said = []
        if self.low is not None:
            said.append(f"{'over' if self.low_open else 'at least'} {show(self.low)}")
        if self.high is not None:
            said.append(f"{'under' if self.high_open else 'at most'} {show(self.high)}")
        return " and ".join(said) or "any"

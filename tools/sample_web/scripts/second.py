"""Participant 2: headphones, a flight to Lisbon, another birthday gift, a concert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.second_shopping import gift, headphones
from scripts.second_trip_and_concert import concert, flight

if TYPE_CHECKING:
    from session import Session


def play(s: Session) -> None:
    """The whole session, task by task."""
    s.visit("http://voltlane.example/")
    headphones(s)
    flight(s)
    gift(s)
    concert(s)

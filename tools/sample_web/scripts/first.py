"""Participant 1: a gift, a dinner, a brunch recipe, a weekend by the sea, a film, lunch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.first_shop_and_food import brunch, dinner, gift
from scripts.first_trip_and_film import film, lunch, seaside

if TYPE_CHECKING:
    from session import Session


def play(s: Session) -> None:
    """The whole session, task by task."""
    s.visit("http://harborgoods.example/")
    gift(s)
    dinner(s)
    brunch(s)
    seaside(s)
    film(s)
    lunch(s)

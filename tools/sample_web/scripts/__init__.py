"""Who takes part, on what screen, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scripts import first, second, third

if TYPE_CHECKING:
    from session import Session


@dataclass(frozen=True)
class Participant:
    """One participant of the sample."""

    name: str
    width: int
    height: int
    scale: float
    play: Callable[[Session], None]


PARTICIPANTS = (
    Participant("1", 1280, 720, 1.0, first.play),
    Participant("2", 1920, 1080, 1.0, second.play),
    Participant("3", 2560, 1440, 1.0, third.play),
)

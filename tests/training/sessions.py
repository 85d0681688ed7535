"""Data sets of a few words: who did which task over which screenshot."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.records import Box, Region, Screenshot, Session, Size, Step, TaskLabel

SIZE = Size(width=100, height=80)


def step(
    identifier: str, participant: str, task: TaskLabel, picture: str, *, scored: bool = True, index: int = 0
) -> Step:
    """A step whose target is a box of ten pixels at the top left; ``picture`` is the screenshot's hash."""
    box = Box(left_px=0, top_px=0, right_px=10, bottom_px=10)
    return Step(
        id=identifier,
        participant=participant,
        task=task,
        instruction_index=index,
        instruction=f"press {identifier}",
        screenshot=Screenshot(path=f"{picture}.png", size=SIZE, sha256=picture),
        region=Region(boxes=(box,)) if scored else None,
    )


def sessions(*rows: tuple[str, TaskLabel, Sequence[str]]) -> tuple[Session, ...]:
    """One row for each task: the participant, its label, and the screenshot of each of its steps."""
    steps: dict[str, list[Step]] = {}
    for participant, task, pictures in rows:
        own = steps.setdefault(participant, [])
        for picture in pictures:
            own.append(step(f"{participant}/{len(own) + 1}", participant, task, picture, index=len(own)))
    return tuple(Session(participant=name, steps=tuple(own)) for name, own in steps.items())

"""Short ways to write steps, sessions and answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grounding.records import (
    Box,
    Outcome,
    Point,
    Prediction,
    Region,
    Screenshot,
    Session,
    Size,
    Step,
    TaskLabel,
    Verdict,
)
from grounding.scoring import ScoredSession, Summary, join, summarise

SHOT = Screenshot(path="images/1.png", size=Size(width=1920, height=1080), sha256="0" * 64)
BUTTON = Region(boxes=(Box(left_px=10, top_px=10, right_px=20, bottom_px=20),))

OUTCOMES: dict[str, Outcome] = {"+": "hit", "-": "miss", "u": "unparsed", "e": "error", "m": "missing"}


def point(x: float, y: float) -> Point:
    return Point(x_px=x, y_px=y)


def box(left: float, top: float, right: float, bottom: float) -> Box:
    return Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)


def step(name: str = "1/1", region: Region | None = BUTTON, *, task: TaskLabel = "t", instruction: int = 0) -> Step:
    return Step(
        id=name,
        participant=name.split("/")[0],
        task=task,
        instruction_index=instruction,
        instruction=f"say {instruction}",
        screenshot=SHOT,
        region=region,
    )


def answer(name: str, x: float, y: float) -> Prediction:
    return Prediction(step_id=name, key="k", point=point(x, y))


class Played:
    """A data set with its verdicts, from one line per task.

    ``{"1": {"a": "+- -+ .", "b": "+"}}`` is participant 1 with the tasks a and b; a blank ends an instruction, ``+``
    is a hit, ``-`` a miss, ``u``, ``e`` and ``m`` are absent answers, ``.`` is a step without a region and ``?`` one
    without a verdict.
    """

    def __init__(self, tasks: dict[str, dict[TaskLabel, str]]) -> None:
        self.verdicts: list[Verdict] = []
        self.sessions: list[Session] = []
        for participant, outcomes_of in tasks.items():
            steps: list[Step] = []
            for label, line in outcomes_of.items():
                for instruction, outcomes in enumerate(line.split()):
                    for mark in outcomes:
                        name = f"{participant}/{len(steps) + 1}"
                        region = None if mark == "." else BUTTON
                        steps.append(step(name, region, task=label, instruction=instruction))
                        if mark in OUTCOMES:
                            self.verdicts.append(verdict(name, OUTCOMES[mark]))
            self.sessions.append(Session(participant=participant, steps=tuple(steps)))

    def joined(self) -> tuple[ScoredSession, ...]:
        return join(self.sessions, self.verdicts)

    def summary(self, *, seed: int = 0, resamples: int = 200) -> Summary:
        return summary(self.sessions, self.verdicts, seed=seed, resamples=resamples)


def verdict(name: str, outcome: Outcome) -> Verdict:
    where = {"hit": point(15, 15), "miss": point(23, 24)}.get(outcome)
    return Verdict(step_id=name, outcome=outcome, point=where, distance_px={"hit": 0.0, "miss": 5.0}.get(outcome))


def summary(
    sessions: Sequence[Session], verdicts: Iterable[Verdict], *, seed: int = 0, resamples: int = 200
) -> Summary:
    return summarise(sessions, verdicts, status="complete", signature="test", seed=seed, resamples=resamples)

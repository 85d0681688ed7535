"""Short ways to write steps, sessions and answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from grounding.records import (
    Box,
    Outcome,
    Plan,
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
from grounding.scoring.metrics import official_part, pooled_scores
from grounding.scoring.scored import OfficialScores, ScoredSession, join, judge
from grounding.scoring.summary import RunSums, Summariser, Summary

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


def summarise(sessions: Iterable[Session], verdicts: Iterable[Verdict], **options: Any) -> Summary:
    summariser = Summariser()
    for session in join(sessions, verdicts):
        summariser.add(session)
    return summariser.summary(**options)


def judge_all(
    sessions: Iterable[Session], plans: Iterable[Plan], predictions: Iterable[Prediction]
) -> tuple[Verdict, ...]:
    plan_of = {plan.step_id: plan for plan in plans}
    prediction_of = {prediction.step_id: prediction for prediction in predictions}
    steps = [each for session in sessions for each in session.steps if each.region is not None]
    return tuple(judge(each, plan_of.get(each.id), prediction_of.get(each.id)) for each in steps)


def official_scores(sessions: Sequence[ScoredSession]) -> OfficialScores:
    return pooled_scores([official_part(session) for session in sessions])


def sums_of(plans: Iterable[Plan], predictions: Iterable[Prediction]) -> RunSums:
    sums = RunSums()
    for plan in plans:
        (sums.reused if plan.reused else sums.planner).add(plan.call)
    for prediction in predictions:
        sums.grounder.add(prediction.call)
    return sums


def summary(
    sessions: Sequence[Session], verdicts: Iterable[Verdict], *, seed: int = 0, resamples: int = 200
) -> Summary:
    return summarise(sessions, verdicts, status="complete", signature="test", seed=seed, resamples=resamples)

"""Answers in, verdicts out: what became of each scored step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from grounding.records import Failure, Plan, Point, Prediction, Session, Step, Verdict
from grounding.regions import distance_px, is_finite, is_hit


class PlanOutcome(Protocol):
    """What judging needs to know of a plan."""

    @property
    def failure(self) -> Failure | None:
        """Why there is none."""
        ...


class GroundingOutcome(PlanOutcome, Protocol):
    """What judging needs to know of a prediction: why there is no point, or the rest."""

    @property
    def point(self) -> Point | None:
        """In pixels of the original screenshot."""
        ...

    @property
    def declined(self) -> bool:
        """Whether the answer is that there is no such place."""
        ...


def judge(step: Step, plan: PlanOutcome | None, prediction: GroundingOutcome | None) -> Verdict:
    """Judge one step by its prediction, or by the plan's failure where there is no prediction.

    The outcome is ``hit`` (inside the region or on its edge), ``miss``, ``unparsed`` (a reply came and holds no
    usable point), ``error`` (infrastructure failed) or ``missing`` (there is no answer: the step was never asked, or
    a recorded file holds none). A click in any one of several shapes is right (RealWebAssist, section 3.1, and the
    released evaluator). Where the target is absent, an answer that says so is the hit and any point a miss.

    Args:
        step: A step with a region; its coordinates and the prediction's are pixels of the original screenshot.
        plan: The planner's answer; None where there is no planner or it was not asked.
        prediction: The grounder's answer; None where it was not asked.

    Raises:
        ValueError: The step has no region, so there is nothing to judge.
    """
    if step.region is None:
        raise ValueError(f"step {step.id} has no region: it is part of the history and is not scored")
    if prediction is None:
        if plan is not None and plan.failure is not None:
            return Verdict(step_id=step.id, outcome=plan.failure.kind, reason=f"planner: {plan.failure.message}")
        return Verdict(step_id=step.id, outcome="missing", reason="never asked")
    if step.target_absent and prediction.declined:
        return Verdict(step_id=step.id, outcome="hit", reason="the target is absent, and the answer says so")
    if prediction.failure is not None:
        return Verdict(step_id=step.id, outcome=prediction.failure.kind, reason=prediction.failure.message)
    point = prediction.point
    if point is None:
        return Verdict(step_id=step.id, outcome="unparsed", reason="the reply holds no point")
    if not is_finite(point):
        # the point is left out: JSON has no way to write it, so a stored verdict would differ from this one
        return Verdict(step_id=step.id, outcome="unparsed", reason="the point's coordinates are not finite numbers")
    if step.target_absent:
        return Verdict(step_id=step.id, outcome="miss", point=point, reason="the target is absent")
    if is_hit(step.region, point):
        return Verdict(step_id=step.id, outcome="hit", point=point, distance_px=0.0)
    return Verdict(step_id=step.id, outcome="miss", point=point, distance_px=distance_px(step.region, point))


def judge_all(
    sessions: Iterable[Session], plans: Iterable[Plan], predictions: Iterable[Prediction]
) -> tuple[Verdict, ...]:
    """Judge every scored step of the sessions, in their order: one verdict each, whatever was answered.

    Where several plans or predictions name one step the last counts, as in a file to which retries were appended.
    Which keys apply is the caller's to decide before. Answers to other steps are ignored.
    """
    plan_of = {plan.step_id: plan for plan in plans}
    prediction_of = {prediction.step_id: prediction for prediction in predictions}
    return tuple(
        judge(step, plan_of.get(step.id), prediction_of.get(step.id))
        for session in sessions
        for step in session.steps
        if step.region is not None
    )

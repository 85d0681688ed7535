"""Sessions and verdicts in, scored tasks out: the one view of a run from which every score is computed."""

from __future__ import annotations

from collections.abc import Iterable

from grounding.records import Record, Session, Step, TaskLabel, Verdict


class ScoredStep(Record, frozen=True, kw_only=True):
    """A step that has a region, and what became of it."""

    step: Step
    verdict: Verdict

    @property
    def is_hit(self) -> bool:
        """True for a hit; a miss and every kind of absent answer are equally wrong."""
        return self.verdict.outcome == "hit"


class ScoredTask(Record, frozen=True, kw_only=True):
    """The scored steps of one task of one participant, in session order; never empty."""

    participant: str
    label: TaskLabel
    steps: tuple[ScoredStep, ...]

    def instruction_hits(self) -> tuple[bool, ...]:
        """One entry per instruction that has a scored step: are all its scored steps hits?

        An instruction of several steps is right only if all of them are (RealWebAssist, section 3.1).
        """
        hits: list[bool] = []
        before: int | None = None
        for scored in self.steps:
            index = scored.step.instruction_index
            hit = scored.verdict.outcome == "hit"
            if index != before:
                hits.append(hit)
                before = index
            elif not hit:
                hits[-1] = False
        return tuple(hits)


class ScoredSession(Record, frozen=True, kw_only=True):
    """One participant's scored tasks in order of their first step, and how many steps were not scored."""

    participant: str
    tasks: tuple[ScoredTask, ...]
    skipped: int


def join(sessions: Iterable[Session], verdicts: Iterable[Verdict]) -> tuple[ScoredSession, ...]:
    """Put each scored step beside its verdict.

    A scored step without a verdict counts as ``missing``, so no step is ever dropped from a denominator. Verdicts of
    other steps are ignored, so one participant can be scored with the verdicts of all. Tasks without a scored step
    are left out, as in the released evaluator of RealWebAssist.

    Raises:
        ValueError: Two verdicts or two steps carry one id, or a participant has two sessions.
    """
    verdict_of: dict[str, Verdict] = {}
    for verdict in verdicts:
        if verdict_of.setdefault(verdict.step_id, verdict) is not verdict:
            raise ValueError(f"step {verdict.step_id} has two verdicts, expected one")
    seen: set[str] = set()
    joined: dict[str, ScoredSession] = {}
    for session in sessions:
        if session.participant in joined:
            raise ValueError(f"participant {session.participant} has two sessions, expected one")
        for step in session.steps:
            if step.id in seen:
                raise ValueError(f"two steps carry the id {step.id}, expected one")
            seen.add(step.id)
        joined[session.participant] = _join_session(session, verdict_of)
    return tuple(joined.values())


def _join_session(session: Session, verdict_of: dict[str, Verdict]) -> ScoredSession:
    tasks = []
    skipped = 0
    for task in session.tasks():
        scored = tuple(
            ScoredStep(step=step, verdict=verdict_of.get(step.id) or _unasked(step))
            for step in task.steps
            if step.region is not None
        )
        skipped += len(task.steps) - len(scored)
        if scored:
            tasks.append(ScoredTask(participant=task.participant, label=task.label, steps=scored))
    return ScoredSession(participant=session.participant, tasks=tuple(tasks), skipped=skipped)


def _unasked(step: Step) -> Verdict:
    return Verdict(step_id=step.id, outcome="missing", reason="never asked")

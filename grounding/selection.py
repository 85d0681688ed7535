"""Which scored steps of a data set a run is about."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.errors import UserError
from grounding.records import Record, Session


class Selection(Record, frozen=True, kw_only=True):
    """The chosen steps, in session order. ``text`` describes the choice for the signature.

    ``sessions`` hold the chosen steps and, where whole participants were chosen, the steps without a click too: what
    is scored and counted.
    """

    sessions: tuple[Session, ...]
    step_ids: frozenset[str]
    text: str


def select_steps(
    sessions: Sequence[Session], *, participants: Sequence[str], sample_ids: Sequence[str], limit: int | None
) -> Selection:
    """Choose by participant, by step id, and the first ``limit`` of what is left; without options, everything.

    Raises:
        UserError: a name that the data set doesn't have, a step that is not scored, or nothing left.
    """
    _check_names(sessions, participants, sample_ids)
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit}: expected 1 or more")
    chosen = [session for session in sessions if not participants or session.participant in participants]
    wanted = frozenset(sample_ids)
    scored = [
        step.id
        for session in chosen
        for step in session.steps
        if step.region is not None and (not wanted or step.id in wanted)
    ]
    if limit is not None:
        scored = scored[:limit]
    if not scored:
        raise UserError("no scored step is left by --participant, --sample-id and --limit")
    ids = frozenset(scored)
    partial = bool(wanted) or limit is not None
    kept = (
        Session(
            participant=session.participant,
            steps=tuple(step for step in session.steps if step.id in ids or (step.region is None and not partial)),
        )
        for session in chosen
    )
    words = [
        f"participant={','.join(session.participant for session in chosen)}" if participants else "",
        f"steps={','.join(sorted(wanted))}" if wanted else "",
        f"limit={limit}" if limit is not None else "",
    ]
    return Selection(
        sessions=tuple(session for session in kept if session.steps),
        step_ids=ids,
        text=";".join(word for word in words if word) or "all",
    )


def _check_names(sessions: Sequence[Session], participants: Sequence[str], sample_ids: Sequence[str]) -> None:
    known = [session.participant for session in sessions]
    for name in participants:
        if name not in known:
            raise UserError(f"--participant {name}: the data set has {', '.join(known)}")
    regions = {step.id: step.region for session in sessions for step in session.steps}
    for step_id in sample_ids:
        if step_id not in regions:
            raise UserError(f"--sample-id {step_id}: no such step; ids look like {next(iter(regions), '1/1')}")
        if regions[step_id] is None:
            raise UserError(f"--sample-id {step_id}: no click was made there, so the step is not scored")

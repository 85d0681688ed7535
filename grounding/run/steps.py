"""Which scored steps of a data set a run is about, and the two stages that they go through: plan, then ground."""

from __future__ import annotations

import asyncio
import hashlib
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import msgspec

from grounding.cards.schema import Context
from grounding.data.history import HistoryScope, history_window
from grounding.errors import UserError
from grounding.grounders.base import Grounder
from grounding.planners.base import Planner, planner_reads
from grounding.planners.chat import nth_plan
from grounding.records import HistoryEntry, Plan, Prediction, Query, Record, Session, Step, TaskLabel
from grounding.run.journal import Journal


class StepSelection(Record, frozen=True, kw_only=True):
    """The chosen steps, in session order. ``text`` describes the choice for the signature. ``sessions`` hold the chosen
    steps and, where whole participants were chosen, the steps without a click too: what is scored and counted.
    """

    sessions: tuple[Session, ...]
    step_ids: frozenset[str]
    text: str


def select_steps(
    sessions: Sequence[Session], *, participants: Sequence[str], sample_ids: Sequence[str], limit: int | None
) -> StepSelection:
    """Choose by participant, by step id, and the first ``limit`` of what is left; without options, everything."""
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
    return StepSelection(
        sessions=tuple(session for session in kept if session.steps),
        step_ids=ids,
        text=";".join(word for word in words if word) or "all",
    )


_A_NUMBER = re.compile(r"(?:task|episode|unknown)?[\W\d_]*", re.IGNORECASE)


class StepItem(Record, frozen=True, kw_only=True):
    """A step on its way through the stages, with what models may be told about where it stands. ``goal`` is the task in
    words, "" where its label is none. ``steps_done`` counts the scored steps of the same instruction before this one,
    whether they are in the run or not. ``opening`` is the first of them, as it would be asked about itself; None at
    that step. ``leads`` marks the first step of its instruction that is in the run.
    """

    step: Step
    history: tuple[HistoryEntry, ...] = ()
    goal: str = ""
    steps_done: int = 0
    opening: StepItem | None = None
    leads: bool = True


def goal_of(label: TaskLabel) -> str:
    """The task's label where it says something: not a number, alone or after the word "task"."""
    return "" if isinstance(label, int) or _A_NUMBER.fullmatch(label) else label.strip()


def step_items(
    sessions: Sequence[Session], selected: frozenset[str], history: int, scope: HistoryScope = "session"
) -> Iterator[StepItem]:
    """The selected steps in session order, each with its history window. Steps over equal screenshots follow one
    another, at the place of the first: a server that keeps what it made of a picture then finds it again, however small
    its cache.
    """
    by_screenshot: dict[str, list[tuple[_SessionItems, int]]] = {}
    for session in sessions:
        items = _SessionItems(session, selected, history, scope)
        for position, step in enumerate(session.steps):
            if step.id in selected:
                by_screenshot.setdefault(step.screenshot.sha256, []).append((items, position))
    for steps in by_screenshot.values():
        for items, position in steps:
            yield items.item(position)


class _SessionItems:
    def __init__(self, session: Session, selected: frozenset[str], history: int, scope: HistoryScope) -> None:
        self._steps, self._selected, self._history, self._scope = session.steps, selected, history, scope
        self._scored: dict[tuple[TaskLabel, int], list[int]] = {}
        self._of_task: dict[TaskLabel, list[int]] = {}
        for position, step in enumerate(session.steps):
            if scope == "task":
                self._of_task.setdefault(step.task, []).append(position)
            if step.region is not None:
                self._scored.setdefault((step.task, step.instruction_index), []).append(position)

    def item(self, position: int) -> StepItem:
        step = self._steps[position]
        of_instruction = self._scored.get((step.task, step.instruction_index), [])
        before = bisect_left(of_instruction, position)
        return StepItem(
            step=step,
            history=self._window(position),
            goal=goal_of(step.task),
            steps_done=before,
            opening=self.item(of_instruction[0]) if before else None,
            leads=not any(self._steps[at].id in self._selected for at in islice(of_instruction, before)),
        )

    def _window(self, position: int) -> tuple[HistoryEntry, ...]:
        if self._scope == "session":
            return history_window(self._steps, position, self._history)
        # Looking for the task's few steps among all that came before would take longer the longer the session is.
        of_task = self._of_task[self._steps[position].task]
        place = bisect_left(of_task, position)
        latest = [self._steps[at] for at in of_task[max(0, place - self._history) : place]]
        return history_window(latest, len(latest), self._history)


def query_about(item: StepItem, instruction: str, reads: Collection[Context], key: str = "") -> Query:
    """What a model is asked about a step, told only what it reads of where the step stands."""
    return Query(
        step_id=item.step.id,
        key=key,
        screenshot=item.step.screenshot,
        instruction=instruction,
        history=item.history if "history" in reads else (),
        goal=item.goal if "goal" in reads else "",
        steps_done=item.steps_done if "steps_done" in reads else 0,
    )


def _key(*parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


def plan_query(item: StepItem, planner: Planner) -> Query:
    """What a planner is asked about a step: only what its answer hangs on, all of that in the key. So the same question
    has the same key wherever it is asked: neither the step nor the data set is in the key of a planner that is not told
    of them.
    """
    reads, step = planner_reads(planner), item.step
    asked = query_about(item, step.instruction, reads)
    context = (asked.history, asked.goal, asked.steps_done, step.id if "step_id" in reads else "")
    key = _key(planner.identity, step.instruction, step.screenshot.sha256, *context)
    return msgspec.structs.replace(asked, key=key)


def _unheard(item: StepItem, key: str) -> Plan | None:
    failure = item.step.unheard
    return None if failure is None else Plan(step_id=item.step.id, key=key, text=None, failure=failure)


class PlanStage:
    name = "plan"

    def __init__(self, planner: Planner, journal: Journal[Plan]) -> None:
        self._planner = planner
        self.journal = journal
        self.max_concurrency = planner.max_concurrency

    def item_id(self, item: StepItem) -> str:
        return item.step.id

    def key(self, item: StepItem, earlier: None) -> str:  # noqa: ARG002
        return plan_query(item, self._planner).key

    async def run(self, item: StepItem, earlier: None, key: str) -> Plan:  # noqa: ARG002
        return _unheard(item, key) or await self._planner.plan(plan_query(item, self._planner))


class PlanAheadStage(PlanStage):
    """Asks the planner once for each instruction, at its first scored step, and hands the actions out step by step. The
    replies are kept in a journal of their own, under the id of that first step, before any step makes use of them: an
    instruction is asked about once, though its steps run side by side and the run is broken off.
    """

    def __init__(self, planner: Planner, journal: Journal[Plan], replies: Journal[Plan]) -> None:
        super().__init__(planner, journal)
        self._replies = replies
        self._asking: dict[str, asyncio.Task[Plan]] = {}

    def key(self, item: StepItem, earlier: None) -> str:  # noqa: ARG002
        """What the instruction's plan hangs on, and which of its actions this step takes."""
        return _key("ahead", plan_query(item.opening or item, self._planner).key, item.steps_done, item.leads)

    async def run(self, item: StepItem, earlier: None, key: str) -> Plan:  # noqa: ARG002
        """Take the step's action from the plan for its instruction; the first to come asks for it."""
        unheard = _unheard(item, key)
        if unheard is not None:
            return unheard
        query = plan_query(item.opening or item, self._planner)
        whole = self._replies.settled(query.step_id, query.key)
        if whole is None:
            if query.step_id not in self._asking:
                self._asking[query.step_id] = asyncio.create_task(self._ask(query))
            whole = await self._asking[query.step_id]
        return nth_plan(whole, item.steps_done, step_id=item.step.id, key=key, leads=item.leads)

    async def _ask(self, query: Query) -> Plan:
        whole = await self._planner.plan(query)
        self._replies.append(whole)
        return whole


class GroundStage:
    """Asks the grounder to follow each plan. ``reads`` is what the grounder's prompt has a place for; nothing else of a
    step's context reaches it, or its key. ``untouched`` goes with every query, and is no part of the key: the model
    sees the same size either way.
    """

    name = "ground"

    def __init__(
        self, grounder: Grounder, journal: Journal[Prediction], *, reads: Collection[Context], untouched: bool = False
    ) -> None:
        self._grounder = grounder
        self.untouched = untouched
        self.journal = journal
        self.max_concurrency = grounder.max_concurrency
        self._identity = grounder.identity
        self._reads = frozenset(reads)

    def item_id(self, item: StepItem) -> str:
        return item.step.id

    def key(self, item: StepItem, earlier: Plan) -> str:
        told = query_about(item, "", self._reads)
        context = (told.history, told.goal, told.steps_done)
        return _key(self._identity, item.step.id, earlier.text, item.step.screenshot.sha256, *context)

    async def run(self, item: StepItem, earlier: Plan, key: str) -> Prediction:
        return await self._grounder.ground(self.query(item, earlier.text or "", key=key))

    def query(self, item: StepItem, instruction: str, *, key: str) -> Query:
        return msgspec.structs.replace(query_about(item, instruction, self._reads, key), untouched=self.untouched)

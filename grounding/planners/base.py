"""What every planner takes and returns: the user's words over a screenshot in, one explicit instruction out.

Beside it the planner that only plays back a file of plans.
"""

import hashlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from grounding.cards.schema import CONTEXT, Context
from grounding.errors import UserError
from grounding.records import Failure, Plan, Query, Session

EVERYTHING: frozenset[Context] = frozenset({*CONTEXT, "step_id"})


class Planner(Protocol):
    """Rewrites an instruction so that a grounder can follow it. ``identity`` is canonical text of everything that can
    change a plan: its hash keys stored plans.
    """

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change a plan."""

    @property
    def reads(self) -> frozenset[Context]:
        """What of the context can change a plan; the rest is kept out of the query and of the plan's key."""

    @property
    def max_concurrency(self) -> int: ...

    async def plan(self, query: Query) -> Plan:
        """Answer one query. Failures are recorded in the plan, not raised."""

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""

    async def aclose(self) -> None: ...


def planner_reads(planner: Planner) -> frozenset[Context]:
    """What a planner reads of the context. One from another package that doesn't say is taken to read all of it."""
    reads: frozenset[Context] = getattr(planner, "reads", EVERYTHING)
    return reads


class RawInstruction:
    name = "none"
    identity = "none"
    max_concurrency = 64
    reads: frozenset[Context] = frozenset()

    async def plan(self, query: Query) -> Plan:
        return Plan(step_id=query.step_id, key=query.key, text=query.instruction)

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...


MAX_RANGES = 20  # How many ranges of missing steps of one participant are spelled out.


def read_plans(path: Path) -> dict[str, str]:
    """Read a file of saved plans into ``{step id: text}``; the step id is ``<participant>/<image number>``. Where
    several steps share a screenshot, the entry ``42`` belongs to the first and ``42#2`` to the second.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"--plans {path}: can't be read: {error.strerror}") from error
    try:
        saved = msgspec.json.decode(content, type=dict[str, dict[str, str]])
    except msgspec.ValidationError as error:
        raise UserError(
            f"--plans {path}: {error}; expected {{participant: {{image number: text}}}} as in the released files"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"--plans {path}: not valid JSON: {error}") from error
    return {f"{participant}/{image}": text for participant, images in saved.items() for image, text in images.items()}


def _ranges(step_ids: Sequence[str], chosen: Sequence[bool]) -> str:
    runs = [
        [step_id.partition("/")[2] for step_id, _ in run]
        for is_chosen, run in itertools.groupby(zip(step_ids, chosen, strict=True), key=lambda pair: pair[1])
        if is_chosen
    ]
    texts = [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    more = len(texts) - MAX_RANGES
    return ", ".join(texts[:MAX_RANGES]) + (f" and {more} more ranges" if more > 0 else "")


class SavedPlans:
    """Plays back a file of plans; a step without an entry is a recorded failure, never the raw instruction."""

    max_concurrency = 64
    reads: frozenset[Context] = frozenset({"step_id"})

    def __init__(self, path: Path) -> None:
        self._path = path
        self._plans = read_plans(path)
        self.name = f"replay:{path.stem}"
        self.identity = f"replay {hashlib.sha256(msgspec.json.encode(self._plans, order='sorted')).hexdigest()}"

    def gaps(self, sessions: Sequence[Session]) -> str:
        """Which scored steps the file has no plan for, in a sentence by participant; "" where it has them all. A range
        is written in image numbers and means every scored step from the one to the other.
        """
        places, lacking, scored = [], 0, 0
        for session in sessions:
            steps = [step.id for step in session.steps if step.region is not None]
            without = [step_id not in self._plans for step_id in steps]
            scored, lacking = scored + len(steps), lacking + sum(without)
            if any(without):
                places.append(f"participant {session.participant}: {_ranges(steps, without)}")
        if not places:
            return ""
        return (
            f"{self._path.name} has no plan for {lacking:,} of the {scored:,} steps, which count as missing and wrong: "
            f"{'; '.join(places)}"
        )

    async def plan(self, query: Query) -> Plan:
        text = self._plans.get(query.step_id)
        if text is None:
            failure = Failure(kind="missing", message=f"{self._path.name} has no plan for {query.step_id}")
            return Plan(step_id=query.step_id, key=query.key, text=None, failure=failure)
        if not text.strip():
            failure = Failure(kind="unparsed", message=f"the plan for {query.step_id} in {self._path.name} is empty")
            return Plan(step_id=query.step_id, key=query.key, text=None, raw=text, failure=failure)
        return Plan(step_id=query.step_id, key=query.key, text=text)

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...

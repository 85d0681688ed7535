"""Agents that ran elsewhere: what they left behind in, a :class:`CurationAgent` that hands it out again.

Nothing is asked and nothing is paid for here: costs are not taken over, steps and what they say are. A task of which
nothing is recorded is a failure of the kind ``missing``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from grounding.errors import UserError
from grounding.options import CurationAgentName
from grounding.records import Failure, Record
from grounding.webagents.agenticshop.agents.base import Offline, made
from grounding.webagents.agenticshop.records import Curated, Curation, Scenario, ShopperView, TraceStep
from grounding.webagents.agenticshop.scenarios import scenario_named

MANY = 64
"""Tasks are looked up this many at a time: nothing is waited for but the disk."""

Owner = tuple[Scenario | None, str]
"""Whose an answer is: scenario and user; None where the record does not say the scenario, and it is for all of them."""


class RecordedAnswer(Record, frozen=True, kw_only=True):
    """What is recorded of one task. ``failure`` is the recorded one; without it and without products it is unparsed."""

    products: tuple[Curated, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    raw: str = ""
    ended: str = ""
    requests: int = 0
    seconds: float = 0.0
    failure: Failure | None = None


class Recording(Protocol):
    """Everything that was recorded of one agent."""

    @property
    def sha256(self) -> str:
        """The hash of all that was read."""
        ...

    @property
    def owners(self) -> tuple[Owner, ...]:
        """Whose answers there are."""
        ...

    def answer(self, owner: Owner) -> RecordedAnswer:
        """One of the answers.

        Raises:
            UserError: Its file can't be read.
        """
        ...


class RecordedAgent(Offline):
    """Hands out what is recorded: the answer of user and scenario, else that of the user in whatever scenario."""

    max_concurrency = MANY

    def __init__(self, name: str, recording: Recording) -> None:
        self.name = name
        self._recording = recording
        self._owners = frozenset(recording.owners)
        self.identity = f"{name} recorded {recording.sha256}"

    @property
    def owners(self) -> frozenset[Owner]:
        """Whose answers there are, to say which are of no task."""
        return self._owners

    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Look up what is recorded of a task."""
        owner = next((one for one in ((view.scenario, view.user), (None, view.user)) if one in self._owners), None)
        if owner is None:
            failure = Failure(kind="missing", message=f"nothing is recorded of {view.task_id}")
            return made(view, key, failure=failure)
        found = self._recording.answer(owner)
        nothing = Failure(kind="unparsed", message="what is recorded names no page of a product")
        return made(
            view,
            key,
            products=found.products,
            trace=found.trace,
            raw=found.raw,
            ended=found.ended,
            requests=found.requests,
            seconds=found.seconds,
            failure=found.failure or (None if found.products else nothing),
        )


class KeptRecording:
    """A recording whose answers are all in memory."""

    def __init__(self, answers: Mapping[Owner, RecordedAnswer], sha256: str) -> None:
        self._answers = dict(answers)
        self.sha256 = sha256

    @property
    def owners(self) -> tuple[Owner, ...]:
        """Whose answers there are."""
        return tuple(self._answers)

    def answer(self, owner: Owner) -> RecordedAnswer:
        """One of the answers."""
        return self._answers[owner]


def owner_of(task_id: str) -> Owner | None:
    """Whose a task is by its id, ``SCENARIO/USER`` with any of a scenario's names; None where it is no such id."""
    scenario, slash, user = task_id.partition("/")
    if not slash or not user or "/" in user:
        return None
    try:
        return scenario_named(scenario), user
    except UserError:
        return None


def hash_of(parts: Mapping[str, bytes]) -> str:
    """One hash over named contents, whatever their order."""
    digest = hashlib.sha256()
    for name in sorted(parts):
        digest.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(parts[name]).digest())
    return digest.hexdigest()


def open_recorded(kind: CurationAgentName, path: Path) -> RecordedAgent:
    """The agent that hands out what ``--curations`` holds.

    Args:
        kind: ``replay`` for a file of products, else the program that wrote the logs.
        path: The file or the folder.

    Raises:
        UserError: It is not there, holds something else, or nothing is of that kind.
    """
    if not path.exists():
        raise UserError(f"--curations {path}: there is no such file or folder")
    if kind == "replay":
        from grounding.webagents.agenticshop.agents.replay import ReplayAgent

        return ReplayAgent(path)
    from grounding.webagents.agenticshop.agents.logs import open_logs

    return open_logs(kind, path)

"""A desktop run's folder, its stage, and its scores; and what an agent is told that it remembers.

PERCU gives an agent, at every step, the thought that was recorded at that same step (section 3.3 of the paper). The
other memories take that away in three ways; they never show anything of the step that ``thought`` would not.
"""

import hashlib
import math
import random
from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from grounding.benchmarks.desktop.agents import ActQuery, Agent
from grounding.cards.schema import Family
from grounding.data.desktop_records import DesktopPrediction, DesktopStep, DesktopTask, DesktopTaskKind
from grounding.data.release import data_name
from grounding.errors import UserError
from grounding.options import MemoryKind, PromptStyle
from grounding.records import Failure, Record
from grounding.run.journal import Journal, calls_of
from grounding.run.lock import AboutRun, DescribedFolder, write_time
from grounding.scoring.desktop import TOLERANCE_PX, DesktopSummary, judge_desktop, summarise_desktop
from grounding.scoring.summary import CostTotals, TimeTotals, call_totals


def memories(tasks: Sequence[DesktopTask], kind: MemoryKind, seed: int) -> dict[str, str | None]:
    """The memory at each step of the whole data set, by the step's id; None where the agent is told of none.

    ``thought``: the step's own, "" where it has none, which the release announces, too. ``other-step``: that of another
    step of the same task, drawn. ``shuffled``: the thoughts of the whole data set, dealt out anew so that no step gets
    words equal to its own, unless one thought makes up more than half of all.
    """
    steps = [step for task in tasks for step in task.steps]
    if kind == "shuffled":
        return _shuffled(steps, seed)
    if kind == "other-step":
        return {step.id: _other(step, task.steps, seed) for task in tasks for step in task.steps}
    return {step.id: step.thought if kind == "thought" else None for step in steps}


def _other(step: DesktopStep, steps: Sequence[DesktopStep], seed: int) -> str | None:
    others = [one.thought for one in steps if one.thought.strip() and one.thought != step.thought]
    return random.Random(f"{seed}/other-step/{step.id}").choice(others) if others else None


def _shuffled(steps: Sequence[DesktopStep], seed: int) -> dict[str, str | None]:
    """Equal thoughts are put side by side and all are moved on by the size of the largest such group."""
    by_thought: dict[str, list[str]] = {}
    for step in sorted(steps, key=lambda one: one.id):
        by_thought.setdefault(step.thought, []).append(step.id)
    groups = list(by_thought.items())
    random.Random(f"{seed}/shuffled").shuffle(groups)
    owners = [step_id for _, ids in groups for step_id in ids]
    dealt = [thought for thought, ids in groups for _ in ids]
    by = max((len(ids) for _, ids in groups), default=0) % max(1, len(dealt))
    return dict(zip(owners, [*dealt[by:], *dealt[:by]], strict=True))


class DesktopAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an answer; its hash is the run's id. ``seed`` decides memories and intervals."""

    dataset: str
    fingerprint: str
    select: str
    agent: str
    agent_identity: str
    base_url: str
    memory: MemoryKind
    style: PromptStyle | None
    attempts: int
    seed: int
    version: str


class DesktopRunInfo(AboutRun, frozen=True, kw_only=True, omit_defaults=False):
    """``tolerance_px`` is what the verdicts in the folder were made with; it changes no answer."""

    benchmark: Literal["desktop"] = "desktop"
    asked: DesktopAsked
    family: Family | None = None
    tolerance_px: float = TOLERANCE_PX
    prompt: str = "none"
    image: str = "original"


class DesktopStepLine(Record, frozen=True, kw_only=True):
    """A line of ``steps.jsonl``, and what the stage works on."""

    task: str
    kind: DesktopTaskKind | None = None
    category: str = ""
    description: str = ""
    memory: str | None = None
    step: DesktopStep

    def query(self, key: str) -> ActQuery:
        step, words = self.step, self.step.second_instruction
        return ActQuery(step_id=step.id, key=key, screenshot=step.screenshot, instruction=words, memory=self.memory)


def line_of(task: DesktopTask, step: DesktopStep, memory: str | None) -> DesktopStepLine:
    about = {name: getattr(task, name) for name in ("kind", "category", "description")}
    return DesktopStepLine(task=task.id, memory=memory, step=step, **about)


class DesktopFolder(DescribedFolder[DesktopRunInfo]):
    info_type = DesktopRunInfo
    kind = "a desktop run"

    def read_tasks(self) -> tuple[DesktopTask, ...]:
        lines = self.read_lines("steps.jsonl", DesktopStepLine, what="a step of a desktop task")
        return tuple(
            DesktopTask(
                id=(of_task := [*found])[0].task,
                kind=of_task[0].kind,
                category=of_task[0].category,
                description=of_task[0].description,
                steps=tuple(line.step for line in of_task),
            )
            for _, found in groupby(lines, key=lambda line: line.task)
        )

    def predictions(self) -> Journal[DesktopPrediction]:
        return Journal(self.path / "predictions.jsonl", DesktopPrediction, read_only=True)


class ActStage:
    """Asks about each step on its own: nothing of an earlier answer reaches a later question."""

    name = "act"

    def __init__(self, agent: Agent, journal: Journal[DesktopPrediction]) -> None:
        self._agent, self.journal = agent, journal
        self.max_concurrency, self.identity = agent.max_concurrency, agent.identity

    def item_id(self, item: DesktopStepLine) -> str:
        return item.step.id

    def key(self, item: DesktopStepLine, earlier: None) -> str:  # noqa: ARG002
        step = item.step
        parts = (self.identity, step.id, step.second_instruction, item.memory, step.screenshot.sha256)
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]

    async def run(self, item: DesktopStepLine, earlier: None, key: str) -> DesktopPrediction:  # noqa: ARG002
        return await self._agent.act(item.query(key))

    def failed(self, item: DesktopStepLine, key: str, failure: Failure) -> DesktopPrediction:
        return item.query(key).answer(failure=failure)


SCORING = "desktop.1"  # All three rules are always computed; the number goes up when the arithmetic of one changes.


def signed(info: DesktopRunInfo) -> DesktopRunInfo:
    asked = info.asked
    parts = {
        "dataset": f"{data_name(asked.dataset, info.departs)}@{asked.fingerprint[:12]}",
        "agent": f"{asked.agent}@{hashlib.sha256(asked.agent_identity.encode()).hexdigest()[:8]}",
        "prompt": info.prompt,
        "image": info.image,
        "memory": asked.memory,
        "attempts": f"{asked.attempts}",
        "select": asked.select,
        "scoring": f"{SCORING}@{info.tolerance_px:g}px",
        "seed": f"{asked.seed}",
        "version": asked.version,
    }
    return replace(info, signature="|".join(f"{name}:{value}" for name, value in parts.items()))


class DesktopScored(Record, frozen=True, kw_only=True):
    """``time`` is what differs each time. ``set_aside`` is where an earlier run of the same command was moved."""

    folder: Path
    info: DesktopRunInfo
    tasks: tuple[DesktopTask, ...]
    summary: DesktopSummary
    time: TimeTotals = TimeTotals()
    set_aside: Path | None = None
    report: Path | None = None


def check_tolerance(tolerance_px: float | None) -> None:
    if tolerance_px is not None and not (math.isfinite(tolerance_px) and tolerance_px >= 0):
        raise UserError(f"--tolerance {tolerance_px}: expected pixels, 0 or more")


def score_desktop(folder: DesktopFolder, *, tolerance_px: float | None = None) -> DesktopScored:
    """Judge every stored answer again; asks no model. ``tolerance_px`` None: as the run was judged before."""
    check_tolerance(tolerance_px)
    info = folder.read_info()
    tolerance = info.tolerance_px if tolerance_px is None else tolerance_px
    info = signed(replace(info, tolerance_px=tolerance))
    tasks, calls = folder.read_tasks(), calls_of(folder.path, "agent")
    with closing(folder.predictions()) as journal:
        last = {step.id: journal.last(step.id) for task in tasks for step in task.steps}
        # Every request that was ever paid, also those of answers that never came about.
        if calls is None:
            calls = [answer.call for answer in journal.every() if answer.call is not None]
    spent, seconds = call_totals(calls), math.fsum(call.seconds for call in calls)
    time = TimeTotals(wall_s=info.wall_s, grounder_s=seconds, retries=sum(call.attempts - 1 for call in calls))
    tokens: dict[str, Any] = {"input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens}
    verdicts = [judge_desktop(step, last[step.id], tolerance) for task in tasks for step in task.steps]
    partial = any(one.failure == "error" or not one.was_asked for one in verdicts)
    summary = summarise_desktop(
        tasks,
        [answer for answer in last.values() if answer is not None],
        verdicts,
        status="partial" if partial else "complete",
        signature=info.signature,
        tolerance_px=tolerance,
        seed=info.asked.seed,
        cost=CostTotals(usd=spent.usd, grounder_usd=spent.usd, grounder=spent, **tokens),
    )
    folder.write_info(info)
    folder.replace_lines("verdicts.jsonl", verdicts)
    write_time(folder, time)
    folder.write_summary(summary)
    return DesktopScored(folder=folder.path, info=info, tasks=tasks, summary=summary, time=time)

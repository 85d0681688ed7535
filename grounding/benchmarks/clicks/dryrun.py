"""What a run of clicks would still ask of its planner and its grounder, counted without reading the pictures."""

import asyncio
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from grounding.benchmarks.clicks.preparation import PreparedClicks
from grounding.errors import UserError
from grounding.grounders.zoom import ZoomGrounder
from grounding.llm.chat import AsksByRequest, ChatRequest
from grounding.llm.estimates import AlreadyAnswered
from grounding.llm.tokens import RequestTokens, text_tokens
from grounding.planners.store import StoredPlanner
from grounding.records import Call, Plan, Query
from grounding.run.dry import SHOWN, Looked
from grounding.run.folder import RunFolder, RunSettings
from grounding.run.journal import scan
from grounding.run.probe.gate import draw_targets
from grounding.run.probe.replies import read_probe
from grounding.run.session import journals
from grounding.run.steps import GroundStage, PlanAheadStage, PlanStage, StepItem, plan_query

UNKNOWN_PLAN_TOKENS = 64
"""What a plan that nobody has made yet is taken to have: the released plans have a median of 37 (GPT-4o), 67 (o1) and
117 tokens (Claude 3.7)."""


def survey(prepared: PreparedClicks, folder: Path, kinds: Mapping[str, type[Any]], asked_for: set[str]) -> Looked:
    """Everything that a run would still ask; nobody is asked. ``kinds`` are its journals; ``asked_for`` keys of plans
    that runs before this one will have asked for, to which its own are added.
    """

    async def look() -> Looked:
        try:
            with journals(folder, kinds, read_only=True, fresh=prepared.options.fresh) as opened:
                found = _Survey(prepared, opened, asked_for)
                for item in prepared.items:
                    await found.look_at(item)
                return found.looked(folder)
        finally:
            await prepared.aclose()

    return asyncio.run(look())


class _Survey:
    def __init__(self, prepared: PreparedClicks, opened: Mapping[str, Any], asked_for: set[str]) -> None:
        self._prepared, self._asked_for, self._mine = prepared, asked_for, set[str]()
        planner, grounder = prepared.planner.planner, prepared.grounder.grounder
        self._planner, self._store = planner, planner.store if isinstance(planner, StoredPlanner) else None
        self._plans, self._predictions = opened["plans.jsonl"], opened["predictions.jsonl"]
        self._ahead, self._passes = opened.get("ahead.jsonl"), opened.get("passes.jsonl")
        ahead = self._ahead
        self._plan_stage = (
            PlanStage(planner, self._plans) if ahead is None else PlanAheadStage(planner, self._plans, ahead)
        )
        self._ground_stage = GroundStage(
            grounder, self._predictions, reads=prepared.grounder.reads, untouched=prepared.own_servers
        )
        self._zoom = grounder if isinstance(grounder, ZoomGrounder) else None
        self._to_plan: list[Query] = []
        self._to_ground: list[tuple[Query, bool]] = []
        """Questions to the grounder, and whether their plans are made."""
        self._counts = Counter[str]()
        self._plan_tokens: list[int] = []

    async def look_at(self, item: StepItem) -> None:
        """See what a step needs of the planner, and of the grounder then."""
        plan = await self._plan(item)
        if plan is not None and plan.failure is not None:
            return
        if plan is not None:
            if self._prepared.planner.card is not None:
                self._plan_tokens.append(text_tokens(plan.text or ""))
            if self._predictions.settled(item.step.id, self._ground_stage.key(item, plan)) is not None:
                self._counts["grounded"] += 1
                return
        text = item.step.instruction if plan is None else plan.text or ""
        key = "" if plan is None else self._ground_stage.key(item, plan)
        self._to_ground.append((self._ground_stage.query(item, text, key=key), plan is not None))

    async def _plan(self, item: StepItem) -> Plan | None:
        settled: Plan | None = self._plans.settled(item.step.id, self._plan_stage.key(item, None))
        if settled is not None:
            self._counts["planned"] += 1
            return settled
        if self._prepared.planner.card is None:
            # These read a file or pass words through; one from another package may ask anybody.
            known = self._planner.name == "none" or self._planner.name.startswith("replay")
            return await self._planner.plan(plan_query(item, self._planner)) if known else None
        ahead, store = self._ahead, self._store
        query = plan_query((item.opening or item) if ahead is not None else item, self._planner)
        if ahead is not None and ahead.settled(query.step_id, query.key) is not None:
            self._counts["planned"] += 1
        elif store is not None and (stored := store.get(query.key)) is not None:
            self._counts["stored"] += 1
            # Which action of a plan for all of an instruction is this step's is for the run to work out.
            return stored if ahead is None else None
        elif query.key not in self._mine or (ahead is None and store is None):
            if store is not None and query.key in self._asked_for:
                self._counts["shared"] += 1
            else:
                self._mine.add(query.key)
                self._to_plan.append(query)
        return None

    def looked(self, folder: Path) -> Looked:
        """Everything counted, with real replies of the same models."""
        self._asked_for |= self._mine
        prepared, options, counts = self._prepared, self._prepared.options, self._counts
        looked = Looked(items=len(prepared.items), left=len(self._to_ground))
        inner = self._planner.planner if isinstance(self._planner, StoredPlanner) else self._planner
        if (card := prepared.planner.card) is not None and isinstance(inner, AsksByRequest):
            earlier = _earlier_plans(options.log_dir, prepared.asked)
            known = AlreadyAnswered(
                answered=counts["planned"],
                stored=counts["stored"],
                shared=counts["shared"],
                outputs=_outputs(plan.call for plan in earlier),
            )
            made = _made(inner, "planner", self._to_plan[:SHOWN])
            counted = [inner.count(query) for query in self._to_plan]
            looked.add("planner", card, counted, known, made)
        zoom = self._zoom
        grounder = prepared.grounder.grounder if zoom is None else zoom.inner
        asked = prepared.grounder.card if options.backend != "hf" else None
        if asked is not None and isinstance(grounder, AsksByRequest):
            answers = [each for one in self._predictions for each in one.passes or (one,)]
            known = AlreadyAnswered(answered=counts["grounded"], outputs=_outputs(one.call for one in answers))
            if self._to_ground and prepared.probe is not None and not _probed(folder, fresh=options.fresh):
                with tempfile.TemporaryDirectory(prefix="grounding-dry-run-") as drawn:
                    probes = [grounder.count(target.query()) for target in draw_targets(Path(drawn))]
                looked.add("probe", asked, probes, msgspec.structs.replace(known, answered=0))
            notes = ["plans that are not made yet are counted as of the usual length"]
            notes = [] if all(planned for _, planned in self._to_ground) else notes
            to_ask = self._to_ground
            if zoom is not None and self._passes is not None:
                notes.append(f"up to {zoom.looks} requests a step; crops are counted by size, clipped ones in full")
                to_ask = [(each, planned) for one, planned in to_ask for each in zoom.left_to_ask(one, self._passes)]
            looked.add(
                "grounder",
                asked,
                [self._count(grounder, query, planned=planned) for query, planned in to_ask],
                known,
                _made(grounder, "grounder", [query for query, _ in self._to_ground[:SHOWN]]),
                notes=notes,
            )
        return looked

    def _count(self, grounder: AsksByRequest, query: Query, *, planned: bool) -> RequestTokens:
        """A plan that is not made yet is taken to be as long as those that are."""
        tokens = grounder.count(query)
        if planned:
            return tokens
        usual = round(statistics.fmean(self._plan_tokens)) if self._plan_tokens else UNKNOWN_PLAN_TOKENS
        longer = max(0, usual - text_tokens(query.instruction))
        return msgspec.structs.replace(tokens, text=tokens.text + longer)


def _outputs(calls: Iterable[Call | None]) -> tuple[int, ...]:
    return tuple(call.usage.output_tokens for call in calls if call is not None and call.usage is not None)


def _probed(folder: Path, *, fresh: bool) -> bool:
    report = None if fresh else read_probe(folder)
    return report is not None and report.settled


def _made(asker: AsksByRequest, role: str, queries: Sequence[Query]) -> list[ChatRequest]:
    found = []
    for query in queries:
        try:
            found.append(asker.request_for(query))
        except (OSError, ValueError) as error:
            print(f"grounding: {role} request: {query.step_id}: {error}", file=sys.stderr)
    return found


MOST_RUNS, MOST_REPLIES = 200, 5000


def _earlier_plans(log_dir: Path, asked: RunSettings) -> tuple[Plan, ...]:
    """Plans made by the same model with the same prompt and parameters, each once, in the newest run folders beside. A
    damaged folder is passed over: it is none of the run's.
    """
    found: dict[str, Plan] = {}
    name = "ahead.jsonl" if asked.plan_ahead else "plans.jsonl"
    folders = sorted((file.parent for file in log_dir.glob("*/run.json")), reverse=True)
    for folder in folders[:MOST_RUNS]:
        with suppress(UserError):
            other = RunFolder(folder).read_info().asked
            if (other.planner_identity, other.plan_ahead) == (asked.planner_identity, asked.plan_ahead):
                for plan in scan(folder / name, Plan):
                    if plan.call is not None and plan.call.usage is not None:
                        found.setdefault(plan.key, plan)
        if len(found) >= MOST_REPLIES:
            break
    return tuple(found.values())

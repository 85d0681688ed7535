"""Desktop tasks (PERCU): an agent sees a step's screenshot, instruction and memory, and says what it would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import msgspec

from grounding import __version__
from grounding.benchmarks.desktop.agents import (
    Agent,
    Floor,
    StyledModel,
    agent_card,
    agent_probe,
    asking,
    build_agent,
    has_model,
)
from grounding.benchmarks.desktop.folder import (
    ActStage,
    DesktopAsked,
    DesktopFolder,
    DesktopRunInfo,
    DesktopScored,
    DesktopStepLine,
    check_tolerance,
    line_of,
    memories,
    score_desktop,
    signed,
)
from grounding.benchmarks.desktop.rows import NAMES, print_runs, print_tables_of, write_page
from grounding.benchmarks.episodes import AgentBenchmark
from grounding.cards import GrounderCard, PlannerCard
from grounding.data import load_desktop
from grounding.data.desktop_records import DesktopPrediction, DesktopTask
from grounding.data.option import ready
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.options import DesktopScoringName, Display, EvalOptions, MemoryKind, TaskKind
from grounding.records import Record
from grounding.report.html.written import written_or_warned
from grounding.run.benchmark import Pass, Shared, Takes, Work, void_words
from grounding.run.building import chat_options, check_numbers
from grounding.run.display import Progress
from grounding.run.dry import AskedModel
from grounding.run.folder import begun, image_rule_text
from grounding.run.ray.cluster import AHEAD, RemoteStage, Workers, check_executor
from grounding.run.ray.worker import ModelAddress, OpenedStage, StageWork, seen
from grounding.run.several import combine
from grounding.scoring.desktop import DESKTOP_RULES, TOLERANCE_PX, judge_desktop
from grounding.serving.managed import MANAGED, ManagedServers, manage_servers, server_elsewhere, starts_servers
from grounding.serving.worker_server import ANYWHERE, WorkerServer

if TYPE_CHECKING:
    from rich.console import Console


def select_desktop(
    tasks: Sequence[DesktopTask], kind: TaskKind | None, sample_ids: Sequence[str], limit: int | None
) -> tuple[tuple[DesktopTask, ...], str]:
    """The tasks with the steps that are asked for, and that choice in words; raises UserError where none is."""
    known = {step.id for task in tasks for step in task.steps}
    for step_id in sample_ids:
        if step_id not in known:
            raise UserError(f"--sample-id {step_id}: no such step; ids look like {min(known, default='task/1')}")
    of_kind = [task for task in tasks if kind in (None, task.kind)]
    left = [step.id for task in of_kind for step in task.steps if not sample_ids or step.id in sample_ids][:limit]
    if not left:
        raise UserError("no step is left by --kind, --sample-id and --limit")
    wanted = frozenset(left)
    chosen = ((task, tuple(step for step in task.steps if step.id in wanted)) for task in of_kind)
    words = {"kind": kind, "steps": ",".join(sorted(set(sample_ids))), "limit": limit}
    said = ";".join(f"{name}={value}" for name, value in words.items() if value not in (None, ""))
    return tuple(msgspec.structs.replace(task, steps=steps) for task, steps in chosen if steps), said or "all"


class PreparedDesktop(Record, frozen=True, kw_only=True):
    """Everything that a run needs. ``worker_server`` is what each worker on a cluster starts for itself. ``model`` is
    the agent's card as the user named it, None without a model; ``served`` the same where one serves it oneself.
    """

    options: EvalOptions
    model: StyledModel | None
    served: GrounderCard | None
    lines: tuple[DesktopStepLine, ...]
    agent: Agent
    base_url: str
    servers: ManagedServers | None
    worker_server: WorkerServer | None
    info: DesktopRunInfo
    warnings: tuple[str, ...]

    async def aclose(self) -> None:
        await self.agent.aclose()


def _check_card(options: EvalOptions, agent: Agent, model: StyledModel | None) -> None:
    if options.base_url and model is None:
        raise UserError(f"--base-url {' '.join(options.base_url)}: the agent {agent.name} asks no server; leave it out")
    if options.temperature is not None and (model is None or "temperature" not in model.card.takes):
        raise UserError(f"--temperature: {agent.name} takes no temperature; leave it out")
    if options.cost_limit is not None and model is not None and model.card.price is None:
        raise UserError(f"--cost-limit: the card of {agent.name} states no price, so no limit can be kept")


async def in_workers(own: ActStage, prepared: PreparedDesktop, workers: Workers) -> RemoteStage:
    options, model = prepared.options, prepared.model
    work = StageWork(
        opener=open_act,
        options=options,
        identity=own.identity,
        given=None if model is None else model.model,
        models=() if model is None else (ModelAddress(model.card, " ".join(options.base_url), "--base-url"),),
        worker_server=prepared.worker_server,
    )
    return await workers.stage(own, work, AHEAD)


def open_act(work: StageWork, budget: Budget, told: Any) -> OpenedStage:
    """The stage in a worker, which reads no data set: what an agent is asked comes with every item."""
    options: EvalOptions = work.options
    card: GrounderCard | PlannerCard | None = work.given
    chat = chat_options(options, work.base_url or " ".join(options.base_url))
    chat = msgspec.structs.replace(chat, max_connections=work.connections or chat.max_connections)
    model = None if card is None else asking(card, options.style, options.attempts)
    agent, _ = build_agent(options, model, (), chat, budget, told.retried)
    stage = ActStage(agent, told)

    async def run(item: DesktopStepLine, earlier: None, key: str) -> object:
        seen(item.step.screenshot.path)
        return await stage.run(item, earlier, key)

    return OpenedStage(stage.identity, stage.max_concurrency, run, agent.check, agent.aclose)


_COLOURS = {"right": "green", "wrong": "yellow", "unparsed": "magenta", "missing": "red", "error": "red"}
_SENSELESS = {
    name: why
    for names, why in {
        "planner planner_prompt planner_model planner_base_url plan_ahead plans": "an agent gets no plan",
        "history history_file history_scope": "an agent is told its memory and no history; see --memory",
        "questions": "desktop tasks have one file each and no questions file",
        "transcript asr_base_url noise_dir": "desktop tasks have no recordings",
        "participant": "desktop tasks have no participants; choose with --kind or --sample-id",
        "clusters": "desktop tasks have no participants: their intervals are over tasks",
        "send": "agents are sent their screenshots in the request",
        "backend model_path dtype device batch_size": "agents are asked over a server",
    }.items()
    for name in names.split()
}


class Desktop(AgentBenchmark[EvalOptions, PreparedDesktop, DesktopScored]):
    name = "desktop"
    takes = Takes(
        what="whose steps are answered with actions on a desktop",
        names=(frozenset(EvalOptions.__struct_fields__) | {"json", "scoring", "published", "epochs", "baseline"})
        - {*_SENSELESS, "plan_store", "no_plan_store"},
        choices={"memory": get_args(MemoryKind), "kind": get_args(TaskKind), "scoring": DESKTOP_RULES},
        why=_SENSELESS,
        harmless={"backend": "server", "no_plan_store": True},
    )
    axes = ("grounder", "planner", "plans", "memory")
    again: ClassVar = {"tolerance": "tolerance_px"}
    folder = DesktopFolder
    answers: ClassVar = {"predictions.jsonl": DesktopPrediction}
    unit = "steps"
    wide = 124

    def runs(self, given: Mapping[str, Any], axes: Sequence[str], command: str) -> tuple[EvalOptions, ...]:
        runs = combine(given, axes, command=command)
        if len({run.grounder for run in runs}) < 2:
            return runs
        # What is meant for models is left out for agents without one.
        usual = {"base_url": (), "style": EvalOptions().style, "attempts": None}
        return tuple(run if has_model(run.grounder) else msgspec.structs.replace(run, **usual) for run in runs)

    def progress(self, display: Display | None) -> Progress:
        return Progress(display, _COLOURS, ("right", "wrong"))

    def prepare(
        self, options: EvalOptions, budget: Budget, progress: Progress, shared: Shared, *, dry: bool = False
    ) -> PreparedDesktop:
        options = msgspec.structs.replace(options, dry_run=dry)
        check_executor(options.executor, options.workers, options.ray_address)
        check_numbers(options)
        check_tolerance(options.tolerance)
        if options.attempts is not None and not 1 <= options.attempts <= 3:
            raise UserError(f"--attempts {options.attempts}: expected 1, 2 or 3")
        # The data set is read after the card and before the agent is made: some agents need it.
        model = agent_card(options)
        ready(options.data_dir)
        with progress.phase("reading the data set"):
            what = ("desktop", options.dataset, options.data_dir)
            dataset = shared.once(what, lambda: load_desktop(options.dataset, options.data_dir))
        tasks, selected = select_desktop(dataset.tasks, options.kind, options.sample_id, options.limit)
        served = model.model if model is not None and isinstance(model.model, GrounderCard) else None
        servers = worker_server = None
        if options.executor == "local":
            if not dry and (servers := manage_servers(served, options, ())) is not None:
                servers = shared.servers.matching(servers)
        elif not dry and served is not None and (elsewhere := server_elsewhere(served, options, ())) is not None:
            worker_server = WorkerServer(card=served, options=elsewhere)
        own = servers is not None or worker_server is not None or (dry and starts_servers(served, options))
        address = ANYWHERE if worker_server else servers.base_url if servers else " ".join(options.base_url)
        chat = chat_options(options, address)
        agent, base_url = build_agent(options, model, dataset.tasks, chat, budget, progress.retried)
        _check_card(options, agent, model)
        asked = DesktopAsked(
            dataset=dataset.name,
            fingerprint=dataset.fingerprint,
            select=selected,
            agent=agent.name,
            agent_identity=agent.identity,
            base_url=MANAGED if own else base_url,
            memory=options.memory,
            style=None if model is None else model.style,
            attempts=1 if model is None else model.attempts,
            seed=options.seed or 0,
            version=__version__,
        )
        info = DesktopRunInfo(
            **begun(asked, (asked.dataset, asked.agent, asked.memory), options, dataset.departs),
            family=None if model is None else model.card.family,
            tolerance_px=TOLERANCE_PX if options.tolerance is None else options.tolerance,
            prompt="none" if model is None else f"{model.style}@{model.card.prompt_hash}",
            image="original" if model is None else image_rule_text(model.card.image),
        )
        memory_of = memories(dataset.tasks, options.memory, asked.seed)
        return PreparedDesktop(
            options=options,
            model=model,
            served=served,
            lines=tuple(line_of(task, step, memory_of[step.id]) for task in tasks for step in task.steps),
            agent=agent,
            base_url=base_url,
            servers=servers,
            worker_server=worker_server,
            info=signed(info),
            warnings=dataset.warnings,
        )

    def write_items(self, prepared: PreparedDesktop, folder: DesktopFolder) -> None:
        folder.replace_lines("steps.jsonl", prepared.lines)

    def around(self, prepared: PreparedDesktop, work: Work, shared: Shared) -> AbstractContextManager[object]:
        unanswered = work.journals["predictions.jsonl"].settled_count < len(prepared.lines)
        return shared.servers.running(prepared.servers if unanswered else None, work.folder / "server.log")

    def passes(self, prepared: PreparedDesktop, work: Work) -> Iterator[Pass]:
        agent, model, tolerance = prepared.agent, prepared.model, prepared.info.tolerance_px
        stage = ActStage(agent, work.journals["predictions.jsonl"])

        def outcome(item: DesktopStepLine, answer: DesktopPrediction) -> str:
            failure = judge_desktop(item.step, answer, tolerance).failure or "right"
            return failure if failure in _COLOURS else "wrong"

        async def check() -> None:
            await agent.check()
            if prepared.served is not None and not prepared.options.no_probe and not prepared.worker_server:
                assert model is not None
                await agent_probe(model, agent).run(work.folder, work.progress)

        asks = []
        if model is not None:
            first = lambda item, key: stage.run(item, None, key)  # noqa: E731
            asks.append(AskedModel("agent", model.card, first=first, calls=(1, prepared.info.asked.attempts)))
        yield Pass(
            stage=stage,
            items=prepared.lines,
            progress=work.progress,
            outcome=outcome,
            check=check,
            early=bool(prepared.base_url) and prepared.servers is None and prepared.worker_server is None,
            elsewhere=None if isinstance(agent, Floor) else partial(in_workers, stage, prepared),
            asks=tuple(asks),
        )

    def score(self, folder: DesktopFolder, *, tolerance_px: float | None = None) -> DesktopScored:
        return score_desktop(folder, tolerance_px=tolerance_px)

    def page(self, scored: DesktopScored) -> Path | None:
        return written_or_warned(lambda: write_page(scored.folder, None))

    def void(self, scored: DesktopScored) -> str:
        counts = scored.summary.counts
        is_void = counts.failures["missing"] == counts.steps and not counts.unasked
        return void_words(counts.steps) if is_void else ""

    def baseline(self, runs: Sequence[EvalOptions], varying: Sequence[str]) -> int:
        without = [number for number, run in enumerate(runs) if run.memory == "none"]
        return without[0] if "memory" in varying and without else 0

    def figures(self, scored: DesktopScored, scoring: str | None) -> dict[str, float | None]:
        found = scored.summary.scores[scoring or "paper"]
        return {"micro": found.micro.value, "macro": found.macro_task.value}

    def reading(self, scored: DesktopScored) -> DesktopScoringName:  # noqa: ARG002
        return "paper"

    def print_runs(self, console: Console, results: Sequence[DesktopScored], rule: DesktopScoringName) -> None:
        print_runs(console, results, rule)

    def print_published(self, console: Console, results: Sequence[DesktopScored]) -> None:
        print_tables_of(console, results)

    def measures(self, rule: DesktopScoringName) -> tuple[str, ...]:
        return (NAMES[rule],)


BENCHMARK = Desktop()

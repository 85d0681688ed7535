"""Clicks (RealWebAssist, ScreenSpot and their like): a planner rewrites an instruction, a grounder gives the point."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from grounding.benchmarks.clicks import CLICKS
from grounding.benchmarks.clicks.preparation import (
    PreparedClicks,
    left_to_ask,
    nobody_told,
    prepare,
    without_history,
    write_transcripts,
)
from grounding.errors import UserError
from grounding.grounders import asks_a_server
from grounding.grounders.base import Grounder, KeepsFiles
from grounding.grounders.zoom import OFF, ZoomGrounder
from grounding.llm.anymodel import ANY
from grounding.llm.budget import Budget
from grounding.options import EvalOptions, ScoringName
from grounding.planners import BUILTIN
from grounding.planners.base import Planner
from grounding.planners.store import StoredPlanner
from grounding.records import Call, Plan, Prediction
from grounding.run import session
from grounding.run.benchmark import Benchmark, Pass, Result, Shared, Work, void_words
from grounding.run.display import LatestStep, Progress
from grounding.run.folder import RunFolder
from grounding.run.journal import Journal, paid_calls
from grounding.run.probe.replies import probe_predictions
from grounding.run.scorebook import ScoredClicks, score_run, scored_tasks
from grounding.run.several import combine
from grounding.run.steps import GroundStage, PlanAheadStage, PlanStage, StepItem
from grounding.scoring.metrics import registered, spread
from grounding.scoring.scored import ClusterName, judge

if TYPE_CHECKING:
    from rich.console import Console

    from grounding.run.dry import AskedModel, Looked
    from grounding.run.ray.cluster import Workers
    from grounding.run.runner import Stage


PASSES = "passes.jsonl"  # The looks of a grounder that looks again, each as soon as it was answered.


class Clicks(Benchmark[EvalOptions, PreparedClicks, ScoredClicks]):
    name = ""
    takes = CLICKS
    axes = ("grounder", "planner", "plans", "memory", "zoom")
    again: ClassVar = {"clusters": "clusters"}
    folder = RunFolder
    answers: ClassVar = {"plans.jsonl": Plan, "predictions.jsonl": Prediction}
    episodes = False
    limits_together = True
    unit = "steps"
    wide = 100

    def runs(self, given: Mapping[str, Any], axes: Sequence[str], command: str) -> tuple[EvalOptions, ...]:
        """Every planner with every grounder, each without what is meant for another of them."""
        runs = combine(_with_models(given), axes, command=command)
        several_grounders = len({run.grounder for run in runs}) > 1
        several_planners = len({run.planner for run in runs}) > 1
        found = []
        for options in runs:
            if several_grounders and options.base_url and not asks_a_server(options.grounder):
                options = msgspec.structs.replace(options, base_url=())
            if several_planners and options.planner_base_url and options.planner in BUILTIN:
                options = msgspec.structs.replace(options, planner_base_url=None)
            found.append(options)
        return tuple(dict.fromkeys(found))

    def epoch(self, options: EvalOptions, number: int) -> EvalOptions:
        """Another seed, and the number in every key, so that no answer of another repeat is taken for its own."""
        if not number:
            return options
        return msgspec.structs.replace(options, epoch=number + 1, seed=(options.seed or 0) + number)

    def name_of(self, options: EvalOptions, varying: Sequence[str]) -> str:  # noqa: ARG002
        zoom = "" if options.zoom == OFF else f"+zoom-{_stem(options.zoom)}"
        return f"{_stem(options.planner)} + {_stem(options.grounder)}{zoom}"

    def title(self, prepared: PreparedClicks, options: EvalOptions, varying: Sequence[str], *, swept: bool) -> str:
        """Planner and grounder, as in the paper's tables; of a sweep the values that vary."""
        from grounding.benchmarks.clicks.sweeping import value_words

        if swept:
            return ", ".join(value_words(options, name) for name in varying)
        return f"{prepared.asked.planner} + {prepared.asked.grounder}"

    def together(self, runs: Sequence[tuple[EvalOptions, PreparedClicks]]) -> Sequence[EvalOptions]:
        """Leave out histories that nobody is told of; refuse what not one run can keep, and plans paid twice. Raises
        UserError: no run has a place for a history, no card states a price, or plans would be paid several times.
        """
        found = []
        asked = [options for options, _ in runs if options.history]
        told = any(one.asked.history for _, one in runs)
        if asked and not told:
            raise UserError(f"{self.name_of(asked[-1], ())}: {nobody_told(asked[-1])} (nothing was asked yet)")
        for options, one in runs:
            if options.history and not one.asked.history:
                name = self.name_of(options, ())
                line = f"{name}: --history {options.history} is left out: nobody is told of it"
                print(f"grounding: {line}", file=sys.stderr, flush=True)
                options = without_history(options)
            found.append(options if _is_priced(one) else msgspec.structs.replace(options, cost_limit=None))
        _check_limit(runs[0][0].cost_limit, [one for _, one in runs])
        _check_asked_once([one for _, one in runs])
        for _, one in runs:
            if isinstance(one.planner.planner, StoredPlanner):
                one.planner.planner.store.prepare()
        return found

    def queued(self, prepared: PreparedClicks) -> Mapping[str, str]:
        asked, options = prepared.asked, prepared.options
        name = " · ".join(filter(None, (f"{asked.planner} + {asked.grounder}", options.transcript)))
        server = "" if prepared.servers is None and prepared.worker_server is None else prepared.grounder.grounder.name
        return {"name": name, "planner": asked.planner, "grounder": asked.grounder, "server": server}

    def progress(self, display: Any) -> Progress:
        return Progress(display)

    def prepare(
        self, options: EvalOptions, budget: Budget, progress: Progress, shared: Shared, *, dry: bool = False
    ) -> PreparedClicks:
        return prepare(options, budget, progress, shared, dry=dry)

    def journals(self, prepared: PreparedClicks) -> Mapping[str, type[Any]]:
        more: dict[str, type[Any]] = {"ahead.jsonl": Plan} if prepared.asked.plan_ahead else {}
        if isinstance(prepared.grounder.grounder, ZoomGrounder):
            more[PASSES] = Prediction
        return {**self.answers, **more}

    def item_ids(self, prepared: PreparedClicks) -> Iterable[str]:
        return prepared.selection.step_ids

    def paid(self, folder: Path) -> Iterator[Call]:
        """All requests that a run made so far. A plan that another run made was paid by that run."""
        # With --plan-ahead every plan's cost is that of a reply in ahead.jsonl, where it stands first.
        asked = "ahead.jsonl" if (folder / "ahead.jsonl").exists() else "plans.jsonl"
        yield from (reply.call for reply in probe_predictions(folder) if reply.call is not None)
        # Of a grounder that looks again every look is kept by itself, before its step is through.
        answered = PASSES if (folder / PASSES).exists() else "predictions.jsonl"
        yield from paid_calls(folder, (asked, answered))

    def write_items(self, prepared: PreparedClicks, folder: RunFolder) -> None:
        write_transcripts(prepared, folder)
        folder.write_steps(prepared.selection.sessions)
        if isinstance(prepared.grounder.grounder, KeepsFiles):
            prepared.grounder.grounder.keep_in(folder.path)

    def around(self, prepared: PreparedClicks, work: Work, shared: Shared) -> AbstractContextManager[object]:
        """The servers of the grounder, where there is something left to ask it."""
        unanswered = work.journals["predictions.jsonl"].settled_count < len(prepared.items)
        return shared.servers.running(prepared.servers if unanswered else None, work.folder / "server.log")

    def passes(self, prepared: PreparedClicks, work: Work) -> Iterator[Pass]:
        yield _Clicking(prepared, work).as_pass()

    def survey(self, prepared: PreparedClicks, folder: Path, shared: Shared) -> Looked:
        """What a run would still ask, with the plans that are stored and those that runs before it will have asked."""
        from grounding.benchmarks.clicks.dryrun import survey

        asked_for: set[str] = shared.once("plans asked for", set)
        return survey(prepared, folder, self.journals(prepared), asked_for)

    def score(self, folder: RunFolder, *, clusters: ClusterName | None = None) -> ScoredClicks:
        """Judge every stored answer again; from now on with intervals over ``clusters``, where given."""
        info = folder.read_info()
        if clusters not in (None, info.clusters):
            folder.write_info(msgspec.structs.replace(info, clusters=clusters))
        return score_run(folder)

    def page(self, scored: ScoredClicks) -> Path | None:
        from grounding.report.html.written import with_report

        return with_report(scored).report

    def void(self, scored: ScoredClicks) -> str:
        counts = scored.summary.counts
        return void_words(counts.steps) if counts.is_void else ""

    def figures(self, scored: ScoredClicks, scoring: str | None) -> dict[str, float | None]:  # noqa: ARG002
        found = spread(registered(), [scored_tasks(scored)])
        return {each.metric.replace("_", " "): each.mean for each in found.metrics}

    def repeats(self, runs: Sequence[ScoredClicks]) -> Mapping[str, str]:
        if not runs:
            return {}
        found = spread(registered(), [scored_tasks(run) for run in runs])
        lines = {}
        for what, counts in (("steps", found.steps), ("tasks", found.tasks)):
            every, some = (
                f"{k}/{counts.n} ({100 * k / counts.n:.1f} %)" if counts.n else "0/0"
                for k in (counts.in_all, counts.in_any)
            )
            lines[what] = f"right in all epochs {every} · in any {some}"
        same = all(each.sd == 0 for each in found.metrics) and found.steps.in_all == found.steps.in_any
        if found.epochs > 1 and same:
            lines["spread"] = "none: every epoch hit the same steps"
        return lines

    def as_json(self, result: Result[ScoredClicks]) -> Any:
        from grounding.benchmarks.clicks.sweeping import named

        if result.folder is None and result.rows[0].scored:
            return result.rows[0].scored.summary
        return result.written.content if result.swept else named(result)

    def write(self, result: Result[ScoredClicks]) -> Any:
        from grounding.benchmarks.clicks.sweeping import write_sweep

        return write_sweep(result)

    def show(self, console: Console, result: Result[ScoredClicks], scoring: str | None, *, published: bool) -> None:  # noqa: ARG002
        from grounding.benchmarks.clicks.sweeping import show_matrix, show_sweep

        rule: ScoringName = "official" if scoring == "official" else "paper"
        if result.folder is None:
            self.print_runs(console, result.scored, rule)
        elif result.swept:
            show_sweep(result, result.written, rule)
        else:
            show_matrix(result, rule)

    def print_runs(self, console: Console, results: Sequence[ScoredClicks], rule: ScoringName) -> None:
        from grounding.report.table import print_summary

        for one in results:
            print_summary(console, one, scoring=rule)

    def print_published(self, console: Console, results: Sequence[ScoredClicks]) -> None:
        from grounding.report.published import print_published
        from grounding.report.rows import read_rows, run_names

        print_published(console, results, run_names([read_rows(one.folder) for one in results]))


class _Clicking:
    """The one pass of a run: who is asked, here or in workers, and what is known of each step that is through."""

    def __init__(self, prepared: PreparedClicks, work: Work) -> None:
        self._prepared, self._work = prepared, work
        self._plans: Journal[Plan] = work.journals["plans.jsonl"]
        self._predictions: Journal[Prediction] = work.journals["predictions.jsonl"]
        self._zoom = prepared.grounder.grounder if isinstance(prepared.grounder.grounder, ZoomGrounder) else None
        if self._zoom is not None:
            self._zoom.passes = work.journals[PASSES]

    def as_pass(self) -> Pass:
        prepared = self._prepared
        planner, grounder = prepared.planner.planner, prepared.grounder.grounder
        self._ground = self._ground_stage(grounder)
        return Pass(
            stage=self._plan_stage(planner),
            after=(self._ground,),
            items=prepared.items,
            progress=self._work.progress,
            outcome=lambda item, last: judge(item.step, *_both(last)).outcome,
            check=lambda: self._check(planner, grounder),
            before=self._before,
            start=lambda: self._start(grounder),
            elsewhere=self._elsewhere,
            asks=tuple(_asked(prepared)),
            latest=_latest,
            unanswered=lambda: any(self._left()),
        )

    def _left(self) -> tuple[bool, bool]:
        return left_to_ask(self._prepared, self._plans, self._predictions)

    async def _check(self, planner: Planner, grounder: Grounder) -> None:
        plans, predictions = self._left()
        if plans:
            await planner.check()
        if predictions:
            await grounder.check()

    async def _before(self) -> None:
        """Servers that the run or its workers start, and models in this process, are left to the run."""
        prepared = self._prepared
        plans, predictions = self._left()
        if plans and prepared.planner.base_url:
            await prepared.planner.planner.check()
        if predictions and prepared.grounder.base_url and prepared.servers is None and prepared.worker_server is None:
            await prepared.grounder.grounder.check()

    async def _start(self, grounder: Grounder) -> None:
        if self._left()[1]:
            self._ground.untouched = await self._probe(grounder)

    async def _elsewhere(self, workers: Workers) -> tuple[Stage[Any], ...]:
        from grounding.benchmarks.clicks.elsewhere import remote_grounder, remote_planner

        prepared, options = self._prepared, self._prepared.options
        planner, grounder = prepared.planner.planner, prepared.grounder.grounder
        plans, predictions = self._left()
        if plans:
            stored = planner if isinstance(planner, StoredPlanner) else None
            own = planner if stored is None else stored.planner
            if (planned := remote_planner(workers, options, prepared.planner, own)) is not None:
                planner = planned if stored is None else stored.over(planned)
        if predictions:
            built = prepared.grounder
            if self._zoom is not None:  # Crops are cut, and looks are kept, where the run is written.
                built = msgspec.structs.replace(built, grounder=self._zoom.inner)
            remote = remote_grounder(workers, options, built, prepared.worker_server)
            if remote is not None:
                grounder = remote if self._zoom is None else self._zoom.over(remote)
        await self._check(planner, grounder)
        untouched = await self._probe(grounder) if predictions else False
        # Only now is it known how much the workers take at once.
        return self._plan_stage(planner), self._ground_stage(grounder, untouched=untouched)

    async def _probe(self, grounder: Grounder) -> bool:
        """What stands between the check of a grounder and its first question. Returns whether the servers make the
        card's sizes of pictures by themselves.
        """
        prepared, probe, progress, folder = self._prepared, self._prepared.probe, self._work.progress, self._work.folder
        # Servers that the run started have the card's limits; these are believed where nobody can or will ask them.
        untouched = prepared.own_servers and (probe is None or prepared.worker_server is not None)
        if probe is not None and grounder is not prepared.grounder.grounder:
            probe = probe.on_workers(grounder.inner if isinstance(grounder, ZoomGrounder) else grounder)
        if probe is not None:
            untouched = untouched or await probe.servers_make_the_sizes(progress)
            await probe.run(folder, progress, untouched=untouched)
        return untouched

    def _plan_stage(self, planner: Planner) -> PlanStage | PlanAheadStage:
        if not self._prepared.asked.plan_ahead:
            return PlanStage(planner, self._plans)
        return PlanAheadStage(planner, self._plans, self._work.journals["ahead.jsonl"])

    def _ground_stage(self, grounder: Grounder, *, untouched: bool = False) -> GroundStage:
        return GroundStage(grounder, self._predictions, reads=self._prepared.grounder.reads, untouched=untouched)


def evaluate(options: EvalOptions) -> ScoredClicks:
    """Run what the options ask for, or continue it; see :func:`grounding.run.session.evaluate`."""
    return session.evaluate(BENCHMARK, options)


def _both(last: Plan | Prediction) -> tuple[Plan | None, Prediction | None]:
    return (last, None) if isinstance(last, Plan) else (None, last)


def _latest(item: StepItem, last: Plan | Prediction, outcome: str) -> LatestStep:
    step = item.step
    return LatestStep(
        id=step.id,
        instruction=step.instruction,
        screenshot=step.screenshot,
        region=step.region,
        point=last.point if isinstance(last, Prediction) else None,
        outcome=outcome,
    )


def _stem(name: str) -> str:
    return Path(name).stem if name.endswith(".yaml") else name


def _asked(prepared: PreparedClicks) -> Iterator[AskedModel]:
    from grounding.run.dry import AskedModel

    if prepared.planner.card is not None:
        yield AskedModel("planner", prepared.planner.card, first=None)
    if prepared.grounder.card is not None:
        yield AskedModel("grounder", prepared.grounder.card, first=None)


def _is_priced(prepared: PreparedClicks) -> bool:
    return any(card is not None and card.price is not None for card in (prepared.planner.card, prepared.grounder.card))


def _check_limit(limit_usd: float | None, prepared: Sequence[PreparedClicks]) -> None:
    if limit_usd is not None and not limit_usd > 0:
        raise UserError(f"--cost-limit {limit_usd}: expected US dollars, more than 0")
    if limit_usd is not None and not any(map(_is_priced, prepared)):
        raise UserError(
            "--cost-limit: none of these models' cards states a price (field price), so no limit can be kept"
        )


def _check_asked_once(prepared: Sequence[PreparedClicks]) -> None:
    paid = [one for one in prepared if one.planner.card and not isinstance(one.planner.planner, StoredPlanner)]
    nobody = {"grounder": "", "grounder_identity": "", "base_url": ""}
    plans = {one.info.run_id: msgspec.structs.replace(one.asked, **nobody) for one in paid}
    for asked, times in Counter(plans.values()).items():
        if times > 1:
            raise UserError(
                f"the planner {asked.planner} would be asked, and paid, {times} times for the same plans, because no "
                "store keeps them: leave out --no-plan-store and GROUNDING_NO_CACHE, or name one with --plan-store"
            )


BENCHMARK = Clicks()


def _with_models(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """``--grounder any --model NAME`` in one word, as it stands in the run: ``--grounder NAME``. Raises UserError: the
    grounder has a model of its own.
    """
    if not given.get("model"):
        return given
    asked = given["grounder"] or (ANY,)
    if own := [name for name in asked if name.partition("@")[0] != ANY]:
        raise UserError(f"--model is the model of --grounder {ANY}, and {own[0]} is one by itself: leave --model out")
    return {**given, "grounder": tuple(f"{model}{name[len(ANY) :]}" for name in asked for model in given["model"])}

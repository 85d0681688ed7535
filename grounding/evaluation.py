"""A whole run: options in, a scored run folder out. The only place that knows every room."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import math
import platform
import signal
import time
from contextlib import suppress

import msgspec

from grounding import __version__
from grounding.budget import Budget
from grounding.cards import GrounderCard, find_card
from grounding.chat import ChatOptions
from grounding.display import Progress
from grounding.errors import UserError
from grounding.grounders import BUILTIN, ENTRY_POINTS, BuiltGrounder, build_grounder
from grounding.journal import Journal
from grounding.loaders import load_dataset
from grounding.options import EvalOptions
from grounding.places import models_dir
from grounding.planners import BuiltPlanner, build_planner
from grounding.records import Dataset, Plan, Prediction, Record
from grounding.runfolder import Asked, RunFolder, RunInfo, utc_now
from grounding.runner import Runner
from grounding.scorebook import Scored, score_run
from grounding.selection import Selection, select_steps
from grounding.signature import signature
from grounding.steps import GroundStage, PlanStage, StepItem, step_items

DEFAULT_HISTORY = 10
INTERRUPTED = "interrupted"
_LIBRARIES = ("aiohttp", "msgspec", "numpy", "onnxruntime", "opencv-python-headless", "pillow", "rapidocr", "shapely")


class _Prepared(Record, frozen=True, kw_only=True):
    """Everything a run needs, checked before the first question is asked."""

    dataset: Dataset
    selection: Selection
    planner: BuiltPlanner
    grounder: BuiltGrounder
    asked: Asked
    info: RunInfo


def evaluate(options: EvalOptions, progress: Progress) -> Scored:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet, or the disk failed in mid-run
            (what was answered is kept).
    """
    _check_numbers(options)
    budget = Budget(options.cost_limit)
    prepared = _prepare(options, budget, progress)
    folder = RunFolder(options.log_dir / prepared.info.run_id)
    set_aside = folder.set_aside() if options.fresh else None
    folder.create()
    try:
        info = _continued(folder, prepared.info)
        started = time.monotonic()
        stopped = _run(prepared, folder, budget, progress)
        info = msgspec.structs.replace(info, stopped=stopped, wall_s=info.wall_s + time.monotonic() - started)
        folder.write_info(info)
        scored = score_run(folder, prepared.selection.sessions)
        info = msgspec.structs.replace(info, status=scored.summary.status)
        folder.write_info(info)
    finally:
        folder.release()
    return msgspec.structs.replace(scored, info=info, set_aside=set_aside)


def _prepare(options: EvalOptions, budget: Budget, progress: Progress) -> _Prepared:
    chat = ChatOptions(
        temperature=options.temperature,
        seed=options.seed,
        max_connections=options.max_connections,
        timeout_s=options.timeout,
        max_retries=options.max_retries,
    )
    planner = build_planner(
        options.planner,
        plans=options.plans,
        cards=models_dir() / "planners",
        options=msgspec.structs.replace(chat, base_url=options.planner_base_url),
        budget=budget,
        on_retry=progress.retried,
    )
    # The data set is read after the planner's card and before the grounder: some grounders need it.
    history = _history_length(options, uses_history=planner.uses_history or _grounder_uses_history(options.grounder))
    if options.history_file is not None and not history:
        raise UserError(
            f"--history-file {options.history_file}: neither this planner nor this grounder is told what happened "
            "before; leave it out, or ask for it with --history N"
        )
    with progress.phase("reading the data set"):
        dataset = load_dataset(
            options.dataset,
            options.data_dir,
            questions=options.questions,
            history=(options.history_file or "auto") if history else None,
        )
    selection = select_steps(
        dataset.sessions, participants=options.participant, sample_ids=options.sample_id, limit=options.limit
    )
    seed = options.seed or 0
    grounder = build_grounder(
        options.grounder,
        predictions=options.predictions,
        sessions=dataset.sessions,
        seed=seed,
        cards=models_dir() / "grounders",
        options=msgspec.structs.replace(chat, base_url=options.base_url),
        budget=budget,
        on_retry=progress.retried,
    )
    _check_cards(options, planner, grounder)
    asked = Asked(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        questions=options.questions or "",
        history=history,
        history_file=dataset.history_file if history else "",
        select=selection.text,
        planner=planner.planner.name,
        planner_identity=planner.planner.identity,
        planner_base_url=planner.base_url,
        grounder=grounder.grounder.name,
        grounder_identity=grounder.grounder.identity,
        base_url=grounder.base_url,
        seed=seed,
        version=__version__,
    )
    info = RunInfo(
        run_id=_run_id(asked),
        status="started",
        signature=signature(asked, planner.card, grounder.card),
        asked=asked,
        data_dir=str(options.data_dir or ""),
        command=options.command,
        versions=_versions(),
        started_at=utc_now(),
    )
    return _Prepared(dataset=dataset, selection=selection, planner=planner, grounder=grounder, asked=asked, info=info)


def _history_length(options: EvalOptions, *, uses_history: bool) -> int:
    """How many earlier steps models are told of: what was asked for, or ten where a prompt has a place for them."""
    if options.history is not None:
        return options.history
    return DEFAULT_HISTORY if uses_history else 0


def _grounder_uses_history(name: str) -> bool:
    """Whether the prompt of the named grounder has a place for history; known before the grounder is made."""
    if name in BUILTIN or importlib.metadata.entry_points(group=ENTRY_POINTS, name=name):
        return False
    return find_card(
        name, models_dir() / "grounders", GrounderCard, builtin=tuple(BUILTIN), kind="grounder"
    ).uses_history


def _check_numbers(options: EvalOptions) -> None:
    least = {"history": 0, "seed": 0, "max_connections": 1, "max_retries": 0}
    for name, lowest in least.items():
        value = getattr(options, name)
        if value is not None and value < lowest:
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {lowest} or more")
    if options.timeout is not None and not (math.isfinite(options.timeout) and options.timeout > 0):
        raise UserError(f"--timeout {options.timeout}: expected seconds, more than 0")
    if options.cost_limit is not None and not options.cost_limit > 0:
        raise UserError(f"--cost-limit {options.cost_limit}: expected US dollars, more than 0")


def _check_cards(options: EvalOptions, planner: BuiltPlanner, grounder: BuiltGrounder) -> None:
    for flag, url, card in (
        ("--base-url", options.base_url, grounder.card),
        ("--planner-base-url", options.planner_base_url, planner.card),
    ):
        if url is not None and card is None:
            who = f"grounder {options.grounder}" if flag == "--base-url" else f"planner {options.planner}"
            raise UserError(
                f"{flag} {url}: the {who} asks no server; name the model that is served there, or leave it out"
            )
    cards = [card for card in (planner.card, grounder.card) if card is not None]
    if options.temperature is not None and not any("temperature" in card.takes for card in cards):
        names = " and ".join(card.name for card in cards) or "this planner and grounder"
        raise UserError(f"--temperature: {names} take no temperature; leave it out")
    if options.cost_limit is not None and cards and not any(card.price for card in cards):
        names = " and ".join(card.name for card in cards)
        raise UserError(f"--cost-limit: the card of {names} states no price (field price), so no limit can be kept")


def _run_id(asked: Asked) -> str:
    """A readable name with the hash of everything that was asked, so that a changed option is another folder."""
    digest = hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:10]
    words = "_".join(
        name.replace(":", "-").replace("/", "-") for name in (asked.dataset, asked.planner, asked.grounder)
    )
    return f"{words}_{digest}"


def _versions() -> dict[str, str]:
    found = {"grounding": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _continued(folder: RunFolder, info: RunInfo) -> RunInfo:
    """The description of a run that starts or goes on: the first start's time and the wall time so far are kept."""
    if (folder.path / "run.json").exists():
        before = folder.read_info()
        info = msgspec.structs.replace(info, started_at=before.started_at, wall_s=before.wall_s)
    folder.write_info(info)
    return info


def _run(prepared: _Prepared, folder: RunFolder, budget: Budget, progress: Progress) -> str:
    """Ask everything that has no answer yet; returns why it stopped early, or nothing."""
    folder.write_steps(prepared.selection.sessions)
    plans, predictions = folder.plans(), folder.predictions()
    budget.spent_usd = _spent_usd(plans) + _spent_usd(predictions)
    try:
        return asyncio.run(_ask(prepared, plans, predictions, progress))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except OSError as error:
        raise UserError(
            f"{folder.path}: writing failed: {error.strerror}. What was answered is kept; make room and run the same "
            "command again."
        ) from error
    finally:
        plans.close()
        predictions.close()


async def _ask(prepared: _Prepared, plans: Journal[Plan], predictions: Journal[Prediction], progress: Progress) -> str:
    planner, grounder = prepared.planner.planner, prepared.grounder.grounder
    selection, history = prepared.selection, prepared.asked.history
    uses_history = prepared.grounder.uses_history
    ground = GroundStage(grounder, predictions, uses_history=uses_history)
    runner = Runner[StepItem]((PlanStage(planner, plans), ground), on_record=progress.record, on_item=progress.item)
    _terminate_like_interrupt()
    ended_at_plan = sum(plan.failure is not None and plan.failure.kind != "error" for plan in plans)
    try:
        if plans.settled_count < len(selection.step_ids):
            await planner.check()
        if predictions.settled_count < len(selection.step_ids) - ended_at_plan:
            await grounder.check()
        with progress.steps(len(selection.step_ids)):
            stopped = await runner.run(step_items(prepared.dataset.sessions, selection.step_ids, history))
    finally:
        await planner.aclose()
        await grounder.aclose()
    return stopped.reason if stopped else ""


def _spent_usd(journal: Journal[Plan] | Journal[Prediction]) -> float:
    return sum(record.call.cost_usd or 0.0 for record in journal if record.call is not None)


def _terminate_like_interrupt() -> None:
    """Let a polite kill (SIGTERM) end a run as Ctrl-C does: what was answered is scored and the summary is written."""
    task = asyncio.current_task()
    if task is not None:
        # Outside the main thread signals can't be handled.
        with suppress(ValueError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)

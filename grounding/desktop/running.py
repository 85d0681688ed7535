"""A whole desktop run: options in, a scored run folder out, on the runner and the journal that every run uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any

from grounding.attended import attended
from grounding.budget import Budget
from grounding.describedfolder import carry_out
from grounding.desktop.agents import stays
from grounding.desktop.preparation import PreparedDesktop, prepare_desktop
from grounding.desktop.runfiles import DesktopFolder
from grounding.desktop.scorebook import DesktopScored, score_desktop
from grounding.desktop.stage import ActStage, DesktopItem, desktop_items
from grounding.desktop_records import DesktopDataset, DesktopPrediction
from grounding.display import OutcomeProgress
from grounding.errors import Halted
from grounding.journal import Journal
from grounding.loaders import load_desktop
from grounding.options import Display, EvalOptions
from grounding.records import Call
from grounding.runner import Done, Runner, Stage
from grounding.scoring.desktop import judge_desktop
from grounding.serving.shelf import ServerShelf, servers_for

_COLOURS = {"right": "green", "wrong": "yellow", "unparsed": "magenta", "missing": "red", "error": "red"}
_ALWAYS = ("right", "wrong")


def desktop_progress(display: Display | None) -> OutcomeProgress:
    """Progress that counts what is right by the paper and what is not."""
    return OutcomeProgress(display, _COLOURS, _ALWAYS)


def evaluate_desktop(
    options: EvalOptions,
    *,
    load: Callable[..., DesktopDataset] = load_desktop,
    elsewhere: Iterable[Call] = (),
    shelf: ServerShelf | None = None,
) -> DesktopScored:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder.

    Args:
        options: What is asked for.
        load: Reads the data set; runs that follow one another may share what it reads.
        elsewhere: What other runs paid under the same cost limit.
        shelf: Where servers that are started stay for the next run, if one may come.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet, or the disk failed in mid-run
            (what was answered is kept).
    """
    progress = desktop_progress(options.display)
    budget = Budget(options.cost_limit)
    budget.take_up(elsewhere)
    prepared = prepare_desktop(options, budget, progress, load=load, shelf=shelf)
    folder = DesktopFolder(options.log_dir / prepared.info.run_id)
    return carry_out(
        folder,
        prepared.info,
        fresh=options.fresh,
        ask=lambda folder: _run(prepared, folder, budget, progress, shelf),
        score=score_desktop,
    )


def paid_calls(folder: DesktopFolder) -> tuple[Call, ...]:
    """All calls that a run made so far; none where it never began.

    Raises:
        UserError: a file of the folder is damaged.
    """
    if not (folder.path / "predictions.jsonl").exists():
        return ()
    journal = folder.predictions(read_only=True)
    try:
        return tuple(answer.call for answer in journal.every() if answer.call is not None)
    finally:
        journal.close()


def _run(
    prepared: PreparedDesktop,
    folder: DesktopFolder,
    budget: Budget,
    progress: OutcomeProgress,
    shelf: ServerShelf | None,
) -> str:
    """Ask everything that has no answer yet; returns why it stopped early, or nothing."""
    folder.write_steps(prepared.selection.tasks, prepared.memory_of)
    journal = folder.predictions()
    budget.take_up(paid_calls(folder))
    unanswered = journal.settled_count < prepared.selection.step_count
    managed = prepared.servers if unanswered else None
    try:
        around = servers_for(managed, folder.path / "server.log", shelf)
        return attended(lambda: _ask(prepared, folder, journal, budget, progress), folder.path, around=around)
    finally:
        journal.close()


async def _ask(
    prepared: PreparedDesktop,
    folder: DesktopFolder,
    journal: Journal[DesktopPrediction],
    budget: Budget,
    progress: OutcomeProgress,
) -> str:
    agent, tolerance = prepared.agent.agent, prepared.info.tolerance_px
    own = ActStage(agent, journal)
    stage: Stage[DesktopItem] = own

    def told(done: Done) -> None:
        if done.source == "stored":
            progress.kept()

    def through(item: DesktopItem, answer: Any) -> None:
        verdict = judge_desktop(item.step, answer, tolerance)
        kinds = ("unparsed", "missing", "error")
        progress.count("right" if verdict.paper else verdict.failure if verdict.failure in kinds else "wrong")

    items = tuple(desktop_items(prepared.selection.tasks, prepared.memory_of))
    options = prepared.options
    try:
        async with AsyncExitStack() as closing:
            if any(journal.settled(item.step.id, own.key(item, None)) is None for item in items):
                if options.executor == "ray" and not stays(options.grounder):
                    from grounding.desktop.elsewhere import handed_out
                    from grounding.executors.handedout import ClusterHands

                    hands = ClusterHands(options, folder.path, budget, progress)
                    stage = await handed_out(own, prepared, await closing.enter_async_context(hands))
                else:
                    await agent.check()
            runner = Runner[DesktopItem]((stage,), on_record=told, on_item=through)
            with progress.steps(len(items)):
                stopped = await runner.run(items)
    except Halted as halted:
        return str(halted)
    finally:
        await agent.aclose()
    return stopped.reason if stopped else ""

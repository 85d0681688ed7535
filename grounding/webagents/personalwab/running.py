"""A whole run over a shop: options in, a scored run folder out, on the runner and the journal that every run uses."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from grounding.attended import attended
from grounding.budget import Budget
from grounding.describedfolder import carry_out
from grounding.display import OutcomeProgress
from grounding.errors import Halted
from grounding.journal import Journal
from grounding.options import Display
from grounding.records import Call
from grounding.runner import Done, Runner, Stage
from grounding.webagents.personalwab.options import ShopOptions
from grounding.webagents.personalwab.page.page import shop_page
from grounding.webagents.personalwab.preparation import PreparedShop, episode_stage, prepare_shop
from grounding.webagents.personalwab.records import Episode, ShopTask
from grounding.webagents.personalwab.runfiles import ShopFolder
from grounding.webagents.personalwab.scorebook import ShopScored, score_shop
from grounding.webagents.personalwab.shelf import Shelf
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

_COLOURS = {
    "found": "green",
    "not found": "yellow",
    "written": "green",
    "no call": "magenta",
    "unparsed": "magenta",
    "error": "red",
}


def shop_progress(display: Display | None) -> OutcomeProgress:
    """Progress that counts what became of the tasks."""
    return OutcomeProgress(display, _COLOURS, ("found", "not found", "written"), unit="tasks")


def outcome(task: ShopTask, episode: Episode) -> str:
    """What became of a task, in a word: whether any list that was asked for had the target, or a review was written."""
    if episode.failure is not None:
        return episode.failure.kind
    tried = [turn for turn in episode.turns if turn.call.name in FUNCTION_OF.values()]
    if not tried:
        return "no call"
    if task.type == "review":
        return "written" if any(turn.call.name == FUNCTION_OF["review"] for turn in tried) else "not found"
    found = any(turn.observation is not None and task.target_asin in turn.observation.asins for turn in tried)
    return "found" if found else "not found"


def evaluate_shop(
    options: ShopOptions,
    *,
    shelf: Shelf | None = None,
    elsewhere: Iterable[Call] = (),
) -> ShopScored:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder.

    Args:
        options: What is asked for.
        shelf: Reads data sets and builds webs; runs that follow one another may share one.
        elsewhere: What other runs paid under the same cost limit.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet, or the disk failed in mid-run
            (what was answered is kept).
    """
    progress = shop_progress(options.display)
    budget = Budget(options.cost_limit)
    budget.take_up(elsewhere)
    prepared = prepare_shop(options, budget, progress, shelf=shelf)
    folder = ShopFolder(options.log_dir / prepared.info.run_id)
    return carry_out(
        folder,
        prepared.info,
        fresh=options.fresh,
        ask=lambda folder: _run(prepared, folder, budget, progress),
        score=score_shop,
        finish=_unchanged if options.no_report else _with_page,
    )


def _with_page(scored: ShopScored) -> ShopScored:
    return msgspec.structs.replace(scored, report=shop_page(scored))


def _unchanged(scored: ShopScored) -> ShopScored:
    return scored


def paid_calls(folder: ShopFolder) -> tuple[Call, ...]:
    """All requests that a run made so far, an episode's as one; none where it never began.

    Raises:
        UserError: a file of the folder is damaged.
    """
    if not (folder.path / "episodes.jsonl").exists():
        return ()
    journal = folder.episodes(read_only=True)
    try:
        return tuple(call for one in journal.every() for call in (one.call, one.user_call) if call is not None)
    finally:
        journal.close()


def _run(prepared: PreparedShop, folder: ShopFolder, budget: Budget, progress: OutcomeProgress) -> str:
    """Play everything that has no episode yet; returns why it stopped early, or nothing."""
    folder.write_tasks(prepared.task_lines())
    journal = folder.episodes()
    budget.take_up(paid_calls(folder))
    try:
        return attended(lambda: _play(prepared, folder, journal, budget, progress), folder.path)
    finally:
        journal.close()


async def _play(
    prepared: PreparedShop, folder: ShopFolder, journal: Journal[Episode], budget: Budget, progress: OutcomeProgress
) -> str:
    agent, user, options = prepared.agent, prepared.user, prepared.options
    own = episode_stage(prepared, journal)
    stage: Stage[ShopTask] = own

    def told(done: Done) -> None:
        if done.source == "stored":
            progress.kept()

    def through(task: ShopTask, episode: Any) -> None:
        progress.count(outcome(task, episode))

    unplayed = any(journal.settled(task.id, own.key(task, None)) is None for task in prepared.tasks)
    try:
        async with AsyncExitStack() as closing:
            if unplayed and options.executor == "ray":
                from grounding.executors.handedout import ClusterHands
                from grounding.webagents.personalwab.elsewhere import handed_out

                hands = ClusterHands(options, folder.path, budget, progress)
                stage = await handed_out(own, prepared, await closing.enter_async_context(hands))
            elif unplayed:
                await agent.check()
                if user is not None:
                    await user.check()
            with progress.steps(len(prepared.tasks)):
                stopped = await Runner[ShopTask]((stage,), on_record=told, on_item=through).run(prepared.tasks)
    except Halted as halted:
        return str(halted)
    finally:
        await agent.aclose()
        if user is not None:
            await user.aclose()
    return "" if stopped is None else stopped.reason

"""A whole run: options in, a scored run folder out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from grounding.attended import attended
from grounding.atwork import begin, heeding_sigterm
from grounding.budget import Budget
from grounding.display import Progress
from grounding.leftover import left_to_ask
from grounding.options import EvalOptions
from grounding.payments import each_paid_call
from grounding.preparation import Prepared
from grounding.records import Call, Dataset
from grounding.runfolder import RunFolder
from grounding.scorebook import Scored
from grounding.serving.shelf import ServerShelf


def evaluate(
    options: EvalOptions,
    progress: Progress,
    *,
    load: Callable[..., Dataset] | None = None,
    elsewhere: Iterable[Call] = (),
    shelf: ServerShelf | None = None,
    begun: Callable[[], None] | None = None,
) -> Scored:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder.

    Args:
        options: What is asked for.
        progress: Who is told how far it is.
        load: Reads the data set, instead of ``load_dataset``; runs that follow one another may share what it reads.
        elsewhere: What other runs paid under the same cost limit.
        begun: Told when everything is found and the folder is open.
        shelf: Where servers that are started stay for the next run, if one may come.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet, or the disk failed in mid-run
            (what was answered is kept).
    """
    if options.executor == "ray":
        # Only runs on a cluster load what reaches one.
        from grounding.clusterruns import evaluate_on_cluster

        return evaluate_on_cluster(options, progress, load=load, elsewhere=elsewhere)
    budget = Budget(options.cost_limit)
    budget.take_up(elsewhere)
    with begin(options, budget, progress, load=load, shelf=shelf) as run:
        budget.take_up(each_paid_call(run.folder))
        if begun is not None:
            begun()
        stopped = attended(lambda: heeding_sigterm(run.answer(progress)), run.folder.path, around=run.servers(shelf))
        return run.finish(stopped)


async def check_endpoints(prepared: Prepared, options: EvalOptions) -> None:
    """Ask the servers of a run that is to come whether they can be asked: free of charge, and before any run is paid.

    Servers that the run starts itself, and models in this process, are left to the run.

    Raises:
        UserError: one of them can't answer what the run has to ask.
    """
    folder = RunFolder(options.log_dir / prepared.info.run_id)
    plans = predictions = None
    if not options.fresh:
        plans = folder.plans(read_only=True) if (folder.path / "plans.jsonl").exists() else None
        predictions = folder.predictions(read_only=True) if (folder.path / "predictions.jsonl").exists() else None
    try:
        left = left_to_ask(prepared, plans, predictions)
        if left.planner and prepared.planner.base_url:
            await prepared.planner.planner.check()
        if left.grounder and prepared.grounder.base_url and prepared.servers is None:
            await prepared.grounder.grounder.check()
    finally:
        for journal in (plans, predictions):
            if journal is not None:
                journal.close()
        await prepared.planner.planner.aclose()
        await prepared.grounder.grounder.aclose()

"""What a run has paid so far, from the answers in its folder."""

from __future__ import annotations

from typing import Any

from grounding.budget import charged_usd
from grounding.journal import Journal
from grounding.probe.kept import probe_predictions
from grounding.records import Call, Plan, Prediction
from grounding.runfolder import RunFolder


def paid_usd(folder: RunFolder) -> float:
    """What a run has paid so far, or may have, by the answers in its folder; 0 for one that never began.

    Raises:
        UserError: a file of the folder is damaged.
    """
    return sum(map(charged_usd, paid_calls(folder)))


def paid_calls(folder: RunFolder) -> tuple[Call, ...]:
    """All calls that a run made so far. A plan that another run made was paid by that run.

    Raises:
        UserError: a file of the folder is damaged.
    """
    # With --plan-ahead every plan's cost is that of a reply in ahead.jsonl, where it stands first.
    asked = "ahead.jsonl" if (folder.path / "ahead.jsonl").exists() else "plans.jsonl"
    kept: tuple[tuple[str, type[Plan] | type[Prediction]], ...] = ((asked, Plan), ("predictions.jsonl", Prediction))
    calls = [reply.call for reply in probe_predictions(folder.path)]
    for name, kind in kept:
        if (folder.path / name).exists():
            journal: Journal[Any] = Journal(folder.path / name, kind, read_only=True)
            try:
                records = journal.every()
                calls += [one.call for one in records if not (isinstance(one, Plan) and one.reused)]
            finally:
                journal.close()
    return tuple(call for call in calls if call is not None)

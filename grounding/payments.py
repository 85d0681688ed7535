"""What a run has paid so far, from the answers in its folder."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from grounding.budget import charged_usd
from grounding.journal import scan
from grounding.probe.kept import probe_predictions
from grounding.records import Call
from grounding.runfolder import RunFolder


def paid_usd(folder: RunFolder) -> float:
    """What a run has paid so far, or may have, by the answers in its folder; 0 for one that never began.

    Raises:
        UserError: a file of the folder is damaged.
    """
    return sum(map(charged_usd, each_paid_call(folder)))


class _Paid(msgspec.Struct):
    """What a line says of money."""

    call: Call | None = None
    reused: bool = False


def each_paid_call(folder: RunFolder) -> Iterator[Call]:
    """All calls that a run made so far, one after the other. A plan that another run made was paid by that run.

    Raises:
        UserError: a file of the folder is damaged.
    """
    # With --plan-ahead every plan's cost is that of a reply in ahead.jsonl, where it stands first.
    asked = "ahead.jsonl" if (folder.path / "ahead.jsonl").exists() else "plans.jsonl"
    yield from (reply.call for reply in probe_predictions(folder.path) if reply.call is not None)
    for name in (asked, "predictions.jsonl"):
        if (folder.path / name).exists():
            yield from (one.call for one in scan(folder.path / name, _Paid) if one.call is not None and not one.reused)

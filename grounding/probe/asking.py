"""Asks a card's model about the probe's pictures."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grounding.budget import BudgetReached
from grounding.cards import GrounderCard
from grounding.grounders.base import Grounder
from grounding.probe.kept import ProbeReport
from grounding.probe.report import make_report
from grounding.probe.targets import INSTRUCTION, Target, draw_targets
from grounding.records import Prediction, Query


async def ask_all(grounder: Grounder, card: GrounderCard, *, earlier: Sequence[Prediction] = ()) -> ProbeReport:
    """Ask about every picture; where the cost limit leaves no room for one it is left out."""
    with tempfile.TemporaryDirectory(prefix="grounding-probe-") as folder:
        targets = await asyncio.to_thread(draw_targets, Path(folder))
        replies = await asyncio.gather(*(_ask(grounder, target) for target in targets))
    return make_report(card, targets, [reply for reply in replies if reply is not None], earlier)


async def _ask(grounder: Grounder, target: Target) -> Prediction | None:
    query = Query(step_id=target.id, key="probe", screenshot=target.screenshot, instruction=INSTRUCTION)
    try:
        return await grounder.ground(query)
    except BudgetReached:
        return None

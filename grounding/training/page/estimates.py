"""What a stage was estimated to take before it began, beside what it took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.training.estimate.fits import Fit
from grounding.training.estimate.memory import MemoryEstimate
from grounding.training.estimate.terms import Term, gib
from grounding.training.page.content import Table, TableRow
from grounding.training.page.samples import cut
from grounding.training.page.stages import read_result
from grounding.training.records import StageInfo

ESTIMATE = "estimate.json"
_MOST_TERMS = 60


class EstimatedStage(msgspec.Struct):
    """One stage in ``estimate.json``, a list of them: its name or method, what it needs, and what there was."""

    name: str
    estimate: MemoryEstimate
    fit: Fit | None = None


def estimate_tables(folder: Path, stages: Sequence[StageInfo]) -> tuple[Table, ...]:
    """The estimates of a run against what its stages measured; of stages without an estimate the latter alone.

    Raises:
        UserError: the file with the estimates is damaged.
    """
    estimated = {one.name: one for one in read_estimates(folder)}
    rows, terms = [], []
    for stage in stages:
        result = read_result(folder / "stages" / stage.name)
        peak = result.peak_memory_bytes if result is not None else 0
        known = estimated.get(stage.name) or estimated.get(stage.method)
        if known is None and not peak:
            continue
        needed = 0 if known is None else known.estimate.bytes
        free = (
            "-" if known is None or known.fit is None else f"{gib(known.fit.free_bytes)} ({cut(known.fit.device, 80)})"
        )
        rows.append(
            TableRow(
                name=stage.name,
                cells=(
                    gib(needed) if needed else "-",
                    gib(peak) if peak else "-",
                    f"{peak / needed:.0%}" if needed and peak else "-",
                    free,
                ),
            )
        )
        if known is not None:
            terms.append(_terms(known))
    if not rows:
        return ()
    heads = ("stage", "estimated", "measured peak", "measured of estimated", "free before the start")
    notes = (
        "Memory of one device. On a CPU the measured peak is that of the whole process, with the libraries and "
        "everything that was loaded before.",
    )
    return (Table(title="", heads=heads, rows=tuple(rows), notes=notes), *terms)


def read_estimates(folder: Path) -> tuple[EstimatedStage, ...]:
    """The estimates that were made before a run began; nothing where none are kept.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / ESTIMATE
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[EstimatedStage, ...])
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read ({error})") from error


def _terms(stage: EstimatedStage) -> Table:
    found = stage.estimate
    parts = [("all the time", found.always), *((phase.name, phase.terms) for phase in found.phases)]
    parts.append(("overhead", found.overhead))
    rows = [_row(where, one) for where, terms in parts for one in terms if one.bytes]
    return Table(
        title=f"{cut(stage.name, 80)}, term by term",
        heads=("term", "memory", "when", "calculation"),
        rows=tuple(rows[:_MOST_TERMS]),
        notes=(f"Of the phases the largest counts: {found.peak.name}.",),
        is_folded=True,
        is_text=True,
    )


def _row(where: str, one: Term) -> TableRow:
    sign = "=" if one.exact else "~"
    return TableRow(name=cut(one.name, 120), cells=(gib(one.bytes), where, f"{sign} {cut(one.formula, 300)}"))

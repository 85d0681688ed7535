"""A probe's outcome as it lies in the run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from grounding.coordinates import Space
from grounding.errors import UserError
from grounding.probe.findings import Finding, Level
from grounding.probe.fits import Fit
from grounding.probe.replicas import paid_replies, replica_warnings
from grounding.probe.seen import TokenLine
from grounding.records import Prediction, Record

PROBE_FILE = "probe.json"


class ProbeReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was asked, what came and what it says about the card.

    ``asked`` is how many pictures there are; ``replies`` may be fewer where a cost limit was reached. ``earlier`` are
    the replies to probes that this one takes the place of: they were paid for.
    """

    schema: Literal[1] = 1
    card: str
    model: str
    declared: Space
    level: Level
    findings: tuple[Finding, ...]
    asked: int
    replied: int
    parsed: int
    hits: int
    median_offset_px: float | None
    fits: tuple[Fit, ...]
    tokens: tuple[TokenLine, ...]
    replies: tuple[Prediction, ...]
    earlier: tuple[Prediction, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything was asked and something came: what is not complete is worth asking again."""
        return len(self.replies) == self.asked and self.replied > 0

    @property
    def unreachable(self) -> str:
        """Why there is no reply at all; empty where there is one."""
        return "" if self.replied else next((reply.failure.message for reply in self.replies if reply.failure), "")

    @property
    def warnings(self) -> list[str]:
        """The findings that are more than notes."""
        return [finding.text for finding in self.findings if finding.level != "ok"]

    @property
    def all_replies(self) -> tuple[Prediction, ...]:
        """Everything that was ever paid for."""
        return (*self.earlier, *self.replies)


def read_probe(folder: Path) -> ProbeReport | None:
    """A run's probe; None where there is none.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / PROBE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProbeReport)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: can't be read ({error}); delete it to have the probe repeated") from error


def write_probe(folder: Path, report: ProbeReport) -> None:
    """Replace a run's probe in one step."""
    temporary = folder / f".{PROBE_FILE}.new"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    temporary.replace(folder / PROBE_FILE)


def probe_predictions(folder: Path) -> tuple[Prediction, ...]:
    """Every reply to a run's probes, those of single replicas where they were paid for as well."""
    report = read_probe(folder)
    return (*(() if report is None else report.all_replies), *paid_replies(folder))


def probe_cost_usd(folder: Path) -> float:
    """What a run's probes cost, as far as that is known."""
    return sum(reply.call.cost_usd or 0.0 for reply in probe_predictions(folder) if reply.call is not None)


def probe_warnings(folder: Path) -> list[str]:
    """What a run's table says of its probe: nothing where all is well."""
    report = read_probe(folder)
    found = [] if report is None else [f"probe: {text}" for text in report.warnings]
    return [*found, *(f"replicas: {text}" for text in replica_warnings(folder))]

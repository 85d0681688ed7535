"""What a run keeps of its probe: ``probe.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from grounding.atomic import atomic_write
from grounding.errors import UserError
from grounding.geometry import Space
from grounding.records import Prediction, Record
from grounding.run.probe.replies import Level, ProbeFinding, SpaceFit
from grounding.run.probe.tokens import TokenLine

PROBE_FILE = "probe.json"


class ProbeReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was asked, what came and what it says about the card: the content of ``probe.json``.

    ``asked`` is how many pictures there are; ``replies`` may be fewer where a cost limit was reached. ``earlier`` are
    the replies to probes that this one takes the place of: they were paid for.
    """

    schema: Literal[1] = 1
    card: str
    model: str
    declared: Space
    level: Level
    findings: tuple[ProbeFinding, ...]
    asked: int
    replied: int
    parsed: int
    hits: int
    median_offset_px: float | None
    fits: tuple[SpaceFit, ...]
    tokens: tuple[TokenLine, ...]
    replies: tuple[Prediction, ...]
    earlier: tuple[Prediction, ...] = ()

    @property
    def spaces(self) -> tuple[Space, ...]:
        """Which known spaces explain the replies, the declared one or others; none where no space does."""
        if all(finding.level == "ok" for finding in self.findings):
            return (self.declared,)
        return next((finding.spaces for finding in self.findings if finding.kind == "other_space"), ())

    @property
    def settled(self) -> bool:
        """Whether everything was asked and something readable came: what is not is worth asking again."""
        return len(self.replies) == self.asked and self.replied > 0 and self.level != "broken"

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
    atomic_write(folder / PROBE_FILE, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def probe_predictions(folder: Path) -> tuple[Prediction, ...]:
    """Every reply to a run's probes; raises as :func:`read_probe`."""
    probe = read_probe(folder)
    return () if probe is None else probe.all_replies


def probe_warnings(folder: Path) -> list[str]:
    """What a run's table says of its probe, nothing where all is well; raises as :func:`read_probe`."""
    probe = read_probe(folder)
    return [] if probe is None else [f"probe: {text}" for text in probe.warnings]

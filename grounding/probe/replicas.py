"""What the replicas of a model answered to the probe's pictures, as it lies in the run folder: ``replicas.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.records import Prediction, Record

REPLICAS_FILE = "replicas.json"

Decided = Literal["alike", "errors", "majority", "targets", "nobody"]
"""What told the right replicas from the others. ``alike``: there was nothing to tell. ``errors``: nothing but errors
came of the others. ``majority``: more than half are alike. ``targets``: the probe's own, where there is no majority.
``nobody``: nothing could, and all were kept."""


class Replica(Record, frozen=True, kw_only=True):
    """One server or worker that answers for a model. ``gpus`` are the names of those that it was given, if known."""

    name: str
    node: str = ""
    pid: int = 0
    base_url: str = ""
    gpus: str = ""

    @property
    def words(self) -> str:
        """It, for a user: ``grounder-2 on gpu-b (http://127.0.0.1:41231/v1, GPU 3)``."""
        inside = (self.base_url if self.base_url != self.name else "", f"GPU {self.gpus}" if self.gpus else "")
        shown = ", ".join(text for text in inside if text)
        return self.name + (f" on {self.node}" if self.node else "") + (f" ({shown})" if shown else "")


class CheckedReplica(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One replica's answers beside those of the others.

    ``compared`` is how many pictures both it and the others answered, ``differs`` at how many of them its answer is
    another. ``apart_px`` is the mean distance of the places that differ, in pixels of the picture, and None where none
    does or there is no place. ``hits`` are the pictures whose target it hits. ``steps_before`` is how many questions of
    the run itself it had answered by then.
    """

    replica: Replica
    kept: bool
    compared: int
    differs: int
    apart_px: float | None
    hits: int
    steps_before: int
    replies: tuple[Prediction, ...]


class ReplicaReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One comparison. ``warnings`` are lines for the user: who was left out and why, and what could not be decided.

    ``usual_px`` is how far the kept ones are from what they answer together, at the median.
    """

    at: str
    pictures: int
    decided_by: Decided
    usual_px: float | None
    replicas: tuple[CheckedReplica, ...]
    warnings: tuple[str, ...]

    @property
    def left_out(self) -> tuple[CheckedReplica, ...]:
        """Those that are not to be asked."""
        return tuple(each for each in self.replicas if not each.kept)


class ReplicaChecks(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All comparisons of a run, oldest first: one for each start, and one whenever a replica came later."""

    schema: Literal[1] = 1
    checks: tuple[ReplicaReport, ...]


def read_replicas(folder: Path) -> tuple[ReplicaReport, ...]:
    """A run's comparisons; none where there is no file.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / REPLICAS_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReplicaChecks).checks
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: can't be read ({error}); delete it to go on without it") from error


def add_replicas(folder: Path, report: ReplicaReport) -> None:
    """Put a comparison behind those of a run; the file is replaced in one step.

    Raises:
        UserError: the file that is there is damaged.
    """
    checks = ReplicaChecks(checks=(*read_replicas(folder), report))
    temporary = folder / f".{REPLICAS_FILE}.new"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(checks), indent=1) + b"\n")
    temporary.replace(folder / REPLICAS_FILE)


def replica_warnings(folder: Path) -> list[str]:
    """What a run's table says of its replicas: who was left out, at whichever start, and what nobody could decide."""
    return [text for report in read_replicas(folder) for text in report.warnings]


def paid_replies(folder: Path) -> tuple[Prediction, ...]:
    """The answers of all comparisons that cost money; those of servers of one's own do not."""
    replies = (reply for report in read_replicas(folder) for each in report.replicas for reply in each.replies)
    return tuple(reply for reply in replies if reply.call and (reply.call.cost_usd or reply.call.unreported_usd))

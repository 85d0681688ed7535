"""What a user can do next, below the table of a command on a terminal."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from grounding.records import Record
from grounding.run.benchmark import Result
from grounding.run.runner import INTERRUPTED

_NEWEST = 20
_SAME = ("dataset", "select", "scoring")
"""What two runs must share in their signatures to be compared."""


class _Signed(Record, frozen=True):
    status: str
    signature: str


def next_lines(result: Result[Any]) -> list[str]:
    """Commands that show and compare what was run, and whether the same one goes on: a line or two, none for no run."""
    if not result.scored:
        return []
    folder = result.folder or result.scored[0].folder
    if len(result.scored) > 1 and result.folder is not None:
        compared = [folder]
    else:
        beside = comparable(folder) if result.scored[0].summary.status == "complete" else None
        compared = [] if beside is None else [beside, folder]
    lines = [shlex.join(["grounding", "view", str(folder)])]
    lines += [shlex.join(["grounding", "compare", *map(str, compared), "--flips"])] if compared else []
    return [*lines, *_again(result)]


def _again(result: Result[Any]) -> list[str]:
    """Whether the same command goes on; "interrupted" says so by itself."""
    reasons = {row.problem if row.scored is None else row.scored.info.stopped for row in result.rows}
    if INTERRUPTED in reasons or all(one.summary.status == "complete" for one in result.scored):
        return []
    if any("cost limit" in reason for reason in reasons):
        return ["the same command with a higher --cost-limit goes on, and asks nothing twice"]
    return ["the same command again asks only for what has no answer yet"]


def comparable(folder: Path) -> Path | None:
    """The newest other complete run beside this one, over the same steps and scored alike; None without one."""
    own = _signature(folder)
    if own is None:
        return None
    dated = []
    with suppress(OSError):
        for each in folder.parent.iterdir():
            if each.name.partition("_")[0] == folder.name.partition("_")[0] and each.name != folder.name:
                with suppress(OSError):
                    dated.append(((each / "summary.json").stat().st_mtime, each))
    newest = [each for _, each in sorted(dated, reverse=True)[:_NEWEST]]
    return next((each for each in newest if _signature(each) == own), None)


def _signature(folder: Path) -> list[str] | None:
    """The parts of a complete run's signature that those which are compared with it share."""
    try:
        found = msgspec.json.decode((folder / "summary.json").read_bytes(), type=_Signed)
    except (OSError, msgspec.DecodeError):
        return None
    shared = [part for part in found.signature.split("|") if part.partition(":")[0] in _SAME]
    return shared if found.status == "complete" else None

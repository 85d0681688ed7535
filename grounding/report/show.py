"""A result on standard output, as a table or as JSON, and the exit code it stands for."""

from __future__ import annotations

import sys

import msgspec
from rich.console import Console

from grounding.options import ScoringName
from grounding.report.table import print_summary
from grounding.scorebook import Scored

EXIT_OK = 0
EXIT_PARTIAL = 1
EXIT_INTERRUPTED = 130


def show_result(result: Scored, *, scoring: ScoringName, as_json: bool, interrupted: bool = False) -> int:
    """Print a result; the exit code is 0 for a complete run, 1 for a partial one, 130 where it was interrupted now."""
    summary, info = result.summary, result.info
    if result.set_aside is not None:
        print(f"the earlier run was set aside as {result.set_aside}", file=sys.stderr)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(summary), indent=2).decode())
    else:
        print_summary(_console(), summary, info, scoring=scoring, folder=str(result.folder))
    if interrupted:
        print("interrupted; the same command again goes on from here", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_OK if summary.status == "complete" else EXIT_PARTIAL


def _console() -> Console:
    """Wide enough for the table when the output is not a terminal."""
    return Console() if sys.stdout.isatty() else Console(width=100)

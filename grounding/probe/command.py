"""``grounding probe`` and ``grounding audit``: does a card fit what its server answers? No logic of its own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

PROBE_EXAMPLES = "Example: grounding probe gta1 --base-url http://127.0.0.1:8000/v1"
AUDIT_EXAMPLES = "Example: grounding audit results/sample-web_none_gta1_0123456789"

EXIT_WARNINGS = 1


def probe_command(
    card: str,
    /,
    *,
    base_url: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)] = (),
    timeout: float | None = None,
    max_retries: int = 5,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Ask a grounder for a labelled button on a dozen drawn screenshots of several sizes, and compare with its card.

    Tells whether the replies parse, whether their numbers lie in the card's range, whether another coordinate space
    would explain them much better, and whether the server counts as many image tokens as the card lets expect. Exit
    code 0: the card fits; 1: there are warnings; 2: the server can't be asked.

    Args:
        card: A card's name, its model's id, a path to a card (.yaml), or the folder of a model that was tuned.
        base_url: The grounder's server, such as http://127.0.0.1:8000/v1 [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        json: Print the result as JSON instead of the table.
    """
    import msgspec
    from rich.console import Console

    from grounding.budget import Budget
    from grounding.cards import GrounderCard, find_card
    from grounding.chat import ChatOptions
    from grounding.errors import UserError
    from grounding.grounders import BUILTIN
    from grounding.places import models_dir
    from grounding.probe.asking import ask_all
    from grounding.probe.gate import open_for_probe
    from grounding.probe.kept import ProbeReport
    from grounding.probe.show import print_probe

    found = find_card(card, models_dir() / "grounders", GrounderCard, builtin=tuple(BUILTIN), kind="grounder")
    options = ChatOptions(base_url=" ".join(base_url) or None, timeout_s=timeout, max_retries=max_retries)

    async def ask() -> ProbeReport:
        grounder = open_for_probe(found, options, budget=Budget(None), on_retry=lambda: None)
        try:
            await grounder.check()
            return await ask_all(grounder, found)
        finally:
            await grounder.aclose()

    report = asyncio.run(ask())
    if report.unreachable:
        raise UserError(f"{found.name}: no request of the probe was answered; the first: {report.unreachable}")
    if json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print_probe(Console() if sys.stdout.isatty() else Console(width=100), report)
    return 0 if report.level == "ok" else EXIT_WARNINGS


def audit_command(run: Path, /, *, json: Annotated[bool, Parameter(negative="", show_default=False)] = False) -> int:
    """Read a run's stored replies again under every known coordinate space. Asks no model.

    Tells whether another space than the card's would explain the replies much better, whether their numbers lie in
    the card's range, and whether the server counted as many image tokens as the card lets expect. Exit code 0: the
    card fits; 1: there are warnings; 2: there are no raw replies.

    Args:
        run: The run's folder.
        json: Print the result as JSON instead of the tables.
    """
    import msgspec
    from rich.console import Console

    from grounding.audit import audit_run
    from grounding.probe.show import STYLES, print_findings, print_fits, print_tokens, say

    report = audit_run(run)
    if json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        console = Console() if sys.stdout.isatty() else Console(width=100)
        print_fits(console, report.fits, report.declared, report.steps)
        print_tokens(console, report.tokens)
        print_findings(console, report.findings)
        say(console, f"verdict    {report.level}", STYLES[report.level])
    return 0 if report.level == "ok" else EXIT_WARNINGS

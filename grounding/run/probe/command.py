"""``grounding probe`` and ``grounding audit``: does a card fit what its server answers?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from grounding.cards import AnswerRule, CardPart, ImageRule
from grounding.console import print_json, say, wide_console
from grounding.errors import UserError
from grounding.geometry import Space
from grounding.grounders.base import read_answer
from grounding.grounders.zoom import ZOOMED
from grounding.llm.anymodel import SPACES
from grounding.records import Record
from grounding.run.folder import RunFolder
from grounding.run.probe.replies import (
    WORDS,
    Level,
    ProbedReply,
    ProbeFinding,
    ProbeReport,
    SpaceFit,
    TokenLine,
    judge_replies,
    text_chars,
    token_findings,
    token_lines,
    worst,
)

PROBE_EXAMPLES = """
Examples:

```
# Does the card fit what the server answers?
grounding probe gta1 --base-url http://127.0.0.1:8000/v1

# In which space does a model without a card answer?
grounding probe my-org/pointer --base-url http://127.0.0.1:8000/v1
```
"""

AUDIT_EXAMPLES = "Example: grounding audit results/sample-web_none_gta1_0123456789"
EXIT_WARNINGS = 1
AUDIT_TOLERANCE = 24  # The words of instructions take one token more or fewer than their length lets expect.
_STYLES = {"ok": "", "warning": "yellow", "broken": "red"}


def probe_command(
    grounder: str,
    *,
    base_url: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)] = (),
    timeout: float | None = None,
    max_retries: int = 5,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Ask a grounder for a labelled button on a dozen drawn screenshots of several sizes, and compare with its card.

    Of a model without a card it tells which space its answers are in, for --grounder NAME@SPACE.

    Tells whether the replies parse, whether their numbers lie in the card's range, whether another coordinate space
    would explain them much better, and whether the server counts as many image tokens as the card lets expect. Exit
    code 0: the card fits; 1: there are warnings; 2: the server can't be asked.

    Args:
        grounder: A card's name, its model's id, a path to a card (.yaml), the folder of a model that was tuned, or the
            name of any model at --base-url.
        base_url: The grounder's server, such as http://127.0.0.1:8000/v1 [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        json: Print the result as JSON instead of the table.
    """
    from grounding.grounders import BUILTIN
    from grounding.llm.anymodel import UNKNOWN, find_grounder
    from grounding.llm.budget import Budget
    from grounding.llm.chat import ChatOptions
    from grounding.run.probe.gate import SIZES, ask_all, make_the_sizes, open_for_probe

    found = find_grounder(grounder, " ".join(base_url) or None, builtin=tuple(BUILTIN), probed=True)
    options = ChatOptions(base_url=" ".join(base_url) or None, timeout_s=timeout, max_retries=max_retries)

    async def ask() -> ProbeReport:
        model = open_for_probe(found, options, budget=Budget(None), on_retry=lambda: None)
        try:
            await model.check()
            passed = await make_the_sizes(found, options, SIZES, budget=Budget(None), on_retry=lambda: None)
            return await ask_all(model, found, untouched=passed)
        finally:
            await model.aclose()

    report = asyncio.run(ask())
    if report.unreachable:
        raise UserError(f"{found.name}: no request of the probe was answered; the first: {report.unreachable}")
    unknown = found.name.endswith(UNKNOWN)
    if json:
        print_json(report)
    else:
        console = wide_console()
        _print_fits(console, report.fits, None if unknown else report.declared, report.replied)
        (_print_spaces if unknown else _print_probe)(console, report)
    return 0 if (report.spaces if unknown else report.level == "ok") else EXIT_WARNINGS


def audit_command(run: Path, /, *, json: Annotated[bool, Parameter(negative="", show_default=False)] = False) -> int:
    """Read a run's stored replies again under every known coordinate space. Asks no model.

    Tells whether another space than the card's would explain the replies much better, whether their numbers lie in
    the card's range, and whether the server counted as many image tokens as the card lets expect. Exit code 0: the
    card fits; 1: there are warnings; 2: there are no raw replies.

    Args:
        run: The run's folder.
        json: Print the result as JSON instead of the tables.
    """
    report = audit_run(run)
    if json:
        print_json(report)
    else:
        console = wide_console()
        _print_fits(console, report.fits, report.declared, report.steps)
        _print_verdict(console, report.findings, report.level)
    return 0 if report.level == "ok" else EXIT_WARNINGS


class _Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit needs of the card, from the text that the run keeps of it."""

    answer: AnswerRule | None = None
    prefill: str | None = None
    system: str | None = None
    user: tuple[CardPart, ...] = ()
    image: ImageRule = ImageRule()


class AuditReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a run's raw replies say about its card. ``steps`` are those that are scored, answered or not."""

    schema: Literal[1] = 1
    run_id: str
    grounder: str
    declared: Space
    level: Level
    findings: tuple[ProbeFinding, ...]
    steps: int
    replied: int
    fits: tuple[SpaceFit, ...]
    tokens: tuple[TokenLine, ...]


def audit_run(path: Path) -> AuditReport:
    folder = RunFolder(path)
    info = folder.read_info()
    try:
        card = msgspec.json.decode(info.asked.grounder_identity.partition(ZOOMED)[0], type=_Identity)
    except msgspec.ValidationError as error:
        raise UserError(f"the run's card (grounder_identity in run.json) is not of this version: {error}") from error
    except msgspec.DecodeError:  # Not a card's identity.
        card = _Identity()
    if card.answer is None:
        raise UserError(
            f"{path}: the grounder {info.asked.grounder} answers with places on the screen, not with text: there are "
            "no raw replies to audit"
        )
    texts = (card.system, *(part.text for part in card.user), card.prefill)
    steps = [step for session in folder.read_sessions() for step in session.steps if step.region is not None]
    replies = []
    with closing(folder.plans(read_only=True)) as plans, closing(folder.predictions(read_only=True)) as predictions:
        for step in steps:
            prediction = predictions.last(step.id)
            if prediction is not None and prediction.passes:
                prediction = prediction.passes[0]  # The look at all of the screenshot.
            # Where a right reply names no place, numbers say nothing about the space that they are in.
            if prediction is None or prediction.raw is None or prediction.sizes is None or step.target_absent:
                continue
            assert step.region is not None
            plan, call = plans.last(step.id), prediction.call
            # The run's own verdict on a reply goes before: a refusal may hold numbers.
            place = None if prediction.failure else read_answer((card.prefill or "") + prediction.raw, card.answer)
            replies.append(
                ProbedReply(
                    place=place,
                    sizes=prediction.sizes,
                    region=step.region,
                    input_tokens=call.usage.input_tokens if call and call.usage else None,
                    text_chars=text_chars(texts, plan.text if plan and plan.text else step.instruction),
                )
            )
    if not replies:
        raise UserError(f"{path}: no raw reply is stored in this run")
    fits, findings = judge_replies(replies, declared=card.answer.space)
    # The tokens of a request can be foretold from a stated size and a text without history.
    told = card.image.resize != "none" and not any("{history}" in text for text in texts if text)
    lines = token_lines(replies, info.family if told else None, tolerance=AUDIT_TOLERANCE)
    findings = (*findings, *token_findings(lines))
    return AuditReport(
        run_id=info.run_id,
        grounder=info.asked.grounder,
        declared=card.answer.space,
        level=worst(findings),
        findings=findings,
        steps=len(steps),
        replied=len(replies),
        fits=fits,
        tokens=lines,
    )


# --- what is printed --------------------------------------------------------------------------------------------------


def _print_probe(console: Console, report: ProbeReport) -> None:
    sizes = [reply.sizes for reply in report.replies if reply.sizes is not None]
    if any(size.sent != size.model for size in sizes):
        say(console, "pictures   sent as they are: the server resizes them")
    elif any(size.sent != size.original for size in sizes):
        say(console, "pictures   resized here before they are sent")
    offset = "-" if report.median_offset_px is None else f"{report.median_offset_px:g} px"
    figures = f"{report.parsed} of {report.asked} parsed, {report.hits} hit, median offset from the centre {offset}"
    say(console, f"replies    {figures}")
    _print_verdict(console, report.findings, report.level)


def _print_spaces(console: Console, report: ProbeReport) -> None:
    found = [f"--grounder {report.model}@{space}" for space in report.spaces if space in SPACES]
    words = f"{report.model} answers in {' or '.join(WORDS[space] for space in report.spaces)}"
    none = f"no known space explains what {report.model} answers: a card of its own can say more (prompt, resizing)"
    say(console, f"space      {words}: {', or '.join(found)}" if found else f"space      {none}")


def _print_verdict(console: Console, findings: Sequence[ProbeFinding], level: Level) -> None:
    for finding in findings:
        word = "note" if finding.level == "ok" else finding.level
        say(console, f"{word:<10} {finding.text}", _STYLES[finding.level])
    say(console, f"verdict    {level}", _STYLES[level])


def _print_fits(console: Console, fits: Sequence[SpaceFit], declared: Space | None, total: int) -> None:
    """One row for each known space, a card's own marked. ``total`` is what a share of hits is a share of."""
    table = Table("space", title="the replies read in every known space", title_justify="left")
    for name in ("parsed", "in range", "hits", "median distance"):
        table.add_column(name, justify="right")
    for fit in fits:
        own = fit.name == declared
        table.add_row(
            f"{fit.name} (the card's)" if own else fit.name,
            str(fit.parsed),
            f"{100 * fit.in_range / fit.parsed:.1f} %" if fit.parsed else "-",
            f"{fit.hits}/{total}" + (f" ({100 * fit.hits / total:.1f} %)" if total else ""),
            "-" if fit.median_px is None else f"{fit.median_px:,.1f} px",
            style="bold" if own else None,
        )
    console.print(table)

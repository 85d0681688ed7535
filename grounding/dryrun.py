"""``grounding eval --dry-run``: what a run would ask, found out without asking anybody."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.budget import Budget
from grounding.cards import ChatCard
from grounding.chat import AsksByRequest
from grounding.display import Progress
from grounding.estimates.estimate import ModelEstimate, ToAsk, estimate_model, total_usd
from grounding.estimates.render import Shown, clear, write_file, write_request
from grounding.estimates.show import print_estimates
from grounding.money import dollars
from grounding.options import EvalOptions
from grounding.payments import paid_usd
from grounding.planners import Planner
from grounding.planstore import StoredPlanner
from grounding.preparation import Prepared, prepare
from grounding.probe.kept import read_probe
from grounding.probe.targets import INSTRUCTION, draw_targets
from grounding.records import Query, Record
from grounding.runfolder import RunFolder
from grounding.survey import Question, Survey, survey_run

SHOWN_REQUESTS = 3
"""How many requests of each model are written out."""


class DryRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What came of it: the content of ``estimate.json``."""

    schema: int = 1
    run_id: str
    folder: str
    models: tuple[ModelEstimate, ...]
    steps: int
    paid_usd: float
    pages: tuple[str, ...]


def dry_run_command(runs: Sequence[EvalOptions], *, as_json: bool) -> int:
    """Look at every run of a command, print what it would take, and write the first requests out.

    Raises:
        UserError: something that the run itself would be refused for, but for keys and servers.
    """
    from rich.console import Console

    shared: set[str] = set()
    found = [dry_run(options, shared) for options in runs]
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(found if len(runs) > 1 else found[0]), indent=2).decode())
        return 0
    console = Console() if sys.stdout.isatty() else Console(width=140)
    for options, one in zip(runs, found, strict=True):
        _print(console, options, one)
    totals = [total for one in found if (total := total_usd(one.models)) is not None]
    if len(runs) > 1 and totals:
        low, expected, high = (sum(figures) for figures in zip(*totals, strict=True))
        print(f"all {len(runs)} runs together: {dollars(expected)} expected, {dollars(low)} to {dollars(high)}")
    print("nothing was sent to any model, and no server was started")
    return 0


def _print(console: Any, options: EvalOptions, one: DryRun) -> None:
    title = f"dry run · planner {options.planner} · grounder {options.grounder} · {one.steps} steps"
    if one.models:
        print_estimates(console, one.models, title=title)
    else:
        print(f"{title}\nneither planner nor grounder asks a chat model: nothing to pay for")
    if one.paid_usd:
        print(f"paid so far in the run folder, at most: {dollars(one.paid_usd)}")
    total = total_usd(one.models)
    if options.cost_limit is not None and total is not None and one.paid_usd + total[1] > options.cost_limit:
        print(f"--cost-limit {dollars(options.cost_limit)}: the run is expected to stop before its end")
    if one.pages:
        print(f"written out: {', '.join(one.pages)} in {one.folder}")


def dry_run(options: EvalOptions, shared: set[str] | None = None) -> DryRun:
    """Look at one run.

    Args:
        options: Those of the run.
        shared: Keys of plans that runs before this one will have asked for; those of this run are added.

    Raises:
        UserError: something that the run itself would be refused for, but for keys and servers.
    """
    options = msgspec.structs.replace(options, dry_run=True, cost_limit=None)
    prepared = prepare(options, Budget(None), Progress(options.display or "none"))
    run_id = prepared.info.run_id
    run_folder = RunFolder(options.log_dir / run_id)
    survey = asyncio.run(survey_run(prepared, run_folder, options, set() if shared is None else shared))
    folder = options.log_dir / f"dry-run_{run_id}"
    models, pages = [], []
    clear(folder)
    for role, asks in (("planner", survey.planner), ("grounder", survey.grounder)):
        asker = _asker(prepared, role)
        if asker is not None:
            pages += _render(folder, prepared, role, asker, asks[:SHOWN_REQUESTS])
    models = list(_estimates(prepared, survey, run_folder, options))
    found = DryRun(
        run_id=run_id,
        folder=str(folder),
        models=tuple(models),
        steps=len(prepared.selection.step_ids),
        paid_usd=0.0 if options.fresh else paid_usd(run_folder),
        pages=tuple(page.name for page in pages),
    )
    write_file(folder / "estimate.json", msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    return found


def _inner(planner: Planner) -> Planner:
    return planner.planner if isinstance(planner, StoredPlanner) else planner


def _asker(prepared: Prepared, role: str) -> AsksByRequest | None:
    """The chat model that would be asked, if there is one."""
    who: object = _inner(prepared.planner.planner) if role == "planner" else prepared.grounder.grounder
    card = prepared.planner.card if role == "planner" else prepared.grounder.card
    return who if card is not None and isinstance(who, AsksByRequest) else None


def _estimates(
    prepared: Prepared, survey: Survey, run_folder: RunFolder, options: EvalOptions
) -> Iterator[ModelEstimate]:
    planner, grounder = _asker(prepared, "planner"), _asker(prepared, "grounder")
    card: ChatCard | None = prepared.planner.card
    if planner is not None and card is not None:
        yield estimate_model(
            "planner",
            card,
            [_count(planner, ask) for ask in survey.planner],
            survey.planner_known,
            max_connections=options.max_connections or card.max_connections,
        )
    card = prepared.grounder.card
    if grounder is not None and card is not None:
        connections = options.max_connections or card.max_connections
        if survey.grounder and prepared.probe is not None and not _probed(run_folder, options):
            probes = [_count(grounder, Question(query=query)) for query in _probe_queries()]
            yield estimate_model("probe", card, probes, survey.grounder_known, max_connections=connections)
        notes = ["plans that are not made yet are counted as of the usual length"]
        yield estimate_model(
            "grounder",
            card,
            [_count(grounder, ask) for ask in survey.grounder],
            survey.grounder_known,
            max_connections=connections,
            notes=notes if any(ask.remark for ask in survey.grounder) else (),
        )


def _count(asker: AsksByRequest, ask: Question) -> ToAsk:
    tokens = asker.count(ask.query)
    if ask.extra_tokens:
        tokens = msgspec.structs.replace(tokens, text=tokens.text + ask.extra_tokens)
    return ToAsk(step_id=ask.query.step_id, tokens=tokens)


def _probed(run_folder: RunFolder, options: EvalOptions) -> bool:
    report = None if options.fresh or not run_folder.path.exists() else read_probe(run_folder.path)
    return report is not None and report.complete and report.level != "broken"


def _probe_queries() -> list[Query]:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="grounding-dry-run-") as folder:
        targets = draw_targets(Path(folder))
    return [
        Query(step_id=target.id, key="probe", screenshot=target.screenshot, instruction=INSTRUCTION)
        for target in targets
    ]


def _render(folder: Path, prepared: Prepared, role: str, asker: AsksByRequest, asks: Sequence[Question]) -> list[Path]:
    built = prepared.planner if role == "planner" else prepared.grounder
    assert built.card is not None
    pages = []
    for number, ask in enumerate(asks, start=1):
        try:
            request = asker.request_for(ask.query)
        except (OSError, ValueError) as error:
            print(f"grounding: {role} request {number}: {ask.query.step_id}: {error}", file=sys.stderr)
            continue
        shown = Shown(
            role=role,
            number=number,
            title=built.card.title,
            step_id=ask.query.step_id,
            address=built.base_url,
            key_variable=built.card.endpoint.key_variable or "",
            body=request.content,
            tokens=asker.count(ask.query),
            remark=ask.remark,
        )
        pages.append(write_request(folder, shown))
    return pages

"""``grounding eval --dry-run`` of any benchmark: what a run would still ask, found out without asking anybody."""

import asyncio
import itertools
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from grounding.cards import ChatCard
from grounding.console import print_json, wide_console
from grounding.llm.budget import Budget, charged_usd, dollars
from grounding.llm.chat import ChatRequest, NotSent
from grounding.llm.estimates import (
    AlreadyAnswered,
    ModelEstimate,
    Role,
    TokenRange,
    clear,
    estimate_model,
    print_estimates,
    total_usd,
    usd_words,
    write_file,
    write_request,
)
from grounding.llm.tokens import RequestTokens
from grounding.records import Record
from grounding.run.benchmark import AnyBenchmark, Pass, Shared, Work
from grounding.run.session import journals

SHOWN = 3  # How many requests of each model are written out.
_DRAWN = 200  # How many items' requests are made and counted; the rest is taken to be like these.
WIDE = 140


@dataclass(frozen=True)
class AskedModel:
    """A chat model that a stage sends requests to.

    ``first`` makes the first request about an item, given the item and its key, and raises NotSent with it; None where
    that can't be known before others have answered. ``calls`` are the least and the most requests that one item takes.
    ``expected`` is how many requests of an ``average`` length stand for items that others have not found yet.
    ``unknown`` says what is not known. ``replies`` is how long its replies are taken for.
    """

    role: Role
    card: ChatCard
    first: Callable[[Any, str], Awaitable[Any]] | None = None
    calls: tuple[int, int] = (1, 1)
    unknown: str = ""
    expected: int = 0
    average: RequestTokens | None = None
    replies: TokenRange | None = None


class DryRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What came of it: the content of ``estimate.json``. ``items`` are left to be asked about in the first pass."""

    schema: int = 1
    run_id: str
    folder: str
    models: tuple[ModelEstimate, ...]
    items: int
    left: int
    paid_usd: float
    notes: tuple[str, ...]
    pages: tuple[str, ...]


def dry_run_command(benchmark: AnyBenchmark, runs: Sequence[Any], *, as_json: bool) -> int:
    """Look at every run of a command, print what it would take, and write the first requests out."""
    shared = Shared(alone=len(runs) == 1)
    found = [dry_run(benchmark, options, shared) for options in runs]
    if as_json:
        print_json(found if len(found) > 1 else found[0])
        return 0
    console = wide_console(WIDE, markup=False, highlight=False)
    say = partial(console.print, soft_wrap=True)
    for options, one in zip(runs, found, strict=True):
        title = f"dry run · {one.run_id} · {one.left} of {one.items} {benchmark.unit} left"
        if one.models:
            print_estimates(console, one.models, title=title)
        else:
            say(f"{title}\nno chat model would be asked that can be counted: nothing to pay for")
        for note in one.notes:
            say(note)
        if one.paid_usd:
            say(f"paid so far in the run folder, at most: {dollars(one.paid_usd)}")
        total = total_usd(one.models)
        if options.cost_limit is not None and total is not None and one.paid_usd + total[2] > options.cost_limit:
            how = "is expected to" if one.paid_usd + (total[1] or 0) > options.cost_limit else "may"
            say(f"--cost-limit {dollars(options.cost_limit)}: the run {how} stop before its end")
        if one.pages:
            say(f"written out: {', '.join(one.pages)} in {one.folder}")
    total = total_usd([model for one in found for model in one.models])
    if len(found) > 1 and total is not None:
        say(f"all {len(found)} runs together: {usd_words(total)}")
    say("nothing was sent to any model, and no server was started")
    return 0


def dry_run(benchmark: AnyBenchmark, options: Any, shared: Shared) -> DryRun:
    """Raises UserError for whatever the run itself would be refused for, but for keys and servers."""
    unlimited = msgspec.structs.replace(options, cost_limit=None, executor="local", workers=None, ray_address=None)
    prepared = benchmark.prepare(unlimited, Budget(None), benchmark.progress("none"), shared, dry=True)
    for warning in prepared.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr, flush=True)
    run_id = prepared.info.run_id
    run_folder, folder = options.log_dir / run_id, options.log_dir / f"dry-run_{run_id}"
    clear(folder)
    looked = benchmark.survey(prepared, run_folder, shared) or asyncio.run(_look(benchmark, prepared, run_folder))
    paid = () if options.fresh else benchmark.paid(run_folder)
    found = DryRun(
        run_id=run_id,
        folder=str(folder),
        models=tuple(looked.models),
        items=looked.items,
        left=looked.left,
        paid_usd=sum(map(charged_usd, paid)),
        notes=tuple(looked.notes),
        pages=tuple(write_request(folder, name, body) for name, body in looked.shown),
    )
    write_file(folder / "estimate.json", msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    return found


@dataclass
class Looked:
    """What is known of one run: how many items go through its first pass and how many are left, and the rest."""

    items: int = 0
    left: int = 0
    models: list[ModelEstimate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    shown: list[tuple[str, bytes]] = field(default_factory=list)
    """Requests that are written out for reading, by the names of their files."""

    def add(
        self,
        role: Role,
        card: ChatCard,
        asks: Sequence[RequestTokens],
        known: AlreadyAnswered,
        made: Sequence[ChatRequest] = (),
        **more: Any,
    ) -> None:
        """A model with the requests to it; the first of those that are ``made`` are shown. ``more`` is as for
        :func:`grounding.llm.estimates.estimate_model`.
        """
        self.models.append(estimate_model(role, card, asks, known, **more))
        first = 1 + sum(name.partition("-")[0] == role for name, _ in self.shown)
        self.shown += [(f"{role}-{first + number}", one.content) for number, one in enumerate(made[:SHOWN])]


async def _look(benchmark: AnyBenchmark, prepared: Any, run_folder: Path) -> Looked:
    looked, behind = Looked(), False
    options = prepared.options
    try:
        with journals(run_folder, benchmark.journals(prepared), read_only=True, fresh=options.fresh) as opened:
            work = Work(run_folder, opened, benchmark.progress("none"))
            passes = (one for first in benchmark.passes(prepared, work) for one in first.together())
            for number, one in enumerate(passes):
                left = [item for item in one.items if not one.is_settled(item)]
                if number == 0:
                    looked.items, looked.left = len(one.items), len(left)
                for asked in one.asks:
                    await _look_at(looked, one, asked, left, behind=behind)
                behind = behind or (bool(left) and one.feeds)
    finally:
        await prepared.aclose()
    return looked


async def _look_at(looked: Looked, one: Pass, asked: AskedModel, left: Sequence[Any], *, behind: bool) -> None:
    who, waits = f"{asked.role} {asked.card.name}", bool(left) or behind
    if asked.unknown and (waits or asked.expected):
        looked.notes.append(f"{who}: {asked.unknown}")
    elif behind and asked.first is not None and not asked.expected:
        looked.notes.append(f"{who}: what the stages before it have not found yet is not counted")
    answered = len(one.items) - len(left)
    left = [] if asked.first is None else left
    if not left and not asked.expected and (behind or asked.first is None):
        return
    drawn = left[:: max(1, -(-len(left) // _DRAWN))]
    made = []
    for item in drawn:
        assert asked.first is not None
        try:
            await asked.first(item, one.stage.key(item, None))
        except NotSent as found:
            made.append(found.request)
        # Else nobody would be asked, such as about words that are too long.
    count = round(len(made) / len(drawn) * len(left)) if drawn else 0
    counted = [each.tokens for each in itertools.islice(itertools.cycle(made), count) if each.tokens is not None]
    counted += [asked.average] * asked.expected if asked.average else []
    calls = (record.call for record in one.stage.journal)
    single = asked.calls == (1, 1)  # Only then is a stored call one reply.
    looked.add(
        asked.role,
        msgspec.structs.replace(asked.card, output_tokens=None),  # That is of plans.
        counted,
        AlreadyAnswered(
            answered=answered,
            outputs=tuple(call.usage.output_tokens for call in calls if single and call is not None and call.usage),
        ),
        made,
        notes=[f"counted over {len(drawn)} of {len(left):,} items"] if len(drawn) < len(left) else [],
        calls=asked.calls,
        usual=asked.replies,
    )

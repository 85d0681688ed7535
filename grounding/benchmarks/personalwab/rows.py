"""Runs over a shop as they are shown: one record a task, the terminal's and the paper's tables, and the page."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from grounding.benchmarks.calls import CallColumn, PrintedTable, print_paper
from grounding.benchmarks.personalwab import scoring as shop
from grounding.benchmarks.personalwab.agents.chat import said
from grounding.benchmarks.personalwab.options import OWN_MEMORY
from grounding.benchmarks.personalwab.records import TYPES, Episode, Track, Turn
from grounding.benchmarks.personalwab.scoring import ShopEstimate, ShopRule, ShopScored, ShopVerdict, TaskLine
from grounding.data.release import data_name, departure_warnings
from grounding.errors import UserError
from grounding.llm.budget import dollars
from grounding.report.html.content import Fact, SummaryTable
from grounding.report.html.gather import PageAbout
from grounding.report.html.page import write_item_page
from grounding.report.rows import ItemRow, Note, RunRows, call_fields, item_metric
from grounding.report.table import drawn, print_named
from grounding.scoring.summary import CallTotals

_RELEASED = "the released evaluator: an id anywhere, the best attempt"
_TITLE = re.compile(r"^- Title: (.*)\n- Parent Asin: (.*)$", re.MULTILINE)
_of_tasks = partial(item_metric, of="tasks")
_mean = partial(_of_tasks, unit="", counted=False)
METRICS = (
    _of_tasks("function", title="right function", source="PersonalWAB, section 3.3"),
    _mean("result", source="PersonalWAB, section 3.3 and equation 1"),
    _mean("outcome", source="PersonalWAB, section A.4.5: any right list"),
    _of_tasks("official_function", title="official function", narrow=True, source=_RELEASED),
    *(_mean(name, narrow=True, source=_RELEASED) for name in ("official_result", "official_outcome")),
    _mean("steps", unit="steps", better="lower", source="PersonalWAB, section 3.3"),
)


def read(path: Path) -> RunRows:
    scored = shop.read_shop_run(path)
    info, asked = scored.info, scored.info.asked
    return RunRows(
        folder=path,
        benchmark="personalwab",
        name=row_name(scored).replace(" · ", ", "),
        who={"agent": asked.agent, "memory": asked.memory, "model": asked.model},
        same={"the track": asked.track},
        metrics=METRICS,
        read=lambda: _rows(scored),
        info=info,
        summary=scored.summary,
        load=lambda: scored,
        item="task",
        right="right function",
        by_user=True,
        kinds=("type",),
        compared="type",
        orders={"type": TYPES},
    )


def _rows(scored: ShopScored) -> Iterator[ItemRow]:
    episodes = scored.episodes()
    paper, official = ({one.task_id: one for one in found} for found in scored.verdicts.values())
    if missing := [line.task.id for line in scored.tasks if not (line.task.id in paper and line.task.id in official)]:
        raise UserError(f"no verdict over {missing[0]}: `grounding score` makes them again")
    for line in scored.tasks:
        yield _row(line, paper[line.task.id], official[line.task.id], episodes.get(line.task.id))


def _row(line: TaskLine, verdict: ShopVerdict, official: ShopVerdict, played: Episode | None) -> ItemRow:
    task, outcome = line.task, shop.outcome_of(verdict)
    episode = played or Episode(task_id=task.id, key="")
    values = {"steps": float(verdict.steps)}
    for lead, one in (("", verdict), ("official_", official)):
        of_rule = {"function": 100.0 * one.function, "result": one.result, "outcome": one.outcome}
        values |= {f"{lead}{name}": value for name, value in of_rule.items()}
    attempts = {one.turn: one for one in verdict.attempts}
    moves = [_move(turn, attempts.get(place), task.target_asin) for place, turn in enumerate(episode.turns)]
    calls = [_call(turn) for turn in episode.turns]
    told = f"Memory of the user: {episode.memory_behaviours} of {line.earlier_behaviours} earlier purchases"
    notes = {
        "What was to be found": f"{task.target_asin}  {line.product.title if line.product else ''}",
        "The user's own review": task.target_review.text if task.target_review is not None else "",
        "What it was taken for": episode.predicted_type or "",
        "Worth": f"{verdict.result:.3f} (paper), {official.result:.3f} (official)" if played is not None else "",
        **{f"{place}. {calls[place - 1]}"[:200]: text for place, text in enumerate(moves, start=1)},
        told: episode.memory,
        "The user": "\n".join(f"{name}: {said}" for name, said in line.profile.told.items()) if line.profile else "",
    }
    failure = episode.failure
    return ItemRow(
        id=task.id,
        task=task.id,
        user=task.user_id,
        outcome=outcome,
        result=verdict.failure or ("hit" if verdict.function else "miss"),
        was_asked=played is not None,
        scores={name: None if played is None else value for name, value in values.items()},
        groups={
            "type": (task.type,),
            "user": (task.user_id,),
            "history": ("fewer than 10 behaviours" if line.earlier_behaviours < shop.FEW else "10 and more",),
            "outcome": (outcome,),
            "end": (verdict.end,),
            "steps": (str(verdict.steps),),
        },
        instruction=task.instruction,
        reply="\n\n".join(turn.raw or turn.thought for turn in episode.turns if turn.raw or turn.thought),
        answer=calls[-1] if calls else "",
        target=task.target_asin,
        reason="" if failure is None else f"{failure.kind}: {failure.message}",
        notes=tuple(Note(title=title, text=text) for title, text in notes.items() if text),
        **call_fields(episode.call),
    )


def _call(turn: Turn) -> str:
    spoken = said(turn.call) if turn.call.name == "respond" else turn.call.arguments
    return f"{turn.call.name}({spoken})"


def _move(turn: Turn, attempt: shop.Attempt | None, target: str) -> str:
    seen, call = turn.observation, _call(turn)
    lines = [] if attempt is None else [f"worth {attempt.result:.2f}"]
    lines += [call] if len(call) > 190 else []
    if seen is not None and seen.asins:
        titles = {asin: title for title, asin in _TITLE.findall("\n".join(shop.entries_of(seen)))}
        for place, asin in enumerate(seen.asins, start=1):
            mark = "  ← the target" if asin == target else ""
            lines.append(f"{place}. {titles.get(asin, '')} ({asin}){mark}")
    elif seen is not None:
        lines.append(f"{seen.error}: {seen.text}" if seen.error else seen.text)
    lines += [f"{turn.extra_calls} more calls of this message were not carried out"] if turn.extra_calls else []
    lines += [f"user: {turn.user_reply}"] if turn.user_reply else []
    lines += [f"what the agent made of it: {turn.reflection}"] if turn.reflection else []
    return "\n".join(lines)


READINGS: dict[ShopRule, str] = {
    "paper": "last attempt: schema-valid call, target as a product, rank r worth 1 - (r - 1)/10, likeness from 0",
    "official": "best attempt: the release's evaluator: no error, target's id anywhere, entry i of n worth 1 - i/n, "
    "any likeness",
}
SHORT: dict[str, str] = {"search": "search", "recommend": "recom.", "review": "review", "overall": "all"}


def print_shop(console: Console, results: Sequence[ShopScored], *, rule: ShopRule) -> None:
    asked = results[0].info.asked
    models = {result.info.asked.model for result in results}
    model = f" · {asked.model}" if len(models) == 1 and asked.model else ""
    user = f" · user {asked.user}" if asked.user else ""
    title = f"{data_name(asked.dataset, results[0].info.departs)} · {asked.track}-turn · {rule}{model}{user}"
    measures = {"F": ("function", 3), "R": ("result", 3), "steps": ("steps", 2)}
    if asked.track == "single":
        del measures["steps"]
    columns = [f"{kind if measure == 'F' else ''}\n{measure}" for kind in SHORT.values() for measure in measures]
    heads, lines = ("agent · memory", *columns, "95 % interval\nof all R"), []
    # The same in fewer words, with the model where the runs have several.
    names = [row_name(result, several=len(models) > 1).replace(" memory", "") for result in results]
    for name, result in zip(names, results, strict=True):
        scores = result.summary.scores[rule]
        rows = [*(scores.types[kind] for kind in TYPES), scores.overall]
        cells = [share(getattr(one, field), digits) for one in rows for field, digits in measures.values()]
        lines.append((name, *cells, interval(scores.overall.result)))
    console.print(drawn(SummaryTable(title=title, heads=heads, rows=tuple(lines))))
    print_named(console, _notes(results, names, rule))


def row_name(result: ShopScored, *, several: bool = True) -> str:
    asked = result.info.asked
    memory = "" if asked.agent in OWN_MEMORY else f" · {asked.memory} memory"
    return f"{asked.agent}{memory}{f' ({asked.model})' if asked.model and several else ''}"


def share(estimate: ShopEstimate | None, digits: int = 3) -> str:
    return "-" if estimate is None or estimate.value is None else f"{estimate.value:.{digits}f}"


def interval(estimate: ShopEstimate) -> str:
    return "-" if estimate.low is None or estimate.high is None else f"[{estimate.low:.3f}, {estimate.high:.3f}]"


def cost_words(totals: CallTotals) -> str:
    if not totals.calls:
        return "no requests"
    price = "not priced" if totals.usd is None else dollars(totals.usd)
    return f"{price}, {totals.input_tokens:,} tokens in, {totals.output_tokens:,} out"


def _notes(results: Sequence[ShopScored], names: Sequence[str], rule: ShopRule) -> Iterator[tuple[str, str]]:
    first = results[0]
    counts, scores, asked = first.summary.counts, first.summary.scores[rule], first.info.asked
    by_type = " · ".join(f"{kind} {scores.types[kind].tasks}" for kind in TYPES)
    yield "tasks", f"{counts.tasks:,} of {counts.users:,} users ({by_type}) · {counts.products:,} products"
    yield "measures", "F: share of tasks with the right function; R: what its result is worth, 0 to 1"
    yield "reading", f"{rule}, {READINGS[rule]}"
    yield "intervals", f"bootstrap over users, seed {asked.seed}"
    yield from (("warning", text) for text in departure_warnings(asked.dataset, first.info.departs))
    if few := scores.few["overall"].tasks:
        yield "few-shot", f"{few:,} tasks whose user had done fewer than 10 things before"
    for name, result in zip(names, results, strict=True):
        lead = f"{name}: " if len(results) > 1 else ""
        yield from ((title, f"{lead}{text}") for title, text in _own_notes(result, rule))
    yield from (("signature", result.summary.signature) for result in results)
    for result in results:
        yield ("run folder", str(result.folder)) if result.report is None else ("report", str(result.report))


def _own_notes(result: ShopScored, rule: ShopRule) -> Iterator[tuple[str, str]]:
    summary, scores = result.summary, result.summary.scores[rule]
    counts, few, function = summary.counts, scores.few["overall"], scores.overall.function
    lists = " · ".join(f"{kind} {share(scores.types[kind].outcome)}" for kind in TYPES[:2])
    shots = f" · few-shot F {share(few.function)}, R {share(few.result)}" if few.tasks else ""
    user = f" · user: {cost_words(summary.user)}" if summary.user.calls else ""
    yield "outcome", f"right function {function.k}/{function.n} · R of any list: {lists}{shots}"
    yield "time", f"{result.time.wall_s:.1f} s · agent: {cost_words(summary.agent)}{user}"
    unparsed, errors = (counts.failures.get(kind, 0) for kind in ("unparsed", "error"))
    refused = {kind: count for kind, count in {"unparsed": unparsed, **counts.errors_seen}.items() if count}
    if refused:
        yield "refused", " · ".join(f"{kind} {count}" for kind, count in refused.items())
    others, again = counts.tasks - counts.unasked, "run the same command again to ask only those"
    warnings = {
        f"stopped before the end: {result.info.stopped}": result.info.stopped,
        f"{errors} tasks ended in an error and count as wrong; {again}": errors,
        f"{counts.unasked} tasks were not begun: the scores are over the {others} others": counts.unasked,
        "the run is partial: its scores are not final": summary.status == "partial",
    }
    yield from (("warning", text) for text, is_so in warnings.items() if is_so)


NamedRuns = Sequence[tuple[str, ShopScored]]


def print_published_shop(console: Console, results: Sequence[ShopScored]) -> None:
    odd = print_paper(console, "personalwab", TABLES, [(row_name(result), result) for result in results])
    words = "runs stand there by the reading official, the released evaluator's, which made the paper's figures"
    print_named(console, [("published", words), *odd])


def print_published_training(console: Console, *, ablations: NamedRuns, lengths: NamedRuns) -> None:
    """Print the paper's tables of trained models with the runs of one's own under them."""
    for table, named in ((ABLATIONS, ablations), (MEMORY_LENGTHS, lengths)):
        print_named(console, print_paper(console, "personalwab", (table,), named))


def _column(name: str, heading: str, kind: str, field: str, *, few: bool = False, search: str = "") -> CallColumn[Any]:
    """A column by its name in the file; runs with another ``search`` have no figure in it."""

    def figure(run: ShopScored) -> float | None:
        scores = run.summary.scores["official"]
        by_type: dict[Any, Any] = {**scores.types, "overall": scores.overall}
        found: ShopEstimate = getattr((scores.few if few else by_type)[kind], field)
        return found.value if search in ("", run.info.asked.search) else None

    return CallColumn(column=name, heading=heading, own=figure)


def _table(
    number: str, about: str, *columns: CallColumn[ShopScored], track: Track | None = None
) -> PrintedTable[ShopScored]:
    return PrintedTable(
        number=number, about=about, places=columns, fits=lambda run: track in (None, run.info.asked.track)
    )


def _by_type(*fields: str, kinds: Sequence[str] = tuple(SHORT), few: bool = False) -> Iterator[CallColumn[ShopScored]]:
    measures = {
        "function": ("function accuracy", "F"),
        "result": ("result accuracy", "R"),
        "outcome": ("O. accuracy", "O"),
        "steps": ("average steps", "steps"),
    }
    for kind in kinds:
        for field in fields:
            printed, heading = measures[field]
            named = f"{'recommendation' if kind == 'recommend' else kind} {printed}"
            yield _column(named, f"{SHORT[kind] if field == fields[0] else ''}\n{heading}", kind, field, few=few)


_F_R = ("function", "result")
_SEARCHES = (
    _column("result accuracy, BM25", "\nBM25 R", "search", "result", search="bm25"),
    _column("result accuracy, dense", "\ndense R", "search", "result", search="dense"),
)
_OUTCOMES = _by_type(*_F_R, "outcome", kinds=TYPES[:2])
TABLES = (
    _table("3", "single-turn track", *_by_type(*_F_R), track="single"),
    _table("4", "multi-turn track", *_by_type(*_F_R, "steps"), track="multi"),
    _table("7", "outcome of the list that was asked for (O)", *_OUTCOMES, track="single"),
    _table("8", "search by BM25 and by meaning", *_SEARCHES, track="single"),
    _table("9", "users with fewer than 10 behaviours", *_by_type(*_F_R, few=True), track="single"),
)
ABLATIONS = _table("5", "ablations of PUMA", *_by_type(*_F_R))
MEMORY_LENGTHS = _table("6", "length of PUMA's memory", *_by_type(*_F_R))


WORDS = {"hit": "right function", "miss": "wrong function", "unparsed": "no usable move", "why": "Why it failed"}


def write_page(path: Path, out: Path | None) -> Path:
    """The page of a run, with figures 7 to 9 of the paper as tables."""
    run = read(path)
    scored: ShopScored = run.scored
    summary, info, counts, asked = scored.summary, scored.info, scored.summary.counts, scored.info.asked
    facts = {
        "tasks": f"{counts.tasks} of {counts.users} users, {asked.track}-turn",
        "products": f"{info.products:,} searched, {info.recommended:,} recommended from",
        "time": f"{scored.time.wall_s:.1f} s",
        "agent": cost_words(summary.agent),
        "ended": " · ".join(f"{name} {count}" for name, count in counts.ends.items()),
        "refused": " · ".join(f"{name} {count}" for name, count in (counts.failures | counts.errors_seen).items()),
    }
    heads = ("", "tasks", "right function", "result", "95 % interval", "outcome", "steps", "s a task")
    tables = [
        SummaryTable(title=f"{rule}: {READINGS[rule]}", heads=heads, rows=_lines(scored, rule)) for rule in shop.RULES
    ]
    tried, moved = ("", "attempt", "mean result", "tasks"), ("type", "step", "function", "then", "episodes")
    tables += [
        SummaryTable(title="result by attempt (figure 9)", heads=tried, rows=tuple(_tries(scored))),
        SummaryTable(title="what followed what (figure 8)", heads=moved, rows=tuple(_moves(scored))),
    ]
    about = PageAbout(
        facts=tuple(Fact(name=name, text=text) for name, text in facts.items() if text),
        tables=tuple(table for table in tables if table.rows),
        groups=("type", "outcome", "history", "end"),
        words={**WORDS, "all": "all"},
    )
    return write_item_page(run, about, out)


def _lines(scored: ShopScored, rule: ShopRule) -> tuple[tuple[str, ...], ...]:
    scores, verdicts, lines = scored.summary.scores[rule], scored.verdicts[rule], []
    for name, found in (*scores.types.items(), ("overall", scores.overall)):
        seconds = [one.seconds for one in verdicts if one.seconds is not None and name in (one.type, "overall")]
        right = f"{share(found.function)} ({found.function.k}/{found.function.n})"
        worth = (share(found.result), interval(found.result), share(found.outcome), share(found.steps, 2))
        lines.append((name, str(found.tasks), right, *worth, f"{fmean(seconds):.2f}" if seconds else "-"))
    return tuple(lines)


def _tries(scored: ShopScored) -> Iterator[tuple[str, ...]]:
    for kind in TYPES:
        tried = [one.attempts for one in scored.verdicts["paper"] if one.type == kind]
        for number in range(10):
            worth = [each[number].result for each in tried if len(each) > number]
            if worth:
                yield kind, str(number + 1), f"{fmean(worth):.3f}", str(len(worth))


def _moves(scored: ShopScored) -> Iterator[tuple[str, ...]]:
    episodes, counted = scored.episodes(), Counter[tuple[int, int, str, str]]()
    for task in (line.task for line in scored.tasks if line.task.id in episodes):
        names = [*(turn.call.name for turn in episodes[task.id].turns), "end"]
        counted.update((TYPES.index(task.type), place, *both) for place, both in enumerate(pairwise(names), start=1))
    for (kind, place, before, after), count in sorted(counted.items()):
        yield TYPES[kind], str(place), before, after, str(count)

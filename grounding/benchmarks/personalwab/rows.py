"""A run over a shop, as it is shown: its files in, one record a task and the page out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from grounding.benchmarks.personalwab.agents.base import said
from grounding.benchmarks.personalwab.records import TYPES, Episode, Turn
from grounding.benchmarks.personalwab.scorebook import ShopScored, TaskLine, read_shop_run
from grounding.benchmarks.personalwab.scoring import FEW, Attempt, ShopRule, ShopVerdict, entries_of, outcome_of
from grounding.benchmarks.personalwab.table import (
    READINGS,
    cost_words,
    interval,
    print_published_shop,
    print_shop,
    row_name,
    share,
)
from grounding.errors import UserError
from grounding.options import DesktopScoringName
from grounding.report.html.content import Fact, SummaryTable
from grounding.report.html.gather import PageAbout
from grounding.report.html.page import write_item_page
from grounding.report.html.written import written_or_warned
from grounding.report.rows import ItemRow, Note, RunRows, call_fields, item_metric

_RELEASED = "the released evaluator: an id anywhere, the best attempt"
_TITLE = re.compile(r"^- Title: (.*)\n- Parent Asin: (.*)$", re.MULTILINE)
MAX_ATTEMPTS = 10
METRICS = (
    item_metric("function", title="right function", of="tasks", source="PersonalWAB, section 3.3"),
    item_metric("result", unit="", counted=False, of="tasks", source="PersonalWAB, section 3.3 and equation 1"),
    item_metric("outcome", unit="", counted=False, of="tasks", source="PersonalWAB, section A.4.5: any right list"),
    item_metric("official_function", title="official function", of="tasks", narrow=True, source=_RELEASED),
    *(
        item_metric(name, unit="", counted=False, of="tasks", narrow=True, source=_RELEASED)
        for name in ("official_result", "official_outcome")
    ),
    item_metric("steps", unit="steps", counted=False, of="tasks", better="lower", source="PersonalWAB, section 3.3"),
)


def read(path: Path) -> RunRows:
    """A scored run over a shop. Raises UserError where the folder holds no scored run, or a file in it is damaged."""
    scored = read_shop_run(path)
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


def print_run(console: Console, run: RunRows, scoring: DesktopScoringName) -> None:
    """The run's own table; ``strict`` is no reading of a shop."""
    print_shop(console, [run.scored], rule="official" if scoring == "official" else "paper")


def print_published(console: Console, runs: Sequence[RunRows]) -> None:
    """The tables of PersonalWAB's paper with the runs under them."""
    print_published_shop(console, [run.scored for run in runs])


def _rows(scored: ShopScored) -> Iterator[ItemRow]:
    episodes = scored.episodes()
    paper, official = ({one.task_id: one for one in found} for found in scored.verdicts.values())
    for line in scored.tasks:
        name = line.task.id
        if name not in paper or name not in official:
            raise UserError(f"no verdict over {name}: `grounding score` makes them again")
        yield _row(line, paper[name], official[name], episodes.get(name))


def _row(line: TaskLine, verdict: ShopVerdict, official: ShopVerdict, played: Episode | None) -> ItemRow:
    task, outcome = line.task, outcome_of(verdict)
    episode = played or Episode(task_id=task.id, key="")
    values = {
        "function": 100.0 * verdict.function,
        "result": verdict.result,
        "outcome": verdict.outcome,
        "official_function": 100.0 * official.function,
        "official_result": official.result,
        "official_outcome": official.outcome,
        "steps": float(verdict.steps),
    }
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
            "history": (f"fewer than {FEW} behaviours" if line.earlier_behaviours < FEW else f"{FEW} and more",),
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


def _move(turn: Turn, attempt: Attempt | None, target: str) -> str:
    """What came of a move: the products of a list with the target marked, the web's words, or the user's."""
    seen, call = turn.observation, _call(turn)
    lines = [] if attempt is None else [f"worth {attempt.result:.2f}"]
    lines += [call] if len(call) > 190 else []
    if seen is not None and seen.asins:
        titles = {asin: title for title, asin in _TITLE.findall("\n".join(entries_of(seen)))}
        mark = {target: "  ← the target"}
        lines += [
            f"{place}. {titles.get(asin, '')} ({asin}){mark.get(asin, '')}" for place, asin in enumerate(seen.asins, 1)
        ]
    elif seen is not None:
        lines.append(f"{seen.error}: {seen.text}" if seen.error else seen.text)
    lines += [f"{turn.extra_calls} more calls of this message were not carried out"] if turn.extra_calls else []
    lines += [f"user: {turn.user_reply}"] if turn.user_reply else []
    lines += [f"what the agent made of it: {turn.reflection}"] if turn.reflection else []
    return "\n".join(lines)


# --- the page ---------------------------------------------------------------------------------------------------------

WORDS = {
    "hit": "right function",
    "miss": "wrong function",
    "unparsed": "no usable move",
    "all": "all",
    "why": "Why it failed",
}
TRIED, MOVED = ("", "attempt", "mean result", "tasks"), ("type", "step", "function", "then", "episodes")
HEADS = ("", "tasks", "right function", "result", "95 % interval", "outcome", "steps", "s a task")


def write_page(path: Path, out: Path | None) -> Path:
    """The page of a run."""
    run = read(path)
    return write_item_page(run, _about(run.scored), out)


def shop_page(scored: ShopScored) -> Path | None:
    """The page at the end of a run, or a warning on standard error."""
    return written_or_warned(lambda: write_page(scored.folder, None))


def _about(scored: ShopScored) -> PageAbout:
    """What the page says of a run beside its tasks: figures 7 to 9 of the paper as tables, and what became of it."""
    summary, info, counts = scored.summary, scored.info, scored.summary.counts
    facts = {
        "tasks": f"{counts.tasks} of {counts.users} users, {info.asked.track}-turn",
        "products": f"{info.products:,} searched, {info.recommended:,} recommended from",
        "time": f"{scored.time.wall_s:.1f} s",
        "agent": cost_words(summary.agent),
        "ended": _counted(counts.ends),
        "refused": _counted(counts.failures | counts.errors_seen),
    }
    tables = [
        *(SummaryTable(title=f"{rule}: {READINGS[rule]}", heads=HEADS, rows=_lines(scored, rule)) for rule in READINGS),
        SummaryTable(title="result by attempt (figure 9)", heads=TRIED, rows=tuple(_tries(scored))),
        SummaryTable(title="what followed what (figure 8)", heads=MOVED, rows=tuple(_moves(scored))),
    ]
    return PageAbout(
        facts=tuple(Fact(name=name, text=text) for name, text in facts.items() if text),
        tables=tuple(table for table in tables if table.rows),
        groups=("type", "outcome", "history", "end"),
        words=WORDS,
    )


def _counted(counts: Mapping[Any, int]) -> str:
    return " · ".join(f"{name} {count}" for name, count in counts.items())


def _lines(scored: ShopScored, rule: ShopRule) -> tuple[tuple[str, ...], ...]:
    """The measures by type, with the mean time of a task's requests (figure 7)."""
    scores, verdicts, lines = scored.summary.scores[rule], scored.verdicts[rule], []
    for name, found in (*scores.types.items(), ("overall", scores.overall)):
        seconds = [one.seconds for one in verdicts if one.seconds is not None and name in (one.type, "overall")]
        lines.append(
            (
                name,
                str(found.tasks),
                f"{share(found.function)} ({found.function.k}/{found.function.n})",
                share(found.result),
                interval(found.result),
                share(found.outcome),
                share(found.steps, 2),
                f"{fmean(seconds):.2f}" if seconds else "-",
            )
        )
    return tuple(lines)


def _tries(scored: ShopScored) -> Iterator[tuple[str, ...]]:
    """The mean result of the first, second, … attempt over the tasks that had one."""
    for kind in TYPES:
        tried = [one.attempts for one in scored.verdicts["paper"] if one.type == kind]
        for number in range(MAX_ATTEMPTS):
            worth = [each[number].result for each in tried if len(each) > number]
            if worth:
                yield kind, str(number + 1), f"{fmean(worth):.3f}", str(len(worth))


def _moves(scored: ShopScored) -> Iterator[tuple[str, ...]]:
    """How often a function followed another at one place of the episodes."""
    episodes = scored.episodes()
    counted: Counter[tuple[int, int, str, str]] = Counter()
    for task in (line.task for line in scored.tasks if line.task.id in episodes):
        names = [turn.call.name for turn in episodes[task.id].turns]
        counted.update(
            (TYPES.index(task.type), place, *both) for place, both in enumerate(pairwise((*names, "end")), start=1)
        )
    for (kind, place, before, after), count in sorted(counted.items()):
        yield TYPES[kind], str(place), before, after, str(count)

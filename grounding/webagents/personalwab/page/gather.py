"""A scored run over a shop to the content of its page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grounding.money import dollars
from grounding.webagents.personalwab.agents.conversation import said
from grounding.webagents.personalwab.layout import PROFILE_FIELDS
from grounding.webagents.personalwab.page.content import (
    MAX_MEMORY_CHARS,
    MAX_TEXT_CHARS,
    Row,
    ShopPage,
    ShownTable,
    ShownTask,
    ShownTurn,
)
from grounding.webagents.personalwab.records import Episode, Profile, Turn
from grounding.webagents.personalwab.runfiles import ShopFolder, TaskLine
from grounding.webagents.personalwab.scorebook import ShopScored
from grounding.webagents.personalwab.scores import TYPES, ShopEstimate, ShopFigures
from grounding.webagents.personalwab.table import READINGS, interval, row_name, share
from grounding.webagents.personalwab.verdicts import ShopRule, ShopVerdict

HEADS = ("tasks", "right function", "result", "95 % interval", "outcome", "steps", "s a task")
_TITLE = re.compile(r"(?:\A|\n)- Title: (.*)\n- Parent Asin: (.*)\n")


def gather_shop(scored: ShopScored) -> ShopPage:
    """Read the episodes of a run and put everything together that its page shows.

    Raises:
        UserError: a file of the run is damaged.
    """
    journal = ShopFolder(scored.folder).episodes(read_only=True)
    try:
        episodes = {line.task.id: one for line in scored.tasks if (one := journal.last(line.task.id)) is not None}
    finally:
        journal.close()
    by_rule = {rule: {one.task_id: one for one in found} for rule, found in scored.verdicts.items()}
    titles = {line.product.asin: line.product.title for line in scored.tasks if line.product is not None}
    for episode in episodes.values():
        titles |= _titles(episode.turns)
    return ShopPage(
        title=f"{scored.info.asked.dataset} · {row_name(scored)}",
        status=_status(scored),
        facts=_facts(scored),
        tables=(_table(scored, "paper"), _table(scored, "official"), *_few(scored), _choices(scored)),
        attempts=scored.summary.attempts,
        transitions=scored.summary.transitions,
        products=titles,
        tasks=tuple(_task(line, episodes.get(line.task.id), by_rule) for line in scored.tasks),
    )


def _titles(turns: Sequence[Turn]) -> dict[str, str]:
    found: dict[str, str] = {}
    for turn in turns:
        if turn.observation is not None and turn.observation.asins:
            found |= {asin: title for title, asin in _TITLE.findall(turn.observation.text)}
    return found


def _status(scored: ShopScored) -> str:
    counts = scored.summary.counts
    return f"{counts.tasks} tasks of {counts.users} users, {scored.info.asked.track}-turn, {scored.summary.status}"


def _facts(scored: ShopScored) -> tuple[tuple[str, str], ...]:
    summary, info = scored.summary, scored.info
    price = "not priced" if summary.agent.usd is None else dollars(summary.agent.usd)
    paid = f"{price}, {summary.agent.input_tokens:,} tokens in, {summary.agent.output_tokens:,} out"
    ends = " · ".join(f"{name} {count}" for name, count in summary.counts.ends.items())
    wrong = " · ".join(
        f"{name} {count}" for name, count in (summary.counts.failures | summary.counts.errors_seen).items()
    )
    facts = [
        ("signature", summary.signature),
        ("products", f"{info.products:,} searched, {info.recommended:,} recommended from"),
        ("time", f"{scored.time.wall_s:.1f} s"),
        ("agent", paid if summary.agent.calls else "no requests"),
        ("episodes ended", ends),
        ("refused or failed", wrong),
        ("command", info.command),
    ]
    return tuple((name, value) for name, value in facts if value)


def _table(scored: ShopScored, rule: ShopRule) -> ShownTable:
    scores = scored.summary.scores[rule]
    groups = [(kind, kind, scores.types[kind]) for kind in TYPES] + [("all", "overall", scores.overall)]
    return ShownTable(
        title=f"{rule}: {READINGS[rule]}",
        heads=HEADS,
        rows=tuple(Row(name=name, cells=_cells(found, scored.time.task_s.get(of))) for name, of, found in groups),
    )


def _cells(found: ShopFigures, seconds: ShopEstimate | None) -> tuple[str, ...]:
    return (
        str(found.tasks),
        f"{share(found.function)} ({found.function.k}/{found.function.n})" if found.tasks else "-",
        share(found.result),
        interval(found.result),
        share(found.outcome),
        "-" if found.steps.value is None else f"{found.steps.value:.2f}",
        "-" if seconds is None or seconds.value is None else f"{seconds.value:.2f}",
    )


def _few(scored: ShopScored) -> list[ShownTable]:
    scores, times = scored.summary.scores["paper"], scored.time.few_task_s
    if not scores.few["overall"].tasks:
        return []
    return [
        ShownTable(
            title="zero and few shots (paper): users with fewer than 10 behaviours before the task",
            heads=HEADS,
            rows=tuple(Row(name=name, cells=_cells(found, times.get(name))) for name, found in scores.few.items()),
        )
    ]


def _choices(scored: ShopScored) -> ShownTable:
    rows = []
    for rule, scores in scored.summary.scores.items():
        for choice, found in scores.by_choice.items():
            rows.append(Row(name=f"{rule}, {choice} attempt", cells=(share(found.function), share(found.result))))
    return ShownTable(title="which attempt counts", heads=("right function", "result"), rows=tuple(rows))


def _task(line: TaskLine, episode: Episode | None, by_rule: Mapping[ShopRule, Mapping[str, ShopVerdict]]) -> ShownTask:
    task = line.task
    paper, official = by_rule["paper"][task.id], by_rule["official"][task.id]
    worth = {attempt.turn: attempt for attempt in paper.attempts}
    turns = () if episode is None else episode.turns
    shown = []
    for place, turn in enumerate(turns):
        attempt = worth.get(place)
        shown.append(_turn(turn, None if attempt is None else attempt.result, right=bool(attempt and attempt.function)))
    return ShownTask(
        id=task.id,
        user=task.user_id,
        type=task.type,
        instruction=_cut(task.instruction, MAX_TEXT_CHARS),
        target=task.target_asin,
        outcome=_outcome(paper),
        own_review="" if task.target_review is None else _cut(task.target_review.text, MAX_TEXT_CHARS),
        profile=() if line.profile is None else _profile(line.profile),
        memory="" if episode is None else _cut(episode.memory, MAX_MEMORY_CHARS),
        memory_behaviours=0 if episode is None else episode.memory_behaviours,
        earlier_behaviours=line.earlier_behaviours,
        predicted="" if episode is None else episode.predicted_type or "",
        turns=tuple(shown),
        end=paper.end,
        failure=""
        if episode is None or episode.failure is None
        else f"{episode.failure.kind}: {episode.failure.message}",
        function=paper.function,
        paper=paper.result,
        official=official.result,
        took=_took(episode),
    )


def _failure(episode: Episode | None) -> str:
    if episode is None or episode.failure is None:
        return ""
    return f"{episode.failure.kind}: {episode.failure.message}"


def _outcome(verdict: ShopVerdict) -> str:
    if verdict.failure is not None:
        return verdict.failure
    if not verdict.attempts:
        return "no call"
    if not verdict.function:
        return "wrong function"
    if verdict.type == "review":
        return "written"
    return "found" if verdict.result > 0 else "not found"


def _turn(turn: Turn, result: float | None, *, right: bool) -> ShownTurn:
    seen = turn.observation
    spoken = turn.call.name == "respond"
    return ShownTurn(
        name=turn.call.name,
        arguments=_cut(said(turn.call) if spoken else turn.call.arguments, MAX_TEXT_CHARS),
        thought=_cut(turn.thought, MAX_TEXT_CHARS),
        reflection=_cut(turn.reflection, MAX_TEXT_CHARS),
        asins=() if seen is None else seen.asins,
        text="" if seen is None or seen.asins else _cut(seen.text, MAX_TEXT_CHARS),
        error="" if seen is None else seen.error,
        user=turn.user_reply,
        extra_calls=turn.extra_calls,
        result=result,
        right=right,
    )


def _took(episode: Episode | None) -> str:
    if episode is None or episode.call is None:
        return ""
    call = episode.call
    price = "" if call.cost_usd is None else f", {dollars(call.cost_usd)}"
    tokens = "" if call.usage is None else f", {call.usage.input_tokens:,} tokens in, {call.usage.output_tokens:,} out"
    return f"{call.seconds:.2f} s{tokens}{price}"


def _profile(profile: Profile) -> tuple[tuple[str, str], ...]:
    pairs = ((theirs, getattr(profile, ours)) for theirs, ours in PROFILE_FIELDS.items())
    return tuple((name, value) for name, value in pairs if value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} characters more)"

"""A run over desktop tasks, as it is shown: its files in; one record a step, tables and the page out."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec.structs import replace
from rich.console import Console

from grounding.actions.kinds import Action, print_action
from grounding.benchmarks.calls import CallColumn, PrintedTable, print_tables
from grounding.benchmarks.desktop.folder import DesktopFolder, DesktopScored, DesktopStepLine
from grounding.cards.places import published_dir
from grounding.data.desktop_records import DesktopPrediction
from grounding.data.release import data_name, departure_warnings, release_mark
from grounding.errors import UserError
from grounding.options import DesktopScoringName
from grounding.records import Point, Region
from grounding.report.groups import estimate_cells, table_of
from grounding.report.html.content import Fact, SummaryTable
from grounding.report.html.gather import PageAbout
from grounding.report.html.page import write_item_page
from grounding.report.rows import ItemRow, Note, RunRows, call_fields, item_metric
from grounding.report.table import cost_lines, method_words, print_named
from grounding.run.lock import read_time
from grounding.scoring.desktop import (
    DESKTOP_FAILURES,
    DESKTOP_RULES,
    RULE_NOTES,
    DesktopGroup,
    DesktopSummary,
    DesktopVerdict,
)

KINDS = ("preference", "routine")
NAMES = {rule: "step_accuracy" if rule == "paper" else f"{rule}_accuracy" for rule in ("paper", *DESKTOP_RULES)}

METRICS = tuple(item_metric(name, of="steps", source=f"PERCU: {RULE_NOTES[rule]}") for rule, name in NAMES.items())


def read(path: Path) -> RunRows:
    """A scored run over desktop tasks; raises UserError where the folder holds none, or a file in it is damaged."""
    folder = DesktopFolder(path)
    info, summary = folder.read_info(), folder.read_summary(DesktopSummary)
    if not (path / "verdicts.jsonl").exists():
        raise UserError(f"{path}: the verdicts are gone; `grounding score {path}` makes them")
    time = read_time(path, wall_s=info.wall_s)
    scoring = dict(part.split(":", 1) for part in summary.signature.split("|"))["scoring"]
    return RunRows(
        folder=path,
        benchmark="desktop",
        name=agent_name(info.asked),
        who={"agent": info.asked.agent, "memory": info.asked.memory},
        same={"the definition of the scores": scoring},
        metrics=METRICS,
        read=lambda: _rows(folder, summary),
        info=info,
        summary=summary,
        load=lambda: DesktopScored(folder=path, info=info, tasks=folder.read_tasks(), summary=summary, time=time),
        kinds=("kind", "category"),
        orders={"failure": ("none", *DESKTOP_FAILURES)},
    )


def agent_name(asked: Any) -> str:
    return f"{asked.agent}, memory {asked.memory}"


def _rows(folder: DesktopFolder, summary: DesktopSummary) -> Iterator[ItemRow]:
    verdicts = {one.step_id: one for one in folder.read_lines("verdicts.jsonl", DesktopVerdict, what="a verdict")}
    times, at = 0, 0
    journal = folder.predictions()
    try:
        for line in folder.stream_lines("steps.jsonl", DesktopStepLine, what="a step of a desktop task"):
            if line.step.id not in verdicts:
                raise UserError(f"{folder.path}: no verdict over {line.step.id}; `grounding score` makes them again")
            times, at = (summary.loops[line.step.id], 1) if line.step.id in summary.loops else (times, at + 1)
            looping = f"{at} of {times}" if at <= times else ""
            yield _row(line, verdicts[line.step.id], journal.last(line.step.id), looping)
    finally:
        journal.close()


def _row(line: DesktopStepLine, verdict: DesktopVerdict, answer: DesktopPrediction | None, looping: str) -> ItemRow:
    step, asked, failure = line.step, verdict.was_asked, verdict.failure
    action = None if answer is None else answer.action
    found = "" if action is None else print_action(action)
    groups = {
        "kind": line.kind or "",
        "category": line.category or line.kind or "",
        "task": line.task,
        "action": verdict.gold_kind,
        "predicted": verdict.predicted_kind or "none",
        "failure": failure or "none",
        "dead loop": "in one" if looping else "",
    }
    # The recorder writes this word where it knows nothing.
    element = f"  on {step.element}" if step.element not in (None, "", "Unknown") else ""
    why = (f"{name}: {'right' if one.right else 'wrong'}, {one.why}" for name, one in verdict.rulings.items())
    notes = {
        "Task": line.description,
        "First instruction": step.first_instruction if step.second_instruction else "",
        "Memory (what the agent was told that the user did)": line.memory or "",
        "Recorded action": f"{print_action(step.gold)}{element}",
        "Right only for other users": "\n".join(map(print_action, step.other_users)),
        "Answer, as it was read": found,
        "Right or wrong, by each rule": "\n".join(why) if asked else "",
        "Dead loop": looping and f"step {looping} with one and the same action on an unchanged screen",
        "Earlier replies": "\n\n".join(answer.earlier_raw) if answer is not None else "",
    }
    return ItemRow(
        id=step.id,
        task=line.task,
        outcome=failure or "right",
        result="hit" if failure is None else failure if failure in ("missing", "error", "unparsed") else "miss",  # type: ignore[arg-type]
        was_asked=asked,
        scores={name: 100.0 * verdict.rulings[rule].right if asked else None for rule, name in NAMES.items()},
        groups={kind: (name,) for kind, name in groups.items() if name},
        instruction=step.second_instruction or step.first_instruction or line.description,
        reply=(answer.raw if answer is not None else None) or "",
        answer=found,
        target=print_action(step.gold),
        reason=verdict.reason or failure or "",
        notes=tuple(Note(title=title, text=text) for title, text in notes.items() if text),
        screenshot=step.screenshot,
        region=None if step.rect is None else Region(boxes=(step.rect,)),
        recorded=_points(step.gold),
        points=_points(action),
        distance_px=verdict.distance_px,
        record=verdict,
        **call_fields(None if answer is None else answer.call),
    )


def _points(action: Action | None) -> tuple[Point, ...]:
    return () if action is None else tuple(Point(x_px=point.x, y_px=point.y) for point in action.points)


def _lengths(run: DesktopScored) -> Iterable[dict[str, Any]]:
    """At a task's first step. The paper doesn't say of what: a row each for characters and words."""
    for unit, size in (("characters", len), ("words", lambda text: len(text.split()))):
        for kind in (*KINDS, ""):
            steps = [task.steps[0] for task in run.tasks if kind in ("", task.kind)]
            first, second = (
                fmean([size(getattr(step, f"{which}_instruction")) for step in steps]) if steps else None
                for which in ("first", "second")
            )
            name = f"{run.info.asked.dataset}, {kind or 'all'}, {unit}"
            yield {"name": name, "tasks": len(steps), "first": first, "second": second}


def _official(run: DesktopScored, part: str, average: str) -> float | None:
    group = run.summary if part == "all" else run.summary.groups.get(part)
    return None if group is None else getattr(group.scores["official"], average).value


TABLE_1: PrintedTable[dict[str, Any]] = PrintedTable(
    number="1",
    about="tasks, and mean lengths of their instructions; in characters or words: the paper does not say",
    places=tuple(
        CallColumn(column=column, heading=heading, own=itemgetter(which), digits=digits)
        for column, heading, which, digits in (
            ("number of tasks", "\ntasks", "tasks", 0),
            ("average length of first instruction", "first\ninstruction", "first", 2),
            ("average length of second instruction", "second\ninstruction", "second", 2),
        )
    ),
)
TABLE_2: PrintedTable[DesktopScored] = PrintedTable(
    number="2",
    about="in per cent; runs by the rule official",
    places=tuple(
        CallColumn(
            column=f"{part} {name}",
            heading=f"{part}\n{name}",
            own=partial(_official, part=part, average=average),
            digits=2,
        )
        for part in (*KINDS, "all")
        for name, average in (("macro", "macro_task"), ("micro", "micro"))
    ),
)


def print_tables_of(console: Console, runs: Sequence[DesktopScored]) -> None:
    path = published_dir() / "percu.csv"
    data = {run.info.asked.fingerprint: run for run in runs}
    print_tables(console, path, (TABLE_1,), [one for run in data.values() for one in _lengths(run)], itemgetter("name"))
    names = {run.folder: f"{agent_name(run.info.asked)}{release_mark(run.info.departs)}" for run in runs}
    print_tables(console, path, (TABLE_2,), runs, lambda run: names[run.folder])


_ALL_ACTIONS = "all, micro"


def print_runs(console: Console, runs: Sequence[DesktopScored], rule: DesktopScoringName) -> None:
    if len(runs) > 1:
        names = [agent_name(run.info.asked) for run in runs]
        if len(set(names)) < len(names):
            names = [f"{name}, seed {run.info.asked.seed}" for name, run in zip(names, runs, strict=True)]
        figures = ("micro", "k/n steps", "95 % interval", "macro", *KINDS)
        table = table_of(data_name(runs[0].info.asked.dataset, runs[0].info.departs), [f"score ({rule})"], figures)
        for name, run in zip(names, runs, strict=True):
            found, kinds = run.summary.scores[rule], run.summary.groups
            parts = (estimate_cells(kinds[kind].scores[rule].micro)[0] if kind in kinds else "-" for kind in KINDS)
            so_far = " (partial)" if run.summary.status == "partial" else ""
            table.add_row(f"{name}{so_far}", *estimate_cells(found.micro), estimate_cells(found.macro_task)[0], *parts)
        console.print(table)
        print_named(console, (("run folder", f"{name}: {run.folder}") for name, run in zip(names, runs, strict=True)))
        return
    run = runs[0]
    for shown in score_tables(run, rule):
        table = table_of(shown.title, shown.heads[:1], shown.heads[1:])
        for row in shown.rows:
            if row[0] == _ALL_ACTIONS:
                table.add_section()
            table.add_row(*row)
        console.print(table)
    first, *rest = outcome_lines(run, rule)
    lines = [("", first), *(("warning", text) for text in warnings_of(run)), *(("", line) for line in rest)]
    lines.append(("signature", run.summary.signature))
    lines += [("report", str(run.report))] if run.report is not None else []
    print_named(console, [*lines, ("run folder", str(run.folder))])


def score_tables(run: DesktopScored, rule: DesktopScoringName) -> tuple[SummaryTable, SummaryTable]:
    asked, summary, counts = run.info.asked, run.summary, run.summary.counts
    style = f" · style {asked.style}" if asked.style else ""
    answered = f"{counts.steps - counts.unasked} of {counts.steps} steps answered"
    so_far = f" · partial: {answered}" if counts.unasked else ""
    rows = []
    for name, group in {**summary.groups, "all": DesktopGroup(counts=counts, scores=summary.scores)}.items():
        macro, _, reach = estimate_cells(group.scores[rule].macro_task)
        rows.append((name, str(group.counts.tasks), *estimate_cells(group.scores[rule].micro), macro, reach))
    by_action = {**summary.by_action, _ALL_ACTIONS: {name: summary.scores[name].micro for name in DESKTOP_RULES}}
    cells = {kind: {name: estimate_cells(one) for name, one in found.items()} for kind, found in by_action.items()}
    return (
        SummaryTable(
            title=f"{data_name(asked.dataset, run.info.departs)} · agent {asked.agent} · memory {asked.memory}"
            f"{style}{so_far}",
            heads=(f"score ({rule})", "tasks", "micro", "k/n steps", "95 % interval", "macro, tasks", "95 % interval"),
            rows=tuple(rows),
        ),
        SummaryTable(
            title="accuracy by recorded action and rule",
            heads=("action", *DESKTOP_RULES, "95 % interval (paper)"),
            rows=tuple(
                (kind, *(f"{value} ({count})" for value, count, _ in found.values()), found["paper"][2])
                for kind, found in cells.items()
            ),
        ),
    )


def outcome_lines(run: DesktopScored, rule: DesktopScoringName) -> list[str]:
    """A name of ten characters and a text each."""
    summary, counts, time = run.summary, run.summary.counts, run.time
    failures = " · ".join(f"{name} {counts.failures[name]}" for name in DESKTOP_FAILURES if counts.failures[name])
    rate = f" ({time.wall_s / counts.steps:.2f} s a step)" if counts.steps else ""
    spent = f"time       {time.wall_s:.1f} s{rate}" + (f", {time.retries} retries" if time.retries else "")
    paid = cost_lines(summary.cost)
    by_kind = ((kind, one["paper"]) for kind, one in summary.by_action.items())
    methods = "".join(method_words([("micro", summary.scores["paper"].micro), *by_kind], "task"))
    return [
        f"failures   {failures or 'none'}  (by paper; {counts.right} of {counts.steps} right)",
        f"dead loops {counts.looping} of {counts.tasks} tasks (the same action three times on an unchanged screen)",
        f"rule       {rule}: {RULE_NOTES[rule]}; tolerance {summary.tolerance_px:g} px",
        *([f"{spent} · cost: none known"] if summary.cost.usd is None else [spent, paid[0]]),
        *paid[1:],
        f"intervals  bootstrap over tasks, seed {run.info.asked.seed}{methods}",
    ]


def warnings_of(run: DesktopScored) -> Sequence[str]:
    counts = run.summary.counts
    found = [*departure_warnings(run.info.asked.dataset, run.info.departs)]
    if run.info.stopped:
        found.append(f"stopped before the end: {run.info.stopped}")
    if errors := counts.failures["error"]:
        found.append(f"{errors} steps ended in an error and count as wrong; the same command asks only those again")
    if run.summary.status == "partial":
        answered = f": over the {counts.steps - counts.unasked} of {counts.steps} steps that were answered"
        found.append(f"the run is partial: its scores are not final{answered if counts.unasked else ''}")
    if missing := counts.failures["missing"] - counts.unasked:
        found.append(f"{missing} steps have no recorded reply and count as wrong")
    return found


WORDS = {
    "hit": "right",
    "miss": "wrong",
    "unparsed": "reply without an action",
    "gold": "the recorded element",
    "recorded": "the recorded action",
    "click": "answer",
    "all": "all",
    "why": "How it is wrong, by the paper's rule",
}


def write_page(path: Path, out: Path | None) -> Path:
    run = read(path)
    lines = [Fact(name=line[:10].strip(), text=line[11:]) for line in outcome_lines(run.scored, "paper")]
    rules = Fact(name="rules", text="; ".join(f"{name}: {words}" for name, words in RULE_NOTES.items()))
    # Categories are shown where they say more than kinds do.
    differ = any(row.groups.get("category") != row.groups.get("kind") for row in run.rows)
    scores, by_action = score_tables(run.scored, "paper")
    about = PageAbout(
        facts=(*(fact for fact in lines if fact.name != "rule"), rules),
        warnings=tuple(warnings_of(run.scored)),
        tables=(replace(scores, title="accuracy by the paper's rule"), by_action),
        groups=("kind", *(("category",) if differ else ()), "action", "predicted", "dead loop"),
        words=WORDS,
    )
    return write_item_page(run, about, out)

"""What a training of PUMA changed: its ``summary.json``, its split and each stage's pairs as tables."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from grounding.scoring.intervals import wilson
from grounding.training.grounder.texts import interval_text
from grounding.training.page.axes import figure_text
from grounding.training.page.content import Fact, Generation, SampleGroup, SampleSet, Span, Table, TableRow
from grounding.training.page.reading import lines_of
from grounding.training.page.results import page_link, read_record
from grounding.training.page.samples import GENERATIONS, cut, spread
from grounding.training.puma.outcome import KindFigures, ModelOutcome, PumaSummary
from grounding.training.puma.records import (
    Candidate,
    PairCounts,
    Preference,
    PreferenceChange,
    PreferencePair,
    TaskCandidates,
)
from grounding.training.puma.split import PumaSplit
from grounding.webagents.personalwab.scores import ShopEstimate

CANDIDATE_TASKS = 6
"""Of so many tasks at most the candidates are shown."""

_KINDS = {"search": "search", "recommend": "recommendation", "review": "review", "overall": "all"}
_VARIANTS = {
    "full": "everything",
    "no-memory": "without memory",
    "no-sft": "without SFT of parameters",
    "no-dpo": "without DPO",
    "": "the base model",
}


class _Pairs(msgspec.Struct):
    """The content of a stage's ``pairs.json``."""

    train: PairCounts
    held_out: PairCounts


def agent_summary(folder: Path) -> PumaSummary | None:
    """The figures of a training of PUMA; None where there are none yet.

    Raises:
        UserError: the file is damaged.
    """
    return read_record(folder / "summary.json", PumaSummary)


def agent_tables(summary: PumaSummary, folder: Path) -> tuple[Table, ...]:
    """Every model of a run beside the base: what it does in the web, and what its pairs taught it."""
    preferences = _preferences(summary.models)
    return (*_web(summary, folder), *(() if preferences is None else (preferences,)))


def agent_spans(summary: PumaSummary) -> tuple[Span, ...]:
    """Results of the base model and of the first that was trained, by type of task."""
    base = next((one for one in summary.models if not one.variant and one.figures), None)
    tuned = next((one for one in summary.models if one.variant and one.figures), None)
    if base is None or tuned is None:
        return ()
    before = {one.kind: one.result for one in base.figures}
    return tuple(
        Span(
            name=f"result, {_KINDS.get(one.kind, cut(one.kind, 40))} ({tuned.name})",
            before=before[one.kind].value,
            before_low=before[one.kind].low,
            before_high=before[one.kind].high,
            after=one.result.value,
            after_low=one.result.low,
            after_high=one.result.high,
        )
        for one in tuned.figures
        if one.kind in before
    )


def agent_lead(summary: PumaSummary) -> str:
    """The first figure in a sentence; "" where nothing was measured."""
    for one in summary.models:
        if one.before is not None and one.after is not None and None not in (one.before.whole, one.after.whole):
            raised = "" if one.after.reward is None else f"DPO raised the better one in {one.after.reward:.3f}; "
            return (
                f"Of {one.after.pairs:,} held-out pairs ({cut(one.name, 80)}) {raised}it is the likelier text in "
                f"{one.before.whole:.3f} before DPO, {one.after.whole:.3f} after."
            )
    return ""


def _web(summary: PumaSummary, folder: Path) -> tuple[Table, ...]:
    evaluated = [one for one in summary.models if one.figures]
    if not evaluated:
        return ()
    kinds = [kind for kind in _KINDS if any(figure.kind == kind for one in evaluated for figure in one.figures)]
    heads = ("model", "memory, tokens", *(_KINDS[kind] for kind in kinds))
    return (
        Table(
            title=f"Results in the web, before and after ({summary.reading} scoring)",
            heads=heads,
            rows=tuple(_model(one, kinds, folder, lambda figure: figure.result) for one in evaluated),
            notes=("What the web's answer is worth, from 0 to 1, with 95 % intervals.",),
        ),
        Table(
            title="The right function, before and after",
            heads=heads,
            rows=tuple(_model(one, kinds, folder, lambda figure: figure.function) for one in evaluated),
        ),
    )


def _model(
    one: ModelOutcome, kinds: Sequence[str], folder: Path, measure: Callable[[KindFigures], ShopEstimate]
) -> TableRow:
    found = {figure.kind: measure(figure) for figure in one.figures}
    tokens = f"{one.memory_tokens:,}" if one.memory_tokens and one.variant != "no-memory" else "-"
    return TableRow(
        name=f"{cut(one.name, 80)}: {_VARIANTS.get(one.variant, cut(one.variant, 40))}",
        cells=(tokens, *("-" if kind not in found else _share(found[kind]) for kind in kinds)),
        link=page_link(folder, one.run),
    )


def _preferences(models: Sequence[ModelOutcome]) -> Table | None:
    known = [one for one in models if one.before is not None or one.pairs is not None]
    if not known:
        return None
    rows = tuple(
        TableRow(
            name=cut(one.name, 80),
            cells=(
                "-" if one.pairs is None else f"{one.pairs.train.pairs:,}",
                "-" if one.pairs is None else f"{one.pairs.held_out.pairs:,}",
                *_preference_cells(one.before, one.after),
            ),
        )
        for one in known
    )
    return Table(
        title="Preference over pairs of parameters",
        heads=("model", "pairs, train", "pairs, held out", "likelier, before", "likelier, after", "rewarded, after"),
        rows=rows,
        notes=(
            "On held-out pairs. Likelier: the better parameter is the likelier text. Rewarded: DPO raised it more than "
            "the worse one (one half before). In brackets Wilson's 95 % intervals, pairs taken as independent.",
        ),
    )


def _preference_cells(before: Preference | None, after: Preference | None) -> tuple[str, str, str]:
    return (
        _of_pairs(before, None if before is None else before.whole),
        _of_pairs(after, None if after is None else after.whole),
        _of_pairs(after, None if after is None else after.reward),
    )


def _of_pairs(found: Preference | None, share: float | None) -> str:
    if found is None or share is None or not found.pairs:
        return "-"
    bounds = wilson(min(found.pairs, max(0, round(share * found.pairs))), found.pairs)
    return f"{share:.3f}{interval_text(bounds.low / 100, bounds.high / 100, '.3f')}"


def _share(found: ShopEstimate) -> str:
    return "-" if found.value is None else f"{found.value:.3f}{interval_text(found.low, found.high, '.3f')}"


def agent_split(folder: Path) -> tuple[Table, ...]:
    """Who trains, who is held out and who is tested, in numbers.

    Raises:
        UserError: the file is damaged.
    """
    split = read_record(folder / "split.json", PumaSplit)
    if split is None:
        return ()
    tested = f"{len(split.test_users):,}" if split.test_users else "all, on later instructions"
    rows = [
        TableRow(name="train", cells=(f"{len(split.train):,}", f"{len(split.train_users):,}")),
        TableRow(name="held out", cells=(f"{len(split.held_out):,}", f"{len(split.held_out_users):,}")),
        TableRow(name="test", cells=(f"{split.tested:,}", tested)),
    ]
    rows += [
        TableRow(name=f"left out, {cut(why, 200)}", cells=(f"{len(ids):,}", ""))
        for why, ids in split.left_out.items()
        if ids
    ]
    notes = ("No user is both trained on and held out; split.json names every task.",)
    return (Table(title="", heads=("side", "instructions", "users"), rows=tuple(rows), notes=notes),)


def agent_use(summary: PumaSummary, folder: Path, dataset: str) -> tuple[Fact, ...]:
    """Commands that take the models that were trained."""
    return tuple(
        Fact(
            name=cut(one.name, 80),
            text=f"grounding eval --dataset {shlex.quote(dataset)} --agent puma-local "
            f"--model-path {shlex.quote(str(folder / one.model))}",
        )
        for one in summary.models
        if one.variant and one.model and ".." not in Path(one.model).parts
    )[:12]


def stage_tables(stage: Path) -> tuple[Table, ...]:
    """How a stage's candidates became pairs, and what its held-out pairs say before and after.

    Raises:
        UserError: a file is damaged.
    """
    found = []
    pairs = read_record(stage / "pairs.json", _Pairs)
    if pairs is not None:
        rows = tuple(_counted(name, one) for name, one in (("train", pairs.train), ("held out", pairs.held_out)))
        columns = (
            "side",
            "tasks",
            "drawn",
            "repeated",
            "one candidate only",
            "best and worst equal",
            "too long",
            "pairs",
        )
        found.append(Table(title="From candidates to pairs", heads=columns, rows=rows))
    change = read_record(stage / "preference.json", PreferenceChange)
    if change is not None:
        heads = ("held-out pairs", "likelier", "likelier per token", "rewarded")
        rows = tuple(
            TableRow(
                name=f"{name} ({one.pairs:,} pairs)",
                cells=(_of_pairs(one, one.whole), _of_pairs(one, one.per_token), _of_pairs(one, one.reward)),
            )
            for name, one in (("before", change.before), ("after", change.after))
        )
        found.append(Table(title="The better of each held-out pair is …", heads=heads, rows=rows))
    return tuple(found)


def _counted(name: str, one: PairCounts) -> TableRow:
    figures = (one.tasks, one.drawn, one.repeated, one.single, one.equal, one.too_long, one.pairs)
    return TableRow(name=name, cells=tuple(f"{figure:,}" for figure in figures))


def candidate_samples(stage: Path) -> SampleSet | None:
    """Some tasks' candidates, the best first, which the stage's pairs were made of; None where none were drawn.

    Raises:
        OSError: a file is there and can't be read.
    """
    last: dict[str, TaskCandidates] = {}
    for line in lines_of(stage / "candidates.jsonl", TaskCandidates):
        if line is not None:
            last[line.task] = line
    told = [one for one in last.values() if len({each.score for each in one.candidates}) > 1]
    if not told:
        return None
    chosen = [told[at] for at in spread(range(len(told)), CANDIDATE_TASKS)]
    pairs = {one.task: one for one in lines_of(stage / "examples.jsonl", PreferencePair) if one is not None}
    pairs |= {one.task: one for one in lines_of(stage / "held_out.jsonl", PreferencePair) if one is not None}
    drawn = sum(each.times for one in last.values() for each in one.candidates)
    return SampleSet(
        kind="train",
        groups=tuple(_candidates(one, pairs.get(one.task)) for one in chosen),
        lines=drawn,
        all_steps=0,
        title="Candidates that the pairs are made of",
        words=f"{drawn:,} were drawn of {len(last):,} tasks; {len(told):,} tasks have better and worse ones, these are "
        f"{len(chosen)} of them. candidates.jsonl has all.",
    )


def _candidates(one: TaskCandidates, pair: PreferencePair | None) -> SampleGroup:
    ordered = sorted(one.candidates, key=lambda each: -each.score)
    shown = [*ordered[: GENERATIONS - 1], ordered[-1]] if len(ordered) > GENERATIONS else ordered
    return SampleGroup(
        step=None,
        example=cut(one.task, 200),
        asked="" if pair is None else cut(pair.prompt),
        generations=tuple(
            Generation(text=cut(each.text), reward="", advantage="", terms=_role(each, pair)) for each in shown
        ),
        left_out=len(ordered) - len(shown),
    )


def _role(each: Candidate, pair: PreferencePair | None) -> str:
    role = "" if pair is None else {pair.chosen: "chosen", pair.rejected: "rejected"}.get(each.text, "")
    times = f"drawn {each.times} times" if each.times > 1 else ""
    return ", ".join(part for part in (f"worth {figure_text(each.score, 3)}", role, times) if part)

"""A training of PUMA as tables for the terminal: the split, the models, and the paper's tables 5 and 6 beside them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.training.puma.evaluate import BASE, EvaluatedModel
from grounding.training.puma.opening import OpenedPuma, split_words
from grounding.training.puma.outcome import KindFigures, ModelOutcome, PumaSummary
from grounding.training.puma.records import Preference
from grounding.training.puma.running import TrainedPuma
from grounding.webagents.personalwab.published import print_published_training
from grounding.webagents.personalwab.scores import ShopEstimate

KINDS = {"search": "search", "recommend": "recom.", "review": "review", "overall": "all"}


def print_opened(console: Console, opened: OpenedPuma) -> None:
    """Say what will be trained, on what, and what is kept apart."""
    split = opened.split
    tested = "all its users" if not split.test_users else f"{len(split.test_users)} users that never train"
    lines = [
        f"{opened.info.asked.card} · {opened.shop.dataset.name} · recipe {opened.recipe.name}",
        f"train     {len(split.train)} instructions of {len(split.train_users)} users",
        f"held out  {len(split.held_out)} instructions of {len(split.held_out_users)} other users, for the preference",
        f"test      {split.tested} later instructions of {tested}",
    ]
    lines += [f"left out  {len(ids)} instructions that {why}" for why, ids in split.left_out.items() if ids]
    lines += [f"models    {', '.join(plan.name for plan in opened.plans)}"]
    for line in lines:
        console.print(Text(line), soft_wrap=True, highlight=False)


def print_trained(console: Console, opened: OpenedPuma, trained: TrainedPuma) -> None:
    """Print the models and what they do, then the paper's tables with them."""
    summary = trained.summary
    console.print(models_table(summary))
    for line in notes(summary):
        console.print(Text(line), soft_wrap=True, highlight=False)
    own = [one for one in trained.evaluated if one.plan is not None]
    if own:
        longest = max(one.plan.tokens for one in own if one.plan is not None)
        print_published_training(
            console,
            ablations=[(_printed_name(one), one.scored) for one in own if one.plan and one.plan.tokens == longest],
            lengths=[
                (f"{one.plan.tokens} tokens", one.scored) for one in own if one.plan and one.plan.variant == "full"
            ],
        )
    console.print(Text(f"split      {split_words(opened.split)}"), soft_wrap=True, highlight=False)
    console.print(Text(f"signature  {summary.signature}"), soft_wrap=True, highlight=False)
    for one in summary.models:
        if one.model:
            where = trained.folder / one.model
            console.print(Text(f"model      {where}"), soft_wrap=True, highlight=False)
    if (trained.folder / "report.html").exists():
        console.print(Text(f"report     {trained.folder / 'report.html'}"), soft_wrap=True, highlight=False)
    console.print(Text(f"run folder {trained.folder}"), soft_wrap=True, highlight=False)


def models_table(summary: PumaSummary) -> Table:
    """A line a model: pairs, preference before and after DPO, function (F) and result accuracy (R) by type."""
    table = Table(
        title=Text(f"before and after · {summary.reading} scoring"),
        title_style="bold",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("\nmodel", no_wrap=True)
    for heading in ("pairs\ntrain/held", "likelier\nbefore", "\nafter", "rewarded\nafter"):
        table.add_column(heading, justify="right")
    for name in KINDS.values():
        for place, measure in enumerate(("F", "R")):
            table.add_column(f"{name if not place else ''}\n{measure}", justify="right")
    table.add_column("95 % interval\nof all R", justify="right", no_wrap=True)
    for one in summary.models:
        table.add_row(one.name, *_preference_cells(one), *_figure_cells(one.figures))
    return table


def notes(summary: PumaSummary) -> list[str]:
    """What the table doesn't say of itself."""
    lines = [
        "likelier   share of held-out pairs whose better parameter is the likelier text; rewarded: DPO's own accuracy, "
        "0.5 where it begins"
    ]
    for one in summary.models:
        if one.pairs is not None:
            train = one.pairs.train
            lines.append(
                f"pairs      {one.name}: {train.pairs} of {train.tasks} tasks give one; {train.equal} have a"
                f" best as good as the worst, {train.single} one candidate, {train.too_long} no room; {train.repeated}"
                f" of {train.drawn} candidates repeat another"
            )
    if summary.labels_without:
        lines.append(f"labels     {summary.labels_without} search tasks got no query and are not learnt from")
    if summary.labels_cost_usd is not None:
        lines.append(f"labels     cost ${summary.labels_cost_usd:.4f}")
    return lines


def _preference_cells(one: ModelOutcome) -> tuple[str, str, str, str]:
    pairs = "-" if one.pairs is None else f"{one.pairs.train.pairs}/{one.pairs.held_out.pairs}"
    return (pairs, _whole(one.before), _whole(one.after), _share(None if one.after is None else one.after.reward))


def _whole(preference: Preference | None) -> str:
    return _share(None if preference is None else preference.whole)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _figure_cells(figures: Sequence[KindFigures]) -> list[str]:
    by_kind = {one.kind: one for one in figures}
    cells = []
    for kind in KINDS:
        found = by_kind.get(kind)
        cells += ["-", "-"] if found is None else [_share(found.function.value), _share(found.result.value)]
    return [*cells, _interval(by_kind["overall"].result) if "overall" in by_kind else "-"]


def _interval(estimate: ShopEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "-"
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def _printed_name(one: EvaluatedModel) -> str:
    """A variant as table 5 calls it."""
    names = {
        "full": "PUMA",
        "no-memory": "w/o Task-specific Memory",
        "no-sft": "w/o SFT",
        "no-dpo": "w/o DPO",
    }
    return BASE if one.plan is None else names[one.plan.variant]

"""How far judges agree with people, people with each other, and judges with the offline reference.

Cohen's kappa and Spearman's coefficient are over items that both sides decide; of answers yes and no Spearman's is phi.
A judge is held against each person, and the figures are the means over people; the paper (section 4.1.2) does not say
how it put two people together. Intervals are bootstraps over products, whose items are not independent; draws in which
a coefficient is not defined (one side always says the same) are left out.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from grounding.cards.places import published_dir
from grounding.console import wide_console
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.html.content import SummaryTable
from grounding.report.table import drawn, print_named
from grounding.scoring.intervals import Interval, drawn_interval, resampled_sums
from grounding.scoring.published import read_published

from .judge.base import REFERENCE
from .records import COUNTED_PRODUCTS, DIMENSIONS, ChecklistItem, Dimension, Judgement, product_id
from .release import read_json
from .rows import NOTHING
from .scorebook import CurationFolder, read_stored

PEOPLE = "between people"
Matrix = npt.NDArray[np.float64]


class ItemLabel(Record, frozen=True, kw_only=True):
    item: str
    text: str
    label: Literal["satisfied", "not-satisfied", "cant-tell"]


class ProductLabels(Record, frozen=True, kw_only=True):
    product: str
    url: str
    labels: tuple[ItemLabel, ...]


class LabelFile(Record, frozen=True, kw_only=True):
    """What is read of a file that the labelling page of a run saves, one for each person."""

    format: Literal["grounding-curation-labels.1"]
    annotator: str
    run_id: str
    products: tuple[ProductLabels, ...]


def read_label_file(path: Path) -> LabelFile:
    """Read one file; raises a UserError where it can't be read, or is none of labels."""
    try:
        return msgspec.convert(read_json(path, "a file of labels"), LabelFile)
    except msgspec.ValidationError as error:
        raise UserError(f"--labels {path}: {error}; expected what the page's `Save file` writes") from error


Asked = Mapping[str, tuple[str, tuple[ChecklistItem, ...]]]
"""The products that opinions may be about: the address and the checklist of each."""


class Rater(NamedTuple):
    """Somebody's opinions by product and item."""

    name: str
    opinions: dict[str, dict[str, bool]]


def person_rater(file: LabelFile, asked: Asked) -> Rater:
    """A person's labels for the products and items of a run; what the person can't tell is no opinion."""
    opinions: dict[str, dict[str, bool]] = {}
    for said in file.products:
        url, checklist = asked.get(said.product, ("", ()))
        if url == said.url:
            words = {item.id: item.text for item in checklist}
            known = [one for one in said.labels if words.get(one.item) == one.text and one.label != "cant-tell"]
            opinions[said.product] = {one.item: one.label == "satisfied" for one in known}
    return Rater(name=file.annotator, opinions=opinions)


def judge_rater(name: str, judgements: Mapping[str, Judgement], asked: Asked) -> Rater:
    """A judge by what it says of each product, but for errors. An item that it does not decide (flag ``undecided``) is
    no opinion. One that it was asked about and says nothing of is not satisfied, as in the release.
    """
    opinions: dict[str, dict[str, bool]] = {}
    for product, one in judgements.items():
        if product in asked and one.failure is None:
            said = {item.id: False for item in asked[product][1]}
            opinions[product] = said | {each.item: each.satisfied for each in one.verdicts if each.item in said}
            for each in one.verdicts:
                if "undecided" in each.flags:
                    opinions[product].pop(each.item, None)
    return Rater(name=name, opinions=opinions)


class AgreementFigure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How far one judge agrees with people, or people with each other (``rater`` is `PEOPLE`).

    ``dimension`` is None for all items. ``compared`` items were decided by both, summed over pairs of raters. A
    coefficient is None where it is not defined.
    """

    rater: str
    dimension: Dimension | None
    products: int
    compared: int
    kappa: float | None
    kappa_interval: Interval | None
    spearman: float | None
    spearman_interval: Interval | None


def agreement_figures(
    judges: Sequence[Rater], people: Sequence[Rater], *, seed: int = 0
) -> tuple[AgreementFigure, ...]:
    """Every judge against all people, then people against each other; over all items, then by dimension."""
    rows = [(judge.name, [(judge, person) for person in people]) for judge in judges]
    rows += [(PEOPLE, list(combinations(people, 2)))] if len(people) > 1 else []
    return tuple(_figure(name, pairs, one, seed) for name, pairs in rows for one in (None, *DIMENSIONS))


def _figure(
    rater: str, pairs: Sequence[tuple[Rater, Rater]], dimension: Dimension | None, seed: int
) -> AgreementFigure:
    products = sorted({name for one, two in pairs for name in one.opinions.keys() & two.opinions.keys()})
    # Of the items that both decide: both yes, only the first, only the second, both no.
    cells = np.zeros((len(products), len(pairs), 4))
    for row, product in zip(cells, products, strict=True):
        for counts, (one, two) in zip(row, pairs, strict=True):
            first, second = one.opinions.get(product, {}), two.opinions.get(product, {})
            for item in first.keys() & second.keys():
                counts[2 * (not first[item]) + (not second[item])] += dimension in (None, item.partition("/")[0])
    cells = cells[cells.sum(axis=(1, 2)) > 0]
    # Both coefficients share the draws: shape (resamples, pairs, 4).
    draws = resampled_sums(cells.reshape(len(cells), -1), seed).reshape(-1, *cells.shape[1:]) if len(cells) else cells
    found: dict[str, Any] = {}
    for place, name in enumerate(("kappa", "spearman")):
        # The mean over pairs of raters that have one; of these every draw must have one.
        exact = _coefficients(cells.sum(axis=0))[place]
        there = np.isfinite(exact)
        means = _coefficients(draws)[place][:, there].mean(axis=1) if there.any() else np.empty(0)
        found[name] = float(exact[there].mean()) if there.any() else None
        found[f"{name}_interval"] = drawn_interval(means[np.isfinite(means)], len(cells))
    return AgreementFigure(rater=rater, dimension=dimension, products=len(cells), compared=int(cells.sum()), **found)


def _coefficients(cells: Matrix) -> tuple[Matrix, Matrix]:
    """Cohen's kappa and phi of tables of two raters (last axis: both yes, first only, second only, both no), or NaN. Of
    two classes kappa is 2 (ad - bc) over the sum of the products of unlike margins.
    """
    a, b, c, d = np.moveaxis(cells, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = 2 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d))
        return kappa, (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d))


class Agreed(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Figures; ``people`` are whom judges are held against; ``raters`` say how much each decides."""

    run: str
    seed: int
    people: tuple[str, ...]
    raters: dict[str, str]
    figures: tuple[AgreementFigure, ...]


def agree_with_people(run: Path, labels: Sequence[Path], *, seed: int) -> Agreed:
    """Hold the judges of a run against people, or against the reference where there are no files of labels."""
    folder = CurationFolder(run)
    info = folder.read_info()
    stored = read_stored(folder, info)
    asked = {
        product_id(task.id, product.rank): (product.url, task.checklist)
        for task in stored.tasks
        if (curation := stored.curations.get(task.id)) is not None
        for product in curation.products[:COUNTED_PRODUCTS]
    }
    people = [person_rater(read_label_file(path), asked) for path in labels]
    for path, person in zip(labels, people, strict=True):
        if not person.opinions:
            raise UserError(f"--labels {path}: none of its products is in {run}; give the run that was labelled")
        if sum(one.name == person.name for one in people) > 1:
            raise UserError(f"--labels: two files are of {person.name}; give one a person, or change the annotator")
    judges = [one for name, said in stored.judgements.items() if (one := judge_rater(name, said, asked)).opinions]
    if not people:
        people, judges = ([one for one in judges if (one.name == REFERENCE) is so] for so in (True, False))
        if not people:
            raise UserError(f"{run}: the reference did not judge; give files of people's labels with --labels")
    if not judges and len(people) < 2:
        raise UserError(f"{run}: nobody else judged these products, so that there is nothing to compare")
    counts = {
        name: f"{sum(map(len, said.values()))} items of {len(said)} products" for name, said in (*people, *judges)
    }
    figures = agreement_figures(judges, people, seed=seed)
    return Agreed(run=info.run_id, seed=seed, people=tuple(one.name for one in people), raters=counts, figures=figures)


def print_agreement(agreed: Agreed) -> None:
    console = wide_console(120)
    theirs: dict[str, dict[str, dict[str, str]]] = {"3": {}, "9": {}}
    for cell in read_published(published_dir() / "agenticshop.csv"):
        row = theirs.setdefault(cell.table, {}).setdefault(cell.row, {})
        row[cell.column] = f"{cell.value:.3f}{'*' if cell.flag else ''}"
    rows = [(one.rater, *_cells(one)) for one in agreed.figures if one.dimension is None]
    rows += [(f"paper: {name}", "", row["kappa"], row["Spearman"]) for name, row in theirs["3"].items()]
    title = f"agreement with {' and '.join(agreed.people)}; the paper's table 3 below"
    console.print(drawn(SummaryTable(title=title, heads=("judge", "items", "kappa", "Spearman"), rows=tuple(rows))))
    heads = ("about", "items", "kappa", "Spearman", "paper: kappa", "Spearman", PEOPLE)
    # Table 9 has the dimensions in their order, then all.
    by_dimension = dict(zip((*DIMENSIONS, None), theirs["9"].values(), strict=True))
    for rater in dict.fromkeys(one.rater for one in agreed.figures):
        mine = {one.dimension: one for one in agreed.figures if one.rater == rater}
        shown = tuple(
            ((dimension or "all").partition("_")[0], *_cells(mine[dimension]), *row.values())
            for dimension, row in by_dimension.items()
        )
        title = f"{rater} by dimension; the paper's table 9 beside"
        console.print(drawn(SummaryTable(title=title, heads=heads, rows=shown)))
    lines = [("intervals", f"95 %, bootstrap over products, seed {agreed.seed}; Spearman of yes and no is phi")]
    for name, about in agreed.raters.items():
        lines += [("person" if name in agreed.people and name != REFERENCE else "judge", f"{name}: {about}")]
    published = "other products, people and judges than the paper's: a place to compare with, not a reproduction"
    print_named(console, [*lines, ("published", published)])


def _cells(one: AgreementFigure) -> tuple[str, str, str]:
    return str(one.compared), told(one.kappa, one.kappa_interval, 3), told(one.spearman, one.spearman_interval, 3)


def told(value: float | None, interval: Interval | None, digits: int = 2) -> str:
    if value is None:
        return NOTHING
    return f"{value:.{digits}f}" + (f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else "")

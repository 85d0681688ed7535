"""How far judges agree with people, people with each other, and judges with the offline reference.

Cohen's kappa and Spearman's coefficient are over items that both sides decide; of answers yes and no Spearman's is phi.
A judge is held against each person, and the figures are the means over people; the paper (section 4.1.2) does not say
how it put two people together. Intervals are bootstraps over products, whose items are not independent; draws in which
a coefficient is not defined (one side always says the same) are left out.
"""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import stats

from grounding.cards.places import published_dir
from grounding.console import wide_console
from grounding.errors import UserError, install
from grounding.records import Record
from grounding.report.html.content import SummaryTable
from grounding.report.table import drawn, print_named
from grounding.scoring.intervals import Interval, drawn_interval, resampled_sums
from grounding.scoring.published import read_published

from .judge.base import REFERENCE
from .records import DIMENSIONS, ChecklistItem, Dimension, ItemVerdict, Judgement, curated_pages
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

Opinions = Mapping[str, Mapping[str, bool]]
"""What somebody says by product and item."""


def labelled(file: LabelFile, asked: Asked) -> Opinions:
    """A person's labels for the products and items of a run; what the person can't tell is no opinion."""
    opinions = {}
    for said in file.products:
        url, checklist = asked.get(said.product, (None, ()))
        if url == said.url:
            words = {item.id: item.text for item in checklist}
            known = [one for one in said.labels if words.get(one.item) == one.text and one.label != "cant-tell"]
            opinions[said.product] = {one.item: one.label == "satisfied" for one in known}
    return opinions


def judged(judgements: Mapping[str, Judgement], asked: Asked) -> Opinions:
    """What a judge says of each product, but for errors. An item that it does not decide (flag ``undecided``) is no
    opinion. One that it was asked about and says nothing of is not satisfied, as in the release.
    """
    opinions = {}
    for product, one in judgements.items():
        if product in asked and one.failure is None:
            said = {item.id: ItemVerdict(item=item.id, satisfied=False) for item in asked[product][1]}
            said |= {each.item: each for each in one.verdicts if each.item in said}
            opinions[product] = {name: each.satisfied for name, each in said.items() if "undecided" not in each.flags}
    return opinions


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
    judges: Mapping[str, Opinions], people: Mapping[str, Opinions], *, seed: int = 0
) -> tuple[AgreementFigure, ...]:
    """Every judge against all people, then people against each other; over all items, then by dimension."""
    rows = {name: [(said, person) for person in people.values()] for name, said in judges.items()}
    rows |= {PEOPLE: list(combinations(people.values(), 2))} if len(people) > 1 else {}
    return tuple(_figure(name, pairs, one, seed) for name, pairs in rows.items() for one in (None, *DIMENSIONS))


def _figure(
    rater: str, pairs: Sequence[tuple[Opinions, Opinions]], dimension: Dimension | None, seed: int
) -> AgreementFigure:
    products = sorted({name for one, two in pairs for name in one.keys() & two.keys()})
    counts = np.zeros((len(products), len(pairs), 2, 2))  # The first rater says yes or no, and so does the second.
    for tables, product in zip(counts, products, strict=True):
        for table, (one, two) in zip(tables, pairs, strict=True):
            first, second = one.get(product, {}), two.get(product, {})
            for item in first.keys() & second.keys():
                table[int(not first[item]), int(not second[item])] += dimension in (None, item.partition("/")[0])
    counts = counts[counts.sum(axis=(1, 2, 3)) > 0]
    # Both coefficients share the draws: shape (resamples, pairs, 2, 2).
    sums = resampled_sums(counts.reshape(len(counts), -1), seed) if len(counts) else counts
    draws = drawn_coefficients(sums.reshape(-1, *counts.shape[1:]))
    exact = np.array([coefficients(table) for table in counts.sum(axis=0)]).reshape(-1, 2).T
    found: dict[str, Any] = {}
    for name, values, of_draws in zip(("kappa", "spearman"), exact, draws, strict=True):
        # The mean over pairs of raters that have one; of these every draw must have one.
        there = np.isfinite(values)
        means = of_draws[:, there].mean(axis=1) if there.any() else np.empty(0)
        found[name] = float(values[there].mean()) if there.any() else None
        found[f"{name}_interval"] = drawn_interval(means[np.isfinite(means)], len(counts))
    return AgreementFigure(rater=rater, dimension=dimension, products=len(counts), compared=int(counts.sum()), **found)


def coefficients(table: Matrix) -> tuple[float, float]:
    """Cohen's kappa and Spearman's coefficient of how often two raters say yes or no; NaN where one is not defined.

    >>> coefficients(np.array([[20, 5], [10, 15]]))[0]
    0.4
    """
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError as problem:
        raise UserError(f"Cohen's kappa needs scikit-learn: {install('browser')}") from problem
    if not table.any():
        return np.nan, np.nan
    first, second = np.repeat(np.indices((2, 2)).reshape(2, 4), table.astype(int).ravel(), axis=1)
    with warnings.catch_warnings(action="ignore"):  # Both warn where there is nothing to agree on beyond chance.
        return float(cohen_kappa_score(first, second)), float(stats.spearmanr(first, second).statistic)


def drawn_coefficients(tables: Matrix) -> tuple[Matrix, Matrix]:
    """The same of many tables, which are the last two axes; scikit-learn takes half a millisecond for every one of the
    10,000 that a bootstrap draws. Of two classes kappa is 2 (ad - bc) over the sum of the products of unlike margins.
    """
    (a, b), (c, d) = np.moveaxis(tables, (-2, -1), (0, 1))
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
    curated = [(page, task) for task in stored.tasks for page in curated_pages(task, stored.curations.get(task.id))]
    asked = {page.product_id: (page.url, task.checklist) for page, task in curated}
    people: dict[str, Opinions] = {}
    for path in labels:
        file = read_label_file(path)
        if file.annotator in people:
            raise UserError(f"--labels: two files are of {file.annotator}; give one a person, or change the annotator")
        people[file.annotator] = labelled(file, asked)
        if not people[file.annotator]:
            raise UserError(f"--labels {path}: none of its products is in {run}; give the run that was labelled")
    judges = {name: said for name, found in stored.judgements.items() if (said := judged(found, asked))}
    if not people:
        if REFERENCE not in judges:
            raise UserError(f"{run}: the reference did not judge; give files of people's labels with --labels")
        people = {REFERENCE: judges.pop(REFERENCE)}
    if not judges and len(people) < 2:
        raise UserError(f"{run}: nobody else judged these products, so that there is nothing to compare")
    raters = (people | judges).items()
    counts = {name: f"{sum(map(len, said.values()))} items of {len(said)} products" for name, said in raters}
    figures = agreement_figures(judges, people, seed=seed)
    return Agreed(run=info.run_id, seed=seed, people=tuple(people), raters=counts, figures=figures)


def print_agreement(agreed: Agreed) -> None:
    console = wide_console(120)
    rows = [(one.rater, *_cells(one)) for one in agreed.figures if one.dimension is None]
    rows += [(f"paper: {name}", "", row["kappa"], row["Spearman"]) for name, row in in_paper("3", 3).items()]
    title = f"agreement with {' and '.join(agreed.people)}; the paper's table 3 below"
    console.print(drawn(SummaryTable(title=title, heads=("judge", "items", "kappa", "Spearman"), rows=tuple(rows))))
    heads = ("about", "items", "kappa", "Spearman", "paper: kappa", "Spearman", PEOPLE)
    # Table 9 has the dimensions in their order, then all.
    printed = [tuple(row.values()) for row in in_paper("9", 3).values()]
    for rater in dict.fromkeys(one.rater for one in agreed.figures):
        whole, *parts = (one for one in agreed.figures if one.rater == rater)
        shown = tuple(
            ((one.dimension or "all").partition("_")[0], *_cells(one), *row)
            for one, row in zip([*parts, whole], printed, strict=True)
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


def in_paper(table: str, digits: int) -> dict[str, dict[str, str]]:
    """A table of the paper by row and column, as it is printed."""
    found: dict[str, dict[str, str]] = {}
    for cell in read_published(published_dir() / "agenticshop.csv"):
        if cell.table == table:
            found.setdefault(cell.row, {})[cell.column] = f"{cell.value:.{digits}f}{'*' if cell.flag else ''}"
    return found


def told(value: float | None, interval: Interval | None, digits: int = 2) -> str:
    if value is None:
        return NOTHING
    return f"{value:.{digits}f}" + (f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else "")

"""What a page of a training run shows, as texts and drawings. Texts are cut to a bound and not yet escaped."""

from __future__ import annotations

import msgspec

from grounding.records import Point, Record, Region, Size
from grounding.training.records import Method, MetricsKind

MOST_TEXT = 2_000
"""Characters of a generation or an instruction that a page shows; the rest is in the run folder."""


class TableRow(Record, frozen=True, kw_only=True):
    """A line of a table. ``link`` is a relative address that its name leads to, "" for none."""

    name: str
    cells: tuple[str, ...]
    link: str = ""
    strong: bool = False


class Table(Record, frozen=True, kw_only=True):
    """A table with a heading for each column, and sentences below it.

    ``is_folded``: shown where it is asked for. ``is_text``: its cells are words, not figures.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    is_folded: bool = False
    is_text: bool = False


class Fact(Record, frozen=True, kw_only=True):
    """A name and what is said of it."""

    name: str
    text: str


class HoverLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the page tells of a series where the pointer is: ``low`` to ``high`` of bins, or ``values`` of points."""

    name: str
    steps: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    values: tuple[float | None, ...]
    smooth: tuple[float | None, ...]


class Chart(Record, frozen=True, kw_only=True):
    """A figure over the steps. ``svg`` was drawn by this package from numbers alone; the table has all of it in text.

    ``movement`` says where each line begins and ends. ``first`` and ``last`` are the ends of the axis of steps.
    """

    id: str
    title: str
    svg: str
    movement: str
    words: str
    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]
    first: int
    last: int
    lines: tuple[HoverLine, ...]


class ChartData(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the script of a page knows of a chart."""

    first: int
    last: int
    lines: tuple[HoverLine, ...]


class PageData(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the script of a page knows, by the charts' names."""

    charts: dict[str, ChartData]


class Picture(Record, frozen=True, kw_only=True):
    """A screenshot, or a part of it, in a page: ``id`` is the name of the picture in ``TrainingPage.images``.

    ``left`` to ``height`` are what it shows, in pixels of the original screenshot; ``is_whole`` where that is all.
    """

    id: str
    left: float
    top: float
    width: float
    height: float
    is_whole: bool = False


class Generation(Record, frozen=True, kw_only=True):
    """One text that the model wrote. ``terms`` are those of the reward in words."""

    text: str
    reward: str
    advantage: str
    terms: str
    point: Point | None = None
    is_right: bool | None = None


class SampleGroup(Record, frozen=True, kw_only=True):
    """What was written about one example at one step, of a group of generations all of it up to a bound.

    ``step`` is None for what was written before a stage.
    ``size`` and ``region`` are those of the screenshot where the example has one. ``close`` is a part of it.
    """

    step: int | None
    example: str
    asked: str
    generations: tuple[Generation, ...]
    left_out: int = 0
    size: Size | None = None
    region: Region | None = None
    whole: Picture | None = None
    close: Picture | None = None
    gold: str = ""


class SampleSet(Record, frozen=True, kw_only=True):
    """Samples of a stage at a handful of its steps, of one kind of examples; ``all_steps``: how many steps have any.

    ``title`` and ``words`` say what else than generations during training it is, "" for these.
    """

    kind: MetricsKind
    groups: tuple[SampleGroup, ...]
    lines: int
    all_steps: int
    title: str = ""
    words: str = ""


class StagePart(Record, frozen=True, kw_only=True):
    """A stage: how far it came, its curves, what was written during it. ``more`` are the trainer's other figures."""

    name: str
    method: Method
    state: str
    status: str
    stopped: str
    facts: tuple[Fact, ...]
    charts: tuple[Chart, ...]
    more: tuple[Chart, ...]
    samples: tuple[SampleSet, ...]
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


class FoldCurves(Record, frozen=True, kw_only=True):
    """One stage over all folds of a run: the median and the range of their figures. ``runs``: how many have any."""

    stage: str
    runs: int
    charts: tuple[Chart, ...]


class Span(Record, frozen=True, kw_only=True):
    """A figure before and after the training, with the bounds of its intervals where they are known."""

    name: str
    before: float | None
    before_low: float | None
    before_high: float | None
    after: float | None
    after_low: float | None
    after_high: float | None


class TrainingPage(Record, frozen=True, kw_only=True):
    """The whole page. ``use`` are commands that use what was trained; ``recipe`` is YAML.

    ``spans`` are the first of the results as a drawing. ``folds`` are curves over all folds of a run.
    ``images`` are the pictures of samples as ``data:`` addresses, by their names, each once.
    """

    title: str
    status: str
    lead: str
    warnings: tuple[str, ...]
    results: tuple[Table, ...]
    spans: tuple[Span, ...]
    span_unit: str
    facts: tuple[Fact, ...]
    stages: tuple[StagePart, ...]
    folds: tuple[FoldCurves, ...]
    split: tuple[Table, ...]
    estimate: tuple[Table, ...]
    recipe: str
    use: tuple[Fact, ...]
    images: dict[str, str] = msgspec.field(default_factory=dict)

"""What a page knows: records that are written into it as JSON. Texts are cut to a bound; pixels are the original's."""

from __future__ import annotations

from typing import Literal

from grounding.records import Point, Record, Region

FailureName = Literal["near", "far", "declined", "no shape", "no plan", "unparsed", "error", "missing"]
"""Why a scored step is no hit. ``near`` and ``far``: a click at most, or more than, ``NEAR_PX`` beside the region."""

NEAR_PX = 50.0
"""How far a click may be off to count as near; it only sorts misses for people and scores nothing."""

MOST_TEXT = 4_000
"""Characters of a reply or plan that a page shows; the rest is in the run folder."""


class Shot(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One screenshot. ``thumb`` and ``full`` are addresses of pictures; empty where there is none."""

    width: int
    height: int
    path: str
    thumb: str
    full: str


class StepRow(Record, frozen=True, kw_only=True):
    """One step. ``shot`` counts in the run's ``shots``, ``history`` in its ``steps``, the oldest first.

    ``outcome`` is that of the verdict, ``none`` where no click was made, and ``pending`` where a run that goes on has
    not come to the step yet. ``failure`` is None for hits and for steps that are not scored. Where a recogniser heard
    the instruction, ``said`` is what was said, ``audio`` the address of the recording, "" where the page has none.
    """

    id: str
    participant: str
    task: int
    instruction: str
    shot: int
    outcome: Literal["hit", "miss", "unparsed", "error", "missing", "none", "pending"]
    gold: Region | None = None
    click: Point | None = None
    distance: float | None = None
    failure: FailureName | None = None
    reason: str = ""
    plan: str = ""
    planner_raw: str = ""
    raw: str = ""
    action: str = ""
    seconds: float | None = None
    absent: bool = False
    history: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    said: str = ""
    audio: str = ""


class TaskRow(Record, frozen=True, kw_only=True):
    """One task: its steps by their place in the run's ``steps``, in order."""

    participant: str
    name: str
    steps: tuple[int, ...]


class Told(Record, frozen=True, kw_only=True):
    """What later steps may be told about a step."""

    instruction: str
    action: str


class Metric(Record, frozen=True, kw_only=True):
    """One line of the table of scores, as text."""

    name: str
    value: str
    count: str
    interval: str


class Fact(Record, frozen=True, kw_only=True):
    """One line below the table."""

    name: str
    text: str


class Diagram(Record, frozen=True, kw_only=True):
    """A plot: SVG that this package drew, and what it shows in words."""

    title: str
    svg: str
    words: str


class Mark(Record, frozen=True, kw_only=True):
    """What a person says of a step."""

    step: str
    label: str
    labeller: str
    note: str = ""
    at: str = ""


class Beside(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where the steps of a run lie that are too many for a page, and enough of each to filter and to order them.

    ``size`` is the number of steps, ``files`` the address of what stands before a file's number, ``key`` what every
    file says, so that files of another page are told. ``starts`` are the places of each file's first step.
    ``outcomes`` and ``failures`` name the codes in ``columns``; ``columns`` and ``names`` are deflated, in base64:
    see :mod:`grounding.report.html.index`.
    """

    size: int
    files: str
    key: str
    starts: tuple[int, ...]
    outcomes: tuple[str, ...]
    failures: tuple[str, ...]
    grouped: bool
    columns: str
    names: str


class RunPage(Record, frozen=True, kw_only=True):
    """One run. ``told`` has one entry for each of ``steps``, None where nothing is told of it.

    ``data`` names the data set by its content. ``version`` changes whenever what is shown does. Where ``beside`` is
    there, ``shots``, ``tasks``, ``steps`` and ``told`` are empty: the steps lie in files beside the page.
    """

    name: str
    data: str
    folder: str
    status: str
    metrics: tuple[Metric, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    diagrams: tuple[Diagram, ...]
    shots: tuple[Shot, ...]
    tasks: tuple[TaskRow, ...]
    steps: tuple[StepRow, ...]
    told: tuple[Told | None, ...]
    marks: tuple[Mark, ...] = ()
    mark_facts: tuple[Fact, ...] = ()
    independent: bool = False
    version: str = ""
    beside: Beside | None = None


class Page(Record, frozen=True, kw_only=True):
    """Everything on a page. ``token`` is what a label is sent with; empty on a page that is only a file."""

    title: str
    runs: tuple[RunPage, ...]
    labels: tuple[str, ...]
    near_px: float = NEAR_PX
    token: str = ""

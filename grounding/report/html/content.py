"""What a page knows, and how it is put into HTML so that nothing that a model or a data set says can be but text.

Records are written into the page as JSON. Texts are cut to a bound; pixels are the original's.
"""

import base64
import hashlib
import html
from pathlib import Path
from typing import Literal

import msgspec

from grounding.analysis.labels import Label
from grounding.records import Box, HistoryEntry, Point, Record, Region
from grounding.report.rows import Note

FailureName = Literal["near", "far", "declined", "no shape", "no plan", "unparsed", "error", "missing"]
"""Why a scored step is no hit. ``near`` and ``far``: a click at most, or more than, ``NEAR_PX`` beside the region."""

NEAR_PX = 50.0  # How far a click may be off to count as near; it only sorts misses for people and scores nothing.
MOST_TEXT = 4_000  # Characters of a reply or plan that a page shows; the rest is in the run folder.


class Shot(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One screenshot. ``thumb`` and ``full`` are addresses of pictures; empty where there is none."""

    width: int
    height: int
    path: str
    thumb: str
    full: str


class LookRow(Record, frozen=True, kw_only=True):
    """One look of a grounder that looks again: the crop that it was shown, its answer there or why there is none."""

    crop: Box | None = None
    click: Point | None = None
    words: str = ""
    raw: str = ""


class StepRow(Record, frozen=True, kw_only=True):
    """One step. ``shot`` counts in the run's ``shots``, ``history`` in its ``steps``, the oldest first.

    ``outcome`` is that of the verdict, ``none`` where no click was made, and ``pending`` where a run that goes on has
    not come to the step yet. ``failure`` is None for hits and for steps that are not scored. Where a recogniser heard
    the instruction, ``said`` is what was said, ``audio`` the address of the recording, "" where the page has none.
    ``recorded`` are the points of a recorded action and ``points`` those of the answer, where actions are answered:
    ``click`` is then the first of them, and ``failure`` in the benchmark's words; ``target`` and ``answer`` are both in
    words. ``notes`` are texts to be read, ``looks`` those of a grounder that looks again. ``cached`` marks a plan that
    an earlier run had asked for.
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
    failure: str | None = None
    reason: str = ""
    plan: str = ""
    cached: bool = False
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
    recorded: tuple[Point, ...] = ()
    points: tuple[Point, ...] = ()
    target: str = ""
    answer: str = ""
    notes: tuple[Note, ...] = ()
    looks: tuple[LookRow, ...] = ()


class TaskRow(Record, frozen=True, kw_only=True):
    participant: str
    name: str
    steps: tuple[int, ...]


class ShownMetric(Record, frozen=True, kw_only=True):
    name: str
    value: str
    count: str
    interval: str


class SummaryTable(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A table on top of a page. The first column is a name, the others stand to the right; as many cells as heads.
    Where ``group`` is there the names are groups of that kind, which the list of steps can be filtered by.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    group: str = ""


class Fact(Record, frozen=True, kw_only=True):
    name: str
    text: str


class DiagramPart(Record, frozen=True, kw_only=True):
    """The steps that a part of a diagram stands for: a group of theirs, or clicks so many pixels beside the region.
    ``off`` is what they are more than and at most, in pixels; None for no end.
    """

    name: str
    group: str = ""
    off: tuple[float, float | None] | None = None


class Diagram(Record, frozen=True, kw_only=True):
    """A plot: SVG that this package drew, and what it shows in words. An element with the attribute ``data-part``
    stands for one of ``parts``, by its number.
    """

    title: str
    svg: str
    words: str
    parts: tuple[DiagramPart, ...] = ()


class RunPage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One run. ``told`` is what later steps may be told of each of ``steps``, ``marks`` what people say of them.

    ``words`` are what the page says in place of its own words of clicks: of the outcomes, ``gold``, ``click``,
    ``recorded``. ``data`` names the data set by its content. ``version`` changes whenever what is shown does. Of a
    large run ``shots``, ``tasks``, ``steps`` and ``told`` are empty: ``packed`` is JSON of them, deflated, in base64.
    """

    name: str
    data: str
    folder: str
    status: str
    metrics: tuple[ShownMetric, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    diagrams: tuple[Diagram, ...] = ()
    shots: tuple[Shot, ...] = ()
    tasks: tuple[TaskRow, ...] = ()
    steps: tuple[StepRow, ...] = ()
    told: tuple[HistoryEntry | None, ...] = ()
    marks: tuple[Label, ...] = ()
    mark_facts: tuple[Fact, ...] = ()
    independent: bool = False
    version: str = ""
    tables: tuple[SummaryTable, ...] = ()
    words: dict[str, str] = msgspec.field(default_factory=dict)
    packed: str = ""


class PageContent(Record, frozen=True, kw_only=True):
    """Everything on a page. ``token`` is what a label is sent with; empty on a page that is only a file. ``paired`` are
    the differences of several runs to the first.
    """

    title: str
    runs: tuple[RunPage, ...]
    labels: tuple[str, ...]
    near_px: float = NEAR_PX
    token: str = ""
    paired: tuple[SummaryTable, ...] = ()


_ESCAPED = (
    (b"&", b"\\u0026"),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def embedded_json(content: object) -> str:
    r"""Records as JSON that can stand in a ``<script type="application/json">``: no tag can begin or end in it.

    In JSON these characters stand only inside of strings, where an escape means the same.

    >>> embedded_json(Fact(name="reply", text="</script><b>"))
    '{"name":"reply","text":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = msgspec.json.encode(content)
    for character, escaped in _ESCAPED:
        text = text.replace(character, escaped)
    return text.decode()


def page_html(body: str, *, title: str, style: str, script: str, data: str, sources: str = "", **more: str) -> str:
    """A page of its own style and script. What is not of this package stands in it as JSON, which no browser runs.

    ``data`` is from :func:`embedded_json`, ``title`` plain text, ``style`` what the page has beyond the style sheet of
    all pages, ``sources`` the policy's line of what may be loaded, ``more`` what stands in ``body`` at ``@name@``.
    """
    script = "\n(() => {\n'use strict';\n" + script + "})();\n"
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = ["default-src 'none'", f"script-src 'sha256-{known}'", "style-src 'unsafe-inline'"]
    policy += [*([sources] if sources else []), "base-uri 'none'", "form-action 'none'"]
    parts = {**more, "policy": "; ".join(policy), "title": html.escape(title), "data": data, "script": script}
    parts["style"] = static_text("base.css") + style
    # In one pass over the package's own text, so that nothing in a part is taken for a place.
    pieces = static_text("frame.html").replace("@body@", body).split("@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def static_text(name: str) -> str:
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")

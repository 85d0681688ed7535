"""The whole vocabulary: the frozen, typed records that pass between the rooms, and nothing else.

A pixel always means a pixel of the *original* screenshot, origin at the top left, unless a name says otherwise.
Nothing here knows of files, models or metrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Literal

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all records: immutable, compared by value, written to JSON without its default values."""


def html_table(caption: str, rows: Iterable[Iterable[object]]) -> str:
    """Rows as a notebook shows them."""
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


# --- geometry -----------------------------------------------------------------------------------------------------


class Size(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Width and height of an image in its own pixels."""

    width: int
    height: int


class Point(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A place on the original screenshot, in its pixels; fractions are allowed."""

    x_px: float
    y_px: float


class Box(Record, frozen=True, kw_only=True, omit_defaults=False):
    """An axis-aligned rectangle on the original screenshot; all four edges belong to it."""

    left_px: float
    top_px: float
    right_px: float
    bottom_px: float

    @property
    def center(self) -> Point:
        """The midpoint, which stands for the box wherever a single point is needed (RealWebAssist, section 3.1)."""
        return Point(x_px=(self.left_px + self.right_px) / 2, y_px=(self.top_px + self.bottom_px) / 2)

    @property
    def holds_points(self) -> bool:
        """False where the box ends before it begins, as one of negative width: no click can hit it."""
        return self.left_px <= self.right_px and self.top_px <= self.bottom_px

    @property
    def area_px2(self) -> float:
        """In square pixels; 0 where the box holds no points."""
        return (self.right_px - self.left_px) * (self.bottom_px - self.top_px) if self.holds_points else 0.0


class Polygon(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A closed outline on the original screenshot; the edge belongs to it."""

    points: tuple[Point, ...]


class Region(Record, frozen=True, kw_only=True):
    """Where a click is right: inside or on the edge of any of these shapes."""

    boxes: tuple[Box, ...] = ()
    polygons: tuple[Polygon, ...] = ()


# --- data set -----------------------------------------------------------------------------------------------------

TaskLabel = str | int


class Screenshot(Record, frozen=True, kw_only=True):
    """An image file, its true size (read from the file, never from an annotation) and the hash of its bytes."""

    path: str
    size: Size
    sha256: str


class HistoryEntry(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the user said at an earlier step and what was done about it, in words."""

    instruction: str
    action: str


class GroupLabel(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One of the groups that a step belongs to, such as the platform ``web``; accuracy is shown for each.

    ``kind`` names the property, ``name`` its value. A step may have several names of one kind.
    """

    kind: str
    name: str


class Step(Record, frozen=True, kw_only=True):
    """One screenshot, the words spoken over it, and where a click is right.

    ``region`` is None where no click was made: the step is part of the history and is not scored.
    ``instruction_index`` numbers the instructions of the step's task from 0: an instruction is a maximal run of
    equal text within a task.
    ``history_entry`` is what later steps may be told about this one; None where no history file was asked for.
    ``target_absent`` marks a step whose words name nothing on the screen: the right answer is to say so, and the region
    has no shape, which no click can hit. ``independent`` marks a step that no other step of its task comes before:
    the task is then only what steps over one screenshot have in common. ``unheard`` says why a step whose words come
    from a recogniser has none: it is not asked about and counts as wrong.
    """

    id: str
    participant: str
    task: TaskLabel
    instruction_index: int
    instruction: str
    screenshot: Screenshot
    region: Region | None
    action: str = ""
    history_entry: HistoryEntry | None = None
    target_absent: bool = False
    independent: bool = False
    groups: tuple[GroupLabel, ...] = ()
    unheard: Failure | None = None

    def __repr__(self) -> str:
        return f"<Step {self.id}: {self.instruction!r}, {self.action or 'no action'}>"


class Task(Record, frozen=True, kw_only=True):
    """The steps of one participant that share a task label, in session order."""

    participant: str
    label: TaskLabel
    steps: tuple[Step, ...]


class Session(Record, frozen=True, kw_only=True):
    """Everything one participant did, step by step, in the order in which it happened."""

    participant: str
    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        return f"<Session {self.participant}: {len(self.tasks())} tasks, {len(self.steps)} steps>"

    def tasks(self) -> tuple[Task, ...]:
        """The session's tasks in order of their first step; a label that comes back later is the same task."""
        by_label: dict[TaskLabel, list[Step]] = {}
        for step in self.steps:
            by_label.setdefault(step.task, []).append(step)
        return tuple(
            Task(participant=self.participant, label=label, steps=tuple(steps)) for label, steps in by_label.items()
        )


class Dataset(Record, frozen=True, kw_only=True):
    """A loaded data set. ``fingerprint`` is a hash of its content, the same wherever the files lie.

    ``warnings`` say what is odd about the files and does not keep them from being used; ``oddities`` name single
    annotations of that kind, which ``warnings`` count. ``departs`` says what shows that it is not the release that its
    card describes.
    """

    name: str
    fingerprint: str
    sessions: tuple[Session, ...]
    history_file: str = ""
    warnings: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()
    departs: tuple[str, ...] = ()

    def steps(self) -> tuple[Step, ...]:
        """All steps, session by session, with those that are not scored."""
        return tuple(step for session in self.sessions for step in session.steps)

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {len(self.sessions)} sessions, {len(self.steps())} steps>"

    def _repr_html_(self) -> str:
        counts = [(each.participant, len(each.tasks()), len(each.steps)) for each in self.sessions]
        return html_table(self.name, [("participant", "tasks", "steps"), *counts])


class Query(Record, frozen=True, kw_only=True):
    """All that a planner or a grounder may know of a step: never where the click is right.

    ``key`` is the hash of everything that can change the answer; it is passed through to the answer's record.
    ``goal`` is the task in words, where the data set has words for it. ``steps_done`` counts the scored steps of the
    same instruction that came before this one. ``untouched`` says that the server is known to make the card's sizes of
    pictures, so that a card which may leave it that does.
    """

    step_id: str
    key: str
    screenshot: Screenshot
    instruction: str
    history: tuple[HistoryEntry, ...] = ()
    goal: str = ""
    steps_done: int = 0
    untouched: bool = False


# --- answers ------------------------------------------------------------------------------------------------------

FailureKind = Literal["unparsed", "missing", "error"]
"""``unparsed``: a reply came and holds no answer. ``missing``: a recorded file holds no reply for this step.
``error``: infrastructure failed, after the retries; asking again may help."""


class Failure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Why there is no answer."""

    kind: FailureKind
    message: str


class Usage(Record, frozen=True, kw_only=True):
    """Tokens as the server counted them. Reasoning tokens are part of the output tokens, cached of the input."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0


class Call(Record, frozen=True, kw_only=True):
    """What an answer took: wall time of the last try, tries, tokens and money.

    ``usage`` is that of the reply, ``failed_usage`` that of the tries before it, as far as the server counted them.
    ``cost_usd`` is for both; ``unreported_usd`` is the most that tries without a report may have been charged.
    """

    seconds: float
    attempts: int = 1
    usage: Usage | None = None
    cost_usd: float | None = None
    model: str = ""
    failed_usage: Usage | None = None
    unreported_usd: float = 0.0


class ImageSizes(Record, frozen=True, kw_only=True):
    """One picture at three points of its way: on disk, in the request, and as the model saw it.

    ``laid`` is the size that the screenshot has where it covers only the upper left part of what was sent.
    """

    original: Size
    sent: Size
    model: Size
    laid: Size | None = None


class Plan(Record, frozen=True, kw_only=True):
    """One explicit instruction for the grounder, or the reason why there is none.

    ``key`` is the hash of everything that made it; a stored plan is used again only under the same key.
    ``reused`` marks a plan that another run asked for and paid: ``call`` is then what it took that run.
    """

    step_id: str
    key: str
    text: str | None
    raw: str | None = None
    failure: Failure | None = None
    call: Call | None = None
    reused: bool = False


class Prediction(Record, frozen=True, kw_only=True):
    """Where the grounder would click, in pixels of the original screenshot, or the reason why it would not.

    ``point`` is what is scored; a grounder that answers with a box has the box's centre there and the box beside.
    ``raw`` is the model's reply as it came. ``declined`` marks an answer that there is no such place on the screen:
    right where the target is absent, else as wrong as any other answer without a point, which ``failure`` says.
    A grounder that looked several times has each look in ``passes``, in order, and in ``call`` what all of them took;
    the fields above are then the deciding look's. ``crop`` is what such a look was shown of the screenshot, None for
    all of it, and ``sizes`` are then those of the picture that was cut.
    """

    step_id: str
    key: str
    point: Point | None
    box: Box | None = None
    raw: str | None = None
    sizes: ImageSizes | None = None
    failure: Failure | None = None
    call: Call | None = None
    declined: bool = False
    crop: Box | None = None
    passes: tuple[Prediction, ...] = ()


Outcome = Literal["hit", "miss", "unparsed", "error", "missing"]

NEVER_ASKED = "never asked"
"""The reason of a step's verdict in a run that has not come to it."""


class Verdict(Record, frozen=True, kw_only=True):
    """What became of a scored step. ``distance_px`` is Euclidean, to the nearest edge of the region, 0 inside."""

    step_id: str
    outcome: Outcome
    point: Point | None = None
    distance_px: float | None = None
    reason: str = ""

    @property
    def was_asked(self) -> bool:
        """False where an unfinished run has not come to the step, which is then no part of any score."""
        return self.outcome != "missing" or self.reason != NEVER_ASKED

"""What the page of a run over a shop shows: records that become the JSON in it. Long texts are cut, and say so."""

from __future__ import annotations

from grounding.records import Record
from grounding.webagents.personalwab.records import TaskType
from grounding.webagents.personalwab.scores import AttemptFigures, Transition

MAX_MEMORY_CHARS = 8_000
MAX_TEXT_CHARS = 4_000


class Row(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A line of a table: its name and its cells."""

    name: str
    cells: tuple[str, ...]


class ShownTable(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A table with a heading for each column."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]


class ShownTurn(Record, frozen=True, kw_only=True):
    """One move: the call with its arguments, the products that came back, the text where none did, the user's words."""

    name: str
    arguments: str
    thought: str = ""
    reflection: str = ""
    asins: tuple[str, ...] = ()
    text: str = ""
    error: str = ""
    user: str | None = None
    extra_calls: int = 0
    result: float | None = None
    right: bool = False


class ShownTask(Record, frozen=True, kw_only=True):
    """A task, what was known of its user, its episode and what it is worth by both readings."""

    id: str
    user: str
    type: TaskType
    instruction: str
    target: str
    outcome: str
    own_review: str = ""
    profile: tuple[tuple[str, str], ...] = ()
    memory: str = ""
    memory_behaviours: int = 0
    earlier_behaviours: int = 0
    predicted: str = ""
    turns: tuple[ShownTurn, ...] = ()
    end: str = ""
    failure: str = ""
    function: bool = False
    paper: float = 0.0
    official: float = 0.0
    took: str = ""


class ShopPage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The whole page. ``products`` has the title of every product that a list on the page names."""

    title: str
    status: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[ShownTable, ...]
    attempts: dict[TaskType, tuple[AttemptFigures, ...]]
    transitions: tuple[Transition, ...]
    products: dict[str, str]
    tasks: tuple[ShownTask, ...]

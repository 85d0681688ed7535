"""What the page of a run over curated products shows: records that become the JSON in it.

Long texts are cut, and say so. Places in a text count UTF-16 units, as browsers do.
"""

from __future__ import annotations

from typing import Literal, get_args

from grounding.records import Box, Record
from grounding.report.html.content import Fact
from grounding.webagents.agenticshop.records import Dimension, PageClass, Scenario, VerdictFlag

MOST_TEXT = 3_000
"""Characters of a reply, a reason or a fact."""

MOST_PAGE_TEXT = 5_000
"""Characters of a page's text, from its beginning; what a judge quotes from further down is shown beside."""

AROUND_QUOTE = 200
"""Characters before and after a quote from further down."""

TaskOutcome = Literal[
    "all product pages", "some product pages", "no product page", "nothing curated", "error", "missing"
]
"""What became of a task's first three products, by the class of their pages; the first that holds of ``missing`` (no
answer of the agent), ``error`` and ``nothing curated`` (an answer without a product) goes before the classes."""

OUTCOMES: tuple[TaskOutcome, ...] = get_args(TaskOutcome)

ShownClass = PageClass | Literal["not fetched"]


class SummaryTable(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A table on top of the page. The first column is a name, the others stand to the right; as many cells as heads."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class JudgeName(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A judge of the run and what it was shown."""

    name: str
    condition: str


class Share(Record, frozen=True, kw_only=True, omit_defaults=False, array_like=True):
    """So many satisfied of so many; products and verdicts that are not there count as not satisfied."""

    k: int
    n: int


class TaskRow(Record, frozen=True, kw_only=True):
    """A line of the list: what the filters look at. ``shares`` has an entry for each judge of the page.

    ``classes``, ``flags`` and ``errors`` are those of any of its products. ``words`` is what the search looks into,
    in small letters.
    """

    id: str
    user: str
    scenario: Scenario
    outcome: TaskOutcome
    query: str
    words: str
    shares: tuple[dict[Dimension, Share], ...]
    classes: tuple[ShownClass, ...] = ()
    flags: tuple[VerdictFlag, ...] = ()
    errors: tuple[str, ...] = ()


class ShownItem(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One item of a checklist."""

    id: str
    dimension: Dimension
    text: str


class ShownFact(Record, frozen=True, kw_only=True):
    """A fact of a product page, where it was found and the words there."""

    name: str
    text: str
    source: str = ""
    quote: str = ""


class ShownSegment(Record, frozen=True, kw_only=True):
    """A picture of a part of a page. ``small`` counts in the page's pictures, ``full`` is an address beside the page.

    None and "" where there is none.
    """

    width: int
    height: int
    top_px: int
    small: int | None = None
    full: str = ""


class TextPiece(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A part of a page's text that begins ``at`` so many characters."""

    at: int
    text: str


class Found(Record, frozen=True, kw_only=True, omit_defaults=False, array_like=True):
    """Where a quote stands: the piece of text, its first place in it and the one after its last, in UTF-16 units."""

    piece: int
    start: int
    end: int


class ShownVerdict(Record, frozen=True, kw_only=True):
    """What a judge says of an item. ``segment`` and ``box``: the place on a picture that it rests on."""

    item: str
    satisfied: bool
    reasoning: str = ""
    quote: str = ""
    found: Found | None = None
    segment: int | None = None
    box: Box | None = None
    flags: tuple[VerdictFlag, ...] = ()


class ShownJudgement(Record, frozen=True, kw_only=True):
    """All that one judge says of a product. ``judge`` counts in the page's judges."""

    judge: int
    verdicts: tuple[ShownVerdict, ...] = ()
    reported: str = ""
    took: str = ""
    failure: str = ""


class ShownProduct(Record, frozen=True, kw_only=True):
    """One curated product and its evidence. ``link`` is "" where the address is none that a browser may open."""

    id: str
    rank: int
    url: str
    link: str
    name: str = ""
    reasoning: str = ""
    counted: bool = True
    page_class: ShownClass = "not fetched"
    class_reason: str = ""
    extractor: str = ""
    page: tuple[Fact, ...] = ()
    facts: tuple[ShownFact, ...] = ()
    segments: tuple[ShownSegment, ...] = ()
    text: tuple[TextPiece, ...] = ()
    text_more: int = 0
    raw: str = ""
    failure: str = ""
    errors: tuple[str, ...] = ()
    judgements: tuple[ShownJudgement, ...] = ()


class ShownStep(Record, frozen=True, kw_only=True):
    """One thing that the agent did."""

    action: str
    kind: str = ""
    url: str = ""
    link: str = ""
    thought: str = ""
    observation: str = ""
    cited: tuple[str, ...] = ()
    screenshot: str = ""
    seconds: float = 0.0


class TaskDetail(Record, frozen=True, kw_only=True):
    """Everything about a task that its line in the list does not say."""

    situation: str
    facts: tuple[Fact, ...]
    context: tuple[Fact, ...]
    checklist: tuple[ShownItem, ...]
    products: tuple[ShownProduct, ...] = ()
    trace: tuple[ShownStep, ...] = ()
    ended: str = ""
    raw: str = ""
    took: str = ""
    failure: str = ""


class LabelPlace(Record, frozen=True, kw_only=True, omit_defaults=False, array_like=True):
    """A product that people can be asked about: its name, and where it stands among tasks and their products."""

    id: str
    task: int
    product: int
    page_class: ShownClass


class CurationPage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The whole page. ``details`` has an entry for each of ``tasks``; ``pictures`` are data URLs.

    Both are read one by one when they are looked at.
    """

    title: str
    status: str
    run_id: str
    signature: str
    facts: tuple[Fact, ...]
    tables: tuple[SummaryTable, ...]
    judges: tuple[JudgeName, ...]
    tasks: tuple[TaskRow, ...]
    places: tuple[LabelPlace, ...]
    details: tuple[TaskDetail, ...]
    pictures: tuple[str, ...]

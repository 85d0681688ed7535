"""What passes between the parts of this room: needs of users in, curated products, evidence and verdicts out.

Prices are in the page's own currency, never converted. A pixel is one of the rendered page (one CSS pixel, the page's
top left is the origin). Nothing here knows of files, models or browsers.
"""

import hashlib
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from grounding.benchmarks.asking import StoredAnswer
from grounding.errors import UserError
from grounding.records import Box, Failure, Record, Size

Intent = Literal["target_finding", "alternative_selection", "open_exploration"]
"""What brings a user to the web (paper, section 3.2)."""

Scenario = Literal[
    "explicit_title",
    "attribute_specific",
    "brand_categorical",
    "high_involvement",
    "low_involvement",
    "aesthetic_driven",
    "casual_browsing",
]  # The paper's seven columns, in the order of its table 4.
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

Dimension = Literal[
    "brand_preferences",
    "price_sensitivity",
    "review_sensitivity",
    "functional_requirements",
    "aesthetic_preferences",
    "purchase_preferences",
]  # What a checklist asks about (paper, section 3.3.5).
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

COUNTED_PRODUCTS = 3
"""How many products of a curation are scored; more are kept and not looked at (the release takes the first three)."""


class ChecklistItem(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``number`` counts from 0 within the dimension; ``id`` is such as ``price_sensitivity/0``."""

    dimension: Dimension
    number: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.dimension}/{self.number}"


class UserContext(Record, frozen=True, kw_only=True):
    """A paragraph for each dimension; empty where nothing is told."""

    brand_preferences: str = ""
    price_sensitivity: str = ""
    review_sensitivity: str = ""
    functional_requirements: str = ""
    aesthetic_preferences: str = ""
    purchase_preferences: str = ""


class Target(Record, frozen=True, kw_only=True):
    """The product that a query was made of; empty where it is not known."""

    title: str = ""
    brand: str = ""
    product_type: str = ""


class CurationTask(Record, frozen=True, kw_only=True):
    """One user with one need. ``id`` is ``SCENARIO/USER``; what open exploration does not have is None."""

    id: str
    user: str
    scenario: Scenario
    situation: str
    query: str
    query_type: str
    context: UserContext
    checklist: tuple[ChecklistItem, ...]
    product_type: str | None = None
    budget: str | None = None
    target: Target | None = None


class Site(Record, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    home_url: str


class CurationDataset(Record, frozen=True, kw_only=True):
    """``sites`` are its own shops, served on this machine; none: the open web. ``fingerprint`` hashes its content."""

    name: str
    fingerprint: str
    folder: str
    tasks: tuple[CurationTask, ...]
    sites: tuple[Site, ...] = ()
    departs: tuple[str, ...] = ()


class ShopperView(Record, frozen=True, kw_only=True):
    """All that an agent is told of a task: never the checklist, nor the target."""

    task_id: str
    user: str
    scenario: Scenario
    situation: str
    query: str
    context: UserContext
    product_type: str | None = None
    budget: str | None = None
    sites: tuple[Site, ...] = ()


def view_of(task: CurationTask, sites: tuple[Site, ...] = ()) -> ShopperView:
    told = {name: getattr(task, name) for name in ShopperView.__struct_fields__[1:-1]}
    return ShopperView(task_id=task.id, sites=sites, **told)


class Curated(Record, frozen=True, kw_only=True):
    """``url`` is what the agent wrote, right or wrong; ``rank`` counts from 0."""

    rank: int
    url: str
    name: str = ""
    reasoning: str = ""


BehaviourKind = Literal["information_seeking", "alternative_evaluation", "purchase_decision", "other"]
"""What a step of an agent is for (paper, section 5.3)."""


class TraceStep(Record, frozen=True, kw_only=True):
    """A search, which brought ``cited_urls``, a page looked at, a click. ``kind`` is "" where nobody said it."""

    action: str
    url: str = ""
    thought: str = ""
    screenshot: str = ""
    observation: str = ""
    cited_urls: tuple[str, ...] = ()
    kind: BehaviourKind | Literal[""] = ""


class Curation(StoredAnswer, frozen=True, kw_only=True):
    """What an agent made of the task ``step_id``. ``call`` is what all ``requests`` took."""

    products: tuple[Curated, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    ended: str = ""
    requests: int = 0
    seconds: float = 0.0


class Segment(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A picture of one viewport of a page, a file of the evidence; ``top_px`` is where it begins."""

    file: str
    size: Size
    top_px: int


class StructuredData(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One block of data for machines, as JSON text."""

    source: Literal["json-ld", "microdata", "opengraph"]
    json: str


class RenderedPage(Record, frozen=True, kw_only=True):
    """A page as a browser showed it: ``url`` was asked for and led over ``redirects`` to ``final_url``.

    ``status`` is None where no answer came, ``html_file`` the rendered document (gzip); ``failure``: why none came.
    """

    url: str
    final_url: str = ""
    fetched_at: str = ""
    status: int | None = None
    content_type: str = ""
    html_file: str = ""
    title: str = ""
    text: str = ""
    text_cut: bool = False
    data: tuple[StructuredData, ...] = ()
    segments: tuple[Segment, ...] = ()
    dismissed: tuple[str, ...] = ()
    blocked_requests: int = 0
    seconds: float = 0.0
    failure: Failure | None = None


PageClass = Literal["product", "listing", "error", "blocked", "other"]
"""``blocked``: the site asks whether we are human. ``error``: not found, gone, or no page at all."""

Availability = Literal["in_stock", "sold_out", "unknown"]


class Money(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``currency`` is an ISO 4217 code, "" where the page doesn't say which."""

    amount: float
    currency: str = ""


class Attribute(Record, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    value: str


class Variant(Record, frozen=True, kw_only=True):
    name: str
    price: Money | None = None
    availability: Availability = "unknown"


class CustomerReview(Record, frozen=True, kw_only=True):
    """``rating`` is out of five."""

    text: str
    title: str = ""
    rating: float | None = None


class FactSource(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where a fact was found: ``json-ld``, ``microdata``, ``opengraph``, ``page``, ``model``; ``quote``: the words."""

    field: str
    source: str
    quote: str = ""


class ProductFacts(Record, frozen=True, kw_only=True):
    """What a page says of its product. Unknown is None or "", never 0. ``price`` is what the chosen form costs now,
    ``list_price`` the one struck out; free ``shipping`` costs 0.0.
    """

    title: str = ""
    brand: str = ""
    seller: str = ""
    categories: tuple[str, ...] = ()
    price: Money | None = None
    list_price: Money | None = None
    shipping: Money | None = None
    shipping_text: str = ""
    delivery_text: str = ""
    returns_text: str = ""
    warranty_text: str = ""
    availability: Availability = "unknown"
    rating: float | None = None
    rating_count: int | None = None
    reviews: tuple[CustomerReview, ...] = ()
    description: str = ""
    features: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    variants: tuple[Variant, ...] = ()
    picture_count: int | None = None
    sources: tuple[FactSource, ...] = ()

    @property
    def total(self) -> Money | None:
        """Price and shipping together; None where either is unknown or they are in different currencies."""
        if self.price is None or self.shipping is None:
            return None
        if self.shipping.amount and self.shipping.currency != self.price.currency:
            return None
        return Money(amount=round(self.price.amount + self.shipping.amount, 2), currency=self.price.currency)


class Extraction(StoredAnswer, frozen=True, kw_only=True):
    """The evidence of the product ``step_id``, ``TASK/RANK``; ``facts`` is None where the page is no product's.
    ``failure`` is of infrastructure, so that asking again may help: what the web answered says ``page.failure``. Where
    structure alone is not ``sure`` of the class, a model may decide. ``raw`` is a model's reply as it came.
    """

    url: str = ""
    extractor: str = ""
    page: RenderedPage | None = None
    page_class: PageClass | None = None
    class_reason: str = ""
    sure: bool = True
    facts: ProductFacts | None = None


Condition = Literal["full", "no-info", "url-only"]
"""What a judge is shown (paper, table 3): facts, text and pictures; URL and pictures; the URL alone."""

VerdictFlag = Literal["quote-not-found", "region-off-page", "no-evidence", "undecided", "missing"]
"""``quote-not-found``: the words that it rests on are not in the evidence. ``region-off-page``: nor is the place.
``no-evidence``: satisfied, and neither is given. ``undecided``: the judge does not decide such items. ``missing``: the
judge said nothing of it. The last two are never satisfied."""


class PlaceOnPage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A part of a segment, in pixels of that picture; ``segment`` counts from 0."""

    segment: int
    box: Box


class ItemVerdict(Record, frozen=True, kw_only=True):
    item: str
    satisfied: bool
    reasoning: str = ""
    quote: str = ""
    place: PlaceOnPage | None = None
    flags: tuple[VerdictFlag, ...] = ()

    @property
    def dimension(self) -> str:
        return self.item.partition("/")[0]


class Reported(Record, frozen=True, kw_only=True):
    """What a judge itself wrote that its verdicts add up to; ``dimensions`` are ``x / y``."""

    accessible: bool | None = None
    is_product_page: bool | None = None
    reason: str = ""
    total_items: int | None = None
    satisfaction_percentage: float | None = None
    satisfied_items: float | None = None
    not_satisfied_items: float | None = None
    dimensions: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def adds_up(self) -> bool:
        """Whether there are sums: our own wording does not ask for them."""
        return self.satisfaction_percentage is not None or bool(self.dimensions)


class Judgement(StoredAnswer, frozen=True, kw_only=True):
    """What one judge says of one product. ``step_id`` is ``TASK/RANK/JUDGE``."""

    judge: str
    condition: Condition = "full"
    verdicts: tuple[ItemVerdict, ...] = ()
    reported: Reported | None = None
    requests: int = 0

    @property
    def product(self) -> str:
        return self.step_id.removesuffix(f"/{self.judge}")


def digest(*parts: Any) -> str:
    """32 hex digits of all that an answer hangs on."""
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:32]


def product_id(task_id: str, rank: int) -> str:
    return f"{task_id}/{rank}"


class CuratedPage(Record, frozen=True, kw_only=True, omit_defaults=False):
    product_id: str
    url: str


def curated_pages(task: CurationTask, curation: Curation | None) -> tuple[CuratedPage, ...]:
    """The pages of a task's products that are scored."""
    products = () if curation is None else curation.products[:COUNTED_PRODUCTS]
    return tuple(CuratedPage(product_id=product_id(task.id, rank), url=one.url) for rank, one in enumerate(products))


FileKind = Literal["user_profile", "search_input", "search_output"]
"""The release's files of users, of prompts and of curated products."""


class ScenarioRow(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``key`` names the release's files, ``pipeline_key`` its ``--category``, ``folder`` is where its results lie, and
    ``raw`` the file of raw users that its tasks are made of.
    """

    scenario: Scenario
    intent: Intent
    key: str
    pipeline_key: str
    folder: str
    title: str
    printed: str
    query_type: str
    domain: str
    raw: str

    def file(self, kind: FileKind) -> str:
        return f"{self.key}_{kind}.json"


_ROWS = msgspec.yaml.decode(Path(__file__).with_name("scenarios.yaml").read_bytes(), type=list[ScenarioRow])
ROWS = {row.scenario: row for row in _ROWS}
SCENARIO_NAMES: dict[str, Scenario] = {
    name.casefold(): row.scenario
    for row in reversed(_ROWS)
    for name in (row.scenario, row.key, row.pipeline_key, row.title, row.folder)
}


def files_in(folder: Path, kind: FileKind) -> dict[Scenario, Path]:
    """The files of a kind that are in a folder."""
    paths = {row.scenario: folder / row.file(kind) for row in ROWS.values()}
    return {scenario: path for scenario, path in paths.items() if path.is_file()}


def scenario_named(name: str) -> Scenario:
    """A scenario by any of its names, in small or capital letters; raises a UserError where none is called so."""
    if (found := SCENARIO_NAMES.get(name.strip().casefold())) is None:
        raise UserError(f"no scenario is called {name!r}; there are: {', '.join(SCENARIOS)}")
    return found

"""What passes between the parts of this room: needs of users in, curated products, evidence and verdicts out.

Prices are in the page's own currency, never converted. A pixel is one of the rendered page (one CSS pixel, the page's
top left is the origin). Nothing here knows of files, models or browsers.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from grounding.records import Box, Call, Failure, Record, Size

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
]
"""The paper's seven columns, in the order of its table 4."""

SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

Dimension = Literal[
    "brand_preferences",
    "price_sensitivity",
    "review_sensitivity",
    "functional_requirements",
    "aesthetic_preferences",
    "purchase_preferences",
]
"""What a checklist asks about (paper, section 3.3.5)."""

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

COUNTED_PRODUCTS = 3
"""How many products of a curation are scored; more are kept and not looked at (the release takes the first three)."""

# --- data set -----------------------------------------------------------------------------------------------------


class ChecklistItem(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing that a product for this user should be. ``number`` counts from 0 within the dimension."""

    dimension: Dimension
    number: int
    text: str

    @property
    def id(self) -> str:
        """The name of the item within its checklist, such as ``price_sensitivity/0``."""
        return f"{self.dimension}/{self.number}"


class UserContext(Record, frozen=True, kw_only=True):
    """What is told of the user, a paragraph for each dimension; empty where nothing is."""

    brand_preferences: str = ""
    price_sensitivity: str = ""
    review_sensitivity: str = ""
    functional_requirements: str = ""
    aesthetic_preferences: str = ""
    purchase_preferences: str = ""


class Target(Record, frozen=True, kw_only=True):
    """The product that a query was made of, as far as it is known; empty where it is not."""

    title: str = ""
    brand: str = ""
    product_type: str = ""


class CurationTask(Record, frozen=True, kw_only=True):
    """One user with one need. ``id`` is ``SCENARIO/USER`` and unique in the data set.

    ``product_type``, ``budget`` and ``target`` are None where the file has none (open exploration). ``query_type`` is
    the release's word for the way in which the query was written.
    """

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
    """A shop that belongs to a data set: its name and the address of its first page."""

    name: str
    home_url: str


class CurationDataset(Record, frozen=True, kw_only=True):
    """A data set read from ``folder``. ``sites`` are its own shops, served on this machine; none: the open web.

    ``fingerprint`` is a hash of its content, shops included.
    """

    name: str
    fingerprint: str
    folder: str
    tasks: tuple[CurationTask, ...]
    sites: tuple[Site, ...] = ()
    warnings: tuple[str, ...] = ()
    departs: tuple[str, ...] = ()


# --- what an agent may know ----------------------------------------------------------------------------------------


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
    """What an agent may know of a task."""
    told = {name: getattr(task, name) for name in ShopperView.__struct_fields__[1:-1]}
    return ShopperView(task_id=task.id, sites=sites, **told)


# --- curate -------------------------------------------------------------------------------------------------------


class Curated(Record, frozen=True, kw_only=True):
    """A product as an agent named it. ``url`` is what the agent wrote, right or wrong; ``rank`` counts from 0."""

    rank: int
    url: str
    name: str = ""
    reasoning: str = ""


BehaviourKind = Literal["information_seeking", "alternative_evaluation", "purchase_decision", "other"]
"""What a step of an agent is for (paper, section 5.3)."""


class TraceStep(Record, frozen=True, kw_only=True):
    """One thing that an agent did: a search, which brought ``cited_urls``, a page looked at, a click.

    ``screenshot`` is the name of a picture in the run's folder of evidence. ``kind`` is "" where nobody said it.
    """

    action: str
    url: str = ""
    thought: str = ""
    screenshot: str = ""
    observation: str = ""
    cited_urls: tuple[str, ...] = ()
    kind: BehaviourKind | Literal[""] = ""
    seconds: float = 0.0


class Curation(Record, frozen=True, kw_only=True):
    """What an agent made of one task: ``step_id`` is its id, ``raw`` the agent's last words as they came.

    ``products`` may be fewer or more than three, and none with a failure. ``call`` is what all ``requests`` took.
    """

    step_id: str
    key: str
    products: tuple[Curated, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    raw: str = ""
    ended: str = ""
    requests: int = 0
    seconds: float = 0.0
    call: Call | None = None
    failure: Failure | None = None


# --- extract ------------------------------------------------------------------------------------------------------


class Segment(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A picture of one viewport of a page. ``file`` is its name in the folder of evidence, after its content.

    ``top_px`` is where it begins, in pixels of the page; ``size`` is that of the picture, one pixel of the page each.
    """

    file: str
    size: Size
    top_px: int


class StructuredData(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One block of data that a page carries for machines, as JSON text."""

    source: Literal["json-ld", "microdata", "opengraph"]
    json: str


class RenderedPage(Record, frozen=True, kw_only=True):
    """A page as a browser showed it, kept so that everything after can be done again without the web.

    ``url`` was asked for and led over ``redirects`` to ``final_url``. ``status`` is None where no answer came.
    ``html_file`` is the rendered document (gzip) in the folder of evidence, ``html_sha256`` the hash of its bytes
    before packing. ``text`` can be read on the page, cut off where it is ``text_cut``. ``failure`` says why none came.
    """

    url: str
    final_url: str = ""
    redirects: tuple[str, ...] = ()
    fetched_at: str = ""
    status: int | None = None
    content_type: str = ""
    html_file: str = ""
    html_sha256: str = ""
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
    """An amount and its currency as an ISO 4217 code, "" where the page doesn't say which."""

    amount: float
    currency: str = ""


class Attribute(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A line of a page's table of facts, such as Material: oak."""

    name: str
    value: str


class Variant(Record, frozen=True, kw_only=True):
    """A form in which the product comes, such as a size, with a price of its own where it has one."""

    name: str
    price: Money | None = None
    availability: Availability = "unknown"


class CustomerReview(Record, frozen=True, kw_only=True):
    """What a customer wrote. ``rating`` is out of five."""

    text: str
    title: str = ""
    rating: float | None = None


class FactSource(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where a fact was found: ``json-ld``, ``microdata``, ``opengraph``, ``page``, ``model``; ``quote``: the words."""

    field: str
    source: str
    quote: str = ""


class ProductFacts(Record, frozen=True, kw_only=True):
    """What a page says of its product. Unknown is None or "", never 0.

    ``price`` is what the chosen form costs now, ``list_price`` the one struck out; free ``shipping`` costs 0.0.
    ``rating`` is out of five, ``rating_count`` as the page counts them; ``reviews`` can be read on it.
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


class Extraction(Record, frozen=True, kw_only=True):
    """The evidence of one curated product. ``step_id`` is ``TASK/RANK``, ``facts`` None where the page is no product's.

    A page that can't be had is no ``failure``, which is of infrastructure, so that asking again may help: what the web
    answered says ``page.failure``. ``page_class`` is None where there is no page; ``class_reason`` decided it.
    """

    step_id: str
    key: str
    url: str
    extractor: str
    page: RenderedPage | None = None
    page_class: PageClass | None = None
    class_reason: str = ""
    facts: ProductFacts | None = None
    raw: str = ""
    call: Call | None = None
    failure: Failure | None = None


# --- judge --------------------------------------------------------------------------------------------------------

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
    """What a judge says of one item of the checklist, and what that rests on."""

    item: str
    satisfied: bool
    reasoning: str = ""
    quote: str = ""
    place: PlaceOnPage | None = None
    flags: tuple[VerdictFlag, ...] = ()

    @property
    def dimension(self) -> str:
        """The item's."""
        return self.item.partition("/")[0]


class Reported(Record, frozen=True, kw_only=True):
    """What a judge itself wrote that its verdicts add up to, for the official reading; ``dimensions`` are ``x / y``."""

    accessible: bool | None = None
    is_product_page: bool | None = None
    reason: str = ""
    total_items: int | None = None
    satisfaction_percentage: float | None = None
    satisfied_items: float | None = None
    not_satisfied_items: float | None = None
    dimensions: dict[str, str] = msgspec.field(default_factory=dict)


class Judgement(Record, frozen=True, kw_only=True):
    """What one judge says of one product. ``step_id`` is ``TASK/RANK/JUDGE``."""

    step_id: str
    key: str
    judge: str
    condition: Condition = "full"
    verdicts: tuple[ItemVerdict, ...] = ()
    reported: Reported | None = None
    raw: str = ""
    requests: int = 0
    call: Call | None = None
    failure: Failure | None = None

    @property
    def product(self) -> str:
        """The id of what was judged."""
        return self.step_id.removesuffix(f"/{self.judge}")


def product_id(task_id: str, rank: int) -> str:
    """The name of one curated product of a task: ``SCENARIO/USER/RANK``."""
    return f"{task_id}/{rank}"


class CuratedPage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A product of a curation whose page is to be looked at."""

    product_id: str
    url: str


def curated_pages(task: CurationTask, curation: Curation | None) -> tuple[CuratedPage, ...]:
    """The pages of a task's products that are scored."""
    products = () if curation is None else curation.products[:COUNTED_PRODUCTS]
    return tuple(CuratedPage(product_id=product_id(task.id, rank), url=one.url) for rank, one in enumerate(products))

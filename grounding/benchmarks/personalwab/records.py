"""Users, products and tasks of a shop, and the moves of an episode.

Times of the data set are milliseconds since 1970 (UTC). An ASIN is a product's id.
"""

from typing import Literal

from grounding.records import Call, Failure, Record

TaskType = Literal["search", "recommend", "review"]
Split = Literal["history", "train", "test"]
Track = Literal["single", "multi"]
Preset = Literal["paper", "official"]

TYPES: tuple[TaskType, ...] = ("search", "recommend", "review")


class Product(Record, frozen=True, kw_only=True):
    """One product of the shop, as the release's ``product_info`` has it: what is null there is None here. Values stay
    as they stand, since texts show them. ``details`` is JSON text.
    """

    asin: str
    title: str = ""
    main_category: str | None = None
    average_rating: int | float | str | None = None
    rating_number: int | float | str | None = None
    features: tuple[str, ...] = ()
    description: tuple[str, ...] = ()
    price: int | float | str | None = None
    store: str | None = None
    categories: tuple[str, ...] = ()
    details: str = "{}"


class Review(Record, frozen=True, kw_only=True):
    asin: str
    timestamp_ms: int
    rating: int | float | None = None
    title: str = ""
    text: str = ""


class Behaviour(Record, frozen=True, kw_only=True):
    asin: str
    review: Review
    split: Split = "history"


class Profile(Record, frozen=True, kw_only=True):
    """The eleven dimensions of a user (paper, section 3.2.1 and figure 11); empty where the file says nothing."""

    gender: str = ""
    age: str = ""
    occupation: str = ""
    price_sensitivity: str = ""
    shopping_interest: str = ""
    brand_preference: str = ""
    diversity_preference: str = ""
    interaction_complexity: str = ""
    tone_and_style: str = ""
    item_reference: str = ""
    focus_aspect: str = ""

    @property
    def told(self) -> dict[str, str]:
        return {theirs: said for theirs, ours in PROFILE_FIELDS.items() if (said := getattr(self, ours))}


PROFILE_FIELDS = {name.replace("_", " ").title().replace(" And ", " and "): name for name in Profile.__struct_fields__}
"""The release's names of a profile's dimensions, such as ``Tone and Style``, and ours."""


class ShopUser(Record, frozen=True, kw_only=True):
    id: str
    profile: Profile | None = None
    behaviours: tuple[Behaviour, ...] = ()

    def before(self, timestamp_ms: int) -> list[Behaviour]:
        return [one for one in self.behaviours if one.review.timestamp_ms < timestamp_ms]

    @property
    def oldest_first(self) -> list[Behaviour]:
        return sorted(self.behaviours, key=lambda one: one.review.timestamp_ms)


class ShopTask(Record, frozen=True, kw_only=True):
    """An instruction and what is right; ``target_review`` is there for reviews. Equal texts are different tasks."""

    id: str
    user_id: str
    type: TaskType
    instruction: str
    timestamp_ms: int
    target_asin: str
    target_review: Review | None = None
    split: Split = "test"


class ShopDataset(Record, frozen=True, kw_only=True):
    """A loaded data set. The first ``listed`` products are in the files of products, the rest only in other files."""

    name: str
    fingerprint: str
    users: dict[str, ShopUser]
    products: dict[str, Product]
    tasks: tuple[ShopTask, ...]
    listed: int = 0
    splits: tuple[Split, ...] = ()
    departs: tuple[str, ...] = ()


class TaskView(Record, frozen=True, kw_only=True):
    """All that an agent is told of a task: never its type, nor its target, except a product that is to be reviewed."""

    task_id: str
    user_id: str
    instruction: str
    timestamp_ms: int
    review_product: Product | None = None
    opening: str = ""


class FunctionCall(Record, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    arguments: str


class Observation(Record, frozen=True, kw_only=True):
    """What the web answers: the text that the agent reads, and the products in it in order. ``error`` is why the call
    was not carried out: unknown-function, bad-arguments, or "".
    """

    text: str
    asins: tuple[str, ...] = ()
    error: str = ""
    schema_valid: bool = True


class Turn(Record, frozen=True, kw_only=True):
    """One move of the agent and what came of it: an observation of the web, or the user's reply.

    ``thought`` is what the agent said beside its call, ``raw`` its whole message where calls are written as text.
    ``extra_calls`` counts calls of the same message that were not carried out.
    """

    call: FunctionCall
    call_id: str = ""
    observation: Observation | None = None
    user_reply: str | None = None
    thought: str = ""
    raw: str = ""
    reflection: str = ""
    extra_calls: int = 0


EndReason = Literal["stopped", "terminal-call", "step-limit", "responded", "gave-up", "failed"]
"""``responded``: it spoke where nobody listens (single-turn). ``gave-up``: no usable move came."""


class Episode(Record, frozen=True, kw_only=True):
    """What one agent did about one task, whole: everything that scores need can be read from it.

    ``likings`` is what InteRecAgent knows of the user when the task is over, ``opening`` what a person typed first.
    ``call`` is what all requests took together, ``user_call`` those of a simulated user.
    """

    task_id: str
    key: str
    turns: tuple[Turn, ...] = ()
    end: EndReason = "failed"
    memory: str = ""
    memory_behaviours: int = 0
    likings: str = ""
    opening: str = ""
    predicted_type: TaskType | None = None
    call: Call | None = None
    user_call: Call | None = None
    failure: Failure | None = None

    @property
    def step_id(self) -> str:
        return self.task_id

"""What passes between the parts of this room: users and products in, moves of an agent, an episode out.

Times of the data set are milliseconds since 1970 (UTC). An ASIN is a product's id. Nothing here knows of files or
models.
"""

from __future__ import annotations

from typing import Literal

from grounding.records import Call, Failure, Record

TaskType = Literal["search", "recommend", "review"]
Split = Literal["history", "train", "test"]
Track = Literal["single", "multi"]

# --- data set -----------------------------------------------------------------------------------------------------


class Product(Record, frozen=True, kw_only=True):
    """One product of the shop, as the release's ``product_info`` has it. Unknown numbers are None, never 0."""

    asin: str
    title: str
    main_category: str = ""
    average_rating: float | None = None
    rating_number: int | None = None
    features: tuple[str, ...] = ()
    description: tuple[str, ...] = ()
    price: str = ""
    store: str = ""
    categories: tuple[str, ...] = ()
    details: str = ""


class Review(Record, frozen=True, kw_only=True):
    """What a user wrote of a product, and when."""

    asin: str
    timestamp_ms: int
    rating: float | None = None
    title: str = ""
    text: str = ""


class Behaviour(Record, frozen=True, kw_only=True):
    """A purchase with its review, and the part of the user's time line that it belongs to."""

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


class ShopUser(Record, frozen=True, kw_only=True):
    """A user: a profile (None where there is none) and all behaviour, oldest first, whatever its split."""

    id: str
    profile: Profile | None = None
    behaviours: tuple[Behaviour, ...] = ()


class ShopTask(Record, frozen=True, kw_only=True):
    """One instruction and what is right. ``id`` is unique in the data set; equal texts are different tasks.

    ``target_review`` is there for reviews. ``split`` is ``train`` or ``test``.
    """

    id: str
    user_id: str
    type: TaskType
    instruction: str
    timestamp_ms: int
    target_asin: str
    target_review: Review | None = None
    split: Split = "test"


class ShopDataset(Record, frozen=True, kw_only=True):
    """A loaded data set. ``products`` are all that the shop has: what is searched and recommended is chosen of them."""

    name: str
    fingerprint: str
    users: dict[str, ShopUser]
    products: dict[str, Product]
    tasks: tuple[ShopTask, ...]
    warnings: tuple[str, ...] = ()


# --- what an agent may know ----------------------------------------------------------------------------------------


class TaskView(Record, frozen=True, kw_only=True):
    """All that an agent is told of a task: never its type, nor its target, except a product that is to be reviewed."""

    task_id: str
    user_id: str
    instruction: str
    timestamp_ms: int
    review_product: Product | None = None


# --- what happens --------------------------------------------------------------------------------------------------

FunctionName = Literal[
    "search_product_by_query",
    "get_recommendations_by_history",
    "add_product_review",
    "respond",
    "stop",
    "get_product_details_by_asin",
]

ObservationError = Literal["", "unknown-function", "bad-json", "bad-arguments", "not-allowed", "unknown-product"]


class FunctionCall(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A function's name and its arguments as the agent gave them: JSON text that may be anything."""

    name: str
    arguments: str


class Observation(Record, frozen=True, kw_only=True):
    """What the web answers: the text that the agent reads, and the products in it in order.

    ``error`` is "" where the call was carried out. ``schema_valid`` says whether the arguments fit the function's
    schema to the letter.
    """

    text: str
    asins: tuple[str, ...] = ()
    error: ObservationError = ""
    schema_valid: bool = True


class Turn(Record, frozen=True, kw_only=True):
    """One move of the agent and what came of it: an observation of the web, or the user's reply.

    ``thought`` is what the agent said beside its call, ``raw`` its whole message where calls are written as text, and
    ``reflection`` what it made of the user's reply. ``extra_calls`` counts calls of the same message that were not
    carried out. ``seconds`` is the wall time of the agent's share, ``completions`` the model's replies in it.
    """

    call: FunctionCall
    observation: Observation | None = None
    user_reply: str | None = None
    thought: str = ""
    raw: str = ""
    reflection: str = ""
    extra_calls: int = 0
    seconds: float = 0.0
    completions: int = 1


EndReason = Literal["stopped", "terminal-call", "step-limit", "responded", "gave-up", "failed"]
"""``stopped``: the agent's stop. ``terminal-call``: the single-turn track's one call was made. ``step-limit``: the
cap. ``responded``: it spoke where nobody listens (single-turn). ``gave-up``: no usable move came. ``failed``: see
failure."""


class Episode(Record, frozen=True, kw_only=True):
    """What one agent did about one task, whole: everything that scores need can be read from it.

    ``memory`` is the text the agent was given of the user's past. ``call`` is what all requests took together, the
    user's simulation in ``user_call``. ``key`` is the hash of everything that can change the episode.
    """

    task_id: str
    key: str
    turns: tuple[Turn, ...] = ()
    end: EndReason = "failed"
    memory: str = ""
    memory_behaviours: int = 0
    predicted_type: TaskType | None = None
    call: Call | None = None
    user_call: Call | None = None
    failure: Failure | None = None

    @property
    def step_id(self) -> str:
        """The name by which a journal knows it."""
        return self.task_id

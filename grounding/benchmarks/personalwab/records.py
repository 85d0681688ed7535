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
Preset = Literal["paper", "official"]

TYPES: tuple[TaskType, ...] = ("search", "recommend", "review")

# --- data set -----------------------------------------------------------------------------------------------------


class Product(Record, frozen=True, kw_only=True):
    """One product of the shop, as the release's ``product_info`` has it: what is null there is None here.

    Values stay as they stand, since texts show them. ``details`` is JSON text.
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
    """What a user wrote of a product, and when."""

    asin: str
    timestamp_ms: int
    rating: int | float | None = None
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

    @property
    def told(self) -> dict[str, str]:
        """What is known, by the release's names."""
        return {theirs: said for theirs, ours in PROFILE_FIELDS.items() if (said := getattr(self, ours))}


PROFILE_FIELDS = {name.replace("_", " ").title().replace(" And ", " and "): name for name in Profile.__struct_fields__}
"""The release's names of a profile's dimensions, such as ``Tone and Style``, and ours."""


class ShopUser(Record, frozen=True, kw_only=True):
    """A user: a profile (None where there is none) and all behaviour in the file's order, whatever its split."""

    id: str
    profile: Profile | None = None
    behaviours: tuple[Behaviour, ...] = ()

    def before(self, timestamp_ms: int) -> list[Behaviour]:
        """What the user did earlier than a moment, in the file's order."""
        return [one for one in self.behaviours if one.review.timestamp_ms < timestamp_ms]

    @property
    def oldest_first(self) -> list[Behaviour]:
        """All behaviour in order of time, the file's where times are equal."""
        return sorted(self.behaviours, key=lambda one: one.review.timestamp_ms)


class ShopTask(Record, frozen=True, kw_only=True):
    """An instruction and what is right. ``id`` is unique in the data set; equal texts are different tasks.

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
    """A loaded data set. ``products`` are all that the shop has: what is searched and recommended is chosen of them.

    The first ``listed`` of them are in the files of products. ``splits`` are those that have instructions.
    """

    name: str
    fingerprint: str
    users: dict[str, ShopUser]
    products: dict[str, Product]
    tasks: tuple[ShopTask, ...]
    listed: int = 0
    splits: tuple[Split, ...] = ()
    departs: tuple[str, ...] = ()


# --- what happens --------------------------------------------------------------------------------------------------


class TaskView(Record, frozen=True, kw_only=True):
    """All that an agent is told of a task: never its type, nor its target, except a product that is to be reviewed.

    ``opening`` is what a person typed in the place of the instruction.
    """

    task_id: str
    user_id: str
    instruction: str
    timestamp_ms: int
    review_product: Product | None = None
    opening: str = ""


class FunctionCall(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A function's name and its arguments as the agent gave them: JSON text that may be anything."""

    name: str
    arguments: str


class Observation(Record, frozen=True, kw_only=True):
    """What the web answers: the text that the agent reads, and the products in it in order.

    ``error`` is why the call was not carried out (unknown-function, bad-arguments), "" where it was. ``schema_valid``
    says whether the arguments fit the function's schema to the letter.
    """

    text: str
    asins: tuple[str, ...] = ()
    error: str = ""
    schema_valid: bool = True


class Turn(Record, frozen=True, kw_only=True):
    """One move of the agent and what came of it: an observation of the web, or the user's reply.

    ``call_id`` is the server's name of the call. ``thought`` is what the agent said beside its call, ``raw`` its whole
    message where calls are written as text, and ``reflection`` what it made of the user's reply. ``extra_calls`` counts
    calls of the same message that were not carried out.
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
"""The agent's stop; the single-turn track's one call; the cap of moves; it spoke where nobody listens (single-turn);
no usable move came; see ``failure``."""


class Episode(Record, frozen=True, kw_only=True):
    """What one agent did about one task, whole: everything that scores need can be read from it.

    ``memory`` is the text the agent was given of the user's past, ``likings`` what InteRecAgent knows of the user when
    the task is over, ``opening`` what a person typed first. ``call`` is what all requests took together, the user's
    simulation in ``user_call``. ``key`` is the hash of everything that can change the episode.
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
        """The name by which a journal knows it."""
        return self.task_id

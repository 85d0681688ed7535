"""What a model card can say, as frozen typed records. Reading and checking the files is ``grounding.cards``."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import re
import typing
from typing import Annotated, Literal

import msgspec

from grounding.coordinates import Space
from grounding.records import Record
from grounding.token_rules import ImageTokens, OutputTokens

JsonScalar = str | int | float | bool | None
Json = JsonScalar | list[typing.Any] | dict[str, typing.Any]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Dollars = Annotated[float, msgspec.Meta(ge=0)]

Family = Literal["qwen_vl", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "aria", "opencua", "hosted", "other"]
"""The architecture that a model was trained from: it decides the image tokens and how it can be served."""

Context = Literal["history", "goal", "steps_done", "step_id"]
"""What may change an answer besides the instruction and the screenshot: fields of a ``Query``.

Who reads ``step_id`` answers by the step, not by what is seen and said there: a file of answers that is played back.
"""

CONTEXT: tuple[Context, ...] = ("history", "goal", "steps_done")
"""What of it a prompt may have a place for."""

MAX_INSTRUCTION_CHARS = 16_000
"""Ten times the longest of the 4,990 plans released with RealWebAssist (1,467 characters)."""

RESERVED_PARAMETERS = ("model", "messages", "stream", "n")
"""Fields of the request that are not a card's to set: one reply, whole, to the card's own prompt."""

WRITTEN_NUMBER = re.compile(r"\{([xy][12]?)(?::\.(\d)f)?\}")
"""A place for a number in ``writes``: which one, and its decimals where they are stated."""

PREFILL_PARAMETERS: dict[str, bool] = {"add_generation_prompt": False, "continue_final_message": True}
"""Fields of the request (vLLM) that make the model go on with the last message instead of answering it."""


class CardPart(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part of the user message: either a text template or the screenshot.

    Templates know ``{instruction}``, ``{history}``, ``{goal}`` (the task in words), ``{steps_done}`` (how many scored
    steps of the same instruction came before), ``{width}`` and ``{height}`` (of the image as the model sees it); all
    other braces are plain text.
    """

    text: str | None = None
    image: Literal["screenshot"] | None = None


class EndpointCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the model is served; ``base_url`` is what the ``openai`` package would be given.

    ``lists_models`` is false where ``GET /models`` can't be asked with the key that requests are sent with.
    """

    base_url: str | None = None
    key_variable: str | None = None
    lists_models: bool = True
    how_to_serve: str = ""


class ImageRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which size of the screenshot the model sees, and who makes it so.

    ``resize``: ``none`` sends the file as it is and the model's space is relative or in its pixels; ``client`` scales
    it here; ``server`` sends the file as it is and knows what the server's processor will make of it.
    ``send``: ``base64`` in the request, or ``file`` as a file:// URL for a server that reads the same disk.
    """

    resize: Literal["none", "client", "server"] = "none"
    factor: _Positive | None = None
    min_pixels: _Positive | None = None
    max_pixels: _Positive | None = None
    send: Literal["base64", "file"] = "base64"


class AnswerRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to read a reply: the shape of the answer, the space of its numbers, which match counts.

    ``within`` is a regular expression with one group: only that part of the reply is read, and a reply without it
    holds no answer. ``pattern`` is a regular expression with two groups (point) or four (box), or several to be tried
    in turn; without one the usual bracketed forms are taken. ``refusal`` is a regular expression that marks a reply
    which declines to answer. ``whole_numbers`` is the space of an answer in whole numbers of which one is above 1, for
    a model that was trained on fractions (space ``rel_1``) and on a grid.
    """

    form: Literal["point", "box", "point_or_box"]
    space: Space
    match: Literal["first", "last"] = "first"
    within: str | None = None
    pattern: str | tuple[str, ...] | None = None
    refusal: str | None = None
    whole_numbers: Space | None = None

    @property
    def patterns(self) -> tuple[str, ...]:
        """The card's own patterns in the order in which they are tried; none where the usual forms are taken."""
        return (self.pattern,) if isinstance(self.pattern, str) else self.pattern or ()


class ActionRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model is asked for an action on a desktop in its own words, and what the numbers of its reply mean.

    Without ``user`` the card's own prompt is sent as it stands. Memory and instruction go where ``{instruction}``
    stands. ``space`` is that of all coordinates, but for replies in ShowUI's form, which is always ``rel_1``.
    ``scroll``: the amount of a scroll is in ``pixels``, or in ``notches`` of a wheel, of which only the direction can
    be compared with pixels. ``image`` and ``parameters`` are the card's own where they are left out.
    """

    space: Space
    user: tuple[CardPart, ...] = ()
    system: str | None = None
    image: ImageRule | None = None
    parameters: dict[str, Json] | None = None
    scroll: Literal["pixels", "notches"] = "pixels"
    source: str = ""
    notes: str = ""


class ServingCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model can be run here at all.

    ``vllm``: by the stock server as it is. ``vllm-flags``: by the stock server, only with the flags. ``in-process``:
    by a backend of this package, because its answer is not text. ``recorded``: not here; answers recorded elsewhere
    can be scored. ``reason`` says why it is not simply ``vllm``. ``flags`` are passed to the server one by one, never
    through a shell.
    """

    how: Literal["vllm", "vllm-flags", "in-process", "recorded"] = "vllm"
    reason: str = ""
    flags: tuple[str, ...] = ()


class AdapterRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank weights (LoRA, as PEFT stores them) on top of another model's: what `grounding train` leaves.

    ``base`` is the id under which the base model's own card asks for it. ``checkpoint`` is where its weights were
    when the adapter was trained, a folder or an id on the hub, empty for ``base``; ``revision`` is the hub's.
    ``path`` is the adapter's folder, in the file relative to the card. ``sha256`` is of the adapter's files,
    ``base_sha256`` of the base's config.json and weights; ``rank`` is the largest of its layers'. What is left out is
    not checked.
    """

    base: str
    checkpoint: str = ""
    revision: str = "main"
    path: str = "."
    rank: _Positive | None = None
    sha256: str = ""
    base_sha256: str = ""


class WeightsRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model's own weights in a folder, in the file relative to the card; ``sha256`` is of config.json and weights."""

    path: str = "."
    sha256: str = ""


class PublishedScore(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure that somebody stated for the model: per cent right on a benchmark, and who says so."""

    benchmark: str
    value: float
    source: str


class Price(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens, and the day on which the price was read."""

    input_usd: _Dollars
    output_usd: _Dollars
    date: str
    cached_input_usd: _Dollars | None = None


class ChatCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model behind an OpenAI-compatible chat endpoint.

    ``parameters`` go into the request as they stand; ``takes`` names the command line's sampling options that the
    model accepts (others are refused with a message rather than sent and rejected), and ``refuses`` the fields of a
    request that it answers with an error. ``image_tokens`` and ``output_tokens`` are for estimating;
    ``requests_per_minute`` and ``tokens_per_minute`` are limits that the vendor keeps. ``retires`` is the first day on
    which the vendor's own endpoint no longer has the model, ``successor`` the card to use then. ``prefill`` is the
    beginning of the reply, which the model is made to continue (vLLM: ``continue_final_message``). ``no_history`` and
    ``no_goal`` stand where the history or the goal would, at a step without one. ``strip_suffix`` is an ending that is
    dropped, once, from the instruction.
    ``adapter`` and ``weights`` belong to a tuned model, of which ``model`` is only the name at its server: low-rank
    weights on another model's, or weights of its own in a folder.
    ``published`` are figures that others state; ``disagreements`` is where sources contradict each other. Neither
    changes what is asked.
    """

    name: str
    title: str
    model: str
    user: tuple[CardPart, ...]
    system: str | None = None
    prefill: str | None = None
    no_history: str = ""
    no_goal: str = ""
    strip_suffix: str = ""
    revision: str = "main"
    family: Family | None = None
    adapter: AdapterRule | None = None
    weights: WeightsRule | None = None
    serving: ServingCard = ServingCard()
    published: tuple[PublishedScore, ...] = ()
    disagreements: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    endpoint: EndpointCard = EndpointCard()
    image: ImageRule = ImageRule()
    parameters: dict[str, Json] = msgspec.field(default_factory=dict)
    takes: tuple[Literal["temperature", "seed"], ...] = ()
    refuses: tuple[str, ...] = ()
    price: Price | None = None
    image_tokens: ImageTokens | None = None
    output_tokens: OutputTokens | None = None
    requests_per_minute: _Positive | None = None
    tokens_per_minute: _Positive | None = None
    retires: datetime.date | None = None
    successor: str | None = None
    max_connections: _Positive = 10
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    source: str = ""
    notes: str = ""

    @property
    def checkpoint(self) -> str:
        """Where the weights are that are loaded, an adapter's base first: a folder or an id on the hub."""
        if self.weights is not None:
            return self.weights.path
        if self.adapter is not None:
            return self.adapter.checkpoint or self.adapter.base
        return self.model

    @property
    def checkpoint_revision(self) -> str:
        """The revision of those weights, where they are on the hub."""
        return self.revision if self.adapter is None else self.adapter.revision

    @property
    def reads(self) -> frozenset[Context]:
        """What the prompt has a place for, of all that a model may be told besides instruction and screenshot."""
        texts = [text for text in (self.system, *(part.text for part in self.user)) if text]
        return frozenset(field for field in CONTEXT if any(f"{{{field}}}" in text for text in texts))

    @property
    def uses_history(self) -> bool:
        """Whether the prompt has a place for the history."""
        return "history" in self.reads

    @property
    def max_instruction_chars(self) -> int:
        """The longest instruction that is sent; a longer one can't be one click and is refused unasked.

        Half of the window that the card states for its server (``serving.flags``, ``--max-model-len``), at four
        characters a token: the other half belongs to the picture and the reply. Never more than
        ``MAX_INSTRUCTION_CHARS``.
        """
        flags = self.serving.flags
        stated = [after for flag, after in itertools.pairwise(flags) if flag == "--max-model-len"]
        stated += [flag.removeprefix("--max-model-len=") for flag in flags if flag.startswith("--max-model-len=")]
        windows = [int(text) for text in stated if text.isdecimal()]
        return min([MAX_INSTRUCTION_CHARS, *(window * 4 // 2 for window in windows)])

    @property
    def order(self) -> str:
        """The parts of the prompt in the order in which the model reads them, such as ``system, image, text``."""
        parts = ["image" if part.text is None else "text" for part in self.user]
        ends = (["system"] if self.system is not None else [], ["prefill"] if self.prefill is not None else [])
        return ", ".join([*ends[0], *parts, *ends[1]])

    @property
    def prompt_hash(self) -> str:
        """Eight hex digits over the exact prompt: system text, user parts and their order, and what else is put in."""
        extras: tuple[object, ...] = tuple(text for text in (self.prefill, self.no_history, self.strip_suffix) if text)
        if self.no_goal:
            extras = (*extras, ("no_goal", self.no_goal))
        return hashlib.sha256(msgspec.json.encode((self.system, self.user, *extras))).hexdigest()[:8]

    @property
    def prompt_label(self) -> str:
        """What a signature shows of the prompt."""
        return self.prompt_hash


class GrounderCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat model that answers with a place on the screen, and perhaps with any action on a desktop as well.

    ``writes`` is an answer as the model writes it, prefill included, with ``{x}`` and ``{y}`` (a box: ``{x1}``,
    ``{y1}``, ``{x2}``, ``{y2}``) for its numbers: what supervised training teaches. ``{x:.2f}`` has two decimals.
    """

    answer: AnswerRule
    action: ActionRule | None = None
    writes: str | None = None

"""What the card of a model that searches the web itself can say, as frozen typed records.

What a card says of the tokens that a request is billed for: how its vendor counts pictures, how long replies are.

The arithmetic is not here: these are the fields ``image_tokens`` and ``output_tokens`` of a card.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import re
import shlex
import typing
from typing import Annotated, Any, Literal

import msgspec

from grounding.geometry import Space
from grounding.records import Record

_Positive = Annotated[int, msgspec.Meta(ge=1)]


class OpenAiTiles(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="openai_tiles"):
    """OpenAI's older rule: scaled down into 2048 x 2048, then to a short side of 768, then counted in 512-pixel tiles.
    ``base`` tokens for the picture and ``per_tile`` for each tile that is begun. Nothing is ever scaled up.
    """

    base: _Positive
    per_tile: _Positive


class OpenAiPatches(
    Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="openai_patches"
):
    """OpenAI's newer rule: patches of 32 x 32 pixels, after scaling down, times ``multiplier``. ``max_patches`` and
    ``max_side_px`` are the limits that a picture is scaled down to; None where there is none.
    """

    multiplier: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    max_patches: _Positive | None = None
    max_side_px: _Positive | None = None


class AnthropicPatches(
    Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="anthropic_patches"
):
    """Anthropic's rule: one token for each patch of ``patch_px`` x ``patch_px`` pixels that is begun. The picture is
    first scaled down, its shape kept, until its longer side is at most ``max_side_px`` and it takes at most
    ``max_tokens`` patches. (The older formula, width x height / 750, is the same within five per cent.)
    """

    max_side_px: _Positive
    max_tokens: _Positive
    patch_px: _Positive = 28


class GeminiTiles(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="gemini_tiles"):
    """Google's rule for Gemini 2: ``per_tile`` for a picture with both sides up to 384, else for each tile. A tile is a
    square of 768 pixels after scaling; its side in the picture's own pixels is a matter of the shape.
    """

    per_tile: _Positive = 258


class FixedTokens(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="fixed"):
    """Every picture takes ``tokens`` tokens, whatever its size (Gemini 3: its media resolution decides)."""

    tokens: _Positive


class QwenGrid(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="qwen"):
    """Qwen-VL's rule: the picture is made whole multiples of ``factor`` within a number of pixels; one token a square.
    Plus ``extra`` tokens for the marks before and after the picture.
    """

    factor: _Positive
    min_pixels: _Positive
    max_pixels: _Positive
    extra: Annotated[int, msgspec.Meta(ge=0)] = 2


ImageTokens = OpenAiTiles | OpenAiPatches | AnthropicPatches | GeminiTiles | FixedTokens | QwenGrid
"""How a vendor counts (and bills) the tokens of a picture; in a card ``image_tokens: {rule: NAME, ...}``."""


class OutputTokens(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many tokens a reply is billed for, hidden reasoning included: for estimating before a run, never for costs.
    ``source`` says where the three figures come from.
    """

    low: _Positive
    expected: _Positive
    high: _Positive
    source: str


JsonScalar = str | int | float | bool | None
Json = JsonScalar | list[typing.Any] | dict[str, typing.Any]
_Dollars = Annotated[float, msgspec.Meta(ge=0)]

Family = Literal["qwen_vl", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "aria", "opencua", "hosted", "other"]
"""The architecture that a model was trained from: it decides the image tokens and how it can be served."""

Context = Literal["history", "goal", "steps_done", "step_id"]
"""What may change an answer besides the instruction and the screenshot: fields of a ``Query``.

Who reads ``step_id`` answers by the step, not by what is seen and said there: a file of answers that is played back.
"""

CONTEXT: tuple[Context, ...] = ("history", "goal", "steps_done")  # What of it a prompt may have a place for.
# Ten times the longest of the 4,990 plans released with RealWebAssist (1,467 characters).
MAX_INSTRUCTION_CHARS = 16_000
# Fields of the request that are not a card's to set: one reply, whole, to the card's own prompt.
RESERVED_PARAMETERS = ("model", "messages", "stream", "n")
# A place for a number in `writes`: which one, and its decimals where they are stated.
WRITTEN_NUMBER = re.compile(r"\{([xy][12]?)(?::\.(\d)f)?\}")
# What a card that extends another says for itself.
NOT_INHERITED = ("name", "title", "aliases", "published", "disagreements", "source", "verified", "notes")
PREFILL_PARAMETERS: dict[str, bool] = {"add_generation_prompt": False, "continue_final_message": True}
"""Fields of the request (vLLM) that make the model go on with the last message instead of answering it."""


class CardPart(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part of the user message: either a text template or the screenshot. Templates know ``{instruction}``,
    ``{history}``, ``{goal}`` (the task in words), ``{steps_done}`` (how many scored steps of the same instruction came
    before), ``{width}`` and ``{height}`` (of the image as the model sees it); all other braces are plain text.
    """

    text: str | None = None
    image: Literal["screenshot"] | None = None


Verified = Literal["run", "read", "second-hand"]
"""How far a card was held against its source: the authors' code was ``run`` beside it, or was only ``read`` (there may
be a text and no code); ``second-hand`` is what others than the authors say or send."""


class EndpointCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the model is served; ``base_url`` is what the ``openai`` package would be given. ``lists_models`` is false
    where ``GET /models`` can't be asked with the key that requests are sent with. ``interface``: chat completions, or a
    vendor's own: OpenAI's ``responses``, Anthropic's ``messages``. ``headers`` are what a vendor's own wants beside the
    key.
    """

    base_url: str | None = None
    key_variable: str | None = None
    lists_models: bool = True
    interface: Literal["chat", "responses", "messages"] = "chat"
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    how_to_serve: str = ""


class ScaleRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scaling in proportion, to an area of at least ``min_pixels`` and at most ``max_pixels``. ``sides``: what becomes
    of a side that is no whole number.
    """

    min_pixels: _Positive | None = None
    max_pixels: _Positive | None = None
    sides: Literal["round", "floor"]


class FitRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scaling down in proportion, as vendors do: to a longer side, and to so many squares of ``patch_px`` pixels."""

    max_side_px: _Positive
    max_patches: _Positive
    patch_px: _Positive


class ImageRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which size of the screenshot the model sees, and who makes it so. ``resize``: ``none`` sends the file as it is
    and the model's space is relative or in its pixels; ``client`` scales it here; ``server`` sends the file as it is
    and knows what the server's processor will make of it; ``auto`` sends it as it is where the server is seen to make
    this very size of it, and scales it here anywhere else. The model sees the same size either way, so that an ``auto``
    run may change its server without becoming another run. ``first`` is what the authors' own code does to the picture
    before the processor rounds its sides to multiples of ``factor``: two steps end in other sizes than one, which no
    server makes by itself. ``fit`` with ``client``, instead of the numbers of a processor: what a vendor would scale
    down is scaled here, so that its answer is in pixels of the picture that was sent. ``canvas`` with ``client``,
    instead of those numbers, is a width and a height: the screenshot is made as large as fits there (Lanczos) and laid
    on white in the upper left corner; what is relative is so to the canvas. ``send``: ``base64`` in the request, or
    ``file`` as a file:// URL for a server that reads the same disk.
    """

    resize: Literal["none", "client", "server", "auto"] = "none"
    first: ScaleRule | None = None
    fit: FitRule | None = None
    canvas: tuple[_Positive, _Positive] | None = None
    factor: _Positive | None = None
    min_pixels: _Positive | None = None
    max_pixels: _Positive | None = None
    send: Literal["base64", "file"] = "base64"

    @property
    def by_the_server(self) -> ImageRule:
        """The same where the server is known to make the card's sizes: what may be left to it is."""
        return msgspec.structs.replace(self, resize="server") if self.resize == "auto" else self


class AnswerRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to read a reply: the shape of the answer, the space of its numbers, which match counts. ``within`` is a
    regular expression with one group: only that part of the reply is read, and a reply without it holds no answer.
    ``pattern`` is a regular expression with two groups (point) or four (box), or several to be tried in turn; without
    one the usual bracketed forms are taken. ``refusal`` is a regular expression that marks a reply which declines to
    answer. ``whole_numbers`` is the space of an answer in whole numbers of which one is above 1, for a model that was
    trained on fractions (space ``rel_1``) and on a grid.
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
        return (self.pattern,) if isinstance(self.pattern, str) else self.pattern or ()


class ZoomRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a grounder looks again: after each answer but the last, a crop around it is shown in the screenshot's place.
    A crop has ``share`` of the width and the height of what was looked at, or the ``size`` in its pixels; never less
    than ``least`` pixels a side. At an edge it keeps its size (``shift``) or is cut off (``clip``). ``resize`` is the
    size at which it is shown. ``passes`` counts the looks, the first included. ``pixels``: a crop is of ``whole``
    pixels and an answer is placed by them; or its corners are fractions, by which an answer is placed, and the pixels
    cut are those that ``floor`` or ``round`` make of them. ``rounds``: the final point is moved into the screenshot and
    onto a whole ``pixel``, or a whole ``thousandth`` of its sides. ``unparsed``: where a later look has no answer the
    one before is ``kept``, or it ``counts`` as the step's. ``patches``: at first the screenshot is also shown in so
    many rows and columns. The nearest of their answers to that of the whole is taken where it is less than ``near_px``
    away; a patch without an answer stands for its middle.
    """

    passes: Annotated[int, msgspec.Meta(ge=2, le=5)] = 2
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    size: tuple[_Positive, _Positive] | None = None
    least: Annotated[int, msgspec.Meta(ge=0)] = 0
    resize: tuple[_Positive, _Positive] | None = None
    edge: Literal["shift", "clip"] = "shift"
    pixels: Literal["whole", "floor", "round"] = "whole"
    rounds: Literal["pixel", "thousandth"] | None = None
    unparsed: Literal["kept", "counts"] = "kept"
    patches: Annotated[int, msgspec.Meta(ge=2, le=4)] | None = None
    near_px: Annotated[float, msgspec.Meta(gt=0)] = 50.0
    source: str = ""


class ActionRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model is asked for an action on a desktop in its own words, and what the numbers of its reply mean. Without
    ``user`` the card's own prompt is sent as it stands. Memory and instruction go where ``{instruction}`` stands.
    ``space`` is that of all coordinates, but for replies in ShowUI's form, which is always ``rel_1``. ``scroll``: the
    amount of a scroll is in ``pixels``, or in ``notches`` of a wheel, of which only the direction can be compared with
    pixels. ``image`` and ``parameters`` are the card's own where they are left out.
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
    """How a model can be run here at all. ``vllm``: by the stock server as it is. ``vllm-flags``: by the stock server,
    only with the flags. ``in-process``: by a backend of this package, because its answer is not text. ``recorded``: not
    here; answers recorded elsewhere can be scored. ``reason`` says why it is not simply ``vllm``. ``flags`` are passed
    to the server one by one, never through a shell.
    """

    how: Literal["vllm", "vllm-flags", "in-process", "recorded"] = "vllm"
    reason: str = ""
    flags: tuple[str, ...] = ()


class AdapterRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank weights (LoRA, as PEFT stores them) on top of another model's: what `grounding train` leaves. ``base``
    is the id under which the base model's own card asks for it. ``checkpoint`` is where its weights were when the
    adapter was trained, a folder or an id on the hub, empty for ``base``; ``revision`` is the hub's. ``path`` is the
    adapter's folder, in the file relative to the card. ``sha256`` is of the adapter's files, ``base_sha256`` of the
    base's config.json and weights; ``rank`` is the largest of its layers'. What is left out is not checked.
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
    """A model behind an OpenAI-compatible chat endpoint. ``parameters`` go into the request as they stand; ``takes``
    names the command line's sampling options that the model accepts (others are refused with a message rather than sent
    and rejected), and ``refuses`` the fields of a request that it answers with an error. ``image_tokens`` and
    ``output_tokens`` are for estimating; ``requests_per_minute`` and ``tokens_per_minute`` are limits that the vendor
    keeps. ``retires`` is the first day on which the vendor's own endpoint no longer has the model, ``successor`` the
    card to use then. ``prefill`` is the beginning of the reply, which the model is made to continue (vLLM:
    ``continue_final_message``). ``no_history`` and ``no_goal`` stand where the history or the goal would, at a step
    without one. ``strip_suffix`` is an ending that is dropped, once, from the instruction. ``adapter`` and ``weights``
    belong to a tuned model, of which ``model`` is only the name at its server: low-rank weights on another model's, or
    weights of its own in a folder. ``extends`` is the file, in the same folder, of another card, from which comes every
    field that this one leaves out but those of ``NOT_INHERITED``: one model asked in other words. ``tools`` are offered
    with every request, in the interface's own form, and a call of one is part of the reply. Where ``{width}`` or
    ``{height}`` is the whole of a value, it is that number of the picture as the model sees it. ``published`` are
    figures that others state; ``disagreements`` is where sources contradict each other; ``verified`` is how far the
    card was held against its ``source``. None of them changes what is asked. A file with ``sizes`` holds several cards:
    the fields of each in that list, and for all of them those beside it. The first is the one that the file itself
    stands for.
    """

    name: str
    title: str
    model: str
    user: tuple[CardPart, ...]
    extends: str = ""
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
    tools: tuple[dict[str, Json], ...] = ()
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
    verified: Verified | None = None
    notes: str = ""

    def __reduce__(self) -> Any:
        # A field is left out of JSON whose value is the very object of the default, and a card's identity hangs on
        # that: what makes every object anew would change it.
        return _unpickled, (type(self), msgspec.json.encode(self))

    @property
    def how_to_serve(self) -> str:
        if self.endpoint.how_to_serve or not self.serving.how.startswith("vllm") or self.endpoint.base_url:
            return self.endpoint.how_to_serve
        from grounding.cards.identity import hub_folder  # Which knows the cards.

        folder = hub_folder(self.model)
        served = [folder.local, "--served-model-name", self.model] if folder else [self.model]
        command = shlex.join(["vllm", "serve", *served, "--port", "8000", *self.serving.flags])
        fetched = f"{folder.download} && " if folder else ""
        return f"{fetched}{command}; then add --base-url http://127.0.0.1:8000/v1"

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
        return self.revision if self.adapter is None else self.adapter.revision

    @property
    def reads(self) -> frozenset[Context]:
        """What the prompt has a place for, of all that a model may be told besides instruction and screenshot."""
        texts = [text for text in (self.system, *(part.text for part in self.user)) if text]
        return frozenset(field for field in CONTEXT if any(f"{{{field}}}" in text for text in texts))

    @property
    def uses_history(self) -> bool:
        return "history" in self.reads

    @property
    def max_instruction_chars(self) -> int:
        """The longest instruction that is sent; a longer one can't be one click and is refused unasked. Half of the
        window that the card states for its server (``serving.flags``, ``--max-model-len``), at four characters a token:
        the other half belongs to the picture and the reply. Never more than ``MAX_INSTRUCTION_CHARS``.
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
        return self.prompt_hash


def _unpickled(kind: type[ChatCard], content: bytes) -> ChatCard:
    return msgspec.json.decode(content, type=kind)


class GrounderCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat model that answers with a place on the screen, and perhaps with any action on a desktop as well.
    ``writes`` is an answer as the model writes it, prefill included, with ``{x}`` and ``{y}`` (a box: ``{x1}``,
    ``{y1}``, ``{x2}``, ``{y2}``) for its numbers: what supervised training teaches. ``{x:.2f}`` has two decimals.
    ``zoom`` is what ``--zoom`` means for it: a recipe of ``models/zoom.yaml`` by its name, or one of its own.
    """

    answer: AnswerRule
    zoom: str | ZoomRule | None = None
    action: ActionRule | None = None
    writes: str | None = None


class PlanRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the plan is taken out of a reply; by default the whole reply is the plan. ``within`` is a regular expression
    with one group: the plan is the last place that it matches, and a reply without one holds no plan unless all of it
    is a single line. ``drop_thinking`` leaves out ``<think>`` blocks first. ``covers``: the plan is for one ``step``,
    or a numbered list for all steps of the ``instruction`` (``--plan-ahead``).
    """

    within: str | None = None
    drop_thinking: bool = False
    covers: Literal["step", "instruction"] = "step"


class PromptCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A planner's prompt with a name and a version: one file in ``models/prompts/planners``. The fields are those of a
    card; ``version`` goes up whenever the wording changes.
    """

    name: str
    version: _Positive
    title: str
    user: tuple[CardPart, ...]
    system: str | None = None
    no_history: str = ""
    no_goal: str = ""
    plan: PlanRule = PlanRule()
    source: str = ""


class PlannerCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat model that rewrites the user's words. Its prompt is its own (``user``), or the named one that is put in
    when the planner is made: ``prompt`` then says which, as ``NAME.VERSION``, and ``plan`` how the plan is taken out of
    a reply.
    """

    user: tuple[CardPart, ...] = ()
    prompt: str = ""
    plan: PlanRule = PlanRule()

    @property
    def prompt_hash(self) -> str:
        prompt = super().prompt_hash
        if self.plan == PlanRule():
            return prompt
        return hashlib.sha256(msgspec.json.encode((prompt, self.plan))).hexdigest()[:8]

    @property
    def prompt_label(self) -> str:
        """Name, version and hash of the prompt; a prompt of the card's own is its hash alone."""
        return f"{self.prompt}@{self.prompt_hash}" if self.prompt else self.prompt_hash

    def with_prompt(self, prompt: PromptCard) -> PlannerCard:
        return msgspec.structs.replace(
            self,
            system=prompt.system,
            user=prompt.user,
            no_history=prompt.no_history,
            no_goal=prompt.no_goal,
            plan=prompt.plan,
            prompt=f"{prompt.name}.{prompt.version}",
        )


SearchInterface = Literal["openai", "anthropic", "gemini", "perplexity-agent"]
"""``openai``: Responses. ``anthropic``: Messages. ``gemini``: generateContent. ``perplexity-agent``: its Agent API."""


class SearchFee(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars beside the tokens, for each search or for each request that searched; the day is the price's."""

    usd: Annotated[float, msgspec.Meta(ge=0)]
    per: Literal["search", "request"]


class SearchCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that searches the web through its vendor's own tool, behind its vendor's own interface. ``tool`` holds
    the settings of that tool, in the vendor's words. ``reply``: the products come in the form that a ``schema`` in the
    request enforces, or as JSON that the prompt asks for in ``words``, where the vendor does not give both a schema and
    citations. ``fee`` is left out where the vendor's replies say what they cost.
    """

    interface: SearchInterface
    user: tuple[CardPart, ...] = ()
    tool: dict[str, Json] = msgspec.field(default_factory=dict)
    reply: Literal["schema", "words"] = "schema"
    fee: SearchFee | None = None

"""What a grounder is trained on and how: the recipe, the examples, and what a stage's folder says of itself."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grounding.card_schema import GrounderCard
from grounding.history import HistoryScope
from grounding.records import Query, Record, Step
from grounding.training.records import LoraRule, Method, Optimisation, Precision, Saving

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_NonNegative = Annotated[float, msgspec.Meta(ge=0)]
_AboveZero = Annotated[float, msgspec.Meta(gt=0)]
_Part = Annotated[float, msgspec.Meta(gt=0, le=1)]

RewardKind = Literal["hit", "format", "distance"]
"""``hit``: 1 where the click is right by the toolkit's own scoring, else 0. ``format``: 1 where the reply names a place
in the card's form, else 0. ``distance``: 1 inside the gold region, falling to 0 with the distance from it."""

HistoryForm = Literal["before", "card"]
"""``before``: where the card has no place for the history, it is the first part of the user's message, before
screenshot and instruction (RealWebAssist, section 4.1, "Finetuning"). ``card``: none is told there."""


class RewardTerm(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One term of the reward, from 0 to 1, and what it weighs in the sum.

    ``reach`` is the distance at which ``distance`` has fallen to 0, as a share of the screenshot's diagonal.
    """

    kind: RewardKind
    weight: _AboveZero = 1.0
    reach: _Part = 0.25


class SftRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Supervised tuning on the gold answer: the centre of a gold shape, written as the card's model writes it."""

    optimisation: Optimisation = Optimisation(learning_rate=1e-5)


class GrpoRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Group-relative policy optimisation (DeepSeekMath, arXiv 2402.03300): several replies a prompt, graded by a rule.

    ``generations`` is the number of replies to one prompt that are compared with each other, ``beta`` the weight of
    the KL divergence from the model at the start of the stage, ``epsilon`` how far the ratio of probabilities may go
    from 1 before it is clipped (``epsilon_high`` for the upper side, where it is another), ``iterations`` how often
    each batch of replies is learned from. ``loss`` and ``scale_rewards`` are TRL's names. Without ``max_new_tokens``
    it is the card's. ``optimisation.batch`` counts replies, not prompts; ``generate_at_once`` is how many replies one
    device writes in one go, None for all of a step. ``multi_box``: a click in any of a step's gold shapes is right, as
    in the evaluation; otherwise only one in the first of them. ``use_vllm``: ``auto`` takes vLLM where it is installed
    and a GPU is there, ``server`` one that runs already at ``vllm_server`` (a ``vllm serve`` as TRL's documentation
    asks for it), which gets the tuned weights after every step.
    The KL divergence can only be measured where ``beta`` is above 0.
    """

    optimisation: Optimisation = Optimisation(learning_rate=1e-6)
    generations: Annotated[int, msgspec.Meta(ge=2)] = 8
    temperature: _AboveZero = 1.0
    top_p: _Part = 1.0
    top_k: _Count = 0
    max_new_tokens: _Positive | None = None
    beta: _NonNegative = 0.0
    epsilon: _AboveZero = 0.2
    epsilon_high: _AboveZero | None = None
    iterations: _Positive = 1
    loss: Literal["grpo", "bnpo", "dr_grpo", "dapo"] = "grpo"
    scale_rewards: Literal["group", "batch", "none"] = "group"
    mask_truncated: bool = False
    generate_at_once: _Positive | None = None
    rewards: tuple[RewardTerm, ...] = (RewardTerm(kind="hit"),)
    multi_box: bool = True
    use_vllm: Literal["auto", "never", "colocate", "server"] = "auto"
    vllm_server: str = ""
    vllm_memory: _Part = 0.3
    vllm_tensor_parallel: _Positive = 1


class HeldOutRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often the loss or reward on held-out examples is measured, on how many of them, in what batches.

    Nothing is chosen by it: training ends where the recipe says, whatever the held-out examples would have advised.
    ``generations`` is the number of replies to a held-out prompt in a stage of GRPO.
    """

    every_steps: _Positive = 100
    examples: _Positive = 64
    batch: _Positive = 4
    generations: _Positive = 4


class GrounderRecipe(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that decides how a grounder is tuned, besides its card, its weights and the data.

    ``lora`` None tunes the weights themselves; ``vision`` then says whether those of the vision tower too (for adapters
    ``lora.vision`` does). A stage whose rule is None is left out; SFT comes before GRPO and GRPO goes on from it.
    ``history`` is how many earlier steps the model is told (RealWebAssist tells ten), within ``history_scope``; 0
    leaves the card's prompt exactly as it is. ``sample_every_steps``: how often what the model writes is kept in a
    stage of GRPO. ``source`` says where the figures come from.
    """

    name: str
    source: str = ""
    notes: str = ""
    lora: LoraRule | None = LoraRule()
    vision: bool = False
    precision: Precision = Precision()
    saving: Saving = Saving()
    history: _Count = 10
    history_scope: HistoryScope = "session"
    history_form: HistoryForm = "before"
    sample_every_steps: _Positive = 10
    sft: SftRule | None = None
    grpo: GrpoRule | None = None
    held_out: HeldOutRule | None = None


class GrounderExample(Record, frozen=True, kw_only=True):
    """One step to learn from: what the model is asked, and the step that says where the click is right."""

    step: Step
    query: Query


class Counted(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many steps became examples, and why the others did not.

    ``no_click`` steps are told as history only, ``unheard`` ones have no words, ``too_long`` ones are never asked,
    ``absent`` ones have no place on the screen and the card no way to say so, of ``unreadable`` ones the model refuses
    the screenshot's shape. ``with_history`` examples are told at least one earlier step. ``unreachable`` examples have
    gold shapes so small that no answer in the numbers that the card's model writes is a hit, or no shape at all
    (``absent`` where the card can say so): SFT leaves them out, GRPO keeps them.
    """

    examples: int
    with_history: int
    no_click: int = 0
    unheard: int = 0
    too_long: int = 0
    absent: int = 0
    unreadable: int = 0
    unreachable: int = 0


class Prepared(Record, frozen=True, kw_only=True):
    """The examples of one side of a split, in session order, and the count."""

    examples: tuple[GrounderExample, ...]
    counted: Counted


class GrounderStage(Record, frozen=True, kw_only=True):
    """What a stage's folder (``grounder.json``) says about the training, beside ``examples.jsonl``.

    ``card`` is the card as it is trained, with a place for the history. ``model`` is the folder of the checkpoint that
    is tuned; ``adapter`` the folder of the adapter to go on from, "" for a fresh one. ``sft`` or ``grpo`` is the rule
    of the stage.
    """

    name: str
    method: Method
    card: GrounderCard
    model: str
    adapter: str = ""
    lora: LoraRule | None = None
    vision: bool = False
    precision: Precision = Precision()
    seed: int = 0
    sft: SftRule | None = None
    grpo: GrpoRule | None = None
    held_out: HeldOutRule | None = None

"""Recipes of PUMA, and what passes between its steps: examples, candidates, pairs, figures."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grounding.records import Failure, Record
from grounding.training.records import LoraRule, Optimisation, Precision, Saving
from grounding.webagents.personalwab.records import TaskType
from grounding.webagents.personalwab.verdicts import ShopRule

Variant = Literal["full", "no-memory", "no-sft", "no-dpo"]
"""The rows of the paper's table 5: everything, without memory, without the SFT of parameters, without DPO."""

ExampleKind = Literal["function", "parameter"]
SearchLabels = Literal["words", "model"]
RecommendLabels = Literal["memory", "history"]

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_PositiveFloat = Annotated[float, msgspec.Meta(gt=0)]
_Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class MemoryRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of the past is told: the ``length`` behaviours most like the instruction, cut at ``tokens`` tokens.

    Each entry of ``tokens`` makes a model of its own.
    """

    tokens: Annotated[tuple[_Positive, ...], msgspec.Meta(min_length=1)] = (768,)
    length: _Positive = 100


class LabelRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The heuristic parameters that the SFT learns (paper, section 5.2).

    ``search``: queries written by a chat model, or of the instruction's and the memory's own words. ``recommend``: the
    most recent products of the target's category in the memory that the model is told (paper), or in the user's whole
    history (release); at most ``most`` of them, the latest last. ``fallback``: what stands where there is none: the
    target itself (release), or no example at all.
    """

    search: SearchLabels = "words"
    recommend: RecommendLabels = "memory"
    most: _Positive = 30
    fallback: Literal["target", "drop"] = "target"


class SftStageRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Supervised tuning on function and parameter examples together. ``max_tokens`` cuts an example's end."""

    optimisation: Optimisation
    max_tokens: _Positive = 1280


class CandidateRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How parameters are drawn, and by which reading they are scored.

    ``beam-sample``: sampling within a beam search, as the release does; ``sample``: independent draws; ``beam``: a
    beam search without chance. ``count`` candidates come back of each task, of ``beams`` beams. ``batch`` is tasks at a
    time, each with all its beams. ``top_k`` likeliest tokens are drawn from, 0 from all.
    ``with_label``: the heuristic label is a candidate too, scored like the others; for models too weak to write
    a good parameter themselves.
    """

    method: Literal["beam-sample", "sample", "beam"] = "beam-sample"
    count: Annotated[int, msgspec.Meta(ge=2)] = 10
    beams: _Positive = 10
    temperature: _PositiveFloat = 1.5
    top_k: Annotated[int, msgspec.Meta(ge=0)] = 50
    max_new_tokens: _Positive = 256
    batch: _Positive = 4
    scoring: ShopRule = "paper"
    with_label: bool = False


class DpoStageRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Preference tuning. ``beta`` as in equation 4; ``max_tokens`` is prompt and parameter together.

    A prompt of more than ``prompt_tokens`` loses the last entries of its memory; the release cut off its beginning.
    ``least_gap`` is how much better the best candidate must be than the worst; 0 drops equal ones only.
    """

    optimisation: Optimisation
    beta: _PositiveFloat = 0.1
    max_tokens: _Positive = 1024
    prompt_tokens: _Positive = 768
    least_gap: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class PumaRecipe(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that says how a run of PUMA trains. ``source`` says in words where the values are from.

    ``variants`` are trained one after the other, each at every length of memory; what two of them have in common is
    trained once. ``held_out_users`` is the share of the training users that is kept aside: none of their instructions
    is trained on, and the preference accuracy is measured on their pairs. ``output``: the adapter with its base model
    merged, or the adapter beside the merged base.
    """

    name: str
    source: str
    sft: SftStageRule
    dpo: DpoStageRule
    lora: LoraRule | None = LoraRule()
    precision: Precision = Precision()
    saving: Saving = Saving()
    memory: MemoryRule = MemoryRule()
    labels: LabelRule = LabelRule()
    candidates: CandidateRule = CandidateRule()
    variants: Annotated[tuple[Variant, ...], msgspec.Meta(min_length=1)] = ("full",)
    held_out_users: _Share = 0.1
    output: Literal["merged", "adapter"] = "merged"
    held_out_every_steps: _Positive | None = None


class SftExample(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the model is to write after a prompt. ``task`` is the id of the task that it is made of."""

    task: str
    user: str
    kind: ExampleKind
    type: TaskType
    prompt: str
    completion: str


class PreferencePair(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Two parameters for one prompt, the better and the worse, with what the web's answer to each is worth."""

    task: str
    user: str
    type: TaskType
    prompt: str
    chosen: str
    rejected: str
    chosen_score: float
    rejected_score: float


class Candidate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One parameter and what it is worth; ``times`` is how often it was drawn."""

    text: str
    score: float
    times: int = 1


class TaskCandidates(Record, frozen=True, kw_only=True):
    """The different candidates of one task, in the order in which they were first drawn. A line of candidates.jsonl."""

    task: str
    key: str
    candidates: tuple[Candidate, ...] = ()
    failure: Failure | None = None

    @property
    def step_id(self) -> str:
        """The name by which a journal knows it."""
        return self.task


class PairCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What became of the tasks' candidates on the way to pairs.

    ``drawn`` candidates in all, of which ``repeated`` were the same as an earlier one of their task. ``single``: tasks
    with only one different candidate; ``equal``: tasks whose best and worst are worth the same; neither makes a pair.
    ``too_long``: pairs that leave no room for the parameter.
    """

    tasks: int
    drawn: int
    repeated: int
    single: int
    equal: int
    too_long: int
    pairs: int


class StageModel(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the builder of a stage's trainer reads beside the examples: the model to begin with, and how it is tuned."""

    base: str
    lora: LoraRule | None
    precision: Precision
    max_tokens: int
    beta: float | None = None


class PairLikelihood(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The logarithms of a pair's probabilities under one model, and how many tokens each text has."""

    task: str
    type: TaskType
    chosen: float
    rejected: float
    chosen_tokens: int
    rejected_tokens: int


class Preference(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How often the better text of a held-out pair is the likelier one. None where there is no pair.

    ``whole`` compares the texts' probabilities, ``per_token`` their means over tokens, which do not favour the shorter.
    ``reward`` is DPO's own: by how much the model raised the better text against the reference more than the worse
    (ties count as half); None before DPO.
    """

    pairs: int
    whole: float | None
    per_token: float | None
    reward: float | None = None


class PreferenceChange(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``preference.json`` of a DPO stage: the held-out pairs under the model before and after it."""

    before: Preference
    after: Preference
    pairs_before: tuple[PairLikelihood, ...]
    pairs_after: tuple[PairLikelihood, ...]

"""Recipes: one YAML file says everything about how a run trains. Files and ``--set`` in, frozen typed records out."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import yaml

from grounding.benchmarks.personalwab.scoring import ShopRule
from grounding.cards import allowed_at
from grounding.cards.places import models_dir
from grounding.data.history import HistoryScope
from grounding.errors import UserError
from grounding.records import Record

RecipeT = TypeVar("RecipeT", bound=Record)

Method = Literal["sft", "grpo", "dpo"]
"""Supervised fine-tuning, group-relative policy optimisation, direct preference optimisation."""

Positive = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
AboveZero = Annotated[float, msgspec.Meta(gt=0)]


class LoraRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank adapters: which linear layers get one, and how wide.

    ``targets`` are the ends of module names (``q_proj``), or ``all-linear``: of a grounder those of the language model,
    since vLLM serves no others. ``also_train`` are modules that are trained whole and stored beside the adapters
    (PEFT's ``modules_to_save``).
    """

    rank: Positive = 16
    alpha: Positive = 32
    dropout: Share = 0.0
    targets: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    also_train: tuple[str, ...] = ()


class Optimisation(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How weights are moved. ``max_steps`` wins over ``epochs``; both count steps of the optimiser. ``batch`` is
    examples (of GRPO: completions) per device in one pass, ``accumulation`` the passes per step.
    """

    learning_rate: AboveZero
    epochs: AboveZero = 1.0
    max_steps: Positive | None = None
    batch: Positive = 1
    accumulation: Positive = 1
    warmup: Share = 0.0
    schedule: Literal["linear", "cosine", "constant", "constant_with_warmup"] = "linear"
    weight_decay: NonNegative = 0.0
    max_gradient_norm: NonNegative = 1.0
    optimiser: str = "adamw_torch"


class Saving(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """After how many steps a checkpoint is written, and how many of the last are kept."""

    every_steps: Positive | None = 100
    keep: Positive = 2


class Precision(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In what numbers frozen weights lie, and whether activations are computed again instead of kept."""

    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    gradient_checkpointing: bool = True


class HeldOutRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often the loss or reward on held-out examples is measured, on how many of them, in what batches.

    Nothing is chosen by it: training ends where the recipe says, whatever the held-out examples would have advised.
    ``generations`` is the number of replies to a held-out prompt in a stage of GRPO.
    """

    every_steps: Positive = 100
    examples: Positive = 64
    batch: Positive = 4
    generations: Positive = 4


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every recipe says, and each of its stages hands on. ``lora`` None tunes the weights themselves."""

    lora: LoraRule | None = LoraRule()
    precision: Precision = Precision()
    saving: Saving = Saving()
    held_out: HeldOutRule | None = None


class SftRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Supervised tuning on the gold answer: the centre of a gold shape, written as the card's model writes it."""

    optimisation: Optimisation = Optimisation(learning_rate=1e-5)


class GrpoRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Group-relative policy optimisation (DeepSeekMath, arXiv 2402.03300); a reply that hits is worth 1, else 0.

    ``generations`` is the number of replies to one prompt that are compared with each other. ``optimisation.batch``
    counts replies, not prompts; ``generate_at_once`` is how many replies one device writes in one go, None for all of a
    step. Without ``max_new_tokens`` it is the card's. ``trl`` goes to TRL's ``GRPOConfig`` as it is and wins:
    ``temperature``, ``beta``, ``epsilon``, ``loss_type``, ``use_vllm`` with ``vllm_mode``, and all the others. The KL
    divergence can only be measured where ``beta`` is above 0.
    """

    optimisation: Optimisation = Optimisation(learning_rate=1e-6)
    generations: Annotated[int, msgspec.Meta(ge=2)] = 8
    max_new_tokens: Positive | None = None
    generate_at_once: Positive | None = None
    trl: dict[str, Any] = msgspec.field(default_factory=dict)


class GrounderRecipe(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that decides how a grounder is tuned, besides its card, its weights and the data.

    ``vision`` tunes the vision tower too where weights are tuned whole. A stage whose rule is None is left out; SFT
    comes before GRPO and GRPO goes on from it. ``history`` is how many earlier steps the model is told (RealWebAssist
    tells ten, section 4.1, "Finetuning"), within ``history_scope``: by a card without a place for them before
    screenshot and instruction; 0 leaves the card's prompt exactly as it is. ``source`` says where the values are from.
    """

    name: str
    source: str = ""
    notes: str = ""
    vision: bool = False
    history: Count = 10
    history_scope: HistoryScope = "session"
    sft: SftRule | None = None
    grpo: GrpoRule | None = None


def stage_methods(recipe: GrounderRecipe) -> tuple[Method, ...]:
    """The stages of a recipe in their order: SFT, then GRPO. Raises UserError: it has none, or contradicts itself."""
    methods: list[Method] = ["sft"] if recipe.sft is not None else []
    methods += ["grpo"] if recipe.grpo is not None else []
    if not methods:
        raise UserError(f"recipe {recipe.name}: neither sft nor grpo is there, so nothing would be trained")
    if recipe.lora is not None and recipe.vision:
        raise UserError("field vision: is for tuning whole weights (lora: null); vLLM serves no adapters of vision")
    return tuple(methods)


def check_batches(rule: GrpoRule, *, prompts: int, processes: int) -> None:
    """Make sure that replies fall into whole groups, and that there are prompts enough for one round of them. Raises
    UserError: a batch would hold part of a prompt's replies.
    """
    batch, of_a_step = rule.optimisation.batch, rule.optimisation.batch * rule.optimisation.accumulation
    at_once = rule.generate_at_once or of_a_step
    taken, rest = divmod(at_once * processes, rule.generations)
    if rest or at_once % batch or max(at_once, of_a_step) % min(at_once, of_a_step) or prompts < taken:
        raise UserError(
            f"field grpo.generations: {rule.generations} replies to each of {prompts} prompts, {at_once} at once "
            f"(grpo.generate_at_once) on each of {processes} devices, {of_a_step} a step (batch x accumulation) of "
            f"{batch} a pass: replies written at once must make whole prompts, of which there are enough, and whole "
            "passes, and fit a step"
        )


class MemoryRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of the past is told: the ``length`` behaviours most like the instruction, cut at ``tokens`` tokens.
    Without ``told`` the model is told nothing of it (the paper's row without memory); labels are made of it as before.
    """

    tokens: Positive = 768
    length: Positive = 100
    told: bool = True


class LabelRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The heuristic parameters that the SFT learns (paper, section 5.2).

    A search's is the query of a chat model that the user names, or the instruction's and the memory's own words. A
    recommendation's are the most recent products of the target's category in the memory that the model is told (paper)
    or in the user's whole ``history`` (release); at most ``most`` of them, the latest last, and the target itself where
    there is none (release).
    """

    recommend: Literal["memory", "history"] = "memory"
    most: Positive = 30


class SftStageRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Supervised tuning on function and parameter examples together, or on one kind alone (``train_on``).

    ``max_tokens`` cuts an example's end, and with it the token that ends a label: ``most_cut`` is the share of cut
    examples above which nothing is trained.
    """

    optimisation: Optimisation
    train_on: Literal["function_param", "function", "param"] = "function_param"
    max_tokens: Positive = 1280
    most_cut: Share = 0.02


class CandidateRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How parameters are drawn, and by which reading they are scored.

    Sampling within a beam search, as the release does; with one of ``beams``, independent draws. ``count`` candidates
    come back of each task, ``batch`` is tasks at a time, each with all its beams. ``top_k`` likeliest tokens are drawn
    from, 0 from all.
    ``with_label``: the heuristic label is a candidate too, scored like the others; for models too weak to write
    a good parameter themselves.
    """

    count: Annotated[int, msgspec.Meta(ge=2)] = 10
    beams: Positive = 10
    temperature: AboveZero = 1.5
    top_k: Count = 50
    max_new_tokens: Positive = 256
    batch: Positive = 4
    scoring: ShopRule = "paper"
    with_label: bool = False


class DpoStageRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Preference tuning. ``beta`` as in equation 4; ``max_tokens`` is prompt and parameter together. A prompt of more
    than ``prompt_tokens`` loses the last entries of its memory; the release cut off its beginning.
    """

    optimisation: Optimisation
    beta: AboveZero = 0.1
    max_tokens: Positive = 1024
    prompt_tokens: Positive = 768


class PumaRecipe(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that says how a run of PUMA trains. ``source`` says in words where the values are from.

    The rows of the paper's tables 5 and 6 are recipes of their own: another ``memory.tokens``, ``memory.told`` false,
    ``sft.train_on`` function (without SFT of parameters; even that row of the paper names the right function, 0.994),
    ``dpo`` None. ``held_out_users`` is the share of the training users that is kept aside: none of their instructions
    is trained on, and the preference accuracy is measured on their pairs, as ``held_out`` says.
    """

    name: str
    source: str
    sft: SftStageRule
    dpo: DpoStageRule | None
    held_out: HeldOutRule = HeldOutRule()
    memory: MemoryRule = MemoryRule()
    labels: LabelRule = LabelRule()
    candidates: CandidateRule = CandidateRule()
    held_out_users: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.1


def read_recipe(name: str, recipe_type: type[RecipeT], overrides: Sequence[str] = ()) -> tuple[RecipeT, str]:
    """Read a recipe of one type by the name of a bundled one (``grpo-gta1``) or by its path.

    ``overrides`` are changes such as ``grpo.optimisation.learning_rate=1e-5``; the value is YAML. ``lora=null`` clears
    a part, and a field of a part that the file leaves out makes that part.

    Returns the recipe, and the content of the run's ``recipe.yaml``, which can be given to ``--recipe`` again.

    Raises UserError: there is no such recipe, or a field or override is wrong; says which and what is allowed.
    """
    path = _path(name)
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--recipe {path}: can't be read: {error}") from error
    tree = _value_of(text, f"--recipe {path}")
    recipe = _checked(tree, recipe_type, f"--recipe {path}")
    for override in overrides:
        where = f"--set {override}"
        place, equals, value = override.partition("=")
        *through, last = place.strip().split(".")
        part = tree
        if not equals or not last:
            raise UserError(f"{where}: expected field=value, such as saving.every_steps=50")
        for field in through:
            if part.get(field) is None:
                part[field] = {}
            part = part[field]
            if not isinstance(part, dict):
                raise UserError(f"{where}: {field} has no fields")
        part[last] = _value_of(value, f"{where}: the value is")
        recipe = _checked(tree, recipe_type, where)
    if overrides:
        changed = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
        before = "\n".join(f"# {line}".rstrip() for line in text.splitlines())
        text = f"# {path.name}, changed by --set {' '.join(overrides)}\n{changed}\n# As it was:\n{before}\n"
    return recipe, text


def _path(name: str) -> Path:
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return path
    folder = models_dir() / "recipes"
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name in known:
        return folder / f"{name}.yaml"
    close = difflib.get_close_matches(name, known, 1)
    meant = f" Did you mean {close[0]}?" if close else ""
    raise UserError(f"--recipe {name}: neither a file nor a bundled recipe ({', '.join(known)}).{meant}")


def _value_of(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from error


def _checked(tree: Any, recipe_type: type[RecipeT], where: str) -> RecipeT:
    try:
        # Not strict, since YAML 1.1 reads 1e-5 as a word.
        return msgspec.convert(tree, recipe_type, strict=False)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `")
        fields = re.findall(r"[A-Za-z_]\w*", place.removeprefix("key` in `"))
        raise UserError(
            f"{where}: field {'.'.join(fields) or '(top level)'}: {text}.{allowed_at(recipe_type, fields)}"
        ) from error

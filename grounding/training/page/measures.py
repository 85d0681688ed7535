"""What is measured during training, and how a drawing of it is laid out."""

from __future__ import annotations

from grounding.records import Record


class Measure(Record, frozen=True, kw_only=True):
    """One figure of a trainer over its steps.

    ``field`` is one of ``MetricsLine``, or a name of its ``values``. ``low`` and ``high`` always lie on the axis;
    ``guide`` is a value that a line is drawn at, with ``guide_words``. ``spread`` is the field with the standard
    deviation of it. ``is_exact``: it is set and not measured, so that there is nothing to smooth.
    """

    field: str
    title: str
    words: str = ""
    low: float | None = None
    high: float | None = None
    guide: float | None = None
    guide_words: str = ""
    spread: str = ""
    is_exact: bool = False


MEASURES = (
    Measure(field="reward", title="Reward", spread="reward_sd", words="Mean over the completions of a step."),
    Measure(field="preference_accuracy", title="Preference accuracy", low=0, high=1, guide=0.5, guide_words="chance",
            words="Share of pairs whose chosen answer gained more than the other, against the model before the "
            "stage. A tie counts as wrong, as all do before the first step."),
    Measure(field="loss", title="Loss", words="What the optimiser lowers."),
    Measure(field="kl", title="KL divergence", low=0, words="From the model before the stage, in nats a token."),
    Measure(field="clipped_fraction", title="Clipped fraction", low=0,
            words="Share of tokens whose probability had moved too far to be followed."),
    Measure(field="completion_tokens", title="Completion length", words="Mean number of tokens of a completion."),
    Measure(field="gradient_norm", title="Gradient norm", low=0, words="Before it is clipped."),
    Measure(field="learning_rate", title="Learning rate", low=0, is_exact=True),
)  # fmt: skip
"""The figures that have a field of their own, in the order in which a page shows them."""

FIELDS = tuple(measure.field for measure in MEASURES)


_TRAINERS_OWN = {
    "rewards/margins": Measure(
        field="rewards/margins", title="Reward margin", guide=0.0, guide_words="none",
        words="By how much the chosen answer's reward is above the other's.",
    ),
    "mean_token_accuracy": Measure(
        field="mean_token_accuracy", title="Token accuracy", words="Share of tokens that were the likeliest.",
    ),
    "entropy": Measure(field="entropy", title="Entropy", words="Of the next token, in nats, mean over tokens."),
    "frac_reward_zero_std": Measure(
        field="frac_reward_zero_std", title="Groups without a difference", low=0, high=1,
        words="Share of prompts whose completions are all worth the same, which teach nothing.",
    ),
    "completions/clipped_ratio": Measure(
        field="completions/clipped_ratio", title="Completions cut off", low=0, high=1,
        words="Share of completions that had not ended at the most tokens they may have.",
    ),
}  # fmt: skip


def measure_of(field: str) -> Measure:
    """How a figure is drawn; one that the trainer alone names has nothing but its name.

    >>> measure_of("kl").title
    'KL divergence'
    >>> measure_of("rewards/hit/mean").title
    'Reward term: hit'
    >>> measure_of("logps/chosen").title
    'logps/chosen'
    """
    known = next((measure for measure in MEASURES if measure.field == field), None) or _TRAINERS_OWN.get(field)
    if known is not None:
        return known
    if is_reward_term(field):
        return Measure(field=field, title=f"Reward term: {field.removeprefix('rewards/').removesuffix('/mean')}")
    return Measure(field=field, title=field)


def is_reward_term(field: str) -> bool:
    """Whether a figure is the mean of one term of the reward, as TRL names it."""
    return field.startswith("rewards/") and field.endswith("/mean")


def rank(field: str) -> int:
    """Where a main figure stands on a page: terms of the reward after the reward, the others in their order."""
    if field in FIELDS:
        return 2 * FIELDS.index(field)
    return 2 * FIELDS.index("reward" if is_reward_term(field) else "preference_accuracy") + 1


def is_main(field: str) -> bool:
    """Whether a figure stands among the first of a page."""
    return field in FIELDS or is_reward_term(field) or field == "rewards/margins"

"""One line that says what a number is a number of: two runs with the same signature are comparable."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from grounding.cards import ChatCard, ImageRule
from grounding.data.release import data_name
from grounding.llm.chat import identity_hash
from grounding.run.folder import RunSettings
from grounding.scoring.metrics import SCORING
from grounding.scoring.scored import ClusterName


def image_rule_text(rule: ImageRule) -> str:
    """The image rule in a word: ``original``, or who resizes to which multiples within which pixel counts."""
    if rule.resize == "none":
        return "original"
    if rule.canvas is not None:
        return f"canvas:{rule.canvas[0]}x{rule.canvas[1]}"
    if rule.fit is not None:
        return f"fit:{rule.fit.max_side_px}/{rule.fit.max_patches}"
    first = rule.first
    before = f"{first.min_pixels or ''}-{first.max_pixels or ''}/{first.sides}>" if first is not None else ""
    return f"{rule.resize}:{before}{rule.factor}:{rule.min_pixels}-{rule.max_pixels}"


def _plain(text: str) -> str:
    """A text without what separates the parts of a signature."""
    return text.replace("|", "/")


def signature(
    asked: RunSettings,
    planner_card: ChatCard | None,
    grounder_card: ChatCard | None,
    clusters: ClusterName = "task",
    word_error_percent: float | None = None,
    departs: Sequence[str] = (),
) -> str:
    """The signature of a run, ``key:value`` pairs joined by bars.

    Everything that can change a score is in it; speed, addresses and file locations are not. ``clusters`` is what the
    intervals were drawn over, ``word_error_percent`` the word error rate of transcripts that are not the true ones;
    None where they are not made yet. ``departs`` says what shows that the data set is not the release.
    """
    cards = [card for card in (planner_card, grounder_card) if card is not None]
    parts = {
        "dataset": f"{data_name(asked.dataset, departs)}@{asked.fingerprint[:12]}",
        "planner": f"{asked.planner}@{identity_hash(asked.planner_identity)}{'/ahead' if asked.plan_ahead else ''}",
        "grounder": f"{asked.grounder}@{identity_hash(asked.grounder_identity)}",
        "prompt": "+".join(card.prompt_label for card in cards) or "none",
        "image": "+".join(image_rule_text(card.image) for card in cards) or "original",
        "history": f"{asked.history}/{asked.history_scope}" if asked.history else "0",
        "select": asked.select,
        "scoring": SCORING,
        "clusters": clusters,
        "seed": f"{asked.seed}",
        "version": asked.version,
    }
    if asked.epoch is not UNSET:
        parts["epoch"] = f"{asked.epoch}"
    told = asked.transcript
    if told is not UNSET:
        made_by = identity_hash("\n".join((told.recogniser, told.noise, told.source)))
        parts["transcript"] = f"{_plain(told.condition)}@{made_by}"
        rate = "unknown" if word_error_percent is None else f"{word_error_percent:.2f}%"
        parts["wer"] = f"{rate}/{told.normaliser}"
    return "|".join(f"{name}:{value}" for name, value in parts.items())

"""What the replies say about a card, in words: findings and their level. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grounding.coordinates import Space
from grounding.probe.closeness import alike, follows, much_better
from grounding.probe.fits import SPACES, Fit, Observation, Reading, fit_all, fit_of, read_in
from grounding.probe.measure import measure, scale_words
from grounding.records import Record

Level = Literal["ok", "warning", "broken"]
_ORDER: tuple[Level, ...] = ("ok", "warning", "broken")

WORDS: dict[Space, str] = {
    "original_px": "pixels of the screenshot",
    "sent_px": "pixels of the picture as sent",
    "resized_px": "pixels of the resized picture",
    "rel_1": "fractions from 0 to 1",
    "rel_999": "a grid of 0 to 999",
    "rel_1000": "a grid of 0 to 1000",
}
MOST_OUTSIDE = 0.01
"""The share of replies beyond the declared range from which on it is no slip of the model."""

MOST_UNREAD = 0.25
MIN_HITS = 0.5
MIN_JUDGED = 6
"""Fewer replies than this tell nothing about a space."""


class Finding(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing that was noticed. ``spaces`` are the known spaces that would explain the replies."""

    kind: Literal["errors", "unparsed", "range", "other_space", "other_scale", "no_space", "imprecise", "tokens"]
    level: Level
    text: str
    spaces: tuple[Space, ...] = ()


class Judged(Record, frozen=True, kw_only=True):
    """Every space's figures, and what they mean."""

    fits: tuple[Fit, ...]
    findings: tuple[Finding, ...]


def worst(findings: Sequence[Finding]) -> Level:
    """The level of the most serious finding."""
    return max((finding.level for finding in findings), key=_ORDER.index, default="ok")


def judge_replies(observations: Sequence[Observation], *, declared: Space) -> Judged:
    """Read replies under every space and say what is wrong with the declared one, if anything is."""
    fits = fit_all(observations, declared=declared)
    own = next(fit for fit in fits if fit.name == declared)
    findings = [*_unparsed(own, len(observations)), *_range(own, observations, declared)]
    if own.parsed < MIN_JUDGED:
        return Judged(fits=fits, findings=tuple(findings))
    readings = {space: read_in(space, observations, declared=declared) for space in SPACES}
    found = _other_space(fits, readings, observations, declared) or _other_scale(own, readings, observations, declared)
    if found is None and own.hits < MIN_HITS * own.parsed:
        found = _unexplained(own, readings[declared], observations, declared)
    return Judged(fits=fits, findings=(*findings, *([found] if found else [])))


def _unparsed(own: Fit, total: int) -> list[Finding]:
    unread = total - own.parsed
    if unread <= MOST_UNREAD * total:
        return []
    text = f"{unread} of {total} replies hold no answer in the form that the card reads"
    return [Finding(kind="unparsed", level="warning" if own.parsed else "broken", text=text)]


def _range(own: Fit, observations: Sequence[Observation], declared: Space) -> list[Finding]:
    outside = own.parsed - own.in_range
    if outside <= MOST_OUTSIDE * own.parsed:
        return []
    most_x = max(corner.x for seen in observations for corner in seen.corners)
    most_y = max(corner.y for seen in observations for corner in seen.corners)
    return [
        Finding(
            kind="range",
            level="warning",
            text=f"{outside} of {own.parsed} replies lie outside the card's range, {WORDS[declared]}: "
            f"the largest x is {most_x:g}, the largest y {most_y:g}",
        )
    ]


def _other_space(
    fits: Sequence[Fit], readings: dict[Space, Reading], observations: Sequence[Observation], declared: Space
) -> Finding | None:
    figures: dict[Space, Fit] = dict(zip(SPACES, fits, strict=True))
    own = readings[declared]
    better = [
        space
        for space in SPACES
        if not alike(readings[space], own, observations) and much_better(readings[space], own, observations)
    ]
    if not better:
        return None

    def goodness(space: Space) -> tuple[int, float]:
        median = figures[space].median_px
        return figures[space].hits, -median if median is not None else float("-inf")

    best = max(better, key=goodness)
    same = tuple(space for space in better if alike(readings[space], readings[best], observations))
    names = " or ".join(f"{WORDS[space]} ({space})" for space in same)
    alone = figures[declared]
    return Finding(
        kind="other_space",
        level="warning",
        text=f"the card says {WORDS[declared]} ({declared}), where {_fit_words(alone)}; read as {names}, "
        f"{_fit_words(figures[best])}",
        spaces=same,
    )


def _fit_words(fit: Fit) -> str:
    return f"{fit.hits} of {fit.parsed} replies hit and the median distance is {fit.median_px:g} px"


def _other_scale(
    own: Fit, readings: dict[Space, Reading], observations: Sequence[Observation], declared: Space
) -> Finding | None:
    measured = measure(observations)
    if alike(measured.reading, readings[declared], observations):
        return None
    if not much_better(measured.reading, readings[declared], observations):
        return None
    fit = fit_of("measured", measured.reading, observations, ranged=0)
    return Finding(
        kind="other_scale",
        level="warning",
        text=f"the card says {WORDS[declared]} ({declared}), where {own.hits} of {own.parsed} replies hit; "
        f"no known space explains them better, but {fit.hits} of the {fit.parsed} that show a scale fit "
        f"{scale_words(measured.scales)}",
    )


def _unexplained(own: Fit, reading: Reading, observations: Sequence[Observation], declared: Space) -> Finding:
    if follows(reading, observations):
        text = f"{_fit_words(own)}: the replies follow the targets in the card's space, only not precisely"
        return Finding(kind="imprecise", level="ok", text=text)
    text = f"{_fit_words(own)}: the replies fit neither {WORDS[declared]} ({declared}) nor any other known space"
    return Finding(kind="no_space", level="warning", text=text)

"""The lines that a stage keeps, read for a page: a run may be going on, and a line may be torn or damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import msgspec

from grounding.records import Record
from grounding.training.page.measures import FIELDS, MEASURES
from grounding.training.page.series import Series, finite
from grounding.training.records import MetricsKind

PACE = "seconds a step"
"""The name of the figure that is made of how long a stage had trained at each step."""

KINDS: tuple[MetricsKind, ...] = ("train", "held_out")

MOST_LINE_BYTES = 4 << 20
"""Longer lines are passed over; they are none that a trainer writes."""

LineT = TypeVar("LineT", bound=msgspec.Struct)

_Figure = float | None | msgspec.UnsetType


_OFTEN = 0.8
"""A figure that stands in so many of the lines of its kind is missing where it does not: it was no finite number."""


class _Line(msgspec.Struct):
    """A line of metrics in which what is not there is told from null, as JSON has what is no number."""

    step: int
    kind: MetricsKind = "train"
    loss: _Figure = msgspec.UNSET
    reward: _Figure = msgspec.UNSET
    reward_sd: _Figure = msgspec.UNSET
    kl: _Figure = msgspec.UNSET
    clipped_fraction: _Figure = msgspec.UNSET
    learning_rate: _Figure = msgspec.UNSET
    gradient_norm: _Figure = msgspec.UNSET
    completion_tokens: _Figure = msgspec.UNSET
    preference_accuracy: _Figure = msgspec.UNSET
    seconds: _Figure = msgspec.UNSET
    values: dict[str, float | None] = msgspec.field(default_factory=dict)


class Metrics(Record, frozen=True, kw_only=True):
    """All that a stage measured: for each figure its series, what is trained on first.

    ``damaged`` lines could not be read; ``repeated`` ones are at a step that a later line is at again, which counts.
    """

    figures: dict[str, tuple[Series, ...]]
    lines: int = 0
    damaged: int = 0
    repeated: int = 0


def lines_of(path: Path, line_type: type[LineT]) -> Iterator[LineT | None]:
    """The lines of a file in order, None for one that can't be read; nothing where there is no file.

    A last line without an end, which another process may be writing, is passed over.

    Raises:
        OSError: the file is there and can't be read.
    """
    decoder = msgspec.json.Decoder(line_type)
    for line in raw_lines(path):
        yield decoded(line, decoder)


def raw_lines(path: Path) -> Iterator[bytes]:
    """The whole lines of a file; nothing where there is no file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            if line.endswith(b"\n") and line.strip():
                yield line


def decoded(line: bytes, decoder: msgspec.json.Decoder[LineT]) -> LineT | None:
    """A line as its record; None where it is none."""
    if len(line) > MOST_LINE_BYTES:
        return None
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # Python's own writer says NaN and Infinity, which is no JSON.
        return msgspec.convert(json.loads(line), decoder.type)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None


def read_metrics(path: Path) -> Metrics:
    """Everything in a ``metrics.jsonl``; nothing where there is none.

    Raises:
        OSError: the file is there and can't be read.
    """
    rows: dict[MetricsKind, dict[int, _Line]] = {kind: {} for kind in KINDS}
    count = damaged = 0
    for line in lines_of(path, _Line):
        if line is None:
            damaged += 1
        else:
            count += 1
            rows[line.kind][line.step] = line
    ordered = {kind: [found[step] for step in sorted(found)] for kind, found in rows.items()}
    named = {name for found in ordered.values() for line in found for name in line.values}
    figures = {}
    for name in (*FIELDS, *sorted(named - {*FIELDS})):
        both = tuple(one for kind in KINDS if (one := _series(name, kind, ordered[kind])) is not None)
        if both:
            figures[name] = both
    paces = _paces(ordered["train"])
    if paces is not None:
        figures[PACE] = (paces,)
    return Metrics(
        figures=figures,
        lines=count,
        damaged=damaged,
        repeated=count - sum(len(found) for found in ordered.values()),
    )


def _paces(lines: list[_Line]) -> Series | None:
    """Seconds a step, from how many had passed at each; a break in the training is none of them."""
    steps, values = [], []
    for before, line in pairwise(lines):
        if isinstance(before.seconds, float) and isinstance(line.seconds, float) and line.seconds >= before.seconds:
            steps.append(line.step)
            values.append(finite((line.seconds - before.seconds) / (line.step - before.step)))
    return Series(kind="train", steps=tuple(steps), values=tuple(values)) if steps else None


_SPREADS: Mapping[str, str] = {measure.field: measure.spread for measure in MEASURES if measure.spread}


def _series(name: str, kind: MetricsKind, lines: list[_Line]) -> Series | None:
    found = [_figure(line, name) for line in lines]
    there = [at for at, value in enumerate(found) if not isinstance(value, msgspec.UnsetType)]
    if there and len(there) >= _OFTEN * (there[-1] - there[0] + 1):
        # The loop leaves out what is no finite number; between others of its name it is a gap.
        there = list(range(there[0], len(lines) if len(there) >= _OFTEN * (len(lines) - there[0]) else there[-1] + 1))
    spread_name = _SPREADS.get(name) or _spread_of_term(name)
    steps, values, spreads = [], list[float | None](), list[float | None]()
    for at in there:
        steps.append(lines[at].step)
        values.append(_known(found[at]))
        spreads.append(_known(_figure(lines[at], spread_name)) if spread_name else None)
    if not steps:
        return None
    known = any(spread is not None for spread in spreads)
    return Series(kind=kind, steps=tuple(steps), values=tuple(values), spreads=tuple(spreads) if known else ())


def _known(value: _Figure) -> float | None:
    return None if isinstance(value, msgspec.UnsetType) else finite(value)


def _spread_of_term(name: str) -> str:
    """TRL has the standard deviation of a term of the reward beside its mean."""
    return name.removesuffix("/mean") + "/std" if name.startswith("rewards/") and name.endswith("/mean") else ""


def _figure(line: _Line, name: str) -> _Figure:
    if name in line.values:
        return line.values[name]
    found: _Figure = getattr(line, name, msgspec.UNSET) if name in _OWN else msgspec.UNSET
    return found


_OWN = frozenset({*FIELDS, *_SPREADS.values()})

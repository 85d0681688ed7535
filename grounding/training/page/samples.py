"""What a model wrote during a stage, at a handful of its steps: a long file in, a few groups of generations out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from grounding.records import Point, Query, Record, Step
from grounding.regions import is_finite, is_hit
from grounding.training.page.axes import figure_text
from grounding.training.page.content import MOST_TEXT, Generation, SampleGroup, SampleSet
from grounding.training.page.pictures import Pictures
from grounding.training.page.reading import KINDS, decoded, raw_lines
from grounding.training.records import MetricsKind, SampleLine

STEPS = 6
"""At so many steps at most samples are shown: the first, the last, and some evenly between."""

EXAMPLES = 2
"""Of so many examples at a step, and of each so many generations:"""
GENERATIONS = 8


class _Head(msgspec.Struct):
    step: int
    example: str
    kind: MetricsKind = "train"


class _Example(msgspec.Struct):
    """An example of a grounder (a step of a data set), or of PUMA (a prompt with what should follow)."""

    step: Step | None = None
    query: Query | None = None
    task: str = ""
    prompt: str = ""
    completion: str = ""
    chosen: str = ""
    rejected: str = ""


class _ExampleStep(msgspec.Struct):
    id: str


class _ExampleHead(msgspec.Struct):
    step: _ExampleStep | None = None
    task: str = ""


class Picked(Record, frozen=True, kw_only=True):
    """Where the lines of one step and example begin in a file."""

    step: int
    example: str
    offsets: tuple[int, ...]


def sample_sets(folder: Path, pictures: Pictures) -> tuple[SampleSet, ...]:
    """The samples of a stage that a page shows, held-out examples first.

    Args:
        folder: The stage's folder, with ``samples.jsonl`` and the examples.
        pictures: Makes the screenshots.

    Raises:
        OSError: a file is there and can't be read.
    """
    path = folder / "samples.jsonl"
    places = _places(path)
    sets = []
    for kind in reversed(KINDS):
        found = places.get(kind)
        if not found:
            continue
        picked = pick(found)
        examples = _examples(folder, {one.example for one in picked})
        groups = tuple(_group(path, one, examples.get(one.example), pictures) for one in picked)
        lines = sum(len(offsets) for by_example in found.values() for offsets in by_example.values())
        sets.append(SampleSet(kind=kind, groups=groups, lines=lines, all_steps=len(found)))
    return tuple(sets)


_Places = dict[int, dict[str, list[int]]]


def _places(path: Path) -> dict[MetricsKind, _Places]:
    """For each kind and step the examples, and where their lines begin."""
    decoder = msgspec.json.Decoder(_Head)
    found: dict[MetricsKind, _Places] = {}
    offset = 0
    # Blank and torn lines count for the offset, too, so the file is read here line by line.
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return {}
    with file:
        for line in file:
            head = decoded(line, decoder) if line.endswith(b"\n") and line.strip() else None
            if head is not None:
                found.setdefault(head.kind, {}).setdefault(head.step, {}).setdefault(head.example, []).append(offset)
            offset += len(line)
    return found


def pick(found: _Places, steps: int = STEPS, examples: int = EXAMPLES) -> tuple[Picked, ...]:
    """A handful of steps, and at each a few examples: those that come back at most of these steps first.

    >>> [(one.step, one.example) for one in pick({1: {"a": [0]}, 2: {"b": [9]}, 3: {"a": [20]}}, steps=2, examples=1)]
    [(1, 'a'), (3, 'a')]
    """
    chosen = spread(sorted(found), steps)
    often = Counter(example for step in chosen for example in found[step])
    return tuple(
        Picked(step=step, example=example, offsets=tuple(found[step][example]))
        for step in chosen
        for example in sorted(found[step], key=lambda each: -often[each])[:examples]
    )


def spread(values: Sequence[int], most: int) -> tuple[int, ...]:
    """At most so many of the values: the first, the last, and some evenly between.

    >>> spread(range(100), 3)
    (0, 50, 99)
    """
    if len(values) <= most:
        return tuple(values)
    return tuple(values[round(at * (len(values) - 1) / (most - 1))] for at in range(most))


def _examples(folder: Path, wanted: set[str]) -> dict[str, _Example]:
    head, whole = msgspec.json.Decoder(_ExampleHead), msgspec.json.Decoder(_Example)
    found: dict[str, _Example] = {}
    for name in ("held_out.jsonl", "examples.jsonl"):
        for line in raw_lines(folder / name):
            if len(found) == len(wanted):
                return found
            named = decoded(line, head)
            if named is None:
                continue
            identifier = named.step.id if named.step is not None else named.task
            if identifier in wanted and identifier not in found:
                example = decoded(line, whole)
                if example is not None:
                    found[identifier] = example
    return found


def _group(path: Path, picked: Picked, example: _Example | None, pictures: Pictures) -> SampleGroup:
    lines = list(_read(path, picked.offsets[:GENERATIONS]))
    step = None if example is None else example.step
    region = None if step is None else step.region
    points = tuple(line.point for line in lines if line.point is not None)
    return SampleGroup(
        step=picked.step,
        example=cut(picked.example, 200),
        asked=cut(_asked(example)),
        generations=tuple(_generation(line, step) for line in lines),
        left_out=len(picked.offsets) - len(lines),
        size=None if step is None else step.screenshot.size,
        region=region,
        whole=None if step is None else pictures.whole(step.screenshot),
        close=None if step is None or region is None else pictures.close(step.screenshot, region, points),
        gold="" if example is None else cut(example.completion or example.chosen),
    )


def _read(path: Path, offsets: Iterable[int]) -> Iterable[SampleLine]:
    decoder = msgspec.json.Decoder(SampleLine)
    with path.open("rb") as file:
        for offset in offsets:
            file.seek(offset)
            line = decoded(file.readline(), decoder)
            if line is not None:
                yield line


def _asked(example: _Example | None) -> str:
    if example is None:
        return ""
    if example.query is not None:
        return example.query.instruction
    return example.step.instruction if example.step is not None else example.prompt


def _generation(line: SampleLine, step: Step | None) -> Generation:
    # A point that is none (NaN can't be written, but any number can be read) is neither drawn nor judged.
    point = line.point if line.point is not None and is_finite(line.point) else None
    right = None if step is None else _is_right(step, point)
    return Generation(
        text=cut(line.text),
        reward=figure_text(line.reward, 3) if line.reward is not None else "",
        advantage=figure_text(line.advantage, 3) if line.advantage is not None else "",
        terms=", ".join(f"{cut(name, 40)} {figure_text(value, 3)}" for name, value in list(line.rewards.items())[:8]),
        point=point,
        is_right=right,
    )


def _is_right(step: Step, point: Point | None) -> bool | None:
    if step.region is None or point is None:
        return None
    try:
        return is_hit(step.region, point)
    except ValueError:  # a damaged file: a polygon of two corners
        return None


def cut(text: str, most: int = MOST_TEXT) -> str:
    """A text with a bound, which says how much was left out.

    >>> cut("abcdef", 3)
    'abc … (3 more characters)'
    """
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"

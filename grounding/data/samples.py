"""Samples of a grounding set in, a data set out: what the loaders of all layouts have in common.

A sample is one instruction over one screenshot and the place that it means. Where no sample follows another, the steps
over one screenshot make up a task: they share the picture, so they are drawn together when intervals are estimated.
Their task labels are whole numbers, counted over the whole set, and say nothing to a model.

Releases of one data set differ in what the four numbers of a box mean: ScreenSpot has left, top, width and height in
pixels in the files of its authors and the two corners from 0 to 1 in copies on the hub. Read wrongly, boxes end before
they begin or lie outside their screenshot, and a point is scored against a place that nobody meant: that is refused.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

from grounding.data.fields import DatasetProblems, Four, NamedBox, Problem, check_inside, counted
from grounding.data.fingerprint import fingerprint
from grounding.data.images import ImageFault, ImageInfo, probe_images
from grounding.errors import UserError
from grounding.records import (
    Box,
    Dataset,
    GroupLabel,
    HistoryEntry,
    Record,
    Region,
    Screenshot,
    Session,
    Size,
    Step,
    TaskLabel,
)


class IdClash(Record, frozen=True, kw_only=True):
    id: str
    item: int
    earlier_item: int


def step_ids(participant: str, images: Sequence[str]) -> list[str]:
    """An id for every step of a session, from the paths of their screenshots in session order.

    The first step on ``images/42.png`` is ``3/42`` (participant 3), a second one on the same screenshot ``3/42#2``,
    whether or not the steps are scored. Saved replies of RealWebAssist's authors are keyed by participant and image
    number, too.
    """
    uses: Counter[str] = Counter()
    ids = []
    for image in images:
        uses[image] += 1
        first = f"{participant}/{PurePosixPath(image).stem}"
        ids.append(first if uses[image] == 1 else f"{first}#{uses[image]}")
    return ids


def id_clashes(ids: Sequence[str]) -> list[IdClash]:
    first: dict[str, int] = {}
    places = [(item, name, first.setdefault(name, item)) for item, name in enumerate(ids)]
    return [IdClash(id=name, item=item, earlier_item=earlier) for item, name, earlier in places if earlier != item]


def instruction_indices(tasks: Sequence[TaskLabel], instructions: Sequence[str]) -> list[int]:
    """For every step, the number of its instruction within the step's task, counted from 0.

    The release has no instruction ids, and repeats the text of an instruction on each of its steps (RealWebAssist,
    section 3.3): an instruction is a maximal run of equal text over the steps of one task, scored or not. Steps of
    other tasks in between do not end a run. Saying the same thing twice in a row counts once.
    """
    latest: dict[TaskLabel, tuple[int, str]] = {}
    indices = []
    for task, instruction in zip(tasks, instructions, strict=True):
        index, before = latest.get(task, (0, instruction))
        index += before != instruction
        latest[task] = index, instruction
        indices.append(index)
    return indices


# --- what the numbers of a box mean -------------------------------------------------------------------------------

Convention = Literal["xywh", "xyxy", "xywh_rel", "xyxy_rel"]

WORDS: dict[Convention, str] = {
    "xywh": "left, top, width, height in pixels (xywh)",
    "xyxy": "left, top, right, bottom in pixels (xyxy)",
    "xywh_rel": "left, top, width, height from 0 to 1 (xywh, relative)",
    "xyxy_rel": "left, top, right, bottom from 0 to 1 (xyxy, relative)",
}

# How far a sound box may hang over its screenshot, as a share of the picture's side: they are drawn by hand.
OVERHANG = 0.02
SUSPICIOUS = 0.1  # The share of boxes that do not fit from which on the convention is doubted instead of the boxes.


def to_box(numbers: Four, convention: Convention, size: Size) -> Box:
    """The box that the numbers mean, in pixels of the original screenshot, as they stand: nothing is mended.

    >>> to_box((10, 20, 30, 40), "xywh", Size(width=100, height=100))
    Box(left_px=10.0, top_px=20.0, right_px=40.0, bottom_px=60.0)
    """
    first, second, third, fourth = map(float, numbers)
    if convention.startswith("xywh"):
        third, fourth = first + third, second + fourth
    across, down = (size.width, size.height) if convention.endswith("_rel") else (1, 1)
    return Box(left_px=first * across, top_px=second * down, right_px=third * across, bottom_px=fourth * down)


def are_relative(numbers: object) -> bool:
    """Whether they are numbers from 0 to 1, so that they can be no pixels."""
    return isinstance(numbers, list) and all(isinstance(each, int | float) and 0 <= each <= 1 for each in numbers)


def smallest_around(x: float, y: float, boxes: Iterable[Four]) -> Four | None:
    holding = [box for box in boxes if box[0] <= x <= box[2] and box[1] <= y <= box[3]]
    return min(holding, key=lambda box: (box[2] - box[0]) * (box[3] - box[1]), default=None)


def fault(numbers: Four, size: Size, convention: Convention) -> str:
    if not convention.endswith("_rel") and all(0 <= number <= 1 for number in numbers):
        return "all four numbers lie between 0 and 1"
    box = to_box(numbers, convention, size)
    if box.right_px <= box.left_px or box.bottom_px <= box.top_px:
        return "it ends before it begins (x2 < x1 or y2 < y1)"
    across, down = OVERHANG * size.width, OVERHANG * size.height
    is_left = box.left_px < -across or box.top_px < -down
    if is_left or box.right_px > size.width + across or box.bottom_px > size.height + down:
        return f"it lies outside its screenshot of {size.width} x {size.height} pixels"
    return ""


def doubt(boxes: Sequence[tuple[Four, Size]], convention: Convention) -> str:
    """One sentence where the boxes of a data set do not fit their convention; empty where they do. It names the
    convention that does fit, if one fits clearly better: at most a third of the misfits.
    """
    misfits: dict[Convention, int] = {each: sum(bool(fault(*box, each)) for box in boxes) for each in WORDS}
    wrong = misfits[convention]
    if wrong <= SUSPICIOUS * len(boxes):
        return ""
    best = min(misfits, key=lambda each: misfits[each])
    sentence = (
        f"{wrong} of {len(boxes)} boxes ({100 * wrong / len(boxes):.0f} %) end before they begin or lie outside their "
        f"screenshots when read as {WORDS[convention]}"
    )
    if misfits[best] * 3 <= wrong:
        return f"{sentence}; as {WORDS[best]} {misfits[best] or 'none'} would: that is what they seem to be"
    return f"{sentence}, and no other convention fits better"


# --- samples ------------------------------------------------------------------------------------------------------


def episode_labels(goals: Iterable[tuple[str, str]]) -> dict[str, TaskLabel]:
    """A task label for each episode, from ids and goals: the goal, with the id behind where two have the same."""
    goal_of = dict(goals)
    times = Counter(goal_of.values())
    return {number: goal if times[goal] == 1 else f"{goal} ({number})" for number, goal in goal_of.items()}


class Sample(Record, frozen=True, kw_only=True):
    """What an annotation says about one step, before its screenshot is looked at.

    ``file``, ``item`` and ``field`` say where the place is written. The place is ``boxes`` as written, of which any is
    right, or a ``region`` in pixels; a sample with neither is not scored. ``convention`` is what its boxes mean, where
    that is not the layout's own. ``task`` is the episode that the sample is a step of, in order; None for one that
    stands alone.
    """

    file: str
    item: int | None
    field: str
    id: str
    participant: str
    image: Path
    instruction: str
    boxes: tuple[Four, ...] = ()
    convention: Convention | None = None
    region: Region | None = None
    target_absent: bool = False
    task: TaskLabel | None = None
    action: str = ""
    history_entry: HistoryEntry | None = None
    groups: tuple[GroupLabel, ...] = ()


def build_dataset(
    samples: Sequence[Sample],
    problems: list[Problem],
    *,
    name: str,
    convention: Convention,
    participants: Collection[str] = (),
    deep: bool = False,
    warnings: Sequence[str] = (),
    oddities: Sequence[Problem] = (),
    history_file: str = "",
    order: Callable[[Problem], tuple[int, ...]] | None = None,
) -> Dataset:
    """The data set that the samples make up, with the true sizes of their screenshots, each decoded with ``deep``.

    A box that does not fit its screenshot is kept as it is, since the released evaluators score it too, and told in
    ``Dataset.oddities``; where many do not, the ``convention`` is doubted and nothing is loaded. ``problems`` are what
    was wrong with the files already, ``order`` sorts all of them. Raises DatasetProblems: Something is wrong; every
    problem is in it. Raises UserError: The participants are not there.
    """
    known = list(dict.fromkeys(sample.participant for sample in samples))
    if samples and (unknown := [each for each in participants if each not in known]):
        raise UserError(f"participant {unknown[0]!r}: the data set has {', '.join(known)}")
    chosen = [sample for sample in samples if not participants or sample.participant in participants]
    if not chosen and not problems:
        whom = f" of {', '.join(participants)}" if participants else ""
        raise UserError(f"the data set {name} holds no samples{whom}; see what --participant and --data-dir name")
    files = list(dict.fromkeys(sample.image for sample in chosen))
    looked = dict(zip(files, probe_images(files, deep=deep), strict=True))
    images = {file: found for file, found in looked.items() if isinstance(found, ImageInfo)}
    problems, odd = [*problems, *_sample_problems(chosen, looked)], list(oddities)
    shown = [sample for sample in chosen if sample.image in images]
    boxes = [
        (one, (numbers, images[one.image].size), one.convention or convention) for one in shown for numbers in one.boxes
    ]
    for used in dict.fromkeys(each for *_, each in boxes):
        first = next(one for one, _, each in boxes if each == used)
        if doubtful := doubt([box for _, box, each in boxes if each == used], used):
            fix = "take the release that its card names; in a list for --dataset boxes the field's name says what it is"
            problems.append(Problem(file=first.file, field=first.field, what=doubtful, fix=fix))
    for one, box, used in boxes:
        if why := fault(*box, used):
            fix = "it is scored as it stands"
            odd.append(Problem(file=one.file, item=one.item, field=one.field, what=why, fix=fix))
    for one in shown:
        inside = one.region.boxes if one.region else ()
        for index, box_px in enumerate(inside):
            named = NamedBox(field=one.field if len(inside) == 1 else f"{one.field}[{index}]", box=box_px)
            check_inside(named, images[one.image].size, one.file, one.item, odd)
    if order is not None:
        problems.sort(key=order)
        odd.sort(key=order)
    if problems:
        raise DatasetProblems(problems, odd)
    sessions = _sessions(chosen, images, convention)
    return Dataset(
        name=name,
        fingerprint=fingerprint(sessions),
        sessions=sessions,
        history_file=history_file,
        warnings=(*warnings, *counted(odd)),
        oddities=tuple(map(str, odd)),
    )


def _sample_problems(samples: Sequence[Sample], images: Mapping[Path, ImageInfo | ImageFault]) -> list[Problem]:
    problems, told, seen = [], set[Path](), dict[str, Sample]()
    for sample in samples:
        image = images[sample.image]
        # Many samples may share a screenshot; it is broken once.
        if isinstance(image, ImageFault) and sample.image not in told:
            told.add(sample.image)
            what = f"the screenshot {sample.image} {image.what}"
            problems.append(Problem(file=sample.file, item=sample.item, what=what, fix=image.fix))
        first = seen.setdefault(sample.id, sample)
        if first is not sample:
            what = f"gives the step id {sample.id}, which {first.file}: item {first.item} has already"
            fix = "remove one of the two, or give their screenshots different names"
            problems.append(Problem(file=sample.file, item=sample.item, what=what, fix=fix))
    return problems


_T = TypeVar("_T")


class _Pool:
    """Keeps one copy of equal values: sessions repeat texts and sizes thousands of times."""

    def __init__(self) -> None:
        self._kept: dict[object, object] = {}

    def share(self, value: _T) -> _T:
        # By type, too: 1 is no True.
        return self._kept.setdefault((type(value), value), value)  # type: ignore[return-value]


def _sessions(
    samples: Sequence[Sample], images: Mapping[Path, ImageInfo], convention: Convention
) -> tuple[Session, ...]:
    pool = _Pool()
    screenshots = {
        file: Screenshot(path=str(file.absolute()), size=pool.share(info.size), sha256=info.sha256)
        for file, info in images.items()
    }
    clusters: dict[tuple[str, str], int] = {}
    by_participant: dict[str, list[Sample]] = {}
    for sample in samples:
        by_participant.setdefault(sample.participant, []).append(sample)
        # Pictures, not names of files: copies under two names are one screenshot.
        clusters.setdefault((sample.participant, images[sample.image].sha256), len(clusters))
    return tuple(
        Session(participant=participant, steps=_steps(members, screenshots, clusters, convention, pool))
        for participant, members in by_participant.items()
    )


def _steps(
    samples: Sequence[Sample],
    screenshots: Mapping[Path, Screenshot],
    clusters: Mapping[tuple[str, str], int],
    convention: Convention,
    pool: _Pool,
) -> tuple[Step, ...]:
    tasks: list[TaskLabel] = [
        clusters[sample.participant, screenshots[sample.image].sha256] if sample.task is None else sample.task
        for sample in samples
    ]
    indices = instruction_indices(tasks, [sample.instruction for sample in samples])
    alone: Counter[TaskLabel] = Counter()
    steps = []
    for sample, task, index in zip(samples, tasks, indices, strict=True):
        shot, region, entry = screenshots[sample.image], sample.region, sample.history_entry
        if sample.boxes:
            used = sample.convention or convention
            region = Region(boxes=tuple(to_box(numbers, used, shot.size) for numbers in sample.boxes))
        if entry is not None:
            entry = pool.share(HistoryEntry(instruction=pool.share(entry.instruction), action=pool.share(entry.action)))
        if sample.task is None:
            # Two equal instructions over one screenshot are two samples.
            index = alone[task]
            alone[task] += 1
        steps.append(
            Step(
                id=sample.id,
                participant=sample.participant,
                task=pool.share(task),
                instruction_index=index,
                instruction=pool.share(sample.instruction),
                action=pool.share(sample.action),
                screenshot=shot,
                region=region,
                history_entry=entry,
                target_absent=sample.target_absent,
                independent=sample.task is None,
                groups=pool.share(sample.groups),
            )
        )
    return tuple(steps)

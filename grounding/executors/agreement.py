"""Do a model's replicas answer alike, and if not, which of them are to be left out? Pure functions.

The rule. Two answers to one picture are the same when both place the click within the reach of the last digit of the
model's own numbers (``SAME_UNITS``), or when neither holds a place. Replicas are alike when their answers differ at no
more than a quarter of the pictures (``MOST_DIFFERENT``). Where more than half of the replicas are alike, the others
are left out. Where no such majority is (two replicas that differ, or a split down the middle), the probe's own targets
decide, if one side hits them much more often than by luck (:func:`grounding.probe.closeness.much_better`); if they
can't, all are kept, with a warning. A replica of which nothing came but errors, while another answered, is left out in
any case. Where fewer than ``MIN_JUDGED`` pictures can be compared, nothing is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import msgspec

from grounding.coordinates import Space, point_from_original
from grounding.probe.closeness import much_better
from grounding.probe.findings import MIN_JUDGED
from grounding.probe.fits import Observation, Reading
from grounding.probe.replicas import CheckedReplica, Decided, Replica, ReplicaReport
from grounding.probe.targets import Target
from grounding.records import ImageSizes, Point, Prediction, Record
from grounding.regions import is_finite, is_hit

SAME_UNITS = 10.0
"""Numbers are written digit by digit. Where another kind of GPU, or another batch, rounds a sum another way, a choice
between two nearly equal digits can turn, and at the last digit that is up to nine units: no sign of another model."""

GRID = 1000.0
"""Fractions are taken as on a grid of so many units: models that answer in them write two or three decimals."""

MOST_DIFFERENT = 0.25
"""A choice between two places can turn at a picture now and then. Another model, other weights, or pictures of another
size move nearly all places."""


class Answers(Record, frozen=True, kw_only=True):
    """What one replica answered; pictures that it was not asked about, or that no money was left for, are missing.

    ``steps_before`` is how many questions of the run itself it had answered by then.
    """

    replica: Replica
    replies: tuple[Prediction, ...]
    steps_before: int = 0

    @property
    def by_picture(self) -> dict[str, Prediction]:
        """The replies by the picture's id."""
        return {reply.step_id: reply for reply in self.replies}

    @property
    def silent(self) -> bool:
        """Whether nothing but errors came."""
        return bool(self.replies) and all(_is_error(reply) for reply in self.replies)


class Difference(Record, frozen=True, kw_only=True):
    """How one replica's answers differ from others: see :class:`~grounding.probe.replicas.CheckedReplica`."""

    compared: int
    differs: int
    apart_px: float | None
    usual_px: float | None

    @property
    def alike(self) -> bool:
        """Whether that is no more than chance makes."""
        return self.compared < MIN_JUDGED or self.differs <= MOST_DIFFERENT * self.compared


def _is_error(reply: Prediction) -> bool:
    return reply.failure is not None and reply.failure.kind == "error"


def _place(reply: Prediction) -> Point | None:
    return None if reply.point is None or not is_finite(reply.point) else reply.point


def reach_px(space: Space, sizes: ImageSizes) -> Point:
    """How far apart two answers may be, across and down, in pixels of the original, and still be the same."""
    size = sizes.original
    whole = point_from_original(Point(x_px=size.width, y_px=size.height), space, sizes)
    units = (GRID, GRID) if space == "rel_1" else (whole.x, whole.y)
    return Point(x_px=SAME_UNITS * size.width / units[0], y_px=SAME_UNITS * size.height / units[1])


def same(one: Prediction, other: Prediction, space: Space) -> bool:
    """Whether two answers to one picture are the same; an error is no answer, and the same as no other thing."""
    if _is_error(one) or _is_error(other):
        return False
    a, b = _place(one), _place(other)
    if a is None or b is None:
        return a is None and b is None
    sizes = one.sizes or other.sizes
    reach = Point(x_px=SAME_UNITS, y_px=SAME_UNITS) if sizes is None else reach_px(space, sizes)
    # The last bits of a division are no difference.
    return abs(a.x_px - b.x_px) <= reach.x_px + 1e-6 and abs(a.y_px - b.y_px) <= reach.y_px + 1e-6


def difference(one: Mapping[str, Prediction], other: Mapping[str, Prediction], space: Space) -> Difference:
    """Hold answers against others, picture by picture; where both failed with an error there is nothing to compare."""
    apart: list[float] = []
    near: list[float] = []
    compared = differs = 0
    for picture in sorted(one.keys() & other.keys()):
        mine, theirs = one[picture], other[picture]
        if _is_error(mine) and _is_error(theirs):
            continue
        compared += 1
        alike = same(mine, theirs, space)
        differs += not alike
        a, b = _place(mine), _place(theirs)
        if a is not None and b is not None:
            (near if alike else apart).append(math.hypot(a.x_px - b.x_px, a.y_px - b.y_px))
    return Difference(
        compared=compared,
        differs=differs,
        apart_px=round(statistics.fmean(apart), 1) if apart else None,
        usual_px=round(statistics.median(near), 1) if near else None,
    )


def judge(answers: Sequence[Answers], targets: Sequence[Target], space: Space, *, at: str) -> ReplicaReport:
    """Compare replicas and say who is kept. At least one is, and none is left out where all are alike.

    Args:
        answers: What each of them answered, at least one; their order changes nothing but that of the report.
        targets: The pictures, with the places that are right.
        space: What the model's numbers mean, by its card.
        at: The time, for the report.
    """
    speaking = [each for each in answers if not each.silent] or list(answers)
    groups = _groups(speaking, space)
    references = [_reference(group, space) for group in groups]
    chosen, decided = _decide(groups, references, targets)
    if decided == "alike" and len(speaking) < len(answers):
        decided = "errors"
    reference = references[chosen or 0]
    kept = speaking if chosen is None else groups[chosen]
    checked = [_checked(each, reference, targets, space, kept=each in kept) for each in answers]
    near = [difference(each.by_picture, reference, space).usual_px for each in kept]
    usual = [found for found in near if found is not None and decided != "nobody"]
    report = ReplicaReport(
        at=at,
        pictures=len(targets),
        decided_by=decided,
        usual_px=round(statistics.median(usual), 1) if usual else None,
        replicas=tuple(checked),
        warnings=(),
    )
    doubt = decided == "majority" and any(_better(each, reference, targets) for each in references)
    return msgspec.structs.replace(report, warnings=tuple(_warnings(report, doubt=doubt)))


# --- inside -----------------------------------------------------------------------------------------------------------


def _groups(answers: Sequence[Answers], space: Space) -> list[list[Answers]]:
    """Replicas that are alike: the largest group round one of them first, then the largest of the rest, and so on."""
    left = sorted(answers, key=lambda each: each.replica.name)
    replies = [each.by_picture for each in left]
    alike = {
        (one, other)
        for one in range(len(left))
        for other in range(len(left))
        if one == other or difference(replies[one], replies[other], space).alike
    }
    numbers = list(range(len(left)))
    found: list[list[Answers]] = []
    while numbers:
        largest = max(([other for other in numbers if (one, other) in alike] for one in numbers), key=len)
        # Who is not like the one in the middle may still be like what the whole group says.
        reference = _reference([left[number] for number in largest], space)
        group = [each for each in numbers if each in largest or difference(replies[each], reference, space).alike]
        found.append([left[number] for number in group])
        numbers = [each for each in numbers if each not in group]
    return sorted(found, key=len, reverse=True)


def _reference(group: Sequence[Answers], space: Space) -> dict[str, Prediction]:
    """For each picture the answer that most of a group's answers are the same as; none where all are errors."""
    by_replica = [each.by_picture for each in group]
    chosen = {}
    for picture in sorted({picture for replies in by_replica for picture in replies}):
        said = [replies[picture] for replies in by_replica if picture in replies and not _is_error(replies[picture])]
        if said:
            chosen[picture] = max(said, key=lambda one: sum(same(one, other, space) for other in said))
    return chosen


def _decide(
    groups: Sequence[Sequence[Answers]], references: Sequence[Mapping[str, Prediction]], targets: Sequence[Target]
) -> tuple[int | None, Decided]:
    """The number of the group that is kept, None for all of them, and why."""
    if len(groups) == 1:
        return None, "alike"
    if 2 * len(groups[0]) > sum(map(len, groups)):
        return 0, "majority"
    for number, reference in enumerate(references):
        others = [each for each in references if each is not reference]
        if all(_better(reference, other, targets) for other in others):
            return number, "targets"
    return None, "nobody"


def _better(one: Mapping[str, Prediction], other: Mapping[str, Prediction], targets: Sequence[Target]) -> bool:
    """Whether the targets show answers to be much better than others, and not by luck."""
    asked = [target for target in targets if target.id in one and target.id in other]

    def reading(replies: Mapping[str, Prediction]) -> Reading:
        return Reading(points=tuple(_place(replies[target.id]) for target in asked))

    seen = [Observation(corners=(), sizes=_sizes(target), region=target.region) for target in asked]
    return bool(seen) and much_better(reading(one), reading(other), seen)


def _sizes(target: Target) -> ImageSizes:
    size = target.screenshot.size
    return ImageSizes(original=size, sent=size, model=size)


def _checked(
    answers: Answers, reference: Mapping[str, Prediction], targets: Sequence[Target], space: Space, *, kept: bool
) -> CheckedReplica:
    found = difference(answers.by_picture, reference, space)
    regions = {target.id: target.region for target in targets}
    hits = [is_hit(regions[reply.step_id], point) for reply in answers.replies if (point := _place(reply)) is not None]
    return CheckedReplica(
        replica=answers.replica,
        kept=kept,
        compared=found.compared,
        differs=found.differs,
        apart_px=found.apart_px,
        hits=sum(hits),
        steps_before=answers.steps_before,
        replies=answers.replies,
    )


def _warnings(report: ReplicaReport, *, doubt: bool) -> list[str]:
    kept = [each for each in report.replicas if each.kept]
    others = f"the other {len(kept)}" if len(kept) > 1 else "the other one"
    lines = [f"{each.replica.words} is left out: {_how(each, others, report)}" for each in report.left_out]
    if report.decided_by == "nobody":
        names = "; ".join(f"{each.replica.words} hits {each.hits} of {report.pictures} targets" for each in kept)
        lines.append(
            f"the {len(kept)} replicas don't answer alike, and neither a majority nor the probe's targets tell which "
            f"is right: all are kept ({names}). Their answers are in replicas.json"
        )
    if doubt:
        lines.append(
            "the probe's targets speak for a replica that was left out, and against the majority that was kept: look "
            "at replicas.json, the majority may be what is wrong"
        )
    return lines


def _how(each: CheckedReplica, others: str, report: ReplicaReport) -> str:
    failed = [reply for reply in each.replies if _is_error(reply)]
    if failed and len(failed) == len(each.replies) and failed[0].failure is not None:
        return f"none of {len(failed)} questions was answered, the first: {failed[0].failure.message[:300]}"
    apart = "" if each.apart_px is None else f", on average by {each.apart_px:g} px"
    usual = "" if report.usual_px is None else f" (usual among those kept: {report.usual_px:g} px)"
    why = " It hits fewer of the probe's targets than they do" if report.decided_by == "targets" else ""
    hits = f"; it hits {each.hits} of {report.pictures} targets"
    if each.steps_before:
        hits += f"; {each.steps_before} questions of the run were its before it was found out, their answers are kept"
    return f"{each.differs} of {each.compared} answers differ from those of {others}{apart}{usual}{hits}.{why}".rstrip(
        "."
    )

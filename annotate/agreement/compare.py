"""Two readings of the same steps in, one report out. Pure."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from statistics import fmean, median
from typing import Any, Literal

import numpy as np

from grounding.errors import UserError
from grounding.records import Record
from grounding.scoring.intervals import cohens_kappa

from ..core.records import AnnotatedStep, MarkedBox, overlap
from ..formats.labels import LabelItem, Reading, Sheet

DisagreementKind = Literal["state", "box", "picture", "only-a", "only-b"]
"""``state``: boxes for one, no click for the other. ``box``: a box of one has none of the other's at the threshold.
``picture``: the screenshots have different sizes.
``only-a``, ``only-b``: the other one does not have the step."""

_WORDS = {"boxes": "boxes", "no-click": "no click", "todo": "to do"}


class PairedStep(Record, frozen=True, kw_only=True):
    """A step and both versions of it, with its positions in the folders, from 0; None where one does not have it."""

    participant: str
    image: str
    index_a: int | None = None
    index_b: int | None = None
    a: LabelItem | None = None
    b: LabelItem | None = None
    kinds: tuple[DisagreementKind, ...] = ()
    what: str = ""


class AnnotatorAgreement(Record, frozen=True, kw_only=True):
    """All that is said of two folders.

    ``undecided`` counts paired steps that at least one of the two has yet to do, ``other_words`` those whose
    instructions differ. ``states`` counts the steps that both have decided, A's word first, with Cohen's kappa (None
    where it is undefined). ``boxes`` is over the steps for which both have drawn some: ``agreed`` counts the one-to-one
    pairs whose overlap reaches the threshold, ``f1_percent`` is 2 x agreed / (A's boxes + B's boxes).
    """

    threshold: float
    steps: tuple[PairedStep, ...]
    counts: dict[str, Any]

    @property
    def disagreements(self) -> list[PairedStep]:
        return [step for step in self.steps if step.kinds]


def match(first: Sequence[MarkedBox], second: Sequence[MarkedBox], *, threshold: float) -> list[float]:
    """The overlaps, above 0, of the best one-to-one pairs: as many as can be of the threshold, then the largest sum."""
    if not first or not second:
        return []
    from scipy.optimize import linear_sum_assignment

    shares = np.array([[overlap(one.box, other.box) for other in second] for one in first])
    # A pair above the threshold is worth more than all overlaps of the others together.
    worth = shares + (shares >= threshold) * (min(shares.shape) + 1.0)
    chosen = shares[linear_sum_assignment(worth, maximize=True)]
    return [float(share) for share in chosen if share > 0]


def differ(
    first: AnnotatedStep, second: AnnotatedStep, *, threshold: float
) -> tuple[tuple[DisagreementKind, ...], str]:
    """In which ways two versions of one step differ, the first being A's, and in words; no kinds where they agree."""
    if first.state != second.state:
        return ("state",), f"A says {_WORDS[first.state]}, B says {_WORDS[second.state]}"
    ious = match(first.boxes, second.boxes, threshold=threshold)
    agreed, count_a, count_b = sum(iou >= threshold for iou in ious), len(first.boxes), len(second.boxes)
    if agreed == max(count_a, count_b):
        return (), ""
    shown = ", ".join(f"{iou:.2f}" for iou in ious) or "none, as they do not overlap"
    return ("box",), f"A has {count_a} boxes, B has {count_b}, the same: {agreed}; IoU of pairs: {shown}"


def pair_steps(a: Reading, b: Reading, threshold: float) -> list[PairedStep]:
    """Which step of one reading is which of the other: those of both in A's order, then A's alone, then B's.

    Folders belong together by name, or as the only ones; steps by the path of the screenshot inside the folder. Raises
    UserError: nothing belongs together.
    """
    of_a, of_b = ({sheet.name: sheet for sheet in reading.sheets} for reading in (a, b))
    if len(of_a) == len(of_b) == 1:
        of_b = dict(zip(of_a, of_b.values(), strict=True))
    if not set(of_a) & set(of_b):
        raise UserError(
            f"{a.root} has the folders {', '.join(of_a)}, {b.root} has {', '.join(of_b)}: none of them is in both; "
            "give two versions of the same data"
        )
    steps = []
    for name in dict.fromkeys([*of_a, *of_b]):
        first, second = _by_picture(of_a.get(name)), _by_picture(of_b.get(name))
        for key in dict.fromkeys([*first, *second]):
            (index_a, one), (index_b, other) = first.get(key, (None, None)), second.get(key, (None, None))
            image = one.entry.image if one else other.entry.image if other else ""
            kinds, what = _judged(one, other, threshold)
            steps.append(
                PairedStep(participant=name, image=image, index_a=index_a, index_b=index_b, a=one, b=other,
                           kinds=kinds, what=what)
            )  # fmt: skip
    steps.sort(key=lambda step: 2 * (step.a is None) + (step.b is None))
    if not any(step.a and step.b for step in steps):
        raise UserError(
            f"{a.root} and {b.root} have no screenshot in common: expected the same steps, annotated by two people"
        )
    return steps


def _by_picture(sheet: Sheet | None) -> dict[tuple[str, int], tuple[int, LabelItem]]:
    uses: Counter[str] = Counter()
    found = {}
    for index, item in enumerate(sheet.items if sheet else ()):
        # The folder "images" of the native layout is not part of a path elsewhere.
        image = str(PurePosixPath(item.entry.image)).removeprefix("images/")
        uses[image] += 1
        found[image, uses[image]] = (index, item)
    return found


def _judged(a: LabelItem | None, b: LabelItem | None, threshold: float) -> tuple[tuple[DisagreementKind, ...], str]:
    if a is None or b is None:
        return (("only-a",), "only A has this step") if b is None else (("only-b",), "only B has this step")
    if a.size is not None and b.size is not None and a.size != b.size:
        what = f"A's screenshot has {a.size.width} x {a.size.height} pixels, B's has {b.size.width} x {b.size.height}"
        return ("picture",), what
    return ((), "") if _to_do(a) or _to_do(b) else differ(a.entry, b.entry, threshold=threshold)


def _to_do(item: LabelItem) -> bool:
    return item.entry.state == "todo" or item.damaged


def compare(a: Reading, b: Reading, *, threshold: float) -> AnnotatorAgreement:
    """Compare two versions of the same steps. Raises UserError: the two have nothing in common."""
    steps = pair_steps(a, b, threshold)
    kinds = Counter(kind for step in steps for kind in step.kinds)
    pairs = [(step.a, step.b) for step in steps if step.a and step.b and step.kinds != ("picture",)]
    decided = [(one.entry, other.entry) for one, other in pairs if not _to_do(one) and not _to_do(other)]
    drawn = [pair for pair in decided if pair[0].boxes and pair[1].boxes]
    words = [(one.entry.instruction, other.entry.instruction) for one, other in pairs]
    said = Counter((one.state, other.state) for one, other in decided)
    table = [[said[one, other] for other in ("boxes", "no-click")] for one in ("boxes", "no-click")]
    kappa = cohens_kappa(table).value
    because = "both always say the same" if decided else "no step that both have decided"
    ious = [iou for one, other in drawn for iou in match(one.boxes, other.boxes, threshold=threshold)]
    boxes_a, boxes_b = (sum(len(pair[side].boxes) for pair in drawn) for side in (0, 1))
    agreed = sum(iou >= threshold for iou in ious)
    counts = {
        "paired": len(pairs) + kinds["picture"],
        "only_a": kinds["only-a"],
        "only_b": kinds["only-b"],
        "undecided": len(pairs) - len(decided),
        "todo_a": sum(_to_do(one) for one, _ in pairs),
        "todo_b": sum(_to_do(other) for _, other in pairs),
        "other_pictures": kinds["picture"],
        # Formats for boxes alone have no words.
        "other_words": sum(bool(one and other) and one != other for one, other in words),
        "states": {
            "boxes_boxes": table[0][0], "boxes_no_click": table[0][1], "no_click_boxes": table[1][0],
            "no_click_no_click": table[1][1], "agree": table[0][0] + table[1][1], "decided": len(decided),
            "kappa": kappa, "undefined_because": because if kappa is None else "",
        },
        "boxes": {
            "steps": len(drawn), "boxes_a": boxes_a, "boxes_b": boxes_b, "pairs": len(ious), "agreed": agreed,
            "f1_percent": 200 * agreed / (boxes_a + boxes_b) if drawn else None,
            "mean_iou": fmean(ious) if ious else None, "median_iou": median(ious) if ious else None,
        },
    }  # fmt: skip
    return AnnotatorAgreement(threshold=threshold, steps=tuple(steps), counts=counts)

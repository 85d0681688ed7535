"""Two readings in, one report out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median

from annotate.agreement.matching import match
from annotate.agreement.pairing import pair_steps
from annotate.agreement.records import (
    AgreementReport,
    BoxAgreement,
    ClickAgreement,
    Decided,
    Difference,
    Disagreement,
    DisagreementKind,
    LoneStep,
    PairedStep,
    StateAgreement,
)
from annotate.formats.records import Item, Reading
from annotate.records import Entry, MarkedBox
from grounding.scoring.kappa import cohens_kappa

_WORDS = {"boxes": "boxes", "no-click": "no click", "todo": "to do"}


def compare(a: Reading, b: Reading, *, names: tuple[str, str], threshold: float) -> AgreementReport:
    """Compare two versions of the same steps.

    Only steps that both have decided count for states, only those with boxes on both sides for boxes and clicks.

    Args:
        a: One version.
        b: The other.
        names: What to call them.
        threshold: The overlap (intersection over union) from which on two boxes are the same.

    Raises:
        UserError: the two have nothing in common.
    """
    pairing = pair_steps(a, b)
    comparable = [pair for pair in pairing.pairs if not _other_picture(pair)]
    open_steps = [pair for pair in comparable if _to_do(pair.a) or _to_do(pair.b)]
    decided = [pair for pair in comparable if not (_to_do(pair.a) or _to_do(pair.b))]
    counted = [_decide(pair, threshold) for pair in decided]
    disagreements = [
        *_of_pictures(pairing.pairs),
        *(found for pair in decided if (found := _disagreement(pair, threshold)) is not None),
        *_of_lone(pairing.lone),
    ]
    order = {(pair.participant, pair.image): rank for rank, pair in enumerate(pairing.pairs)}
    disagreements.sort(key=lambda one: order.get((one.participant, one.image), len(order)))
    return AgreementReport(
        a=names[0],
        b=names[1],
        iou_threshold=threshold,
        paired=len(pairing.pairs),
        only_a=sum(step.side == "a" for step in pairing.lone),
        only_b=sum(step.side == "b" for step in pairing.lone),
        undecided=len(open_steps),
        todo_a=sum(_to_do(pair.a) for pair in comparable),
        todo_b=sum(_to_do(pair.b) for pair in comparable),
        other_pictures=len(pairing.pairs) - len(comparable),
        other_bytes=sum(bool(pair.a.sha256) and pair.a.sha256 != pair.b.sha256 for pair in comparable),
        other_words=sum(_other_words(pair.a.entry, pair.b.entry) for pair in comparable),
        states=_states(counted),
        boxes=_boxes(counted, threshold),
        clicks=_clicks(counted),
        disagreements=tuple(disagreements),
    )


def _to_do(item: Item) -> bool:
    return item.entry.state == "todo" or item.damaged


def _other_picture(pair: PairedStep) -> bool:
    return pair.a.size is not None and pair.b.size is not None and pair.a.size != pair.b.size


def _other_words(first: Entry, second: Entry) -> bool:
    # Formats for boxes alone have no words.
    return bool(first.instruction and second.instruction) and first.instruction != second.instruction


def _decide(pair: PairedStep, threshold: float) -> Decided:
    first, second = pair.a.entry.boxes, pair.b.entry.boxes
    return Decided(
        state_a=pair.a.entry.state,
        state_b=pair.b.entry.state,
        boxes_a=len(first),
        boxes_b=len(second),
        ious=tuple(one.iou for one in match(first, second, threshold=threshold)),
        hits_a=sum(_hits(box, second) for box in first),
        hits_b=sum(_hits(box, first) for box in second),
    )


def _hits(box: MarkedBox, others: Sequence[MarkedBox]) -> bool:
    """Whether a click on the middle of the box is right for the other; edges belong to a box, as in scoring."""
    x, y = box.x_px + box.width_px / 2, box.y_px + box.height_px / 2
    return any(
        other.x_px <= x <= other.x_px + other.width_px and other.y_px <= y <= other.y_px + other.height_px
        for other in others
    )


def _states(counted: Sequence[Decided]) -> StateAgreement:
    table = [[0, 0], [0, 0]]
    for one in counted:
        table[one.state_a == "no-click"][one.state_b == "no-click"] += 1
    kappa = cohens_kappa(table).value
    reason = ""
    if kappa is None:
        reason = "both always say the same" if counted else "no step that both have decided"
    return StateAgreement(
        boxes_boxes=table[0][0],
        boxes_no_click=table[0][1],
        no_click_boxes=table[1][0],
        no_click_no_click=table[1][1],
        agree=table[0][0] + table[1][1],
        decided=len(counted),
        kappa=kappa,
        undefined_because=reason,
    )


def _with_boxes(counted: Sequence[Decided]) -> list[Decided]:
    return [one for one in counted if one.boxes_a and one.boxes_b]


def _boxes(counted: Sequence[Decided], threshold: float) -> BoxAgreement:
    drawn = _with_boxes(counted)
    ious = [iou for one in drawn for iou in one.ious]
    boxes_a, boxes_b = sum(one.boxes_a for one in drawn), sum(one.boxes_b for one in drawn)
    agreed = sum(iou >= threshold for iou in ious)
    return BoxAgreement(
        steps=len(drawn),
        boxes_a=boxes_a,
        boxes_b=boxes_b,
        pairs=len(ious),
        agreed=agreed,
        f1_percent=200 * agreed / (boxes_a + boxes_b) if drawn else None,
        mean_iou=fmean(ious) if ious else None,
        median_iou=median(ious) if ious else None,
    )


def _clicks(counted: Sequence[Decided]) -> ClickAgreement:
    drawn = _with_boxes(counted)
    return ClickAgreement(
        hits_a=sum(one.hits_a for one in drawn),
        centres_a=sum(one.boxes_a for one in drawn),
        hits_b=sum(one.hits_b for one in drawn),
        centres_b=sum(one.boxes_b for one in drawn),
        steps_agreed=sum(one.hits_a == one.boxes_a and one.hits_b == one.boxes_b for one in drawn),
        steps=len(drawn),
    )


def _disagreement(pair: PairedStep, threshold: float) -> Disagreement | None:
    difference = differ(pair.a.entry, pair.b.entry, threshold=threshold)
    return _found(pair, difference.kinds, difference.what) if difference.kinds else None


def differ(first: Entry, second: Entry, *, threshold: float) -> Difference:
    """In which ways two versions of one step differ, the first being A's; no kinds where they agree."""
    if first.state != second.state:
        return Difference(kinds=("state",), what=f"A says {_WORDS[first.state]}, B says {_WORDS[second.state]}")
    kinds: list[DisagreementKind] = []
    words: list[str] = []
    pairs = match(first.boxes, second.boxes, threshold=threshold)
    agreed = sum(one.iou >= threshold for one in pairs)
    if agreed < max(len(first.boxes), len(second.boxes)):
        kinds.append("box")
        words.append(_box_words(len(first.boxes), len(second.boxes), agreed, [one.iou for one in pairs]))
    missed_a = sum(not _hits(box, second.boxes) for box in first.boxes)
    missed_b = sum(not _hits(box, first.boxes) for box in second.boxes)
    if missed_a or missed_b:
        kinds.append("click")
        sides = [f"{count} of {side}'s" for count, side in ((missed_a, "A"), (missed_b, "B")) if count]
        words.append(f"the middle of {' and '.join(sides)} boxes lies in none of the other's")
    return Difference(kinds=tuple(kinds), what="; ".join(words))


def _box_words(count_a: int, count_b: int, agreed: int, ious: Sequence[float]) -> str:
    if count_a == count_b == 1:
        return f"IoU {ious[0]:.2f}" if ious else "the boxes do not overlap"
    lowest = f", lowest IoU of a pair {min(ious):.2f}" if ious else ""
    same = f"{agreed} box is" if agreed == 1 else f"{agreed} boxes are"
    return f"A has {count_a}, B has {count_b}, {same} the same{lowest}"


def _of_pictures(pairs: Sequence[PairedStep]) -> Iterator[Disagreement]:
    for pair in pairs:
        if _other_picture(pair) and pair.a.size is not None and pair.b.size is not None:
            sizes = [f"{size.width} x {size.height}" for size in (pair.a.size, pair.b.size)]
            yield _found(pair, ["picture"], f"A's screenshot has {sizes[0]} pixels, B's has {sizes[1]}")


def _of_lone(steps: Sequence[LoneStep]) -> Iterator[Disagreement]:
    for step in steps:
        is_a = step.side == "a"
        yield Disagreement(
            participant=step.participant,
            image=step.image,
            index_a=step.index if is_a else None,
            index_b=None if is_a else step.index,
            kinds=("only-a" if is_a else "only-b",),
            what=f"only {step.side.upper()} has this step",
        )


def _found(pair: PairedStep, kinds: Sequence[DisagreementKind], what: str) -> Disagreement:
    return Disagreement(
        participant=pair.participant,
        image=pair.image,
        index_a=pair.index_a,
        index_b=pair.index_b,
        kinds=tuple(kinds),
        what=what,
    )

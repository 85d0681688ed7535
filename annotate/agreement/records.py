"""What is said of two annotators' work: every step that both have, the counts, and where they differ."""

from __future__ import annotations

from typing import Literal

from annotate.formats.records import Item
from annotate.records import State
from grounding.records import Record

DisagreementKind = Literal["state", "box", "click", "picture", "only-a", "only-b"]
"""``state``: boxes for one, no click for the other. ``box``: a box of one has none of the other's at the threshold.
``click``: the centre of a box of one lies in no box of the other. ``picture``: the screenshots have different sizes.
``only-a``, ``only-b``: the other one does not have the step."""


class PairedStep(Record, frozen=True, kw_only=True):
    """A step and both versions of it; ``index_a`` and ``index_b`` are its positions in the folders, from 0."""

    participant: str
    image: str
    index_a: int
    index_b: int
    a: Item
    b: Item


class LoneStep(Record, frozen=True, kw_only=True):
    """A step that only one of the two has."""

    participant: str
    image: str
    index: int
    side: Literal["a", "b"]


class Difference(Record, frozen=True, kw_only=True):
    """In which ways two versions of a step differ, and in words."""

    kinds: tuple[DisagreementKind, ...]
    what: str


class Disagreement(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A step on which the two differ: in which ways, and in words. A position is None where one does not have it."""

    participant: str
    image: str
    index_a: int | None
    index_b: int | None
    kinds: tuple[DisagreementKind, ...]
    what: str


class StateAgreement(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Steps that both have decided, by what they say; A's word comes first.

    ``kappa`` is Cohen's, None where it is undefined, for the reason given.
    """

    boxes_boxes: int
    boxes_no_click: int
    no_click_boxes: int
    no_click_no_click: int
    agree: int
    decided: int
    kappa: float | None
    undefined_because: str


class BoxAgreement(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Boxes of the steps for which both have drawn some.

    ``agreed`` counts the one-to-one pairs whose overlap reaches the threshold; ``f1_percent`` is 2 x agreed / (A's
    boxes + B's boxes). ``mean_iou`` and ``median_iou`` are over all pairs that overlap at all, ``pairs`` of them.
    """

    steps: int
    boxes_a: int
    boxes_b: int
    pairs: int
    agreed: int
    f1_percent: float | None
    mean_iou: float | None
    median_iou: float | None


class ClickAgreement(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Would a click on the middle of one's box count for the other?

    ``hits_a`` of ``centres_a`` centres of A's boxes lie in a box of B, and the other way round. ``steps_agreed`` of
    ``steps`` steps have all centres of both inside the other's boxes.
    """

    hits_a: int
    centres_a: int
    hits_b: int
    centres_b: int
    steps_agreed: int
    steps: int


class AgreementReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All that is said of two folders. ``undecided`` counts paired steps that at least one of the two has yet to do.

    ``other_bytes`` counts screenshots of the same size whose files differ; ``other_words`` steps whose instructions do,
    where both have one.
    """

    a: str
    b: str
    iou_threshold: float
    paired: int
    only_a: int
    only_b: int
    undecided: int
    todo_a: int
    todo_b: int
    other_pictures: int
    other_bytes: int
    other_words: int
    states: StateAgreement
    boxes: BoxAgreement
    clicks: ClickAgreement
    disagreements: tuple[Disagreement, ...]


class Decided(Record, frozen=True, kw_only=True):
    """What one step adds to the counts; ``ious`` are those of its pairs."""

    state_a: State
    state_b: State
    boxes_a: int
    boxes_b: int
    ious: tuple[float, ...]
    hits_a: int
    hits_b: int

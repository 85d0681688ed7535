"""The keys of the review; they are there only while a run is reviewed."""

from __future__ import annotations

from annotate.actions import Action
from grounding.errorsplit.labels import LabelName

_REVIEW = "Review"
LABEL_KEYS: tuple[tuple[LabelName, str, str], ...] = (
    ("reasoning", "Reasoning error", "1"),
    ("grounding", "Grounding error", "2"),
    ("unclear", "Unclear", "3"),
    ("annotation-wrong", "Gold wrong", "4"),
    ("ambiguous", "Ambiguous", "5"),
    ("other", "Other (see note)", "6"),
)
ACTIONS = (
    Action(name="next-case", words="Next case of the run", keys=("]",), group=_REVIEW),
    Action(name="previous-case", words="Case before", keys=("[",), group=_REVIEW),
    Action(name="accept-case", words="Accept: annotated well, the click is wrong", keys=("Return",), group=_REVIEW),
    Action(name="accept-click", words="The click is right, too: a box there", keys=("7",), group=_REVIEW),
    *(Action(name=f"label-{name}", words=f"Label: {words}", keys=(key,), group=_REVIEW)
      for name, words, key in LABEL_KEYS),
    Action(name="label-withdrawn", words="Take my label back", keys=("0",), group=_REVIEW),
    Action(name="undo-label", words="Undo the last label", keys=("Mod+L",), group=_REVIEW),
    Action(name="edit-note", words="Edit the note", keys=("Mod+N",), group=_REVIEW),
)  # fmt: skip

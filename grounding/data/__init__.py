"""From a data set on disk to sessions of steps, or to a list of everything that is wrong with it."""

from grounding.data.fields import DatasetProblems, Problem
from grounding.data.fingerprint import fingerprint, short_fingerprint
from grounding.data.registry import (
    DatasetCard,
    ExpectedCounts,
    Inspection,
    dataset_cards,
    inspect_dataset,
    is_desktop,
    layout_names,
    load_dataset,
    load_desktop,
    participant_folders,
    read_card,
    reference_plans,
)

__all__ = [
    "DatasetCard",
    "DatasetProblems",
    "ExpectedCounts",
    "Inspection",
    "Problem",
    "dataset_cards",
    "fingerprint",
    "inspect_dataset",
    "is_desktop",
    "layout_names",
    "load_dataset",
    "load_desktop",
    "participant_folders",
    "read_card",
    "reference_plans",
    "short_fingerprint",
]

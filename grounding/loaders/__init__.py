"""From a data set on disk to sessions of steps, or to a list of everything that is wrong with it."""

from grounding.loaders.cards import DatasetCard, ExpectedCounts, dataset_cards, read_card, reference_plans
from grounding.loaders.fingerprint import fingerprint, short_fingerprint
from grounding.loaders.problems import DatasetProblems, Problem
from grounding.loaders.registry import (
    Inspection,
    check_dataset,
    inspect_dataset,
    is_desktop,
    layouts,
    load_dataset,
    load_desktop,
    participant_folders,
)

__all__ = [
    "DatasetCard",
    "DatasetProblems",
    "ExpectedCounts",
    "Inspection",
    "Problem",
    "check_dataset",
    "dataset_cards",
    "fingerprint",
    "inspect_dataset",
    "is_desktop",
    "layouts",
    "load_dataset",
    "load_desktop",
    "participant_folders",
    "read_card",
    "reference_plans",
    "short_fingerprint",
]

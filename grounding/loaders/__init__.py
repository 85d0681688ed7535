"""From a data set on disk to sessions of steps, or to a list of everything that is wrong with it."""

from grounding.loaders.cards import DatasetCard, ExpectedCounts, dataset_cards, read_card
from grounding.loaders.fingerprint import fingerprint, short_fingerprint
from grounding.loaders.problems import DatasetProblems, Problem
from grounding.loaders.registry import check_dataset, layouts, load_dataset

__all__ = [
    "DatasetCard",
    "DatasetProblems",
    "ExpectedCounts",
    "Problem",
    "check_dataset",
    "dataset_cards",
    "fingerprint",
    "layouts",
    "load_dataset",
    "read_card",
    "short_fingerprint",
]

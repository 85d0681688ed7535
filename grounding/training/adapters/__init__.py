"""What a training of a grounder leaves for the evaluation: weights in a folder with a card beside them."""

from __future__ import annotations

from grounding.training.adapters.cards import TunedFrom, tuned_card
from grounding.training.adapters.writing import write_tuned

__all__ = ["TunedFrom", "tuned_card", "write_tuned"]

"""The room for scores: steps, plans and predictions in, verdicts out; verdicts in, metrics and a summary out."""

from grounding.scoring.metrics import Part, metric, registered
from grounding.scoring.paired import Comparison, compare
from grounding.scoring.scored import Estimate, ScoredTask
from grounding.scoring.summary import Summary

__all__ = ["Comparison", "Estimate", "Part", "ScoredTask", "Summary", "compare", "metric", "registered"]

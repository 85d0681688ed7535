"""Clicks: an instruction over a screenshot in, the place to click out, a hit or a miss.

Only what ``grounding eval`` takes for them stands here, so that its ``--help`` loads nothing else.
"""

from typing import get_args

from grounding.options import EvalOptions, ScoringName
from grounding.run.benchmark import Takes

_FOR_DESKTOP = ("memory", "style", "attempts", "kind", "tolerance", "published")
_ALSO = {"model", "scoring", "epochs", "baseline", "json"}
CLICKS = Takes(
    what="whose steps are answered with points",
    names=(frozenset(EvalOptions.__struct_fields__) | _ALSO) - set(_FOR_DESKTOP),
    choices={"scoring": get_args(ScoringName)},
    why=dict.fromkeys(_FOR_DESKTOP, "is for desktop tasks or web agents, and these steps are answered with points"),
)

"""One line that says what a figure over curated products is a figure of."""

from __future__ import annotations

import hashlib

from grounding.webagents.agenticshop.records import COUNTED_PRODUCTS
from grounding.webagents.agenticshop.runfiles import CurationRunInfo

SCORING = "agenticshop.1"
"""Both readings are always computed; the number goes up when the arithmetic of one changes."""


def curation_signature(info: CurationRunInfo) -> str:
    """The signature of a run, ``key:value`` pairs joined by bars.

    Everything that can change a score is in it; speed, addresses and file locations are not. What the open web answers
    is not in it either: two runs over it are comparable only as far as its pages stay.
    """
    asked = info.asked
    judges = ",".join(f"{one.name}@{_short(one.identity)}" for one in info.judges)
    parts = {
        "dataset": f"{asked.dataset}@{asked.fingerprint[:12]}",
        "web": asked.web,
        "agent": f"{asked.agent}@{_short(asked.agent_identity)}",
        "model": asked.model or "none",
        "extractor": f"{asked.extractor}@{_short(asked.extractor_identity)}",
        "recorded": asked.recorded or "none",
        "judge": judges or "none",
        "products": f"{COUNTED_PRODUCTS}",
        "select": asked.select,
        "scoring": SCORING,
        "clusters": "user",
        "seed": f"{asked.seed}",
        "version": asked.version,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def _short(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:8]

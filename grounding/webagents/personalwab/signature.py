"""One line that says what a figure over a shop is a figure of: two runs with the same signature are comparable."""

from __future__ import annotations

import hashlib

from grounding.webagents.personalwab.runfiles import ShopRunInfo
from grounding.webagents.personalwab.verdicts import OWN_CHOICE

SCORING = "personalwab.1"
"""Both readings are always computed; the number goes up when the arithmetic of one changes."""


def shop_signature(info: ShopRunInfo) -> str:
    """The signature of a run, ``key:value`` pairs joined by bars.

    Everything that can change a score is in it; speed, addresses and file locations are not.
    """
    asked = info.asked
    chosen = info.attempt or "/".join(f"{rule}-{choice}" for rule, choice in OWN_CHOICE.items())
    tokens = "" if asked.memory_tokens is None else f"/{asked.memory_tokens}tokens"
    parts = {
        "dataset": f"{asked.dataset}@{asked.fingerprint[:12]}",
        "products": f"{info.products}/{info.recommended}",
        "track": f"{asked.track}/{asked.max_steps}",
        "agent": f"{asked.agent}@{_short(asked.agent_identity)}",
        "model": asked.model or "none",
        "prompt": info.prompt or "none",
        "memory": f"{asked.memory}/{asked.memory_length}{tokens}",
        "user": f"{asked.user}@{_short(asked.user_identity)}" if asked.user else "none",
        "web": f"{asked.search}@{_short(asked.functions_identity)}",
        "preset": asked.preset,
        "select": asked.select,
        "scoring": f"{SCORING}@{chosen}",
        "clusters": "user",
        "seed": f"{asked.seed}",
        "version": asked.version,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def _short(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:8]

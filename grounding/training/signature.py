"""One line that says what a training was a training of: two runs with the same signature are comparable."""

from __future__ import annotations

import hashlib

from grounding.training.folder import TrainingAsked

TRAINING = "training.1"
"""The number goes up when the loop, the rewards or the examples change what comes out of the same recipe."""


def training_signature(asked: TrainingAsked) -> str:
    """The signature of a run, ``key:value`` pairs joined by bars.

    Everything that can change the weights is in it; speed, addresses and file locations are not.
    """
    launch = asked.launch
    devices = f"{launch.processes or 1}"
    if launch.accelerate_sha256:
        devices = f"{launch.processes or 'config'}@{launch.accelerate_sha256[:8]}"
    parts = {
        "training": f"{TRAINING}/{asked.kind}",
        "dataset": f"{_plain(asked.dataset)}@{asked.fingerprint[:12]}",
        "base": f"{_plain(asked.card)}@{_short(asked.identity)}",
        "recipe": f"{_plain(asked.recipe_name)}@{_short(asked.recipe)}",
        "split": _plain(asked.split),
        "select": _plain(asked.select),
        "devices": devices,
        "seed": f"{asked.seed}",
        "version": asked.version,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def _short(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:8]


def _plain(text: str) -> str:
    """A text without what separates the parts of a signature."""
    return text.replace("|", "/")

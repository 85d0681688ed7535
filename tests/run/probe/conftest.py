"""Here the probe before a run is on, as it is for users."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def probe_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_EVAL_NO_PROBE", raising=False)

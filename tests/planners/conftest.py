"""The vendors' fake for tests of planners."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fakes.provider import KEY, Provider

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY", "PLANNER_API_KEY")
KEY_VARIABLES += ("API_KEY_127_0_0_1",)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """All vendors at one port, with the right key in every variable."""
    for name in KEY_VARIABLES:
        monkeypatch.setenv(name, KEY)
    with Provider() as running:
        yield running

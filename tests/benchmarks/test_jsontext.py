from __future__ import annotations

from grounding.benchmarks.calls import json_values


def test_what_cannot_be_kept_is_passed_over() -> None:
    assert json_values('first {"a": "\\ud800"} then {"b": 1}') == [{"b": 1}]
    assert json_values("[" * 100_000) == []

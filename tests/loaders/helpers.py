from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from grounding.loaders import realwebassist
from grounding.loaders.problems import Problem

QUESTIONS = "questions_with_task_updated.json"


def change(position: int, **fields: Any) -> Callable[[str, list[dict[str, Any]]], None]:
    """An edit for ``tiny_dataset`` that sets fields of one item of participant 1."""

    def edit(participant: str, items: list[dict[str, Any]]) -> None:
        if participant == "1":
            items[position].update(fields)

    return edit


def drop(position: int, field: str) -> Callable[[str, list[dict[str, Any]]], None]:
    def edit(participant: str, items: list[dict[str, Any]]) -> None:
        if participant == "1":
            del items[position][field]

    return edit


def only_problem(data_dir: Path, **options: Any) -> Problem:
    problems = realwebassist.check(data_dir, **options)
    assert len(problems) == 1, [str(problem) for problem in problems]
    return problems[0]

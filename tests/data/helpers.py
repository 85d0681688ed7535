from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grounding.data.fields import DatasetProblems, Problem
from grounding.data.layouts import realwebassist

QUESTIONS = "questions_with_task_updated.json"


def change(position: int, **fields: Any) -> Callable[[str, list[dict[str, Any]]], None]:
    """An edit for ``tiny_dataset`` that sets fields of one item of participant 1."""

    def edit(participant: str, items: list[dict[str, Any]]) -> None:
        if participant == "1":
            items[position].update(fields)

    return edit


def check(data_dir: Path, **options: Any) -> list[Problem]:
    try:
        realwebassist.load(data_dir, deep=True, **options)
    except DatasetProblems as found:
        return list(found.problems)
    return []


def only_problem(data_dir: Path, **options: Any) -> Problem:
    problems = check(data_dir, **options)
    assert len(problems) == 1, [str(problem) for problem in problems]
    return problems[0]


def hub_cache(data_dir: Path, cache: Path, repository: str = "datasets--someone--some-set") -> Path:
    """The files of ``data_dir`` as a hub's client keeps them: each once in ``blobs``, a relative link in a snapshot.

    Returns:
        The snapshot's folder.
    """
    revision = "0123456789abcdef0123456789abcdef01234567"
    home = cache / repository
    snapshot, blobs, refs = home / "snapshots" / revision, home / "blobs", home / "refs"
    for folder in (snapshot, blobs, refs):
        folder.mkdir(parents=True)
    (refs / "main").write_text(revision)
    for file in (one for one in data_dir.rglob("*") if one.is_file()):
        blob = blobs / hashlib.sha256(file.read_bytes()).hexdigest()
        blob.write_bytes(file.read_bytes())
        link = snapshot / file.relative_to(data_dir)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot

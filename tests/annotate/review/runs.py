"""A small run with a hit, misses, and a reply without a place, over a data set in the release layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shell import call

CORNER = {"point": [63, 47]}


def make_run(data_dir: Path, folder: Path, answers: dict[str, Any] | None = None) -> Path:
    """Score recorded answers; steps that are not named click in the bottom right corner, which is a miss.

    ``answers`` maps step ids to lines of a file of predictions without the step.
    """
    lines = []
    for questions in sorted(data_dir.glob("*/questions_with_task_updated.json")):
        items = json.loads(questions.read_text(encoding="utf-8"))
        for item in items:
            if item["bounding_box"] is not None:
                step = f"{questions.parent.name}/{Path(item['final_image']).stem}"
                lines.append({"step": step, **(answers or {}).get(step, CORNER)})
    folder.mkdir(parents=True, exist_ok=True)
    predictions = folder / "answers.jsonl"
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = call(
        *("--dataset", "realwebassist", "--data-dir", data_dir, "--predictions", predictions),
        *("--log-dir", folder / "results", "--display", "none"),
    )
    assert done.returncode in (0, 1), done.stderr
    (run,) = (folder / "results").iterdir()
    return run

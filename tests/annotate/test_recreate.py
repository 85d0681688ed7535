"""A scripted annotator draws the boxes of a participant of the sample again, with mouse and keyboard alone.

The whole participant takes longer than a test should: ``tools/recreate_annotations.py`` does it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from shell import call, scores

from grounding.data import inspect_dataset
from grounding.data.layouts.realwebassist import QUESTIONS

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from annotating.recreate import boxes_of, copy_without_boxes, recreate  # noqa: E402
from annotating.stage import Stage, missing  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() != "", reason=missing())]
ORIGINAL = ROOT / "datasets" / "sample-web" / "1"


def wanted(place: int, item: dict[str, Any]) -> bool:
    """All steps with several boxes, some without a click, and some of the others."""
    boxes = boxes_of(item)
    return place % 16 == 0 or len(boxes or ()) > 1 or (boxes is None and place % 3 == 0)


def test_what_was_drawn_again_is_what_was_there(tmp_path: Path) -> None:
    copy = tmp_path / "data" / "1"
    items = copy_without_boxes(ORIGINAL, copy, wanted)
    assert sum(len(boxes_of(item) or ()) > 1 for item in items) >= 15
    assert sum(boxes_of(item) is None for item in items) >= 3
    assert all("bounding_box" not in item for item in json.loads((copy / QUESTIONS).read_text(encoding="utf-8")))
    with Stage() as stage:
        done = recreate(stage, copy, items)
    assert (done.steps, done.boxes) == (len(items), sum(len(boxes_of(item) or ()) for item in items))

    assert inspect_dataset("realwebassist", tmp_path / "data").problems == ()
    written = json.loads((copy / QUESTIONS).read_text(encoding="utf-8"))
    for before, after in zip(items, written, strict=True):
        assert {name: after[name] for name in before if name != "bounding_box"} == {
            name: value for name, value in before.items() if name != "bounding_box"
        }
        assert boxes_of(after) == boxes_of(before)

    oracle = ("--dataset", "realwebassist", "--data-dir", tmp_path / "data", "--grounder", "oracle")
    run = call(*oracle, "--log-dir", tmp_path / "results")
    assert run.returncode == 0, run.stderr
    (folder,) = (tmp_path / "results").iterdir()
    assert scores(folder)["scores"]["paper"]["step_accuracy"]["value"] == 100.0

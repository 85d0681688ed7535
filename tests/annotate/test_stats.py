"""``python -m annotate stats``: the counts, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shell import run


def prepare(participant: str, items: list[dict[str, Any]]) -> None:
    if participant == "2":
        del items[0]["bounding_box"]
        items[1]["annotation"] = {"verified": True, "annotator": "ann", "at": "2026-01-31T09:00:00Z"}
        items[3]["annotation"] = {"annotator": "ann", "at": "2026-01-30T09:00:00Z"}
        small = {"x": 1, "y": 1, "width": 4, "height": 2, "type": "icon"}
        items[3]["bounding_box"] = [small, {**small, "y": 9.5, "type": "text"}]


def test_counts(tiny_dataset, tmp_path: Path) -> None:
    done = run("stats", tiny_dataset(edit=prepare), "--small", "4", "--json", cwd=tmp_path, module="annotate")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    total = {"steps": 8, "todo": 1, "boxes_steps": 5, "no_click": 2, "verified": 1, "done_percent": 87.5, "boxes": 6}
    assert report["total"] == {"name": "all", **total, "tasks": 4, "instructions": 8}
    assert [folder["name"] for folder in report["folders"]] == ["1", "2"]
    boxes = report["boxes"]
    assert boxes["per_step"] == {"1": 4, "2": 1}
    assert (boxes["text"], boxes["icon"], boxes["unsaid"], boxes["small"], boxes["between_pixels"]) == (1, 1, 4, 2, 1)
    assert boxes["width_px"] == {"least": 4, "median": 16, "largest": 16}
    assert boxes["share_percent"]["largest"] == 100 * 16 * 12 / (64 * 48)
    ann = {"name": "ann", "steps": 2, "first_at": "2026-01-30T09:00:00Z", "last_at": "2026-01-31T09:00:00Z"}
    assert report["annotators"] == [ann]
    assert report["pictures"] == {"64 x 48": 8}


def test_the_table_and_exit_codes(tiny_dataset, tmp_path: Path) -> None:
    data = tiny_dataset(edit=prepare)
    done = run("stats", data, cwd=tmp_path, module="annotate")
    assert done.returncode == 0
    assert "│ all    │     8 │     5 │        2 │     1 │  87.5 %" in done.stdout
    (data / "1" / "images" / "1.png").unlink()
    broken = run("stats", data, cwd=tmp_path, module="annotate")
    assert broken.returncode == 1
    assert "1 things could not be read" not in broken.stdout
    assert "1 thing could not be read" in broken.stdout
    assert run("stats", data, "--small", "0", cwd=tmp_path, module="annotate").returncode == 2

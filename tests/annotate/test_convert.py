"""``python -m annotate convert``: what comes out, what is said of it, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import run

from annotate.formats.reading import read_labels
from grounding.loaders.realwebassist import load

QUESTIONS = "questions_with_task_updated.json"


@pytest.mark.parametrize("name", ["coco", "labelme", "csv"])
def test_there_and_back_loads_as_before(tiny_dataset, tmp_path: Path, name: str) -> None:
    data = tiny_dataset()
    there = run("convert", data, tmp_path / "there", "--to", name, cwd=tmp_path, module="annotate")
    assert there.returncode == 0, there.stderr
    back = run("convert", tmp_path / "there", tmp_path / "back", "--to", "native", cwd=tmp_path, module="annotate")
    assert back.returncode == 0, back.stderr
    assert load(tmp_path / "back").fingerprint == load(data).fingerprint


def test_what_is_lost_is_said(tiny_dataset, tmp_path: Path) -> None:
    done = run("convert", tiny_dataset(), tmp_path / "out", "--to", "yolo", cwd=tmp_path, module="annotate")
    assert done.returncode == 0
    assert "field instruction" in done.stdout
    assert "YOLO holds boxes and classes alone" in done.stdout
    assert f"8 steps with 6 boxes written to {tmp_path / 'out'} as yolo" in done.stdout
    assert (tmp_path / "out" / "labels" / "1" / "3.txt").read_text() == ""
    assert (tmp_path / "out" / "labels" / "1" / "1.txt").read_text().startswith("0 0.3750000000 0.3750000000 0.25")


def test_steps_that_cannot_be_written_are_listed(tiny_dataset, tmp_path: Path) -> None:
    def spoil(_participant: str, items: list) -> None:
        items[0]["final_image"] = "images/gone.png"
        items[1]["bounding_box"] = {"x": 1, "y": 1, "width": -4, "height": 2}

    data = tiny_dataset(participants=1, edit=spoil)
    done = run("convert", data, tmp_path / "out", "--to", "coco", "--json", cwd=tmp_path, module="annotate")
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert (said["steps"], said["left_out"], said["to_do_again"]) == (3, 1, 1)
    assert [one["kind"] for one in said["problems"]] == ["missing-image"]
    states = [item.entry.state for sheet in read_labels(tmp_path / "out").sheets for item in sheet.items]
    assert states == ["todo", "no-click", "boxes"]


def test_labels_alone(tiny_dataset, tmp_path: Path) -> None:
    done = run(
        "convert", tiny_dataset(), tmp_path / "out", "--to", "voc", "--pictures", "none", "--voc-edges", "devkit",
        cwd=tmp_path, module="annotate",
    )  # fmt: skip
    assert done.returncode == 0
    assert not list((tmp_path / "out").rglob("*.png"))
    assert "<xmin>17</xmin>" in (tmp_path / "out" / "Annotations" / "1" / "1.xml").read_text()


def test_nothing_is_overwritten(tiny_dataset, tmp_path: Path) -> None:
    data = tiny_dataset()
    before = (data / "1" / QUESTIONS).read_bytes()
    done = run("convert", data, data, "--to", "native", cwd=tmp_path, module="annotate")
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert (data / "1" / QUESTIONS).read_bytes() == before

"""``python -m annotate agree``: two versions of the same steps held against each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shell import run

from annotate.agreement.comparing import compare
from annotate.agreement.opening import comparing_options
from annotate.formats.reading import read_labels
from grounding.errors import UserError


def agree(a: Path, b: Path, *more: str, cwd: Path) -> tuple[int, dict[str, Any]]:
    done = run("agree", a, b, "--json", *more, cwd=cwd, module="annotate")
    return done.returncode, json.loads(done.stdout)


def differ(_participant: str, items: list[dict[str, Any]]) -> None:
    # All boxes are 16 x 12 at (16 + step, 12).
    items[0]["bounding_box"][0]["x"] += 4  # IoU 12 / 20
    items[1]["bounding_box"][0]["x"] += 8  # IoU 8 / 24; the centre is on the edge
    items[2]["bounding_box"] = [{"x": 1, "y": 1, "width": 5, "height": 5}]
    items[3]["bounding_box"].append({"x": 50, "y": 40, "width": 5, "height": 5})
    del items[4]["bounding_box"]
    items[5]["instruction"] = "something else"


def test_two_annotators(tiny_dataset, tmp_path: Path) -> None:
    a = tiny_dataset("a", participants=1, steps=7)
    b = tiny_dataset("b", participants=1, steps=7, edit=differ)
    code, report = agree(a, b, cwd=tmp_path)
    assert code == 1
    assert (report["paired"], report["undecided"], report["todo_a"], report["todo_b"]) == (7, 1, 0, 1)
    states = report["states"]
    assert (states["boxes_boxes"], states["no_click_boxes"], states["agree"], states["decided"]) == (5, 1, 5, 6)
    assert states["kappa"] == 0
    boxes = report["boxes"]
    assert (boxes["steps"], boxes["boxes_a"], boxes["boxes_b"], boxes["pairs"], boxes["agreed"]) == (5, 5, 6, 5, 4)
    assert boxes["f1_percent"] == pytest.approx(100 * 8 / 11)
    assert boxes["mean_iou"] == pytest.approx((12 / 20 + 8 / 24 + 3) / 5)
    clicks = report["clicks"]
    assert (clicks["hits_a"], clicks["centres_a"], clicks["hits_b"], clicks["centres_b"]) == (5, 5, 5, 6)
    assert clicks["steps_agreed"] == 4
    assert report["other_words"] == 1
    found = [(one["index_a"], one["kinds"]) for one in report["disagreements"]]
    assert found == [(1, ["box"]), (2, ["state"]), (3, ["box", "click"])]
    assert agree(a, b, "--iou", "0.3", cwd=tmp_path)[1]["boxes"]["agreed"] == 5


def test_the_same_folder_agrees_with_itself_in_any_format(tiny_dataset, tmp_path: Path) -> None:
    data = tiny_dataset()
    assert run("convert", data, tmp_path / "yolo", "--to", "yolo", cwd=tmp_path, module="annotate").returncode == 0
    code, report = agree(data, tmp_path / "yolo", cwd=tmp_path)
    assert code == 0
    assert report["disagreements"] == []
    assert (report["states"]["kappa"], report["boxes"]["f1_percent"], report["boxes"]["mean_iou"]) == (1, 100, 1)
    assert report["other_words"] == 0


def test_steps_of_one_alone_and_other_pictures(tiny_dataset) -> None:
    a = tiny_dataset("a", participants=["1", "2"], steps=3, unscored=())
    b = tiny_dataset("b", participants=["1", "3"], steps=2, unscored=(), size=(128, 96))
    report = compare(read_labels(a), read_labels(b), names=("a", "b"), threshold=0.5)
    assert (report.paired, report.only_a, report.only_b, report.other_pictures) == (2, 4, 2, 2)
    kinds = [one.kinds[0] for one in report.disagreements]
    assert kinds == ["picture", "picture", "only-a", "only-a", "only-a", "only-a", "only-b", "only-b"]
    assert report.states.undefined_because == "no step that both have decided"
    assert (report.boxes.f1_percent, report.boxes.mean_iou) == (None, None)


def test_nothing_in_common(tiny_dataset, tmp_path: Path) -> None:
    a, b = tiny_dataset("a", participants=["1", "2"]), tiny_dataset("b", participants=["3", "4"])
    done = run("agree", a, b, cwd=tmp_path, module="annotate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "none of them is in both" in done.stderr
    assert run("agree", a, a, "--iou", "1.5", cwd=tmp_path, module="annotate").returncode == 2


def test_what_is_opened(tiny_dataset) -> None:
    a = tiny_dataset("a", participants=2, steps=7)
    b = tiny_dataset("b", participants=2, steps=7, edit=differ)
    readings = read_labels(a), read_labels(b)
    report = compare(*readings, names=(str(a), str(b)), threshold=0.5)
    options = comparing_options(*readings, report, participant="2", annotator="ann")
    assert (options.folder, options.step, options.annotator) == (a / "2", 1, "ann")
    assert options.other.name == "b"
    assert [one.index_a for one in options.other.disagreements] == [1, 2, 3]
    assert options.other.entries[0] == readings[1].sheets[1].items[0].entry
    with pytest.raises(UserError, match="choose from 1, 2"):
        comparing_options(*readings, report, participant="9", annotator="")


def test_without_a_display_the_table_still_comes(tiny_dataset, tmp_path: Path) -> None:
    a, b = tiny_dataset("a", participants=1, steps=7), tiny_dataset("b", participants=1, steps=7, edit=differ)
    done = run("agree", a, b, "--open", cwd=tmp_path, module="annotate", env={"DISPLAY": ""})
    assert done.returncode == 2
    assert "3 disagreements" in done.stdout
    assert "display" in done.stderr or "tkinter" in done.stderr

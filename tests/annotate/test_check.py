"""``python -m annotate check`` as a person and a CI job run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from shell import run

from annotate.checking.rules import check_reading
from annotate.formats.reading import read_labels

GOOD = {"x": 16, "y": 12, "width": 16, "height": 12}


def check(*arguments: str | Path, cwd: Path) -> tuple[int, str, str]:
    done = run("check", *arguments, cwd=cwd, module="annotate")
    return done.returncode, done.stdout, done.stderr


def spoil(_participant: str, items: list[dict[str, Any]]) -> None:
    items[0]["bounding_box"] = [GOOD, GOOD, {**GOOD, "width": 0}]
    items[1]["bounding_box"] = {"x": 60, "y": 2, "width": 8, "height": 3.5}
    items[2]["instruction"] = "  "
    del items[3]["bounding_box"]
    items[4]["final_image"] = "images/1.png"
    items[5]["bounding_box"] = {"x": "1", "y": 2, "width": 8, "height": 3}
    items[6]["final_image"] = "images/gone.png"
    items[7]["bounding_box"] = {"x": 600, "y": 2, "width": 8, "height": 3}


def test_a_sound_data_set(tiny_dataset, tmp_path: Path) -> None:
    code, out, err = check(tiny_dataset(), cwd=tmp_path)
    assert (code, out, err) == (0, "no problems found (8 steps in 2 folders, read as native)\n", "")


def test_everything_that_can_be_wrong_has_its_kind_and_place(tiny_dataset, tmp_path: Path) -> None:
    data = tiny_dataset(participants=1, steps=9, unscored=(), edit=spoil)
    (data / "1" / "images" / "9.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    code, out, _ = check(data, "--json", cwd=tmp_path)
    found = json.loads(out)
    assert code == 1
    assert found["steps"] == 9
    places = {(one["kind"], one["item"], one["field"]) for one in found["problems"]}
    assert places == {
        ("duplicate-box", 0, "bounding_box[1]"),
        ("zero-area", 0, "bounding_box[2]"),
        ("over-edge", 1, "bounding_box"),
        ("fraction", 1, "bounding_box"),
        ("empty-instruction", 2, "instruction"),
        ("todo", 3, ""),
        ("duplicate-image", 4, ""),
        ("field", 5, "bounding_box.x"),
        ("missing-image", 6, "final_image"),
        ("outside", 7, "bounding_box"),
        ("broken-image", 8, "final_image"),
        ("orphan-image", None, ""),
    }
    assert all(one["what"] and one["fix"] and one["file"] for one in found["problems"])
    assert sum(one["kind"] == "orphan-image" for one in found["problems"]) == 2


def test_kinds_can_be_passed_over(tiny_dataset, tmp_path: Path) -> None:
    def to_do(_participant: str, items: list[dict[str, Any]]) -> None:
        for item in items:
            item.pop("bounding_box")

    data = tiny_dataset(participants=1, steps=30, edit=to_do)
    code, out, _ = check(data / "1", cwd=tmp_path)
    assert code == 1
    assert out.count("[todo]") == 20
    assert "… and 10 more of todo; --all lists them" in out
    assert out.endswith("30 problems: 30 todo (30 steps in 1 folder, read as native)\n")
    assert check(data / "1", "--ignore", "todo", cwd=tmp_path)[0] == 0


def test_what_cannot_be_read_at_all(tmp_path: Path) -> None:
    code, out, err = check(tmp_path / "gone", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err == f"annotate: {tmp_path / 'gone'}: there is no such file or folder\n"
    assert check(tmp_path, "--from", "word", cwd=tmp_path)[0] == 2


def test_other_formats_are_checked_too(tmp_path: Path) -> None:
    Image.new("RGB", (100, 100)).save(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.1 0.1\n0 0.5 0.5 0.1 0.1\n0 0.99 0.5 0.1 0.1\n")
    found = [(one.kind, one.problem.line) for one in check_reading(read_labels(tmp_path, "yolo"))]
    assert found == [("duplicate-box", 2), ("over-edge", 3)]


def test_the_bundled_sample_is_sound() -> None:
    from grounding.places import datasets_dir

    reading = read_labels(datasets_dir() / "sample-web")
    assert (*reading.findings, *check_reading(reading)) == ()


@pytest.mark.parametrize("box", [GOOD, [GOOD], None])
def test_what_the_loader_takes_is_no_problem(tiny_dataset, box: object) -> None:
    def put(_participant: str, items: list[dict[str, Any]]) -> None:
        items[0]["bounding_box"] = box

    reading = read_labels(tiny_dataset(edit=put))
    assert (*reading.findings, *check_reading(reading)) == ()

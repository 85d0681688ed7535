"""``check``, ``convert`` and ``agree`` as a person and a CI job run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import run

from annotate.agreement.commands import comparing_options
from annotate.agreement.compare import compare, match
from annotate.core.records import MarkedBox, overlap
from annotate.formats.check import check_reading
from annotate.formats.convert import read_labels
from grounding.cards.places import datasets_dir
from grounding.data.layouts.realwebassist import QUESTIONS, load
from grounding.errors import UserError

GOOD = {"x": 16, "y": 12, "width": 16, "height": 12}
Items = list[dict[str, Any]]


def annotate(*arguments: str | Path, cwd: Path) -> tuple[int, str, str]:
    done = run(*arguments, cwd=cwd, module="annotate")
    return done.returncode, done.stdout, done.stderr


# --- check --------------------------------------------------------------------------------------------------------


def spoil(_participant: str, items: Items) -> None:
    items[0]["bounding_box"] = [GOOD, GOOD, {**GOOD, "width": 0}]
    items[1]["bounding_box"] = {"x": 60, "y": 2, "width": 8, "height": 3.5}
    items[2]["instruction"] = "  "
    del items[3]["bounding_box"]
    items[4]["final_image"] = "images/1.png"
    items[5]["bounding_box"] = {"x": "1", "y": 2, "width": 8, "height": 3}
    items[6]["final_image"] = "images/gone.png"
    items[7]["bounding_box"] = {"x": 600, "y": 2, "width": 8, "height": 3}


def test_a_sound_data_set_has_no_problems(tiny_dataset, tmp_path: Path) -> None:
    said = "no problems found (8 steps in 2 folders, read as native)\n"
    assert annotate("check", tiny_dataset(), cwd=tmp_path) == (0, said, "")
    reading = read_labels(datasets_dir() / "sample-web")
    assert (*reading.findings, *check_reading(reading)) == ()


def test_everything_that_can_be_wrong_has_its_kind_and_place(tiny_dataset, tmp_path: Path) -> None:
    data = tiny_dataset(participants=1, steps=9, unscored=(), edit=spoil)
    (data / "1" / "images" / "9.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    code, out, _ = annotate("check", data, "--json", cwd=tmp_path)
    found = json.loads(out)
    assert (code, found["steps"]) == (1, 9)
    assert {(one["kind"], one["item"], one["field"]) for one in found["problems"]} == {
        ("duplicate-box", 0, "bounding_box[1]"), ("zero-area", 0, "bounding_box[2]"),
        ("over-edge", 1, "bounding_box"), ("fraction", 1, "bounding_box"), ("empty-instruction", 2, "instruction"),
        ("todo", 3, ""), ("duplicate-image", 4, ""), ("field", 5, "bounding_box.x"),
        ("missing-image", 6, "final_image"), ("outside", 7, "bounding_box"), ("broken-image", 8, "final_image"),
        ("orphan-image", None, ""),
    }  # fmt: skip
    assert all(one["what"] and one["fix"] and one["file"] for one in found["problems"])


def test_fractions_are_notes_and_an_instruction_that_became_two_is_named(tiny_dataset, tmp_path: Path) -> None:
    def split(_participant: str, items: Items) -> None:
        words = ("open the first one", "Open the first one.", "now please close the very last one",
                 "now please close the very last tab", "go")  # fmt: skip
        for item, text in zip(items, words, strict=True):
            item.update(task="t", instruction=text)
        items[0]["bounding_box"] = {**GOOD, "x": 16.25}

    data = Path(tiny_dataset(participants=["p"], steps=5, unscored=(), edit=split))
    code, out, _ = annotate("check", data, cwd=tmp_path)
    assert code == 1
    assert "1 problem: 1 split-instruction; 2 notes: 1 fraction, 1 similar-instruction" in out
    assert annotate("check", data, "--ignore", "split-instruction", cwd=tmp_path)[0] == 0
    said = [{"audio": "a.flac", "steps": ["images/3.png", "images/4.png"], "text": "close it"}]
    (data / "p" / "transcriptions_GT.json").write_text(json.dumps(said))
    assert "2 problems: 2 split-instruction" in annotate("check", data, cwd=tmp_path)[1]


# --- convert ------------------------------------------------------------------------------------------------------


def test_there_and_back_loads_as_before_and_nothing_is_overwritten(tiny_dataset, tmp_path: Path) -> None:
    data = tiny_dataset()
    there, back = tmp_path / "there", tmp_path / "back"
    assert annotate("convert", data, there, "--to", "coco", cwd=tmp_path)[0] == 0
    assert annotate("convert", there / "annotations.json", back, "--to", "native", cwd=tmp_path)[0] == 0
    assert load(back).fingerprint == load(data).fingerprint
    code, _, said = annotate("convert", there / "annotations.json", data, "--to", "native", cwd=tmp_path)
    assert code == 2
    assert "is there already" in said


def test_what_is_lost_is_said_and_what_cannot_be_written_is_listed(tiny_dataset, tmp_path: Path) -> None:
    code, said, _ = annotate("convert", tiny_dataset(), tmp_path / "out", "--to", "yolo", cwd=tmp_path)
    assert code == 0
    assert "keeps nothing of the words" in said
    assert f"8 steps with 6 boxes written to {tmp_path / 'out'} as yolo, which" in said
    labels = tmp_path / "out" / "labels" / "1"
    assert (labels / "3.txt").read_text() == ""
    assert (labels / "1.txt").read_text().startswith("0 0.3750000000 0.3750000000 0.25")

    def broken(_participant: str, items: Items) -> None:
        items[0]["final_image"] = "images/gone.png"
        items[1]["bounding_box"] = {"x": 1, "y": 1, "width": -4, "height": 2}

    data = tiny_dataset("broken", participants=1, edit=broken)
    code, said, _ = annotate("convert", data, tmp_path / "coco", "--to", "coco", cwd=tmp_path)
    assert code == 1
    assert "3 steps with 1 boxes" in said
    assert "1 of them are to do again" in said
    assert "1 steps were left out" in said
    assert "[missing-image]" in said


# --- agree --------------------------------------------------------------------------------------------------------

sides = st.integers(0, 30)
drawn = st.lists(
    st.builds(MarkedBox, x_px=sides, y_px=sides, width_px=st.integers(1, 20), height_px=st.integers(1, 20)), max_size=5
)


@given(drawn, drawn)
def test_pairs_of_boxes_are_one_to_one_and_the_same_from_both_sides(
    first: list[MarkedBox], second: list[MarkedBox]
) -> None:
    found = match(first, second, threshold=0.5)
    assert len(found) <= min(len(first), len(second))
    assert sorted(found) == pytest.approx(sorted(match(second, first, threshold=0.5)))
    for one in first:
        assert overlap(one.box, one.box) == 1
        assert all(overlap(one.box, other.box) == overlap(other.box, one.box) for other in second)


def differ(participant: str, items: Items) -> None:
    if participant != "1":
        return
    # All boxes are 16 x 12 at (16 + step, 12).
    items[0]["bounding_box"][0]["x"] += 4  # IoU 12 / 20
    items[1]["bounding_box"][0]["x"] += 8  # IoU 8 / 24; the centre is on the edge
    items[2]["bounding_box"] = [{"x": 1, "y": 1, "width": 5, "height": 5}]
    items[3]["bounding_box"].append({"x": 50, "y": 40, "width": 5, "height": 5})
    del items[4]["bounding_box"]
    items[5]["instruction"] = "something else"


def test_two_annotators(tiny_dataset, tmp_path: Path) -> None:
    a = tiny_dataset("a", participants=2, steps=7)
    b = tiny_dataset(
        "b", participants=2, steps=7, edit=lambda name, items: differ(name, items) if name == "1" else None
    )
    code, out, _ = annotate("agree", a / "1", b / "1", "--json", cwd=tmp_path)
    report = json.loads(out)
    assert code == 1
    assert (report["paired"], report["undecided"], report["todo_a"], report["todo_b"]) == (7, 1, 0, 1)
    states, boxes = report["states"], report["boxes"]
    assert (states["boxes_boxes"], states["no_click_boxes"], states["agree"], states["decided"]) == (5, 1, 5, 6)
    assert states["kappa"] == 0
    assert (boxes["steps"], boxes["boxes_a"], boxes["boxes_b"], boxes["pairs"], boxes["agreed"]) == (5, 5, 6, 5, 4)
    assert boxes["f1_percent"] == pytest.approx(100 * 8 / 11)
    assert boxes["mean_iou"] == pytest.approx((12 / 20 + 8 / 24 + 3) / 5)
    assert report["other_words"] == 1
    found = [(one["index_a"], one["kinds"]) for one in report["disagreements"]]
    assert found == [(1, ["box"]), (2, ["state"]), (3, ["box"])]
    # What is opened: A's folder, at its first disagreement.
    readings = read_labels(a), read_labels(b)
    whole = compare(*readings, threshold=0.5)
    options = comparing_options(readings[0], "b", whole, participant=None, annotator="ann")
    assert (options.folder, options.step, options.other) == (a / "1", 1, "b")
    assert options.steps[0].b == readings[1].sheets[0].items[0]
    with pytest.raises(UserError, match="choose from 1"):
        comparing_options(readings[0], "b", whole, participant="2", annotator="")


def test_other_formats_other_pictures_and_nothing_in_common(tiny_dataset, tmp_path: Path) -> None:
    data = tiny_dataset("a", participants=["1", "2"], steps=3, unscored=())
    assert annotate("convert", data, tmp_path / "yolo", "--to", "yolo", cwd=tmp_path)[0] == 0
    code, out, _ = annotate("agree", data, tmp_path / "yolo", "--from", "yolo", cwd=tmp_path)
    assert code == 0
    assert "no disagreements" in out
    other = tiny_dataset("b", participants=["1", "3"], steps=2, unscored=(), size=(128, 96))
    counts = compare(read_labels(data), read_labels(other), threshold=0.5).counts
    assert [counts[name] for name in ("paired", "only_a", "only_b", "other_pictures")] == [2, 4, 2, 2]
    assert (counts["boxes"]["f1_percent"], counts["boxes"]["mean_iou"]) == (None, None)
    code, out, said = annotate("agree", data, tiny_dataset("c", participants=["3", "4"]), cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "none of them is in both" in said
    assert QUESTIONS not in said

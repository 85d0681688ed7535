"""Broken and hostile label files: each is a problem with a place, or refused; nothing leaves the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from annotate.core.records import AnnotatedStep, MarkedBox
from annotate.formats.convert import read_labels, write_labels
from annotate.formats.labels import Reading
from formats.making import Gallery
from formats.test_other_tools import LABELIMG, entries, picture
from grounding.errors import UserError

BOMB = """<?xml version="1.0"?>
<!DOCTYPE annotation [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<annotation><filename>&c;</filename></annotation>"""
OUTSIDE = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><annotation><filename>&e;</filename></annotation>'


def kinds(reading: Reading) -> list[str]:
    return [finding.kind for finding in reading.findings]


def said(reading: Reading) -> str:
    return "\n".join(str(finding.problem) for finding in reading.findings)


@pytest.mark.parametrize("text", [BOMB, OUTSIDE])
def test_document_types_are_refused(tmp_path: Path, text: str) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "a.xml").write_text(text)
    reading = read_labels(tmp_path, "voc")
    assert "declares a document type" in said(reading)
    assert "root:" not in said(reading)
    assert entries(reading) == [AnnotatedStep(image="a.png")]


@pytest.mark.parametrize(
    "name",
    ["../../secret.png", "/etc/passwd", "..\\..\\secret.png", "C:\\secret.png", "a\0.png", "link.png", "x" * 5000, " "],
)
def test_no_path_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    picture(tmp_path / "secret.png")
    root = tmp_path / "set" / "inner"
    picture(root / "a.png")
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    content = {"images": [{"id": 1, "file_name": name}], "annotations": [], "categories": []}
    (root / "coco.json").write_text(json.dumps(content))
    reading = read_labels(root / "coco.json")
    assert kinds(reading) == ["missing-image" if name in ("link.png", "C:\\secret.png") else "field"]
    written = write_labels(reading, tmp_path / "out", "coco")
    assert (written.steps, written.left_out) == (0, 1)


def test_labels_for_another_size_are_refused(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", (400, 200))
    (tmp_path / "a.xml").write_text(LABELIMG)
    reading = read_labels(tmp_path, "voc")
    assert kinds(reading) == ["size-mismatch"]
    assert "states 200 x 100 pixels, and its picture has 400 x 200" in said(reading)
    written = write_labels(reading, tmp_path.parent / f"{tmp_path.name}-out", "native")
    assert (written.steps, written.boxes, written.to_do_again) == (1, 0, 1)


def test_yolo_lines_that_are_none(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "classes.txt").write_text("text\n")
    lines = ["0 12 30 40 50", "x 0.1 0.1 0.1 0.1", "0 0.1 0.1", "0 nan 0.1 0.1 0.1", "7 0.5 0.5 0.1 0.1"]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    reading = read_labels(tmp_path, "yolo")
    assert [(finding.problem.line, finding.kind) for finding in reading.findings] == [
        (number, "field") for number in (1, 2, 3, 4, 5)
    ]
    assert "pixels where shares" in said(reading)
    assert "which the list of 1 classes does not name" in said(reading)


def test_damaged_coco_records_have_their_place(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    image, box = {"id": 1, "file_name": "a.png"}, {"id": 1, "image_id": 1, "bbox": [1, 2, 3, 4]}

    def write(images: list[object], boxes: list[object]) -> None:
        (tmp_path / "c.json").write_text(json.dumps({"images": images, "annotations": boxes, "categories": []}))

    for images, boxes, place in (
        ([image], [box, {**box, "bbox": [1, 2, "x", 4]}], r"annotations\[1\].bbox\[2\]"),
        ([image], [box, 5], r"annotations\[1\]"),
        ([image, {"file_name": 3}], [box], r"images\[1\]"),
    ):
        write(images, boxes)
        with pytest.raises(UserError, match=place):
            read_labels(tmp_path / "c.json")
    write([image], [{**box, "image_id": 9}])
    assert [finding.problem.field for finding in read_labels(tmp_path / "c.json").findings] == [
        "annotations[0].image_id"
    ]


def test_lists_of_classes_that_never_end(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 20)}]\n" for n in range(1, 12))
    (tmp_path / "data.yaml").write_text(f"l0: &l0 [a]\n{levels}names: *l11\n")
    reading = read_labels(tmp_path, "yolo")
    assert "must have the classes under names" in said(reading)
    assert len(entries(reading)[0].boxes) == 1


def test_a_conversion_is_whole_or_not_there(tmp_path: Path, gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    reading = gallery.reading([("ann", [AnnotatedStep(image="images/1.png", state="no-click")])], tmp_path / "src")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(UserError, match="No space left on device"):
        write_labels(reading, tmp_path / "out", "coco")
    assert not list(tmp_path.iterdir())


def test_names_that_would_meet_are_told_apart(tmp_path: Path, gallery: Gallery) -> None:
    names = ["images/a.png", "images/a.jpg", "images/classes.png", "images/images/b.png"]
    made = [("1", [AnnotatedStep(image=name, state="no-click") for name in names])]
    for name in ("yolo", "voc"):
        write_labels(gallery.reading(made, tmp_path / "src"), tmp_path / name, name)
        back = read_labels(tmp_path / name, name)
        assert [item.entry.state for sheet in back.sheets for item in sheet.items] == ["no-click"] * 4


def test_steps_that_share_a_picture_become_one_where_they_must(tmp_path: Path, gallery: Gallery) -> None:
    one, two = (MarkedBox(x_px=x, y_px=1, width_px=9, height_px=9) for x in (1, 30))
    made = [("1", [AnnotatedStep(image="images/a.png", state="boxes", boxes=(box,)) for box in (one, two)])]
    for name in ("yolo", "voc"):
        write_labels(gallery.reading(made, tmp_path / "src"), tmp_path / name, name)
        (entry,) = entries(read_labels(tmp_path / name, name))
        assert entry.boxes == (one, two)
    write_labels(gallery.reading(made, tmp_path / "src"), tmp_path / "coco", "coco")
    assert [entry.boxes for entry in entries(read_labels(tmp_path / "coco" / "annotations.json"))] == [(one,), (two,)]


def test_unknown_fields_go_along_to_the_native_layout(tmp_path: Path) -> None:
    picture(tmp_path / "src" / "images" / "1.png")
    box = {"x": 1, "y": 2, "width": 3, "height": 4, "score": 0.5}
    item = {"final_image": "images/1.png", "instruction": "go", "action": "", "mood": "good", "bounding_box": box}
    (tmp_path / "src" / "questions_with_task_updated.json").write_text(json.dumps([item]))
    reading = read_labels(tmp_path / "src")
    write_labels(reading, tmp_path / "native", "native")
    file = tmp_path / "native" / "src" / "questions_with_task_updated.json"
    assert json.loads(file.read_text()) == [item]


def test_pictures_are_looked_at(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "b.png")
    (tmp_path / "b.png").write_bytes((tmp_path / "b.png").read_bytes()[:-20])
    (tmp_path / "a.xml").write_text(LABELIMG.replace("a.png", "c.png"))
    assert sorted(kinds(read_labels(tmp_path, "voc"))) == ["broken-image", "missing-image"]

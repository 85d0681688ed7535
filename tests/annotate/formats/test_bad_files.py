"""Broken and hostile label files: each is a problem with a place, or refused; nothing leaves the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from annotate.formats.detecting import detect
from annotate.formats.reading import read_labels
from annotate.formats.records import Reading
from annotate.formats.safe_xml import MAX_DEPTH, parse_xml
from annotate.formats.writing import write_labels
from annotate.records import Entry
from formats.making import Gallery
from formats.test_other_tools import DEVKIT, LABELIMG, entries, picture
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
    assert entries(reading) == [Entry(image="a.png")]


def test_xml_is_bounded() -> None:
    with pytest.raises(UserError, match="nested more than"):
        parse_xml(b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1))
    with pytest.raises(UserError, match="is not XML"):
        parse_xml(b"<a><b></a>")
    with pytest.raises(UserError, match="is not XML"):
        parse_xml(b'<?xml version="1.0" encoding="no-such"?><a/>')
    assert parse_xml(b"<a x='1'> t &amp; u <b>c</b></a>").value("b") == "c"


@pytest.mark.parametrize("name", ["../../secret.png", "/etc/passwd", "..\\..\\secret.png", "C:\\secret.png", "a\0.png"])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    picture(tmp_path / "secret.png")
    root = tmp_path / "set" / "inner"
    picture(root / "a.png")
    content = {
        "images": [{"id": 1, "file_name": name, "width": 200, "height": 100}],
        "annotations": [],
        "categories": [],
    }
    (root / "coco.json").write_text(json.dumps(content))
    reading = read_labels(root)
    assert kinds(reading) == ["field"]
    assert [item.picture for sheet in reading.sheets for item in sheet.items] == [None]
    written = write_labels(reading, tmp_path / "out", "csv")
    assert (written.steps, written.left_out) == (0, 1)
    assert not list((tmp_path / "out").rglob("*.png"))


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    picture(tmp_path / "secret.png")
    root = tmp_path / "set"
    root.mkdir()
    (root / "a.png").symlink_to(tmp_path / "secret.png")
    shape = {"version": "5", "shapes": [], "imagePath": "a.png", "imageWidth": 200, "imageHeight": 100}
    (root / "a.json").write_text(json.dumps(shape))
    reading = read_labels(root, "labelme")
    assert "leads out of the data set" in said(reading)


def test_labels_for_another_size_are_refused(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", (400, 200))
    (tmp_path / "a.xml").write_text(LABELIMG)
    reading = read_labels(tmp_path)
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
    boxes = [{"id": 1, "image_id": 1, "bbox": [1, 2, "x", 4]}, {"id": 2, "image_id": 9, "bbox": [1, 2, 3, 4]}, 5]
    content = {"images": [{"id": 1, "file_name": "a.png"}, {"file_name": 3}], "annotations": boxes, "categories": []}
    (tmp_path / "c.json").write_text(json.dumps(content))
    reading = read_labels(tmp_path)
    places = [finding.problem.field for finding in reading.findings]
    assert places == ["annotations[0].bbox", "annotations[1].image_id", "images[1]", "annotations[2]"]


def test_coco_without_a_list_of_annotations(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    content = {"images": [{"id": 1, "file_name": "a.png"}], "annotations": None, "categories": [{"id": {}}, 3]}
    (tmp_path / "c.json").write_text(json.dumps(content))
    assert "annotations = null: must be a list" in said(read_labels(tmp_path))


def test_lists_of_classes_that_never_end(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 20)}]\n" for n in range(1, 12))
    (tmp_path / "data.yaml").write_text(f"l0: &l0 [a]\n{levels}names: *l11\n")
    reading = read_labels(tmp_path)
    assert "must have the classes under names" in said(reading)
    assert len(entries(reading)[0].boxes) == 1


@pytest.mark.parametrize("name", ["x" * 5000 + ".png", "a/" * 3000 + "b.png", "", " "])
def test_names_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    picture(tmp_path / "a.png")
    shapes = {"version": "5", "shapes": [], "imagePath": name, "flags": 3}
    (tmp_path / "a.json").write_text(json.dumps(shapes))
    reading = read_labels(tmp_path, "labelme")
    assert len(reading.findings) == 1
    (tmp_path / "a.json").unlink()
    (tmp_path / "a.xml").write_text(f"<annotation><filename>{name.removesuffix('.png')}</filename></annotation>")
    assert len(read_labels(tmp_path, "voc").findings) == 1


def test_a_format_is_never_guessed_between_two(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "a.xml").write_text(LABELIMG)
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(UserError, match=r"looks like voc and yolo; say which with --from"):
        detect(tmp_path)


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is none of them"):
        detect(tmp_path)
    with pytest.raises(UserError, match="no such file or folder"):
        read_labels(tmp_path / "gone", "coco")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="expected the columns participant"):
        read_labels(tmp_path / "x.csv")


def test_a_conversion_is_whole_or_not_there(tmp_path: Path, gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    reading = gallery.reading([("ann", [Entry(image="images/1.png", state="no-click")])], tmp_path / "src")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(UserError, match="No space left on device"):
        write_labels(reading, tmp_path / "out", "coco")
    assert not list(tmp_path.iterdir())


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, gallery: Gallery) -> None:
    reading = gallery.reading([("ann", [Entry(image="images/1.png")])], tmp_path / "src")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="is there already"):
        write_labels(reading, tmp_path / "out", "coco")
    with pytest.raises(UserError, match="lies in the folder that is read"):
        write_labels(reading, tmp_path / "src" / "out", "coco")


def test_names_that_would_meet_are_told_apart(tmp_path: Path, gallery: Gallery) -> None:
    names = ["images/a.png", "images/a.jpg", "images/classes.png", "images/images/b.png"]
    made = [("1", [Entry(image=name, state="no-click") for name in names])]
    for name in ("yolo", "voc", "labelme"):
        written = write_labels(gallery.reading(made, tmp_path / "src"), tmp_path / name, name)
        back = read_labels(tmp_path / name, name)
        assert [item.entry.state for sheet in back.sheets for item in sheet.items] == ["no-click"] * 4
        assert "picture name" in {loss.what for loss in written.losses}


def test_steps_that_share_a_picture_become_one_where_they_must(tmp_path: Path, gallery: Gallery) -> None:
    from annotate.records import MarkedBox

    one, two = (MarkedBox(x_px=x, y_px=1, width_px=9, height_px=9) for x in (1, 30))
    made = [("1", [Entry(image="images/a.png", state="boxes", boxes=(box,)) for box in (one, two)])]
    for name in ("yolo", "voc", "labelme"):
        written = write_labels(gallery.reading(made, tmp_path / "src"), tmp_path / name, name)
        assert ("steps that share a picture", 1) in [(loss.what, loss.count) for loss in written.losses]
        (entry,) = entries(read_labels(tmp_path / name))
        assert entry.boxes == (one, two)
    write_labels(gallery.reading(made, tmp_path / "src"), tmp_path / "coco", "coco")
    assert [entry.boxes for entry in entries(read_labels(tmp_path / "coco"))] == [(one,), (two,)]


def test_formulas_are_text_in_a_table(tmp_path: Path, gallery: Gallery) -> None:
    words = '=HYPERLINK("http://x")'
    made = [("1", [Entry(image="images/a.png", instruction=words, task="12", comment="'quoted")])]
    write_labels(gallery.reading(made, tmp_path / "src"), tmp_path / "csv", "csv")
    assert "'=HYPERLINK" in (tmp_path / "csv" / "annotations.csv").read_text()
    (entry,) = entries(read_labels(tmp_path / "csv"))
    assert (entry.instruction, entry.task, entry.comment) == (words, "12", "'quoted")


def test_unknown_fields_go_along_to_the_native_layout_and_are_counted_elsewhere(tmp_path: Path) -> None:
    picture(tmp_path / "src" / "images" / "1.png")
    item = {
        "final_image": "images/1.png",
        "instruction": "go",
        "action": "",
        "mood": "good",
        "bounding_box": {"x": 1, "y": 2},
    }
    item["bounding_box"] |= {"width": 3, "height": 4, "score": 0.5}
    (tmp_path / "src" / "questions_with_task_updated.json").write_text(json.dumps([item]))
    reading = read_labels(tmp_path / "src")
    write_labels(reading, tmp_path / "native", "native")
    file = tmp_path / "native" / "src" / "questions_with_task_updated.json"
    assert json.loads(file.read_text()) == [item]
    written = write_labels(reading, tmp_path / "coco", "coco")
    assert {"field mood", "field bounding_box.score"} <= {loss.what for loss in written.losses}


def test_two_label_files_for_one_picture(tmp_path: Path) -> None:
    picture(tmp_path / "000005.jpg")
    (tmp_path / "a.xml").write_text(DEVKIT)
    (tmp_path / "b.xml").write_text(DEVKIT)
    assert "labels already" in said(read_labels(tmp_path))


def test_pictures_are_looked_at(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "b.png")
    (tmp_path / "b.png").write_bytes((tmp_path / "b.png").read_bytes()[:-20])
    (tmp_path / "a.xml").write_text(LABELIMG.replace("a.png", "c.png"))
    assert sorted(kinds(read_labels(tmp_path))) == ["broken-image", "missing-image"]

"""Files as the tools themselves write them: their fields, their habits, their conventions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from annotate.core.records import AnnotatedStep, MarkedBox
from annotate.formats.convert import read_labels
from annotate.formats.labels import Reading

LABELIMG = """<annotation verified="yes">
	<folder>shots</folder><filename>a.png</filename><path>C:\\Users\\ann\\shots\\a.png</path>
	<source><database>Unknown</database></source>
	<size><width>200</width><height>100</height><depth>3</depth></size>
	<segmented>0</segmented>
	<object>
		<name>icon</name><pose>Unspecified</pose><truncated>1</truncated><difficult>0</difficult>
		<bndbox><xmin>10</xmin><ymin>20</ymin><xmax>60</xmax><ymax>100</ymax></bndbox>
	</object>
</annotation>
"""
DEVKIT = """<annotation>
  <folder>VOC2007</folder>
  <filename>000005.jpg</filename>
  <source><database>The VOC2007 Database</database><annotation>PASCAL VOC2007</annotation><image>flickr</image></source>
  <owner><name>somebody</name></owner>
  <size><width>200</width><height>100</height><depth>3</depth></size>
  <segmented>0</segmented>
  <object><name>chair</name><pose>Rear</pose><truncated>0</truncated><difficult>1</difficult>
    <bndbox><xmin>1</xmin><ymin>1</ymin><xmax>200</xmax><ymax>100</ymax></bndbox>
    <part><name>head</name><bndbox><xmin>5</xmin><ymin>5</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></part>
  </object>
</annotation>
"""


def picture(path: Path, size: tuple[int, int] = (200, 100), **saving: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size).save(path, **saving)
    return path


def entries(reading: Reading) -> list[AnnotatedStep]:
    return [item.entry for sheet in reading.sheets for item in sheet.items]


def whole(x: float, y: float, width: float, height: float, kind: str = "") -> MarkedBox:
    return MarkedBox(x_px=x, y_px=y, width_px=width, height_px=height, kind=kind)  # type: ignore[arg-type]


def test_labelimg_writes_edges_from_0_beside_the_picture(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / "b.png")
    (tmp_path / "a.xml").write_text(LABELIMG)
    reading = read_labels(tmp_path, "voc")
    assert entries(reading) == [
        AnnotatedStep(image="a.png", state="boxes", boxes=(whole(10, 20, 50, 80, "icon"),), verified=True),
        AnnotatedStep(image="b.png"),
    ]
    assert reading.findings == ()


def test_the_challenge_counts_pixels_from_1_with_both_ends(tmp_path: Path) -> None:
    picture(tmp_path / "JPEGImages" / "000005.jpg")
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations" / "000005.xml").write_text(DEVKIT)
    reading = read_labels(tmp_path, "voc")
    assert entries(reading) == [AnnotatedStep(image="000005.jpg", state="boxes", boxes=(whole(0, 0, 200, 100),))]


def test_coco_as_downloaded_with_pictures_in_a_folder_beside(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "000000242287.jpg")
    picture(tmp_path / "images" / "000000245915.jpg")
    images = [
        {"id": 245915, "license": 4, "file_name": "000000245915.jpg", "width": 200, "height": 100, "coco_url": "x"},
        {"id": 242287, "license": 4, "file_name": "000000242287.jpg", "width": 200, "height": 100},
    ]
    annotation = {"id": 125686, "category_id": 0, "iscrowd": 0, "image_id": 242287, "area": 42.5}
    annotation |= {"segmentation": [[1, 2, 3, 4, 5, 6]], "bbox": [19.25, 38.0, 31.5, 24]}
    content = {"info": {}, "licenses": [], "images": images, "annotations": [annotation]}
    content |= {"categories": [{"supercategory": "x", "id": 0, "name": "Text"}]}
    (tmp_path / "annotations").mkdir()
    file = tmp_path / "annotations" / "instances_val2017.json"
    file.write_text(json.dumps(content))
    assert entries(read_labels(file)) == [
        AnnotatedStep(image="000000245915.jpg"),
        AnnotatedStep(image="000000242287.jpg", state="boxes", boxes=(whole(19.25, 38, 31.5, 24, "text"),)),
    ]


@pytest.mark.parametrize(
    ("names", "folders"),
    [
        ("train: ../train/images\nnc: 2\nnames: ['text', 'button']\n", ("train/images", "train/labels")),
        ("path: coco8\ntrain: images/train\nnames:\n  0: text\n  1: button\n", ("images/train", "labels/train")),
    ],
    ids=["roboflow", "ultralytics"],
)  # fmt: skip
def test_yolo_layouts_and_lists_of_classes(tmp_path: Path, names: str, folders: tuple[str, str]) -> None:
    picture(tmp_path / folders[0] / "1.jpg")
    picture(tmp_path / folders[0] / "2.jpg")
    (tmp_path / "data.yaml").write_text(names)
    labels = tmp_path / folders[1]
    labels.mkdir(parents=True)
    # Six decimals, as labelImg writes them: 33 of 200 pixels is 0.165, 1 of 100 and a half is 0.015.
    (labels / "1.txt").write_text("0 0.165000 0.015000 0.330000 0.010000\n1 0.5 0.5 0.5 0.5 0.87\n\n")
    (labels / "2.txt").write_text("")
    reading = read_labels(tmp_path, "yolo")
    boxes = (whole(0, 1, 66, 1, "text"), whole(50, 25, 100, 50))
    assert [sheet.name for sheet in reading.sheets] == ["train"]
    assert entries(reading) == [
        AnnotatedStep(image="1.jpg", state="boxes", boxes=boxes),
        AnnotatedStep(image="2.jpg", state="no-click"),
    ]


@pytest.mark.parametrize("side", [1366, 1920, 2560, 3840])
def test_six_decimals_give_back_every_whole_pixel(tmp_path: Path, side: int) -> None:
    picture(tmp_path / "a.png", (side, 30))
    starts = range(0, side - 8, max(1, side // 300))
    lines = [f"0 {(x + 3.5) / side:.6f} {15 / 30:.6f} {7 / side:.6f} {10 / 30:.6f}\n" for x in starts]
    (tmp_path / "a.txt").write_text("".join(lines))
    (tmp_path / "classes.txt").write_text("text\n")
    assert entries(read_labels(tmp_path, "yolo"))[0].boxes == tuple(whole(x, 10, 7, 10, "text") for x in starts)


def test_sizes_are_those_of_the_upright_picture(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(tmp_path / "a.jpg", (200, 100), exif=exif)
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    reading = read_labels(tmp_path, "yolo")
    (item,) = reading.sheets[0].items
    assert item.size is not None
    assert (item.size.width, item.size.height) == (100, 200)
    assert item.entry.boxes == (whole(25, 50, 50, 100),)

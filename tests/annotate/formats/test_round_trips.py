"""Every format holds what it says it holds: random steps are written, read back and compared."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.formats.numbers import rounded
from annotate.formats.reading import read_labels
from annotate.formats.records import FormatName, Reading, VocEdges
from annotate.formats.writing import Written, write_labels
from annotate.records import Entry
from formats.making import Gallery, expected, fraction_boxes, read_back, sheets, whole_boxes

EXAMPLES = settings(max_examples=15)


def boxes_alone(entry: Entry) -> Entry:
    return Entry(image=entry.image, state=entry.state, boxes=entry.boxes)


def without_transcript(entry: Entry) -> Entry:
    return msgspec.structs.replace(entry, transcript="")


def voc(entry: Entry) -> Entry:
    verified = entry.verified and entry.state != "todo"
    return msgspec.structs.replace(boxes_alone(entry), verified=verified)


KEPT: dict[FormatName, Callable[[Entry], Entry]] = {
    "native": without_transcript,
    "coco": lambda entry: entry,
    "labelme": lambda entry: entry,
    "csv": lambda entry: entry,
    "yolo": boxes_alone,
    "voc": voc,
}


def there_and_back(
    gallery: Gallery, made: list, name: FormatName, edges: VocEdges = "labelimg"
) -> tuple[Written, Reading]:
    with tempfile.TemporaryDirectory() as holder:
        out = Path(holder) / "out"
        written = write_labels(gallery.reading(made, Path(holder) / "src"), out, name, voc_edges=edges)
        return written, read_labels(out, name)


@pytest.mark.parametrize("name", sorted(KEPT))
@EXAMPLES
@given(data=st.data())
def test_whole_pixels_come_back_exactly(gallery: Gallery, name: FormatName, data: st.DataObject) -> None:
    made = data.draw(sheets(whole_boxes))
    written, back = there_and_back(gallery, made, name)
    assert back.findings == ()
    assert read_back(back) == expected(made, KEPT[name])
    assert written.steps == sum(len(several) for _, several in made)
    assert written.boxes == sum(len(entry.boxes) for _, several in made for entry in several)


@pytest.mark.parametrize("name", ["native", "coco", "labelme", "csv", "voc"])
@settings(max_examples=10)
@given(data=st.data())
def test_places_between_pixels_come_back_exactly(gallery: Gallery, name: FormatName, data: st.DataObject) -> None:
    made = data.draw(sheets(fraction_boxes))
    assert read_back(there_and_back(gallery, made, name)[1]) == expected(made, KEPT[name])


@settings(max_examples=10)
@given(made=sheets(fraction_boxes))
def test_yolo_keeps_places_between_pixels_to_a_thousandth(gallery: Gallery, made: list) -> None:
    _, back = there_and_back(gallery, made, "yolo")
    before = [box for _, several in made for entry in several for box in entry.boxes]
    after = [box for _, several in read_back(back) for entry in several for box in entry.boxes]
    for one, other in zip(before, after, strict=True):
        assert abs(one.x_px - other.x_px) <= 0.001
        assert abs(one.y_px + one.height_px - other.y_px - other.height_px) <= 0.001


@EXAMPLES
@given(made=sheets(whole_boxes))
def test_the_development_kits_pixels_come_back_exactly(gallery: Gallery, made: list) -> None:
    assert read_back(there_and_back(gallery, made, "voc", "devkit")[1]) == expected(made, voc)


@settings(max_examples=12)
@given(made=sheets(whole_boxes), chain=st.permutations(["coco", "csv", "labelme", "native"]))
def test_formats_that_hold_everything_can_follow_each_other(gallery: Gallery, made: list, chain: list) -> None:
    bare = [(name, [without_transcript(entry) for entry in several]) for name, several in made]
    with tempfile.TemporaryDirectory() as holder:
        reading = gallery.reading(bare, Path(holder) / "src")
        for name in chain:
            out = Path(holder) / name
            assert write_labels(reading, out, name).left_out == 0
            reading = read_labels(out, name)
        assert read_back(reading) == expected(bare)


@given(box=fraction_boxes)
def test_rounding_moves_no_edge_by_more_than_half_a_pixel(box) -> None:
    whole = rounded(box)
    assert abs(whole.x_px - box.x_px) <= 0.5
    assert abs(whole.y_px - box.y_px) <= 0.5
    assert min(whole.width_px, whole.height_px) >= 1
    if box.width_px >= 1:
        assert abs(whole.x_px + whole.width_px - box.x_px - box.width_px) <= 0.5


def test_rounding_is_asked_for_and_counted(gallery: Gallery, tmp_path: Path) -> None:
    from annotate.records import MarkedBox

    box = MarkedBox(x_px=1.5, y_px=2, width_px=10.25, height_px=4)
    made = [("ann", [Entry(image="images/1.png", state="boxes", boxes=(box, rounded(box)))])]
    reading = gallery.reading(made, tmp_path / "src")
    written = write_labels(reading, tmp_path / "out", "coco", whole_pixels=True)
    assert [(loss.count, loss.how) for loss in written.losses if loss.what == "boxes between pixels"] == [
        (1, "changed")
    ]
    (item,) = read_labels(tmp_path / "out").sheets[0].items
    assert item.entry.boxes[0] == MarkedBox(x_px=2, y_px=2, width_px=10, height_px=4)

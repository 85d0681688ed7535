"""Every format holds what it says it holds: random steps are written, read back and compared."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.core.records import AnnotatedStep
from annotate.formats.convert import Conversion, read_labels, write_labels
from annotate.formats.labels import FormatName, Reading
from formats.making import Gallery, expected, fraction_boxes, read_back, sheets, whole_boxes

EXAMPLES = settings(max_examples=15)


def boxes_alone(entry: AnnotatedStep) -> AnnotatedStep:
    return AnnotatedStep(image=entry.image, state=entry.state, boxes=entry.boxes)


def without_transcript(entry: AnnotatedStep) -> AnnotatedStep:
    return msgspec.structs.replace(entry, transcript="")


def voc(entry: AnnotatedStep) -> AnnotatedStep:
    verified = entry.verified and entry.state != "todo"
    return msgspec.structs.replace(boxes_alone(entry), verified=verified)


KEPT: dict[FormatName, Callable[[AnnotatedStep], AnnotatedStep]] = {
    "native": without_transcript,
    "coco": lambda entry: entry,
    "yolo": boxes_alone,
    "voc": voc,
}


def read_back_from(out: Path, name: FormatName) -> Reading:
    return read_labels(out / "annotations.json" if name == "coco" else out, name)


def there_and_back(gallery: Gallery, made: list, name: FormatName) -> tuple[Conversion, Reading]:
    with tempfile.TemporaryDirectory() as holder:
        out = Path(holder) / "out"
        written = write_labels(gallery.reading(made, Path(holder) / "src"), out, name)
        return written, read_back_from(out, name)


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


@settings(max_examples=10)
@given(made=sheets(fraction_boxes))
def test_places_between_pixels_come_back(gallery: Gallery, made: list) -> None:
    for name in ("native", "coco", "voc"):
        assert read_back(there_and_back(gallery, made, name)[1]) == expected(made, KEPT[name])
    before = [box for _, several in made for entry in several for box in entry.boxes]
    back = read_back(there_and_back(gallery, made, "yolo")[1])
    after = [box for _, several in back for entry in several for box in entry.boxes]
    assert all(abs(one.x_px - other.x_px) <= 0.001 for one, other in zip(before, after, strict=True))


@settings(max_examples=12)
@given(made=sheets(whole_boxes), chain=st.permutations(["coco", "native"]))
def test_formats_that_hold_everything_can_follow_each_other(gallery: Gallery, made: list, chain: list) -> None:
    bare = [(name, [without_transcript(entry) for entry in several]) for name, several in made]
    with tempfile.TemporaryDirectory() as holder:
        reading = gallery.reading(bare, Path(holder) / "src")
        for name in chain:
            out = Path(holder) / name
            assert write_labels(reading, out, name).left_out == 0
            reading = read_back_from(out, name)
        assert read_back(reading) == expected(bare)

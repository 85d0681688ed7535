from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from odd_json import BLANKS, SCALARS, STRINGS, VALUES, lists, objects

from annotate.json_text import deeper, members
from annotate.native_file import NativeFile, item_layout, new_native, read_native, write_native
from annotate.native_item import new_item, read_item, write_item
from annotate.records import Entry, MarkedBox
from annotate.settling import settle
from grounding.errors import UserError
from grounding.places import datasets_dir

PATH = Path("questions.json")
KNOWN = {"task", "instruction", "action", "final_image", "bounding_box", "annotation"}
PIXELS = st.sampled_from(["0", "12", "12.0", "12.50", "-3", "1e2", "640"])


@st.composite
def boxes(draw: st.DrawFn) -> str:
    fields = [(f'"{name}"', draw(PIXELS)) for name in ("x", "y", "width", "height")]
    if draw(st.booleans()):
        fields.append(('"type"', draw(st.sampled_from(['"text"', '"icon"', '"other"', "7"]))))
    fields += draw(st.lists(st.tuples(st.sampled_from(['"id"', '"\\u00e9"', '"score"']), VALUES), max_size=2))
    return draw(objects(draw(st.permutations(fields))))


@st.composite
def items(draw: st.DrawFn) -> str:
    """An item of a questions file: the known fields, often odd, and others, in any order."""
    box_values = st.one_of(boxes(), lists(st.one_of(boxes(), boxes(), VALUES)), st.just("null"), VALUES)
    note = objects([('"verified"', "true"), ('"mood"', "1.50"), ('"comment"', '"\\u00e9"')])
    fields = [('"final_image"', draw(st.one_of(st.just('"images/1.png"'), STRINGS)))]
    for name, values in (
        ("task", SCALARS),
        ("instruction", SCALARS),
        ("action", VALUES),
        ("bounding_box", box_values),
        ("annotation", st.one_of(note, VALUES)),
    ):
        if draw(st.booleans()):
            fields.append((f'"{name}"', draw(values)))
    fields += draw(st.lists(st.tuples(st.sampled_from(['"n"', '"clip"', '"\\u0061b"']), VALUES), max_size=3))
    return draw(objects(draw(st.permutations(fields))))


@st.composite
def files(draw: st.DrawFn, parts: st.SearchStrategy[str]) -> bytes:
    text = draw(BLANKS) + draw(lists(parts)) + draw(BLANKS)
    return (codecs.BOM_UTF8 if draw(st.booleans()) else b"") + text.encode()


def text_of(file: NativeFile) -> bytes:
    return write_native(file, [place.item.text for place in file.places], [place.gap for place in file.places])


@given(files(st.one_of(items(), VALUES)))
def test_an_untouched_file_keeps_every_byte(content: bytes) -> None:
    file = read_native(content, PATH)
    layout = deeper(file.layout)
    assert [write_item(place.item, place.item.entry, layout) for place in file.places] == [
        place.item.text for place in file.places
    ]
    if file.places:
        assert text_of(file) == content
    assert [json.dumps(json.loads(place.item.text)) for place in file.places] == [
        json.dumps(value) for value in json.loads(content.decode("utf-8-sig"))
    ]


EDGES = st.integers(-20, 3000)
NEW_BOXES = st.builds(
    lambda x, y, w, h, kind: MarkedBox(x_px=x, y_px=y, width_px=w, height_px=h, kind=kind),
    st.floats(-20, 3000),
    st.floats(-20, 3000),
    st.floats(0, 500),
    st.floats(0, 500),
    st.sampled_from(["", "text", "icon"]),
)


@st.composite
def edits(draw: st.DrawFn, entry: Entry) -> Entry:
    """What an annotator may make of an entry."""
    kept = draw(st.lists(st.sampled_from(entry.boxes), unique=True)) if entry.boxes else []
    kept = [replace(box, x_px=box.x_px + 1.25) if draw(st.booleans()) else box for box in kept]
    marked = draw(st.permutations([*kept, *draw(st.lists(NEW_BOXES, max_size=2))]))
    state = draw(st.sampled_from(["todo", "boxes", "no-click"]))
    new = replace(entry, state=state, boxes=tuple(marked) if state == "boxes" else ())
    for field, values in (
        ("instruction", st.text(max_size=5)),
        ("action", st.text(max_size=5)),
        ("task", st.one_of(st.integers(), st.text(max_size=5))),
        ("comment", st.text(max_size=5)),
        ("verified", st.booleans()),
        ("annotator", st.sampled_from(["ann", "bob"])),
        ("at", st.just("2026-01-31T09:00:00Z")),
    ):
        if draw(st.booleans()):
            new = replace(new, **{field: draw(values)})
    return new


def without_sources(entry: Entry) -> Entry:
    return replace(entry, boxes=tuple(replace(box, source=None) for box in entry.boxes))


@given(items(), st.data())
def test_an_edited_step_says_what_it_was_made_to_and_keeps_what_nobody_knows(text: str, data: st.DataObject) -> None:
    file = read_native(f"[\n {text}]".encode(), PATH)
    item = file.places[0].item
    entry = settle(data.draw(edits(item.entry)), item)
    written = write_item(item, entry, deeper(file.layout))
    again = read_item(json.loads(written), written, 0)
    assert without_sources(again.entry) == without_sources(entry)
    before = [(each.key, text_at(text, each)) for each in members(text) if each.key not in KNOWN]
    after = [(each.key, text_at(written, each)) for each in members(written) if each.key not in KNOWN]
    assert after == before
    untouched = {box.source for box in item.entry.boxes} & {
        box.source for box in entry.boxes if box in item.entry.boxes
    }
    old_parts, new_parts = box_texts(text), box_texts(written)
    for source in untouched:
        assert json.dumps(json.loads(old_parts[source or 0])) in [json.dumps(json.loads(part)) for part in new_parts]


def text_at(text: str, member: object) -> str:
    return text[member.element.start : member.element.end]  # type: ignore[attr-defined]


def box_texts(text: str) -> list[str]:
    value = next((each.element.value for each in reversed(members(text)) if each.key == "bounding_box"), None)
    return [json.dumps(each) for each in (value if isinstance(value, list) else [value])]


PRETTY = """[
  {
    "final_image": "images/1.png",
    "x-extra": 1.0,
    "instruction": "caf\\u00e9",
    "bounding_box": {
      "id": "é", "x": 1.5, "y": 2, "width": 30.25, "height": 4, "score": 1e0
    }
  },
  {"final_image": "images/2.png", "instruction": "b", "bounding_box": [{"x":1,"y":2,"width":3,"height":4}]}
]
"""


def change(index: int, **fields: object) -> str:
    file = read_native(PRETTY.encode(), PATH)
    item = file.places[index].item
    entry = settle(replace(item.entry, **fields), item)
    texts = [place.item.text for place in file.places]
    texts[index] = write_item(item, entry, deeper(file.layout))
    return write_native(file, texts, [place.gap for place in file.places]).decode()


def boxes_of(index: int) -> tuple[MarkedBox, ...]:
    return read_native(PRETTY.encode(), PATH).places[index].item.entry.boxes


NEW = MarkedBox(x_px=7, y_px=8, width_px=9, height_px=10)


def test_only_the_words_that_changed_are_written_anew() -> None:
    assert change(0, instruction="tea") == PRETTY.replace('"caf\\u00e9"', '"tea"')
    assert change(1, comment="") == PRETTY
    assert change(1, verified=True, annotator="ann") == PRETTY.replace(
        '"height":4}]}',
        '"height":4}], "annotation": {"verified": true, "comment": "", "annotator": "ann", "at": ""}}',
    )


def test_a_single_box_stays_an_object_while_it_is_one() -> None:
    (box,) = boxes_of(0)
    moved = change(0, boxes=(replace(box, x_px=2.6),))
    assert moved == PRETTY.replace('"x": 1.5', '"x": 3').replace("30.25", "30")
    assert change(0, boxes=(NEW,)).count("[") == PRETTY.count("[")
    several = json.loads(change(0, boxes=(box, NEW)))[0]["bounding_box"]
    assert several == [
        {"id": "é", "x": 1.5, "y": 2, "width": 30.25, "height": 4, "score": 1.0},
        {"x": 7, "y": 8, "width": 9, "height": 10},
    ]
    assert '"score": 1e0' in change(0, boxes=(box, NEW))


def test_a_list_of_boxes_stays_a_list_set_out_as_it_was() -> None:
    (box,) = boxes_of(1)
    assert change(1, boxes=(replace(box, kind="icon"), NEW)) == PRETTY.replace(
        '"height":4}]', '"height":4,"type":"icon"}, {"x":7,"y":8,"width":9,"height":10}]'
    )
    assert change(1, boxes=(NEW,)) == PRETTY.replace(
        '{"x":1,"y":2,"width":3,"height":4}', '{"x":7,"y":8,"width":9,"height":10}'
    )


def test_the_three_states() -> None:
    assert json.loads(change(1, state="no-click", boxes=()))[1]["bounding_box"] is None
    assert "bounding_box" not in json.loads(change(1, state="todo", boxes=()))[1]
    assert "bounding_box" not in json.loads(change(1, state="boxes", boxes=()))[1]
    states = [read_item(value, json.dumps(value), 0).entry.state for value in ({}, {"bounding_box": None})]
    assert states == ["todo", "no-click"]


def test_what_is_no_box_is_reported_and_stays_in_its_place() -> None:
    text = (
        '{"final_image": "1.png", "instruction": "a", "bounding_box": [7, {"x":1,"y":2,"width":3,"height":4}, {"x":1}]}'
    )
    file = read_native(f"[{text}]".encode(), PATH)
    item = file.places[0].item
    assert item.issues[0].what == "is no box: an object with x, y, width and height"
    assert {issue.field for issue in item.issues} == {
        "bounding_box[0]",
        *(f"bounding_box[2].{name}" for name in ("y", "width", "height")),
    }
    (box,) = item.entry.boxes
    moved = replace(item.entry, boxes=(NEW, replace(box, x_px=5)))
    assert json.loads(write_item(item, moved, deeper(file.layout)))["bounding_box"] == [
        {"x": 7, "y": 8, "width": 9, "height": 10},
        7,
        {"x": 5, "y": 2, "width": 3, "height": 4},
        {"x": 1},
    ]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"bounding_box": []}, "bounding_box"),
        ({"bounding_box": "here"}, "bounding_box"),
        ({"bounding_box": {"x": 1, "y": 2, "width": 0, "height": 4}}, "bounding_box.width"),
        ({"bounding_box": {"x": float("nan"), "y": 2, "width": 1, "height": 4}}, "bounding_box.x"),
        ({"bounding_box": {"x": True, "y": 2, "width": 1, "height": 4}}, "bounding_box.x"),
        ({"bounding_box": {"x": 1e300, "y": 2, "width": 1, "height": 4}}, "bounding_box.x"),
        ({"task": [1]}, "task"),
        ({"instruction": 3}, "instruction"),
        ({"annotation": 3}, "annotation"),
        ({"annotation": {"verified": "yes"}}, "annotation.verified"),
        ({"annotation": {"comment": 3}}, "annotation.comment"),
    ],
)
def test_odd_fields_are_reported(fields: dict[str, object], field: str) -> None:
    value = {"final_image": "1.png", "instruction": "a", **fields}
    assert [issue.field for issue in read_item(value, json.dumps(value), 0).issues] == [field]


def test_a_new_item_is_set_out_like_its_neighbours() -> None:
    entry = Entry(image="images/9.png", instruction="c", task=3, state="boxes", boxes=(NEW,))
    file = read_native(PRETTY.encode(), PATH)
    item = new_item(entry, item_layout(file))
    text = write_item(item, entry, deeper(file.layout))
    assert "\n    " in text
    assert list(json.loads(text)) == ["task", "instruction", "action", "final_image", "bounding_box"]
    texts = [place.item.text for place in file.places]
    content = write_native(file, [text, *texts], ["", "", file.places[1].gap])
    assert [each["final_image"] for each in json.loads(content)] == ["images/9.png", "images/1.png", "images/2.png"]
    assert json.loads(write_native(file, [], [])) == []


def test_a_new_file_is_set_out_like_the_bundled_sample() -> None:
    file = new_native([Entry(image="1.png"), Entry(image="2.png")])
    content = text_of(file)
    assert content == (json.dumps(json.loads(content), indent=1) + "\n").encode()
    assert read_native(content, PATH) == file


def test_every_bundled_file_comes_back_byte_for_byte() -> None:
    found = list(datasets_dir().glob("sample-web/*/questions_with_task_updated.json"))
    assert found
    for path in found:
        file = read_native(path.read_bytes(), path)
        assert text_of(file) == path.read_bytes()
        assert not [issue for place in file.places for issue in place.item.issues]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"{}", "must hold a JSON list"),
        (b"[1,\n 2 3]", "line 2, column 4"),
        (b"[1] 2", "Extra data"),
        (b"[\xff]", "not UTF-8"),
        (b"[" + b"9" * 5000 + b"]", "too many digits"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_questions_file_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_native(content, PATH)


def test_an_empty_list_takes_items() -> None:
    file = read_native(b"[ ]\n", PATH)
    assert json.loads(write_native(file, ['{"a": 1}', "{}"], ["", ""])) == [{"a": 1}, {}]

"""Steps in the release layout: what an entry says goes in and out, and nothing else is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from annotate.core.journal import read_list, write_list
from annotate.core.native import KNOWN, new_item, read_issues, read_item, settle, write_item
from annotate.core.records import AnnotatedStep, MarkedBox
from grounding.cards.places import datasets_dir
from grounding.errors import UserError

PATH = Path("questions.json")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
PIXELS = st.sampled_from([0, 12, 12.0, 12.5, -3, 100.0, 640])
BOXES = st.fixed_dictionaries(
    {name: PIXELS for name in ("x", "y", "width", "height")},
    optional={"type": st.sampled_from(["text", "icon", "other", 7]), "id": VALUES},
)
ITEMS = st.fixed_dictionaries(
    {"final_image": st.sampled_from(["images/1.png", 7])},
    optional={
        "task": VALUES, "instruction": VALUES, "action": VALUES, "n": VALUES, "é": VALUES,
        "bounding_box": BOXES | st.lists(BOXES | VALUES, max_size=3) | st.none() | VALUES,
        "annotation": st.just({"verified": True, "mood": 1.5, "comment": "é"}) | VALUES,
    },
)  # fmt: skip
NEW_BOXES = st.builds(
    lambda x, y, w, h, kind: MarkedBox(x_px=x, y_px=y, width_px=w, height_px=h, kind=kind),
    st.floats(-20, 3000), st.floats(-20, 3000), st.floats(0, 500), st.floats(0, 500),
    st.sampled_from(["", "text", "icon"]),
)  # fmt: skip
BOX = MarkedBox(x_px=7, y_px=8, width_px=9, height_px=10)


@st.composite
def edits(draw: st.DrawFn, entry: AnnotatedStep) -> AnnotatedStep:
    """What an annotator may make of an entry."""
    kept = draw(st.lists(st.sampled_from(entry.boxes), unique=True)) if entry.boxes else []
    kept = [replace(box, x_px=box.x_px + 1.25) if draw(st.booleans()) else box for box in kept]
    marked = draw(st.permutations([*kept, *draw(st.lists(NEW_BOXES, max_size=2))]))
    state = draw(st.sampled_from(["todo", "boxes", "no-click"]))
    words = draw(st.fixed_dictionaries({}, optional={
        "instruction": st.text(max_size=5), "task": st.integers() | st.text(max_size=5), "comment": st.text(max_size=5),
        "verified": st.booleans(), "annotator": st.sampled_from(["ann", "bob"]),
    }))  # fmt: skip
    return replace(entry, state=state, boxes=tuple(marked) if state == "boxes" else (), **words)


@given(ITEMS, st.data())
def test_an_edited_step_says_what_it_was_made_to_and_keeps_what_nobody_knows(
    value: dict[str, Any], data: st.DataObject
) -> None:
    item = read_item(value)
    assert write_item(item, item.entry) is value
    entry = settle(data.draw(edits(item.entry)), item)
    written = write_item(item, entry)
    bare = [replace(one, boxes=tuple(replace(box, source=None) for box in one.boxes))
            for one in (read_item(written).entry, entry)]  # fmt: skip
    assert bare[0] == bare[1]
    assert [(key, one) for key, one in written.items() if key not in KNOWN] == [
        (key, one) for key, one in value.items() if key not in KNOWN
    ]
    listed, before = written.get("bounding_box"), value.get("bounding_box")
    after = listed if isinstance(listed, list) else [listed]
    for box in item.entry.boxes:
        if box in entry.boxes:
            assert (before[box.source or 0] if isinstance(before, list) else before) in after


@given(st.lists(ITEMS, min_size=1, max_size=3), st.booleans())
def test_what_is_written_is_read_and_any_other_layout_is_foreign(items: list[Any], lines: bool) -> None:
    written = write_list(items, lines=lines)
    assert read_list(written, PATH, lines=lines) == (items, False)
    assert json.loads(written) == items
    other = json.dumps(items, indent=3).encode("utf-8", "backslashreplace")
    assert read_list(other, PATH, lines=lines) == (items, True)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"bounding_box": []}, "bounding_box"),
        ({"bounding_box": {"x": 1, "y": 2, "width": 0, "height": 4}}, "bounding_box.width"),
        ({"bounding_box": {"x": "5", "y": 2, "width": 1, "height": 4}}, "bounding_box.x"),
        ({"task": [1], "instruction": 3}, "task instruction"),
        ({"annotation": {"verified": "yes"}}, "annotation.verified"),
    ],
)
def test_odd_fields_are_reported(fields: dict[str, object], field: str) -> None:
    value = {"final_image": "1.png", "instruction": "a", **fields}
    assert sorted(name for name, _ in read_issues(read_item(value))) == sorted(field.split())


def test_every_bundled_file_comes_back_byte_for_byte_and_new_ones_look_alike() -> None:
    found = list(datasets_dir().glob("sample-web/*/questions_with_task_updated.json"))
    assert found
    for path in found:
        items, is_foreign = read_list(path.read_bytes(), path)
        assert not is_foreign
        assert not any(read_item(item).odd for item in items)
    entry = AnnotatedStep(image="1.png", task=3, state="boxes", boxes=(BOX,))
    names = ["task", "instruction", "action", "final_image", "bounding_box"]
    assert list(write_item(new_item(entry), entry)) == names


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"[1,\n 2 3]", "line 2 column 4"),
        (b"[\xff]", "in UTF-8"),
        (b"[" + b"9" * 5000 + b"]", "digits"),
        (b"[" * 100_000, "recursion"),
        (b"{}", "must hold a JSON list"),
    ],
)
def test_what_is_no_questions_file_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_list(content, PATH)

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_json import VALUES, any_objects, lists

from annotate.json_text import (
    Layout,
    elements,
    layout_of,
    members,
    remove_member,
    set_member,
    write_list,
    write_value,
)

PLAIN = Layout()


@given(lists(VALUES))
def test_a_list_is_taken_apart_where_its_elements_stand(text: str) -> None:
    found = elements(text)
    assert [json.dumps(each.value) for each in found] == [json.dumps(each) for each in json.loads(text)]
    assert [json.dumps(json.loads(text[each.start : each.end])) for each in found] == [
        json.dumps(each.value) for each in found
    ]


@given(any_objects(VALUES))
def test_an_object_is_taken_apart_with_keys_that_occur_twice(text: str) -> None:
    found = [(each.key, text[each.element.start : each.element.end]) for each in members(text)]
    in_pairs = [(key, json.loads(value, object_pairs_hook=list)) for key, value in found]
    assert in_pairs == json.loads(text, object_pairs_hook=list)


def raw(text: str) -> list[tuple[str, str]]:
    return [(each.key, text[each.element.start : each.element.end]) for each in members(text)]


@given(any_objects(VALUES), st.sampled_from(["a", "b", "é", "x"]), VALUES)
def test_setting_a_member_leaves_every_other_byte_for_byte(text: str, key: str, value: str) -> None:
    before = raw(text)
    after = raw(set_member(text, key, value, ("a", "b", "x"), layout_of(text, PLAIN)))
    assert after.count((key, value)) >= 1
    old_places = [place for place, (name, _) in enumerate(before) if name == key]
    if old_places:
        assert after == [*before[: old_places[-1]], (key, value), *before[old_places[-1] + 1 :]]
    else:
        after.remove((key, value))
        assert after == before
    assert dict(raw(set_member(text, key, value, (), PLAIN)))[key] == value


@given(any_objects(VALUES), st.data())
def test_removing_a_member_leaves_every_other_byte_for_byte(text: str, data: st.DataObject) -> None:
    keys = [key for key, _ in raw(text)] or ["none"]
    key = data.draw(st.sampled_from(keys))
    assert raw(remove_member(text, key)) == [pair for pair in raw(text) if pair[0] != key]


def test_a_new_member_stands_where_the_order_has_it_and_is_set_out_like_the_others() -> None:
    text = '{\n  "b": 1,\n  "z": 2\n}'
    own = layout_of(text, PLAIN)
    assert set_member(text, "c", "[]", ("a", "b", "c"), own) == '{\n  "b": 1,\n  "c": [],\n  "z": 2\n}'
    assert set_member(text, "a", "0", ("a", "b", "c"), own) == '{\n  "a": 0,\n  "b": 1,\n  "z": 2\n}'
    assert set_member(text, "q", "0", ("a", "b", "c"), own) == '{\n  "b": 1,\n  "z": 2,\n  "q": 0\n}'
    short = '{"b":1,"z":2}'
    assert set_member(short, "q", "0", (), layout_of(short, PLAIN)) == '{"b":1,"z":2,"q":0}'
    assert set_member("{}", "q", "0", (), PLAIN) == '{\n "q": 0\n}'


def test_windows_line_ends_and_tabs_are_kept() -> None:
    text = '{\r\n\t\t"a" : 1,\r\n\t\t"b" : 2\r\n\t}'
    own = layout_of(text, PLAIN)
    assert own == Layout(newline="\r\n", outer="\t", unit="\t", colon=" : ")
    assert set_member(text, "c", write_value([1], own), (), own).endswith(',\r\n\t\t"c" : [\r\n\t\t1\r\n\t]\r\n\t}')


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_what_is_written_can_be_read(value: object) -> None:
    for layout in (PLAIN, Layout(newline=""), Layout(newline="\r\n", unit="\t", ascii_only=True)):
        written = write_value(value, layout)
        assert json.loads(written) == value
        assert json.loads(write_list([written, "1"], layout)) == [value, 1]
        assert written.isascii() or not layout.ascii_only


def test_half_a_character_is_written_as_an_escape() -> None:
    assert write_value("é\ud800", PLAIN) == '"\\u00e9\\ud800"'
    assert write_value("é", PLAIN) == '"é"'


@pytest.mark.parametrize("text", ["[1 2]", "[1,]", "[", "[1", "[nope]"])
def test_broken_lists_are_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        elements(text)


@pytest.mark.parametrize("text", ['{"a" 1}', '{"a":1,}', "{", "{1:2}", '{"a":1'])
def test_broken_objects_are_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        members(text)

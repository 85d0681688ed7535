from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.layouts.build import example, record
from grounding.data.layouts.androidcontrol import WireError, read_example, read_records, touched

FEATURES = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=4)
    | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    max_size=5,
)


@given(FEATURES)
def test_an_example_is_read_back(features: dict[str, list[bytes] | list[int]]) -> None:
    assert read_example(example(features)) == features


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        read_example(content)
        touched(content, 1, 1)
    except WireError:
        pass


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no gzip at all", "not a whole gzip file"),
        (gzip.compress(record(b"one"))[:-9], "not a whole gzip file"),
        (gzip.compress(record(b"one")[:-3]), "ends inside a record"),
        (gzip.compress(b"short"), "ends inside a record"),
        (gzip.compress(b"\xff" * 20), "no TFRecords"),
    ],
    ids=["no gzip", "half a gzip", "half a record", "half a length", "no length"],
)
def test_damaged_files_are_refused(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(content)
    with pytest.raises(WireError, match=words):
        list(read_records(tmp_path / "records"))

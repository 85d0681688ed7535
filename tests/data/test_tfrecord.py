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


# Written by the package tfrecord 1.14.6, and by the classes of android_env 1.3.0 (AndroidAccessibilityForest): three
# visible nodes, one on top of them that is not, and one without a size.
EXAMPLE = """
0a420a1c0a0a657069736f64655f6964120e1a0c0a0af9ffffffffffffffff010a110a0573697a657312081a060a04b808e0120a0f0a04676f616c12
070a050a03627579
"""
FOREST = """
0a192a067374617475735a0f0a0d120518b808203f3a0178b801010a652a0473686f705a5d0a13120b082810c80118900820c0023a0178b801010a12
0801120b082810c80118900820c0023a01780a1e0802121408ecffffffffffffffff0110840718ac0220e8073a0178b801010a120803120808051005
180520053a0178b80101
"""


def test_what_others_wrote_is_read() -> None:
    assert read_example(bytes.fromhex(EXAMPLE)) == {"goal": [b"buy"], "episode_id": [-7], "sizes": [1080, 2400]}
    under = [touched(bytes.fromhex(FOREST), *point) for point in ((5, 5), (100, 250), (10, 950), (500, 500))]
    assert under == [(0, 0, 1080, 63), (40, 200, 1040, 320), (-20, 900, 300, 1000), None]


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

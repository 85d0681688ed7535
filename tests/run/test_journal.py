from __future__ import annotations

import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Failure, Point, Prediction
from grounding.run.journal import Journal, rows_for, scan

ERROR = Failure(kind="error", message="no reply")
UNPARSED = Failure(kind="unparsed", message="no point")
MISSING = Failure(kind="missing", message="no line")


def prediction(step_id: str, key: str = "k", *, raw: str | None = None, failure: Failure | None = None) -> Prediction:
    point = None if failure else Point(x_px=1, y_px=2)
    return Prediction(step_id=step_id, key=key, point=point, raw=raw, failure=failure)


def opened(path: Path, *, read_only: bool = False) -> Journal[Prediction]:
    return Journal(path, Prediction, read_only=read_only)


def written(path: Path, *records: Prediction) -> None:
    journal = opened(path)
    for record in records:
        journal.append(record)
    journal.close()


def test_what_is_appended_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    first, second = prediction("1/1", raw='line\nend "quoted" \u2028 \x00'), prediction("1/2", failure=UNPARSED)
    written(path, first, second)
    journal = opened(path)
    assert list(journal) == [first, second]
    assert len(journal) == 2
    assert "1/1" in journal
    assert "1/3" not in journal
    assert journal.last("1/3") is None
    assert journal.settled("1/1", "k") == first
    assert path.read_bytes().count(b"\n") == 2


def test_the_last_line_of_a_step_counts_and_keeps_its_place_in_the_order(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    again = prediction("1/1", raw="second")
    written(path, prediction("1/1", failure=ERROR), prediction("1/2"), again)
    journal = opened(path)
    assert list(journal) == [again, prediction("1/2")]
    assert journal.last("1/1") == again
    assert len(journal) == 2
    assert path.read_bytes().count(b"\n") == 3


def test_another_key_is_not_the_same_answer(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    written(path, prediction("1/1", "old"))
    journal = opened(path)
    assert journal.settled("1/1", "new") is None
    assert journal.settled("1/1", "old") == prediction("1/1", "old")
    journal.append(prediction("1/1", "new"))
    assert journal.settled("1/1", "old") is None
    assert journal.settled("1/1", "new") == prediction("1/1", "new")


def test_only_infrastructure_errors_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    records = [
        prediction("1/1", failure=ERROR),
        prediction("1/2", failure=UNPARSED),
        prediction("1/3", failure=MISSING),
        prediction("1/4"),
    ]
    written(path, *records)
    journal = opened(path)
    assert [journal.settled(record.step_id, "k") for record in records] == [None, *records[1:]]
    assert journal.last("1/1") == records[0]
    assert journal.settled_count == 3
    journal.append(prediction("1/4", failure=ERROR))
    assert journal.settled_count == 2


@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=5), data=st.data())
def test_cut_anywhere_the_complete_lines_are_kept_and_the_file_goes_on(texts: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.jsonl"
        records = [prediction(f"1/{number}", raw=text) for number, text in enumerate(texts)]
        written(path, *records)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        kept = records[: whole[:cut].count(b"\n")]

        reader = opened(path, read_only=True)
        assert list(reader) == kept
        reader.close()
        assert path.read_bytes() == whole[:cut]

        journal = opened(path)
        assert list(journal) == kept
        for record in records[len(kept) :]:
            journal.append(record)
        journal.close()
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "damaged",
    [
        b"\n",
        b'{"step_id":"1/2","key":"k","poi\n',
        b'{"step_id":"1/2"}\n',
        b'{"step_id":"1/2","key":"k","point":null,"failure":{"kind":"odd","message":""}}\n',
        b'{"step_id":"1/2","key":"k","point":null,"raw":"\xc3"}\n',
        b"\x00\x00\x00\n",
        b'{"z":' + b"[" * 100_000 + b"\n",
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_damaged_line_is_refused_with_its_number_and_left_alone(
    tmp_path: Path, damaged: bytes, read_only: bool
) -> None:
    path = tmp_path / "p.jsonl"
    written(path, prediction("1/1"), prediction("1/3"))
    good = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(good[0] + damaged + good[1])
    with pytest.raises(UserError) as refused:
        opened(path, read_only=read_only)
    assert str(path) in str(refused.value)
    assert "line 2" in str(refused.value)
    assert path.read_bytes() == good[0] + damaged + good[1]


FILL = """
import resource, signal, sys
from pathlib import Path
from grounding.run.journal import Journal, rows_for, scan
from grounding.records import Point, Prediction
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path(sys.argv[1]), Prediction)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
def record(step_id, raw):
    return Prediction(step_id=step_id, key="k", point=Point(x_px=1, y_px=2), raw=raw)
written = 0
try:
    for number in range(1000):
        journal.append(record(f"1/{number}", "x" * 50))
        written += 1
except OSError as error:
    whole = Path(sys.argv[1]).read_bytes().endswith(b"\\n")
    print(written, len(journal), journal.last(f"1/{written}"), whole)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append(record("2/1", "after"))
"""


@pytest.mark.parametrize("room", [700, 777, 1_000])
def test_a_full_disk_takes_the_half_written_line_back(tmp_path: Path, room: int) -> None:
    path = tmp_path / "p.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path), str(room)], capture_output=True, text=True, check=True, timeout=60
    )
    count = int(done.stdout.split()[0])
    assert 0 < count < 1000
    assert done.stdout.split()[1:] == [str(count), "None", "True"]
    journal = opened(path)
    assert [record.step_id for record in journal] == [*(f"1/{number}" for number in range(count)), "2/1"]
    assert path.read_bytes().endswith(b"\n")


class Slim(msgspec.Struct):
    step_id: str
    failure: Failure | None = None


def test_a_scan_reads_every_line_with_fewer_fields_and_passes_over_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    written(path, prediction("1/1", failure=ERROR), prediction("1/2"), prediction("1/1"))
    with path.open("ab") as torn:
        torn.write(b'{"step_id":"1/3"')
    assert [(one.step_id, one.failure) for one in scan(path, Slim)] == [("1/1", ERROR), ("1/2", None), ("1/1", None)]
    path.write_bytes(b'{"step_id":"1/1"}\n{"step_id":7}\n')
    with pytest.raises(UserError, match=r"p\.jsonl, line 2: not a record of this run"):
        list(scan(path, Slim))
    with pytest.raises(UserError, match=r"absent\.jsonl: can't be read"):
        next(scan(tmp_path / "absent.jsonl", Slim))


IDS = ["1/1", "1/2", "1/3", "2/1", "2/2"]


@given(
    known=st.lists(st.sampled_from(IDS), unique=True),
    written=st.lists(
        st.tuples(st.booleans(), st.sampled_from(IDS), st.sampled_from([None, ERROR, UNPARSED])), max_size=12
    ),
)
def test_journals_that_share_their_rows_are_as_journals_that_do_not(
    known: list[str], written: list[tuple[bool, str, Failure | None]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_for(known)
        names = ("plans", "predictions")
        sharing = [Journal(Path(folder) / f"shared-{name}", Prediction, rows=rows) for name in names]
        alone = [opened(Path(folder) / name) for name in names]
        for second, step_id, failure in written:
            for journals in (sharing, alone):
                journals[second].append(prediction(step_id, failure=failure))
        for one, other in zip(sharing, alone, strict=True):
            assert list(one) == list(other)
            assert len(one) == len(other)
            assert (one.settled_count, one.failed_count) == (other.settled_count, other.failed_count)
            for step_id in IDS:
                assert (step_id in one) == (step_id in other)
                assert one.last(step_id) == other.last(step_id)
                assert one.settled(step_id, "k") == other.settled(step_id, "k")
            again = Journal(one.path, Prediction, rows=rows)
            assert list(again) == list(other)
            for journal in (one, other, again):
                journal.close()


def test_with_its_rows_a_journal_does_not_grow_with_its_records(tmp_path: Path) -> None:
    ids = [f"1/{number}" for number in range(20_000)]
    rows = rows_for(ids)
    journal = Journal(tmp_path / "p.jsonl", Prediction, rows=rows)
    journal.append(prediction(ids[0]))
    tracemalloc.start()
    try:
        for step_id in ids[1:]:
            journal.append(prediction(step_id))
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(journal) == 20_000
    assert grown < 20_000

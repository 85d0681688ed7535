from __future__ import annotations

from pathlib import Path

import pytest

from grounding.training.loop.checkpoints import MARK, clear_torn, last_whole, mark_whole, rotate, whole_checkpoints


def _write(folder: Path, step: int, *, marked: bool = True) -> Path:
    path = folder / f"checkpoint-{step}"
    (path / "inner").mkdir(parents=True)
    (path / "weights").write_bytes(b"w" * step)
    (path / "inner" / "state").write_bytes(b"state")
    if marked:
        mark_whole(path, step=step, processes=1, wall_s=1.5, metrics_bytes=10 * step, samples_bytes=0)
    return path


def test_the_last_whole_one_is_found_and_says_what_it_is(tmp_path: Path) -> None:
    for step in (2, 10, 9):
        _write(tmp_path, step)
    found = last_whole(tmp_path)
    assert found is not None
    assert found.path == str(tmp_path / "checkpoint-10")
    assert (found.mark.step, found.mark.metrics_bytes, found.mark.wall_s) == (10, 100, 1.5)
    assert found.mark.files == {"weights": 10, "inner/state": 5}


def test_there_is_none_before_the_first(tmp_path: Path) -> None:
    assert last_whole(tmp_path / "not there") is None
    assert last_whole(tmp_path) is None


@pytest.mark.parametrize("damage", ["no mark", "torn mark", "short file", "missing file"])
def test_a_torn_one_is_passed_over_and_cleared_away(tmp_path: Path, damage: str) -> None:
    _write(tmp_path, 3)
    torn = _write(tmp_path, 5, marked=damage != "no mark")
    (tmp_path / "checkpoint-kept").mkdir()
    if damage == "torn mark":
        (torn / MARK).write_bytes((torn / MARK).read_bytes()[:40])
    elif damage == "short file":
        (torn / "weights").write_bytes(b"w")
    elif damage == "missing file":
        (torn / "inner" / "state").unlink()
    found = last_whole(tmp_path)
    assert found is not None
    assert found.mark.step == 3
    assert clear_torn(tmp_path) == ("checkpoint-5",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-3", "checkpoint-kept"]


def test_only_the_last_ones_are_kept_and_torn_ones_do_not_count(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        _write(tmp_path, step)
    _write(tmp_path, 4, marked=False)
    rotate(tmp_path, 2)
    assert [checkpoint.mark.step for checkpoint in whole_checkpoints(tmp_path)] == [2, 3]
    assert (tmp_path / "checkpoint-4").is_dir()

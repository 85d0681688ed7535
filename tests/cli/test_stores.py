"""``grounding cache``: what it shows and what it deletes, over a cache folder of the test's own."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
import shell

from grounding.grounders.ocr.reader import DiskCache
from grounding.grounders.ocr.screen import Screen
from grounding.planners.store import PlanStore
from grounding.records import Plan, Size

DAY_S = 86_400
SIZE = Size(width=64, height=48)


def cache(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return shell.call("cache", *words, module="grounding")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three plans of two planners, one of them ten days old, and two readings."""
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "grounding"
    for planner, keys in (("o3", "ab"), ("gpt-4o", "c")):
        store = PlanStore(folder / "plans", planner, "http://h/v1")
        for key in keys:
            store.put(Plan(step_id="1/1", key=key, text="click"))
    ocr = DiskCache.for_engine("an engine")
    for digest in ("1" * 64, "2" * 64):
        ocr.put(digest, Screen(size=SIZE, model_size=SIZE, lines=()))
    old = time.time() - 10 * DAY_S
    for path in (next((folder / "plans" / "gpt-4o").rglob("*.json")), next((folder / "ocr").rglob("1*.json"))):
        os.utime(path, (old, old))
    return folder


def left(home: Path) -> tuple[int, int]:
    return tuple(len(list((home / name).rglob("*.json"))) for name in ("plans", "ocr"))  # type: ignore[return-value]


def test_it_shows_where_things_are_and_how_much(home: Path) -> None:
    done = cache()
    assert (done.returncode, done.stderr) == (0, "")
    rows = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in done.stdout.splitlines() if "│" in line]
    assert [row[:3] for row in rows] == [
        ["plans", "gpt-4o", "1"],
        ["plans", "o3", "2"],
        ["readings", next((home / "ocr").iterdir()).name, "2"],
    ]
    size = sum(path.stat().st_size for path in (home / "plans" / "o3").rglob("*.json"))
    assert rows[1][3] == f"{size} B"
    assert f"plans       {home / 'plans'}\n" in done.stdout
    assert f"readings    {home / 'ocr'}\n" in done.stdout


def test_nothing_there_and_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    assert "(nothing there yet)" in cache().stdout
    assert cache("clear").stdout == "nothing to delete\n"
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    assert "plans       nowhere: GROUNDING_NO_CACHE is set" in cache().stdout


@pytest.mark.parametrize(
    ("options", "said", "remaining"),
    [
        ([], "deleted 3 plans and 2 readings", (0, 0)),
        (["--plans"], "deleted 3 plans", (0, 2)),
        (["--ocr"], "deleted 2 readings", (3, 0)),
        (["--older-than", "5"], "deleted 1 plans and 1 readings", (2, 1)),
        (["--plans", "--older-than", "5"], "deleted 1 plans", (2, 2)),
        (["--older-than", "50"], "nothing to delete", (3, 2)),
        (["--plans", "--ocr", "--older-than", "0"], "deleted 3 plans and 2 readings", (0, 0)),
    ],
)
def test_clear_deletes_what_was_asked_for(
    home: Path, options: list[str], said: str, remaining: tuple[int, int]
) -> None:
    done = cache("clear", "--yes", *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{said}\n", "")
    assert left(home) == remaining


def test_nothing_is_deleted_without_a_yes(home: Path) -> None:
    done = cache("clear")
    assert done.returncode == 2
    assert "delete 3 plans and 2 readings (" in done.stderr
    assert "give --yes" in done.stderr
    assert left(home) == (3, 2)


@pytest.mark.parametrize(("answer", "remaining"), [("y\n", (0, 0)), ("\n", (3, 2)), ("no\n", (3, 2)), ("", (3, 2))])
def test_a_person_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, remaining: tuple[int, int]
) -> None:
    class Keyboard:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return answer

    monkeypatch.setattr("sys.stdin", Keyboard())
    done = cache("clear")
    assert done.returncode == 0
    assert "[y/N]" in done.stdout
    assert left(home) == remaining


def test_other_peoples_files_are_left_alone(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "ab").mkdir(parents=True)
    name = next((home / "plans" / "o3").rglob("*.json")).name
    (outside / "ab" / name).write_text("mine")
    (home / "plans" / "linked").symlink_to(outside)
    (home / "plans" / "o3" / "notes.txt").write_text("mine")
    (home / "ocr" / "linked").symlink_to(outside / "ab")
    assert cache("clear", "--yes").returncode == 0
    assert (outside / "ab" / name).exists()
    assert (home / "plans" / "o3" / "notes.txt").exists()


def test_a_store_elsewhere_and_a_senseless_age(home: Path, tmp_path: Path) -> None:
    PlanStore(tmp_path / "mine", "o1", "http://h/v1").put(Plan(step_id="1/1", key="a", text="click"))
    assert " o1 " in cache("--plan-store", tmp_path / "mine").stdout
    assert cache("clear", "--plans", "--plan-store", tmp_path / "mine", "--yes").stdout == "deleted 1 plans\n"
    assert left(home) == (3, 2)
    for age in ("-1", "nan"):
        done = cache("clear", "--older-than", age)
        assert done.returncode == 2
        assert "expected days, 0 or more" in done.stderr

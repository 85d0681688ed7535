"""Own runs among published figures: what stands beside what, and what is kept apart."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import shell
from data.layouts import build
from fakes.make import REPOSITORY

from grounding.data.registry import dataset_cards
from grounding.run.folder import RunFolder
from grounding.scoring.published import read_published

FIGURES = read_published(REPOSITORY / "results" / "published" / "grounding.csv")


def board(*arguments: str | Path) -> str:
    done = shell.call("board", *arguments, module="grounding")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_figure_has_a_source_and_a_date_and_those_that_no_count_gives_are_flagged() -> None:
    assert {one.table for one in FIGURES} >= {"screenspot", "screenspot-v2", "screenspot-pro", "osworld-g", "ui-vision"}
    assert len({one.row for one in FIGURES}) > 100
    cards = dataset_cards()
    for one in FIGURES:
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", one.date), one
        assert one.source
        assert 0 < one.value < 100
        card = cards.get(one.table)
        if one.column != "accuracy" or card is None or card.expected is None:
            continue
        if card.expected.scored_steps is None:
            continue
        counts = card.expected.scored_steps, card.expected.absent_steps or 0
        wholes = {counts[0], counts[0] - counts[1]}
        digits = len(repr(one.value).partition(".")[2])
        near = [
            k / n * 100 for n in wholes for k in range(round(one.value * n / 100) - 2, round(one.value * n / 100) + 3)
        ]
        possible = any(abs(each - one.value) <= 0.5 * 10**-digits + 1e-9 for each in near)
        assert possible == (one.flag != "inconsistent"), one


def test_sources_that_disagree_are_all_there() -> None:
    venus = {one.value for one in FIGURES if (one.table, one.row) == ("osworld-g", "UI-Venus-7B")}
    assert venus == {58.8, 59.41}
    assert Counter(one.table for one in FIGURES)["screenspot-pro"] > 100


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over a small set in the layout of ScreenSpot-v2."""
    folder = tmp_path_factory.mktemp("board")
    build.screenspot(folder / "data", build.sample_steps(24), suffix="_v2")
    for grounder in ("center", "random"):
        done = shell.call(
            *("--dataset", "screenspot-v2", "--data-dir", folder / "data", "--grounder", grounder),
            *("--log-dir", folder / "results", "--no-report"),
        )
        assert done.returncode == 0, done.stderr
    return folder


def test_a_run_over_the_release_stands_among_the_others_and_one_over_less_apart(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = board("--dataset", "screenspot-v2", runs / "results", "--out", tmp_path)
    assert "do not belong beside" in out
    assert max(len(line) for line in out.splitlines() if line[:1] in "│┃┏└") <= 80
    assert {path.name for path in tmp_path.iterdir()} == {"board_screenspot-v2.png", "board_screenspot-v2.svg"}
    (path,) = (runs / "results").glob("*_center_*")
    folder = RunFolder(path)
    info = folder.read_info()
    folder.write_info(msgspec.structs.replace(info, departs=()))
    found = json.loads(board("--dataset", "screenspot-v2", runs / "results", "--json"))
    own = {one["name"]: one for one in found["lines"] if one["own"] and one["column"] == "accuracy"}
    assert own["none + random"]["apart"]
    assert own["none + center"]["apart"], "fewer steps than the release"
    assert own["none + center"]["scoring"].startswith("paper")
    monkeypatch.setattr("grounding.report.board.dataset_cards", dict)  # Nothing is known of how many there should be.
    found = json.loads(board("--dataset", "screenspot-v2", runs / "results", "--json"))
    own = {one["name"]: one for one in found["lines"] if one["own"] and one["column"] == "accuracy"}
    assert not own["none + center"]["apart"]
    assert "▶ none + center" in board("--dataset", "screenspot-v2", path, "--out", tmp_path)
    folder.write_info(info)


def test_what_is_no_board(runs: Path) -> None:
    for arguments in (("--dataset", "sample-web"), ("--dataset", "screenspot-pro", next((runs / "results").iterdir()))):
        done = shell.call("board", *arguments, module="grounding")
        assert done.returncode == 2
        assert "expected" in done.stderr or "board" in done.stderr or "figures" in done.stderr

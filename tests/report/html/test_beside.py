"""Runs too large for a page: the same steps, figures and warnings, in files beside it that hold nothing to execute."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.history import history_window
from grounding.records import GroupLabel, Point, Prediction, Step
from grounding.report.html import size
from grounding.report.html.content import StepRow
from grounding.report.html.gather import entries_of
from grounding.report.html.index import FAILURES, OUTCOMES, Index, successor
from grounding.report.html.measured import Measured, measured
from grounding.report.html.page import weigh_path, write_page, write_report
from grounding.report.html.pictures import FILES
from grounding.report.html.plots import draw_measured
from grounding.report.html.size import lie_beside
from grounding.report.html.steplines import StepLines
from grounding.report.html.streamed import Windows, address_of
from grounding.scorebook import Scored, scored_tasks

from .runs import answer, make_run, step_of
from .test_page import HOSTILE, data_of

CALL = re.compile(r'groundingSteps\("([0-9a-f]{16})","(\d+-\d+)","([A-Za-z0-9+/=]*)"\);\n')


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of more than ten steps is large, a file holds sixteen, and nothing is drawn, which takes longest."""
    for name in ("draw_measured", "draw_diagrams"):
        monkeypatch.setattr(f"grounding.report.html.page.{name}", lambda *_, **__: ())
    monkeypatch.setattr(size, "MOST_STEPS", 10)
    monkeypatch.setattr("grounding.report.html.chunks.STEPS", 16)


def inflated(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def files_of(page: Path, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps beside a page, file by file."""
    found = []
    for number in range(len(run["beside"]["starts"])):
        text = (page.parent / f"{run['beside']['files']}{number}.js").read_text(encoding="ascii")
        call = CALL.fullmatch(text)
        assert call is not None
        assert call[1] == run["beside"]["key"]
        found.append(json.loads(inflated(call[3])))
    return found


def steps_of(page: Path, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps beside a page as an embedded page has them: with their screenshot and what is told of them."""
    return [
        {**step, "shot": each["shots"][step["shot"]], "told": told}
        for each in files_of(page, run)
        for step, told in zip(each["steps"], each["told"], strict=True)
    ]


def ids_of(names: dict[str, Any]) -> list[str | None]:
    return [
        one["first"] if by == 0 else successor(one["first"], by) for one in names["ids"] for by in range(one["count"])
    ]


def plane(columns: bytes, start: int, count: int, width: int) -> list[int]:
    return [sum(columns[start + each * count + at] << 8 * each for each in range(width)) for at in range(count)]


def two_people(folder: Path) -> Scored:
    """A run of two participants whose lines lie between each other's, with groups."""
    make_run(folder, 60, history=4)
    lines = []
    for number, line in enumerate((folder / "steps.jsonl").read_bytes().splitlines()):
        step = msgspec.json.decode(line, type=Step)
        groups = (GroupLabel(kind="platform", name="web" if number % 3 else "desktop"),)
        step = msgspec.structs.replace(step, participant="one" if number % 2 else "two", groups=groups)
        if number == 7:
            step = msgspec.structs.replace(step, history_entry=None)
        lines.append(msgspec.json.encode(step) + b"\n")
    (folder / "steps.jsonl").write_bytes(b"".join(lines))
    return weigh_path(folder)


@pytest.mark.parametrize("scope", ["session", "task"])
@pytest.mark.usefixtures("large")
def test_a_large_page_has_what_a_small_one_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str) -> None:
    scored = two_people(tmp_path / "run")
    asked = msgspec.structs.replace(scored.info.asked, history_scope=scope)
    scored = msgspec.structs.replace(scored, info=msgspec.structs.replace(scored.info, asked=asked))
    (run,) = data_of(write_page([scored], tmp_path / "large.html"))["runs"]
    found = steps_of(tmp_path / "large.html", run)
    names = json.loads(inflated(run["beside"]["names"]))
    monkeypatch.setattr(size, "MOST_STEPS", 100)
    (small,) = data_of(write_page([scored], tmp_path / "small.html"))["runs"]
    assert found == [
        {**step, "shot": small["shots"][step["shot"]], "told": told}
        for step, told in zip(small["steps"], small["told"], strict=True)
    ]
    assert ids_of(names) == [step["id"] for step in small["steps"]]
    assert names["participants"] == [{"name": "two", "count": 30}, {"name": "one", "count": 30}]
    assert names["tasks"] == [task["name"] for task in small["tasks"]]
    assert names["group_sets"] == [{"names": ["platform: desktop"]}, {"names": ["platform: web"]}]
    for name in ("metrics", "facts", "warnings", "name", "status"):
        assert run[name] == small[name]
    assert [run[name] for name in ("steps", "tasks", "shots", "told")] == [[], [], [], []]
    assert "beside" not in small


@pytest.mark.usefixtures("large")
def test_the_diagrams_are_drawn_from_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = two_people(tmp_path / "run")
    given_: list[Measured] = []
    monkeypatch.setattr("grounding.report.html.page.draw_measured", lambda steps, **_: given_.append(steps) or ())
    write_report(scored)
    meant = measured(scored_tasks(scored))
    for name in meant.__struct_fields__:
        np.testing.assert_array_equal(getattr(given_[0], name), getattr(meant, name))
    assert len(draw_measured(meant)) == 6


@pytest.mark.usefixtures("large")
def test_the_index_says_of_each_step_what_its_row_says(tmp_path: Path) -> None:
    two_people(tmp_path / "run")
    page = write_report(weigh_path(tmp_path / "run"))
    (run,) = data_of(page)["runs"]
    beside, rows = run["beside"], steps_of(page, run)
    columns, count = inflated(beside["columns"]), beside["size"]
    names = json.loads(inflated(beside["names"]))
    assert (count, len(columns)) == (60, 60 * 10)
    assert [OUTCOMES[code] for code in plane(columns, 0, count, 1)] == [row["outcome"] for row in rows]
    assert [FAILURES[code] for code in plane(columns, count, count, 1)] == [row.get("failure") or "" for row in rows]
    off = [65_535 if row.get("distance") is None else round(4 * row["distance"]) for row in rows]
    assert plane(columns, 2 * count, count, 2) == off
    at, tasks = 0, []
    for more in plane(columns, 4 * count, count, 4):
        at = (at + more) % 2**32
        tasks.append(at)
    assert tasks == [row["task"] for row in rows]
    sets = plane(columns, 8 * count, count, 2)
    assert [names["group_sets"][code]["names"] for code in sets] == [row["groups"] for row in rows]
    assert beside["starts"] == [0, 16, 32, 48]


@given(st.lists(st.text(alphabet="a/019", max_size=5) | st.integers(0, 120).map("7/{}".format), max_size=60))
def test_ids_come_back_from_their_runs(ids: list[str]) -> None:
    index = Index()
    for step_id in ids:
        index.add(StepRow(id=step_id, participant="1", task=0, instruction="", shot=0, outcome="hit"))
    packed = index.packed(files="f", key="k", starts=(0,))
    assert ids_of(json.loads(inflated(packed.names))) == ids


def test_a_million_ids_in_order_are_a_few_bytes() -> None:
    index = Index()
    for number in range(5_000):
        index.add(StepRow(id=f"3/{number + 1}", participant="3", task=0, instruction="", shot=0, outcome="hit"))
    names = json.loads(inflated(index.packed(files="f", key="k", starts=(0,)).names))
    assert names["ids"] == [{"first": "3/1", "count": 5_000}]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=40),
    st.integers(0, 6),
    st.sampled_from(["session", "task"]),
)
def test_windows_are_those_of_the_runner(found: list[tuple[int, bool]], length: int, scope: Any) -> None:
    steps = []
    for number, (task, told) in enumerate(found):
        step = msgspec.structs.replace(step_of(number, Path("x.png")), task=task)
        steps.append(step if told else msgspec.structs.replace(step, history_entry=None))
    windows, place = Windows(length, scope), {step.id: number for number, step in enumerate(steps)}
    for number, step in enumerate(steps):
        meant = entries_of(steps[:number], history_window(steps, number, length, scope))
        assert windows.of(step, number) == tuple(place[each] for each in meant)


@pytest.mark.usefixtures("large")
def test_nothing_of_a_model_or_a_data_set_stands_in_a_script(tmp_path: Path) -> None:
    hostile = HOSTILE + '"); document.title = "stolen"; ("${alert(1)}`\\u0022\u2029*/ -->'

    def reply(_: int, step: Step) -> Prediction:
        return Prediction(step_id=step.id, key="k", point=Point(x_px=1, y_px=2), raw=hostile)

    scored = make_run(tmp_path / "run", 30, instruction=lambda _: hostile, predict=reply, grounder=hostile)
    page = write_report(scored)
    (run,) = data_of(page)["runs"]
    # That each file is one call with three texts of plain letters is asserted on the way.
    rows = steps_of(page, run)
    assert {row["raw"] for row in rows if row["outcome"] != "none"} == {hostile}
    assert rows[0]["instruction"] == hostile
    text = page.read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+' 'strict-dynamic';", text)


def test_a_small_page_has_no_files_with_steps_and_loads_no_script(tmp_path: Path) -> None:
    page = write_report(make_run(tmp_path / "run", 12))
    assert not [path for path in (page.parent / FILES).iterdir() if path.is_dir()]
    text = page.read_text(encoding="utf-8")
    assert "strict-dynamic" not in text
    assert "groundingSteps" not in text
    assert "beside" not in data_of(page)["runs"][0]


def test_how_large_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        make_run(tmp_path / name, 12)
    one, two = tmp_path / "one", tmp_path / "two"
    assert not lie_beside([one, two])
    monkeypatch.setattr(size, "MOST_STEPS", 12)
    assert not lie_beside([one])
    assert lie_beside([one, two])
    monkeypatch.setattr(size, "MOST_STEPS", 1_000)
    monkeypatch.setattr(size, "MOST_BYTES", 1_000)
    assert lie_beside([one])
    monkeypatch.setattr(size, "_STEP_BYTES", 80)
    assert not lie_beside([one])


@pytest.mark.usefixtures("large")
def test_a_new_page_takes_the_older_ones_steps_away_and_no_other_pages(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 20)
    write_report(run)
    other = write_page([run], tmp_path / "run" / "report-two.html")
    before = {path.name for path in (tmp_path / "run" / FILES).iterdir() if path.is_dir()}
    assert len(before) == 2
    write_report(run)
    after = {path.name for path in (tmp_path / "run" / FILES).iterdir() if path.is_dir()}
    assert len(after) == 2
    assert len(after & before) == 1
    assert len(steps_of(other, data_of(other)["runs"][0])) == 20


@pytest.mark.usefixtures("large")
def test_a_run_that_is_small_now_leaves_no_steps_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "run", 20)
    write_report(run)
    monkeypatch.setattr(size, "MOST_STEPS", 100)
    page = write_report(run)
    assert not [path for path in (page.parent / FILES).iterdir() if path.is_dir()]
    assert len(data_of(page)["runs"][0]["steps"]) == 20


@pytest.mark.usefixtures("large")
def test_a_page_that_fails_leaves_the_old_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "run", 20)
    page = write_report(run)
    before = page.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grounding.report.html.page.draw_measured", full)
    with pytest.raises(OSError, match="No space"):
        write_report(run)
    assert page.read_bytes() == before
    assert len(steps_of(page, data_of(page)["runs"][0])) == 20
    assert len([path for path in (page.parent / FILES).iterdir() if path.is_dir()]) == 1


@pytest.mark.usefixtures("large")
def test_pictures_that_are_left_out_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding.report.html.page.MOST_SMALL_PICTURES", 3)
    page = write_report(make_run(tmp_path / "run", 20))
    (run,) = data_of(page)["runs"]
    assert any("only the first 3 of 4 screenshots have a small picture" in text for text in run["warnings"])
    thumbs = {row["shot"]["thumb"] for row in steps_of(page, run)}
    assert len(thumbs) == 4
    assert "" in thumbs
    assert all(row["shot"]["full"].startswith("file:///") for row in steps_of(page, run))


@pytest.mark.usefixtures("large")
def test_two_large_runs_stand_on_one_page(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / "one", 20),
        make_run(tmp_path / "two", 20, predict=lambda number, step: answer(number + 1, step)),
    ]
    page = write_page(runs, tmp_path / "both.html")
    found = data_of(page)["runs"]
    assert [len(steps_of(page, run)) for run in found] == [20, 20]
    assert found[0]["beside"]["files"] != found[1]["beside"]["files"]


@pytest.mark.usefixtures("large")
def test_a_run_that_goes_on_has_steps_to_come(tmp_path: Path) -> None:
    def half(number: int, step: Step) -> Prediction | None:
        return answer(number, step) if number < 5 else None

    page = write_report(make_run(tmp_path / "run", 12, predict=half, status="started"))
    (run,) = data_of(page)["runs"]
    assert [row["outcome"] for row in steps_of(page, run)].count("pending") == 6


@pytest.mark.usefixtures("large")
def test_a_damaged_step_is_named(tmp_path: Path) -> None:
    scored = make_run(tmp_path / "run", 12)
    path = tmp_path / "run" / "steps.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"1/3"', b"3"))
    with pytest.raises(UserError, match=r"steps\.jsonl, line 3: not a step"):
        write_report(scored)
    with pytest.raises(UserError, match=r"can't be read"):
        StepLines(tmp_path / "nothing.jsonl")


def test_addresses_are_those_of_the_standard_library(tmp_path: Path) -> None:
    for name in ("a b.png", "ü#?%.png", 'it\'s "one".png'):
        assert address_of(str(tmp_path / name)) == (tmp_path / name).resolve().as_uri()


def test_distances_beyond_the_index_stay_in_order() -> None:
    index = Index()
    for distance in (0.0, 0.3, 1e12, None):
        index.add(StepRow(id="x", participant="1", task=0, instruction="", shot=0, outcome="miss", distance=distance))
    columns = inflated(index.packed(files="f", key="k", starts=(0,)).columns)
    low, high = columns[8:12], columns[12:16]
    assert [struct.unpack("<H", bytes(pair))[0] for pair in zip(low, high, strict=True)] == [0, 1, 65_534, 65_535]

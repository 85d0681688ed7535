"""The page as a file: what stands in it, never as markup, how many steps it holds, and that it costs no run."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.data.history import history_window
from grounding.records import GroupLabel, Point, Prediction, Step
from grounding.report.html import pictures
from grounding.report.html.content import MOST_TEXT, Fact, embedded_json
from grounding.report.html.gather import cut, windows
from grounding.report.html.page import write_page
from grounding.report.html.pictures import FILES
from grounding.report.html.written import with_report, write_runs_page
from grounding.run.folder import RunFolder
from grounding.run.scorebook import ScoredClicks, weigh

from . import manyruns
from .runs import SIZE, make_run, step_of, write_report

HOSTILE = "</script><script>document.title='stolen'</script><img src=x onerror=alert(1)>&amp;\u2028@data@"


def data_of(path: Path) -> dict:  # type: ignore[type-arg]
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def test_every_step_is_on_the_page_with_its_gold_click_history_and_outcome(tmp_path: Path) -> None:
    scored = make_run(tmp_path / "run")
    (run,) = data_of(write_report(scored))["runs"]
    assert len(run["steps"]) == 40
    by_id = {step["id"]: step for step in run["steps"]}
    outcomes = {verdict.step_id: verdict.outcome for verdict in scored.verdicts}
    assert {name: step["outcome"] for name, step in by_id.items() if step["outcome"] != "none"} == outcomes
    assert by_id["1/10"]["outcome"] == "none"
    assert by_id["1/3"]["failure"] == "near"
    assert by_id["1/4"]["failure"] == "far"
    assert by_id["1/11"]["failure"] == "unparsed"
    assert by_id["1/7"]["gold"]["polygons"]
    assert by_id["1/1"]["click"] == {"x_px": 120, "y_px": 65}
    told = [run["told"][at]["action"] for at in by_id["1/5"]["history"]]
    assert told == ["did 1", "did 2", "did 3"]
    assert [task["steps"] for task in run["tasks"]][:2] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    accuracy = scored.summary.scores.paper.step_accuracy
    assert run["metrics"][0]["value"] == f"{accuracy.value:.1f} %"
    assert run["metrics"][0]["count"] == f"{accuracy.k}/{accuracy.n} steps"
    assert {"name": "signature", "text": scored.summary.signature} in run["facts"]
    assert any("3 of 36 replies hold no usable point" in text for text in run["warnings"])


def test_nothing_that_a_model_or_a_data_set_says_is_markup(tmp_path: Path) -> None:
    def reply(_: int, step: Step) -> Prediction:
        return Prediction(step_id=step.id, key="k", point=Point(x_px=1, y_px=2), raw=HOSTILE)

    scored = make_run(tmp_path / "run", 3, instruction=lambda _: HOSTILE, predict=reply, grounder=HOSTILE)
    path = write_report(scored)
    text = path.read_text(encoding="utf-8")
    assert "stolen'</script>" not in text
    assert "<img" not in text
    (run,) = data_of(path)["runs"]
    assert run["steps"][0]["raw"] == HOSTILE
    assert run["steps"][0]["instruction"] == HOSTILE
    assert text.count("<script") == 2


@given(st.text())
def test_embedded_json_is_the_text_and_holds_no_tag(text: str) -> None:
    found = embedded_json(Fact(name="n", text=text))
    assert not set("<>&\u2028\u2029") & set(found)
    assert json.loads(found)["text"] == text


def test_long_replies_are_cut_and_say_so(tmp_path: Path) -> None:
    def reply(_: int, step: Step) -> Prediction:
        return Prediction(step_id=step.id, key="k", point=Point(x_px=1, y_px=2), raw="x" * 100_000)

    (run,) = data_of(write_report(make_run(tmp_path / "run", 2, predict=reply)))["runs"]
    assert run["steps"][0]["raw"] == "x" * MOST_TEXT + " … (96,000 more characters)"
    assert cut("short") == "short"


def test_the_page_asks_no_network(tmp_path: Path) -> None:
    text = write_report(make_run(tmp_path / "run", 2)).read_text(encoding="utf-8")
    assert "connect-src 'none'" in text
    assert "default-src 'none'" in text
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    # The only addresses are names of XML vocabularies.
    assert set(re.findall(r"https?://[^\s\"'\\)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_pictures_are_made_once_and_lie_beside_the_page(tmp_path: Path) -> None:
    path = write_report(make_run(tmp_path / "run"))
    pictures = sorted((path.parent / FILES).iterdir())
    assert len(pictures) == 4  # hashes of the forty steps' screenshots
    times = [picture.stat().st_mtime_ns for picture in pictures]
    write_report(weigh(RunFolder(tmp_path / "run")))
    assert [picture.stat().st_mtime_ns for picture in pictures] == times
    (run,) = data_of(path)["runs"]
    assert (path.parent / run["shots"][0]["thumb"]).is_file()
    assert run["shots"][0]["full"].startswith("file:///")
    assert "%22one%22" in run["shots"][0]["full"]
    assert (run["shots"][0]["width"], run["shots"][0]["height"]) == (SIZE.width, SIZE.height)


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n" + b"\x00" * 40])
def test_a_screenshot_that_is_no_picture_is_a_warning_on_the_page(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.png").write_bytes(content)
    path = write_report(make_run(tmp_path / "run", 4, screenshot="broken.png"))
    (run,) = data_of(path)["runs"]
    assert [shot["thumb"] for shot in run["shots"]] == [""] * 4
    assert any("broken.png: no picture of it on the page" in text for text in run["warnings"])
    assert any("1 more screenshots" in text for text in run["warnings"])


def test_hashes_from_a_file_lead_nowhere(tmp_path: Path) -> None:
    scored = make_run(tmp_path / "run", 1)
    lines = (tmp_path / "run" / "steps.jsonl").read_bytes()
    (tmp_path / "run" / "steps.jsonl").write_bytes(lines.replace(b"0" * 64, b"../../../escaped"))
    write_report(scored)
    found = {path.relative_to(tmp_path).parts[:2] for path in tmp_path.glob("**/*escaped*")}
    assert found == {("run", FILES), ("cache", "grounding")}


def test_a_page_that_cannot_be_written_is_a_warning_and_costs_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored = make_run(tmp_path / "run", 3)
    (tmp_path / "run" / FILES).write_text("in the way")
    assert with_report(scored).report is None
    assert "grounding: warning: no report.html was written" in capsys.readouterr().err


def test_runs_over_different_data_are_shown_with_a_warning(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, 3) for name in ("one", "two")]
    info = (tmp_path / "two" / "run.json").read_text().replace('"fingerprint": "f"', '"fingerprint": "other"')
    (tmp_path / "two" / "run.json").write_text(info)
    same = data_of(write_page([runs[0], runs[1]], tmp_path / "same.html"))
    assert not any("different data" in text for text in same["runs"][0]["warnings"])
    page = data_of(write_page([runs[0], weigh(RunFolder(tmp_path / "two"))], tmp_path / "differ.html"))
    assert any("different data" in text for text in page["runs"][0]["warnings"])


def test_a_run_that_goes_on_has_steps_that_are_still_to_come(tmp_path: Path) -> None:
    def half(number: int, step: Step) -> Prediction | None:
        return None if number >= 5 else Prediction(step_id=step.id, key="k", point=Point(x_px=120, y_px=70))

    scored = make_run(tmp_path / "run", 9, predict=half, status="started")
    (run,) = data_of(write_report(scored))["runs"]
    assert [step["outcome"] for step in run["steps"]] == ["hit"] * 5 + ["pending"] * 4
    assert run["status"] == "started"
    assert any("is going on" in text for text in run["warnings"])


def test_plans_of_an_earlier_run_are_called_cached_and_took_no_time(tmp_path: Path) -> None:
    scored = make_run(tmp_path / "run", 4)
    path = scored.folder / "plans.jsonl"
    plans = [json.loads(line) for line in path.read_text().splitlines()]
    for plan in plans:
        plan |= {"call": {"seconds": 30.0, "cost_usd": 0.01}, "reused": True}
    path.write_text("".join(json.dumps(plan) + "\n" for plan in plans))
    (run,) = data_of(write_report(weigh(RunFolder(scored.folder))))["runs"]
    assert run["status"] == "complete, 4 plans cached"
    assert {fact["name"]: fact["text"] for fact in run["facts"]}["cached"].startswith("4 plans worth $0.04")
    assert [(step["cached"], "seconds" in step) for step in run["steps"]] == [(True, False)] * 4


def test_several_runs_have_a_page_that_leads_to_their_pages_and_differences(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "one"), make_run(tmp_path / "two", grounder="other")]
    write_report(runs[0])
    manyruns.write(
        tmp_path / "matrix_1",
        [manyruns.queued(f"none + {run.folder.name}", run.folder.name, "complete") for run in runs],
    )
    page = write_runs_page(tmp_path / "matrix_1", [run.folder for run in runs])
    assert page == tmp_path / "matrix_1" / "report.html"
    found = data_of(page)
    assert [run.get("link", "") for run in found["runs"]] == ["../one/report.html", ""]
    assert (page.parent / found["comparison"]).exists()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of more than ten steps is large, and nothing is drawn, which takes longest."""
    monkeypatch.setattr("grounding.report.html.plots.draw_diagrams", lambda *_, **__: ())
    monkeypatch.setattr(pictures, "LARGE_STEPS", 10)


def unpacked(run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(run["packed"])))
    return found


def two_people(folder: Path) -> ScoredClicks:
    """A run of two participants, with groups."""
    make_run(folder, 60, history=4)
    lines = []
    for number, line in enumerate((folder / "steps.jsonl").read_bytes().splitlines()):
        step = msgspec.json.decode(line, type=Step)
        groups = (GroupLabel(kind="platform", name="web" if number % 3 else "desktop"),)
        step = msgspec.structs.replace(step, participant="one" if number < 30 else "two", groups=groups)
        if number == 7:
            step = msgspec.structs.replace(step, history_entry=None)
        lines.append(msgspec.json.encode(step) + b"\n")
    (folder / "steps.jsonl").write_bytes(b"".join(lines))
    return weigh(RunFolder(folder))


@pytest.mark.usefixtures("large")
def test_a_large_page_has_what_a_small_one_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = two_people(tmp_path / "run")
    (run,) = data_of(write_page([scored], tmp_path / "large.html"))["runs"]
    monkeypatch.setattr(pictures, "LARGE_STEPS", 100)
    (small,) = data_of(write_page([scored], tmp_path / "small.html"))["runs"]
    lists = ("shots", "tasks", "steps", "told")
    assert unpacked(run) == {name: small[name] for name in lists}
    assert {name: each for name, each in small.items() if name not in (*lists, "packed")} == {
        name: each for name, each in run.items() if name not in (*lists, "packed")
    }
    assert [run[name] for name in lists] == [[], [], [], []]
    assert small["packed"] == ""


@pytest.mark.parametrize(("limit", "most", "listed"), [("MOST_STEPS", 16, 16), ("MOST_LETTERS", 100, 3)])
def test_a_page_says_what_it_has_no_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, listed: int
) -> None:
    monkeypatch.setattr(pictures, limit, most)
    (run,) = data_of(write_report(make_run(tmp_path / "run", 40)))["runs"]
    assert len(run["steps"]) == listed
    assert f"the first {listed} of 40 steps are listed here; run.frame() and export have all" in run["warnings"]
    assert max(step["shot"] for step in run["steps"]) < len(run["shots"])
    assert [at for task in run["tasks"] for at in task["steps"]] == list(range(listed))


def test_a_page_that_fails_leaves_the_old_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "run", 20)
    page = write_report(run)
    before = page.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grounding.report.html.plots.draw_diagrams", full)
    with pytest.raises(OSError, match="No space"):
        write_report(run)
    assert page.read_bytes() == before


def test_pictures_for_which_there_is_no_time_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding.report.html.pictures.MOST_S", -1)
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    (run,) = data_of(write_report(make_run(tmp_path / "run", 20)))["runs"]
    (said,) = (fact["text"] for fact in run["facts"] if fact["name"] == "pictures")
    assert said.startswith("0 of 4 screenshots have a small copy")
    assert {shot["thumb"] for shot in run["shots"]} == {""}
    assert all(shot["full"].startswith("file:///") for shot in run["shots"])


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
    for number, window in enumerate(windows(steps, length, scope)):
        assert [steps[at].history_entry for at in window] == list(history_window(steps, number, length, scope))

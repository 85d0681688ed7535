from __future__ import annotations

import datetime
import json
from pathlib import Path

import msgspec
import pytest
import shell

from benchmarks.agenticshop.made import CHECKLIST, made_curation, made_extraction, made_task
from benchmarks.agenticshop.profiles import profile, write_profiles
from benchmarks.agenticshop.runs import journals, write_run
from grounding.benchmarks.agenticshop.loader import load_curation
from grounding.benchmarks.agenticshop.records import Curation, Extraction
from grounding.benchmarks.agenticshop.scorebook import CurationFolder
from grounding.cli import app
from grounding.errors import UserError
from grounding.records import Failure

TASKS = (made_task("a"), made_task("b", "aesthetic_driven"))
ALL = tuple(item.id for item in CHECKLIST)


@pytest.fixture(autouse=True)
def in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release's models are still to be had."""
    monkeypatch.setattr("grounding.planners.prompts.today_utc", lambda: datetime.date(2026, 1, 1))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", TASKS, {TASKS[0].id: ALL[:2], TASKS[1].id: ALL[:1]}).path


def test_a_run_is_shown_by_the_papers_columns_beside_its_tables(run: Path, capsys: pytest.CaptureFixture[str]):
    assert app(["score", str(run), "--published"]) == 0
    shown = capsys.readouterr().out
    own = ("Exp.", "Aesthe.", "50.0", "25.0", "37.5", "success only", "judged 6 of 6", "signature  dataset:")
    papers = (*(f"AgenticShop, Table {number}" for number in (4, 5, 6, 7)), "37.81", "87.64*")
    for words in (*own, *papers, "site-search (this run)", "other data than the paper's"):
        assert words in shown, words
    assert app(["score", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((run / "summary.json").read_text())


def test_options_of_other_benchmarks_are_refused(run: Path):
    with pytest.raises(UserError, match="--tolerance has no meaning"):
        app(["score", str(run), "--tolerance", "3"])
    with pytest.raises(UserError, match="--scenario has no meaning for sample-web"):
        app(["eval", "--scenario", "x"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--planner", "o3"], "--planner has no meaning for sample-mall"),
        (["--scoring", "strict"], "expected paper or official"),
        (["--scenario", "nonsense"], "no scenario is called 'nonsense'"),
        (["--participant", "nobody"], "--participant nobody: no task is of this user"),
        (["--sample-id", "nothing"], "--sample-id nothing: no such task"),
        (["--agent", "replay", "--curations", "/nowhere"], "/nowhere"),
        (["--extractions", "/nowhere"], "--extractions /nowhere: expected the folder"),
        (["--judgements", "/nowhere"], "--judgements /nowhere: expected the folder"),
        (["--judge", "nobody"], "no model is called 'nobody'"),
    ],
)
def test_what_makes_no_sense_for_curation_is_refused_before_anything_is_opened(
    options: list[str], words: str, tmp_path: Path
):
    with pytest.raises(UserError, match=words):
        app(["eval", "--dataset", "sample-mall", *options, "--log-dir", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_a_run_goes_into_the_releases_layout_and_back(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tree = tmp_path / "tree"
    assert app(["curation", "export", str(run), "--out", str(tree)]) == 0
    assert "6 products of 2 tasks and 2 users" in capsys.readouterr().out
    results = tree / "eval_results"
    back = ["eval", "--dataset", "agenticshop", "--data-dir", str(tree / "data"), "--agent", "replay"]
    back += ["--curations", str(tree / "product_curation_artifacts" / "web_agents" / "site-search")]
    back += ["--extractions", str(results), "--judgements", str(results), "--log-dir", str(tmp_path / "logs"), "--json"]
    assert app(back) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["headline"] == "release"
    assert found["judges"][0]["figures"]["all tasks"]["score"]["value"] == pytest.approx(0.375)
    # What the judge of the export adds up to is what the official reading finds.
    assert found["judges"][0]["official"]["all tasks"]["satisfaction_percentage"] == pytest.approx(37.5)
    with pytest.raises(UserError, match="no such judge"):
        app(["curation", "export", str(run), "--out", str(tmp_path / "other"), "--judge", "nobody"])
    with pytest.raises(UserError, match="not empty"):
        app(["curation", "export", str(run), "--out", str(tree)])


def test_a_run_that_nobody_judged_goes_out_for_the_releases_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run = write_run(tmp_path / "run", TASKS, {}, judges=()).path
    assert app(["curation", "export", str(run), "--out", str(tmp_path / "tree")]) == 0
    assert "6 products of 2 tasks" in capsys.readouterr().out
    assert len(list((tmp_path / "tree").rglob("extraction_result.json"))) == 6
    assert list((tmp_path / "tree").rglob("evaluation_result.json")) == []


def test_a_run_keeps_its_reading_unless_another_is_asked_for(run: Path, capsys: pytest.CaptureFixture[str]):
    folder = CurationFolder(run)
    folder.write_info(msgspec.structs.replace(folder.read_info(), preset="official"))
    for more, words in (((), "% · official"), (("paper",), "% · paper"), (("official",), "% · official")):
        assert app(["score", str(run), *(part for one in more for part in ("--scoring", one))]) == 0
        shown = capsys.readouterr().out
        assert words in shown
        # Both readings stand in every table.
        assert "95 % interval" in shown
        # No judge reported a sum: there is no figure, and the reason stands below.
        (row,) = [line for line in shown.splitlines() if line.startswith("   official ")]
        assert set(row.split()[1:]) == {"\u2013"}
        assert "official   \u2013: reference adds nothing up" in shown


def test_a_dry_run_counts_pages_that_nobody_has_opened_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    command = ["eval", "--dataset", "sample-mall", "--preset", "official", "--limit", "2", "--dry-run"]
    assert app([*command, "--log-dir", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for one in found["models"]:
        assert one["requests"] == 6
        assert one["text_tokens"] > 6 * 500
        assert 0 < one["low_usd"] < one["expected_usd"] < one["high_usd"]
    assert [one["role"] for one in found["models"]] == ["extractor", "judge"]
    assert found["models"][0]["image_tokens"] > 0
    assert any("6 pages are not open yet; each counts as" in note for note in found["notes"])


def test_a_dry_run_says_what_a_vendor_takes_for_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "--dataset", "sample-mall", "--limit", "2", "--dry-run", "--judge", "reference"]
    assert app([*command, "--agent", "search", "--model", "gpt-4o-search", "--log-dir", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (agent,) = found["models"]
    assert 0 < agent["low_usd"] < agent["expected_usd"] < agent["high_usd"]
    assert any("the vendor's fee is 0.01 US dollars a search" in note for note in found["notes"])


def test_results_of_which_a_file_is_not_there_or_damaged_lose_that_alone(tmp_path: Path) -> None:
    """The release's own results, replayed: what it left no file of is in no score, and its user in the release's."""
    write_profiles(tmp_path / "data", [profile(0), profile(1)])
    urls = [f"http://a.test/{rank}" for rank in range(3)]
    named = [{"product_name": "p", "product_url": url, "reasoning": ""} for url in urls]
    answers = [{"user": f"USER{number}", "search_results": named} for number in (0, 1)]
    (tmp_path / "home_search_output.json").write_text(json.dumps(answers))
    results = tmp_path / "eval_results" / "web_agents" / "m" / "Home_and_Kitchen"
    report = {"stats": {"satisfaction_percentage": 50.0}, "annotated_checklist": {}}
    for user in range(2):
        for rank, url in enumerate(urls):
            result = results / f"user_USER{user}" / f"result_{rank:03d}"
            result.mkdir(parents=True)
            if (user, rank) in ((0, 0), (0, 1)):
                said = {"source_url": url, "available_product_info": {"description": "a shoe"}}
                (result / "extraction_result.json").write_text("{" if rank else json.dumps(said))
                (result / "evaluation_result.json").write_text(json.dumps({"evaluation_result": report}))
    given = ("--extractions", tmp_path / "eval_results", "--judgements", tmp_path / "eval_results")
    options = ("--agent", "replay", "--curations", tmp_path / "home_search_output.json", *given)
    done = shell.call(
        "--dataset", "agenticshop", "--data-dir", tmp_path / "data", "--log-dir", tmp_path / "l", *options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (judge,) = shell.summary(shell.run_folder(tmp_path / "l"))["judges"]
    assert judge["unmeasured"] == {"unparsed": 5}
    official = judge["official"]["low_involvement"]
    assert (official["satisfaction_percentage"], official["users"], official["products"]) == (25.0, 2, 1)


def test_a_dry_run_counts_what_ended_in_an_error_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "--dataset", "sample-mall", "--limit", "2", "--extractor", "gpt-5-mini", "--dry-run", "--json"]
    command += ["--log-dir", str(tmp_path)]
    assert app(command) == 0
    folder = CurationFolder(tmp_path / json.loads(capsys.readouterr().out)["run_id"])
    folder.create()
    curations, extractions, judgements = journals(folder)
    first, second = load_curation("sample-mall", None).tasks[:2]
    lost = Failure(kind="error", message="the browser was lost")
    curations.append(made_curation(first, urls := [f"http://a.test/{rank}" for rank in range(3)]))
    curations.append(Curation(step_id=second.id, key="k", failure=lost))
    for rank, url in enumerate(urls):
        read = made_extraction(first, rank, url)
        extractions.append(read if rank else Extraction(step_id=read.step_id, key="k", url=url, failure=lost))
    for journal in (curations, extractions, judgements):
        journal.close()
    folder.release()
    assert app(command) == 0
    (extractor,) = json.loads(capsys.readouterr().out)["models"]
    assert extractor["requests"] == 3 + 1  # The pages of the second task, and the one that was lost.


def test_a_dry_run_says_that_a_grounder_is_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "--dataset", "sample-mall", "--limit", "2", "--dry-run", "--log-dir", str(tmp_path), "--json"]
    command += ["--agent", "browsing", "--model", "gpt-5-mini"]
    for more, said in (((), False), (("--grounder", "openai-computer"), True)):
        assert app([*command, *more]) == 0
        notes = json.loads(capsys.readouterr().out)["notes"]
        assert any("its grounder openai-computer is asked for every click" in note for note in notes) is said

"""Run folders as they lie on disk: scored, shown, compared, counted by failures, drawn; and what is missing in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import shell

import grounding
from benchmarks.agenticshop.made import CHECKLIST, made_curation, made_extraction, made_task
from benchmarks.agenticshop.runs import journals, run_info, write_run
from grounding.benchmarks.agenticshop.benchmark import BENCHMARK
from grounding.benchmarks.agenticshop.paper import failures_of, queries_of
from grounding.benchmarks.agenticshop.records import (
    SCENARIOS,
    Curated,
    Curation,
    ItemVerdict,
    Money,
    ProductFacts,
    RenderedPage,
    TraceStep,
)
from grounding.benchmarks.agenticshop.rows import gather_curation, losses, run_notes
from grounding.benchmarks.agenticshop.scorebook import CurationFolder, read_scored, read_stored, score_curation
from grounding.cli import app
from grounding.errors import UserError
from grounding.records import Failure
from grounding.report.compare import compare_runs
from grounding.report.rows import break_down, read_rows
from grounding.run.session import rescore

TASKS = (made_task("a"), made_task("b"), made_task("c", "low_involvement"))
ALL_TASKS = "all tasks"
ALL = tuple(item.id for item in CHECKLIST)
HALF = {task.id: ALL[:2] for task in TASKS}


def test_a_whole_run_is_scored_from_its_folder(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS, {**HALF, TASKS[2].id: ALL})
    scored = rescore(BENCHMARK, folder.path)
    (rules,) = scored.summary.judges
    scores = {group: of["score"].value for group, of in rules.figures.items()}
    assert scores == {"all tasks": pytest.approx(2 / 3), "explicit_title": 0.5, "low_involvement": 1.0}
    assert (scored.summary.status, scored.summary.counts.outcomes) == ("complete", {"judged": 9})
    assert len((folder.path / "verdicts.jsonl").read_text().splitlines()) == 9
    summary = (folder.path / "summary.json").read_bytes()
    assert rescore(BENCHMARK, folder.path).summary == scored.summary
    assert (folder.path / "summary.json").read_bytes() == summary


def test_answers_to_what_was_changed_since_are_none(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS[:1], HALF)
    _, extractions, _ = journals(folder)
    # Another look at the page of rank 0 gave other facts: what was judged before was not this.
    extractions.append(made_extraction(TASKS[0], 0, "http://a.test/a/0", facts=None, page_class="product"))
    # The agent's product of rank 1 has another URL than the page that is stored.
    extractions.append(made_extraction(TASKS[0], 1, "http://elsewhere.test"))
    extractions.close()
    scored = rescore(BENCHMARK, folder.path)
    assert [one.outcome for one in scored.verdicts["reference"][0]] == ["open", "open", "judged"]
    assert scored.summary.status == "partial"


def test_of_several_judges_the_majority_counts_and_the_rules_take_no_part(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS[:1], HALF, judges=("reference", "one", "two", "three"))
    _, _, judgements = journals(folder)
    stored = {one.step_id: one for one in judgements}
    for name in ("one", "two"):
        verdicts = tuple(ItemVerdict(item=item, satisfied=item == ALL[3]) for item in ALL)
        judgements.append(msgspec.structs.replace(stored[f"{TASKS[0].id}/0/{name}"], verdicts=verdicts))
    judgements.close()
    summary = rescore(BENCHMARK, folder.path).summary
    assert summary.headline == "majority"
    assert [one.judge for one in summary.judges] == ["reference", "one", "two", "three", "majority"]
    # Two of three say so; with the rules it would be a tie.
    assert summary.judges[0].figures[ALL_TASKS]["score"].value == 0.5
    assert summary.own.figures[ALL_TASKS]["score"].value == pytest.approx((0.25 + 0.5 + 0.5) / 3)
    pair = write_run(tmp_path / "pair", TASKS[:1], HALF, judges=("reference", "one"))
    assert rescore(BENCHMARK, pair.path).summary.headline == "one"


def test_a_folder_of_something_else_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="is not a run folder"):
        rescore(BENCHMARK, tmp_path)
    (tmp_path / "run.json").write_text('{"benchmark": "agenticshop"}')
    with pytest.raises(UserError, match="not a description of a run that curates products"):
        rescore(BENCHMARK, tmp_path)


def test_what_a_run_did_not_get_is_said_in_a_line_each(tmp_path: Path) -> None:
    folder = CurationFolder(tmp_path / "run")
    folder.create()
    folder.write_info(run_info("run", ()))
    answered, silent = made_task("u1"), made_task("u2")
    folder.write_tasks([answered, silent])
    curations, extractions, judgements = journals(folder)
    urls = ["http://wall.test/1", "http://slow.test/1", "http://large.test/1"]
    curations.append(made_curation(answered, urls))
    curations.append(made_curation(silent, [], failure=Failure(kind="unparsed", message="no JSON: 'I would'")))
    extractions.append(made_extraction(answered, 0, urls[0], page_class="blocked"))
    for rank, why in ((1, "too-slow: the page was not done within 60 s"), (2, "too-large: a document of 400 MB")):
        page = RenderedPage(url=urls[rank], failure=Failure(kind="missing", message=why))
        extractions.append(made_extraction(answered, rank, urls[rank], page_class="error", page=page, facts=None))
    for journal in (curations, extractions, judgements):
        journal.close()
    folder.release()
    said = [": ".join(one) for one in losses(read_stored(folder, folder.read_info()))]
    pages = ["blocked: 1 pages of wall.test", "no page: 1 too-slow", "no page: 1 too-large"]
    assert said == ["no answer: 1 tasks unparsed", *pages]


# --- beside other runs -----------------------------------------------------------------------------------------------

MANY = tuple(made_task(f"u{number}") for number in range(12))


def compared_run(path: Path, share: int, **asked: Any) -> Path:
    write_run(path, MANY, {task.id: ALL[:share] for task in MANY}, **asked)
    rescore(BENCHMARK, path)
    return path


def test_two_runs_differ_by_what_their_tasks_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    worse, better = compared_run(tmp_path / "worse", 1), compared_run(tmp_path / "better", 3, agent="replay")
    result = compare_runs([worse, better])
    (compared,) = result.runs
    found = {(one.group, one.metric): one for one in compared.metrics}
    assert found["all", "score"].difference == pytest.approx(50)
    assert found["explicit title", "wrong_links"].difference == 0.0
    (test,) = compared.tests
    assert (test.right, test.test.won, test.test.lost, result.clusters) == ("three product pages", 0, 0, "user")
    assert app(["compare", str(worse), str(better)]) == 0
    assert "three product pages" in capsys.readouterr().out
    other = compared_run(tmp_path / "other", 1, fingerprint="e" * 64)
    with pytest.raises(UserError, match="the data: fingerprint"):
        compare_runs([worse, other])
    with pytest.raises(UserError, match="the judge that counts: one and reference"):
        compare_runs([worse, compared_run(tmp_path / "more", 1, judges=("reference", "one"))])
    assert compare_runs([worse, other], force=True).runs[0].differs


def test_the_figures_are_those_of_the_summary(tmp_path: Path):
    run = read_rows(compared_run(tmp_path / "one", 2))
    whole = run.summary.judges[0].figures[ALL_TASKS]["score"]
    assert run.scores["score"].value == pytest.approx(100 * whole.value)
    (row,) = break_down(run, "scenario", resamples=50).rows
    assert (row.name, row.tasks, row.accuracy.n) == ("explicit title", 12, 12)
    frame = grounding.load_run(run.folder).frame()
    assert (len(frame), frame.score_score.mean()) == (12, pytest.approx(100 * whole.value))
    assert frame.is_hit.all()


# --- figures 3 to 5, and the failure kinds of appendix D --------------------------------------------------------------


def traced_run(path: Path, share: int = 2) -> Path:
    tasks = [made_task(f"{scenario}-{user}", scenario) for scenario in SCENARIOS for user in range(2)]
    satisfied = {task.id: ALL[: share + place % 2] for place, task in enumerate(tasks)}
    folder = write_run(path, tasks, satisfied)
    curations, _, _ = journals(folder)
    steps = (TraceStep(action='search "tea"', kind="information_seeking"), TraceStep(action="choose", kind="other"))
    for task in tasks:
        urls = [f"http://a.test/{task.user}/{rank}" for rank in range(3)]
        curations.append(made_curation(task, urls, trace=steps, seconds=3.0 if task is tasks[0] else 4.0))
    curations.close()
    score_curation(folder)
    return path


def test_steps_and_seconds_are_told_by_task(tmp_path: Path) -> None:
    notes = dict(run_notes(read_scored(traced_run(tmp_path / "run"))))
    assert notes["time"] == "12.5 s · 2.0 steps and 3.9 s a task"


def test_figures_and_failures_by_command(tmp_path: Path) -> None:
    runs = [traced_run(tmp_path / name, share) for name, share in (("one", 1), ("two", 3))]
    done = shell.call("curation", "figures", *runs, "--out", tmp_path / "drawn", module="grounding")
    assert done.returncode == 0, done.stderr
    assert "figure 3 · score by kind of goods" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.lstrip().startswith("site-search")]
    assert lines[0].split()[2:] == ["37.5", "37.5", "37.5"]
    assert lines[4].split()[2:] == ["50.0", "0.0", "0.0", "50.0"]
    names = {f"figure-{number}.{ending}" for number in (3, 4, 5) for ending in ("png", "svg")}
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == names
    assert shell.call("curation", "figures", tmp_path / "none", module="grounding").returncode == 2
    done = shell.call("curation", "failures", runs[0], module="grounding")
    assert "URL hallucination" in done.stdout
    assert shell.call("curation", "failures", module="grounding").returncode == 2
    found = json.loads(shell.call("curation", "failures", runs[0], "--json", module="grounding").stdout)[str(runs[0])]
    assert (found[0]["kind"], found[0]["count"], found[0]["total"]) == ("URL hallucination", 0, 42)


def test_each_kind_of_failure_is_found(tmp_path: Path) -> None:
    task = made_task(query="green tea")
    folder = write_run(tmp_path / "run", [task], {task.id: []})
    page = RenderedPage(url="http://a.test/2", status=200, text="Alder tea $12.00\nBirch tea $9.00")
    gone = RenderedPage(url="http://a.test/0", failure=Failure(kind="missing", message="no such page"))
    reasoning = "It is just what this user likes to drink, for $9.00 a box."
    curation = Curation(
        step_id=task.id,
        key="k",
        products=tuple(Curated(rank=rank, url=f"http://a.test/{rank}", reasoning=reasoning) for rank in range(3)),
        trace=(
            TraceStep(action="search: Alder green tea", url="http://a.test/", cited_urls=("http://a.test/0",)),
            TraceStep(action="Type [5]; green tea organic loose leaf in a tin under ten dollars with free shipping"),
        ),
    )
    curations, extractions, judgements = journals(folder)
    curations.append(curation)
    extractions.append(made_extraction(task, 0, "http://a.test/0", page=gone, page_class="error", facts=None))
    extractions.append(made_extraction(task, 1, "http://a.test/1", page_class="listing", facts=None))
    facts = ProductFacts(title="Alder tea", brand="Alder", price=Money(amount=12.0, currency="USD"))
    extractions.append(made_extraction(task, 2, "http://a.test/2", page=page, facts=facts))
    for journal in (curations, extractions, judgements):
        journal.close()
    found = failures_of(score_curation(folder))
    assert {one.kind: (one.count, one.total) for one in found} == {
        "URL hallucination": (1, 3),
        "response hallucination: page": (1, 1),
        "response hallucination: price": (0, 1),
        "biased query rewriting": (1, 2),
        "overcomplicated query": (1, 2),
        "premature termination": (1, 1),
        "distraction by promotion": (1, 1),
        "insufficient exploration": (1, 1),
    }
    assert found[0].cases[0][1] == "http://a.test/0 (brought)"


def test_pages_of_a_run_that_nobody_judged_are_counted_and_shown(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TASKS[:1], {}, judges=())
    _, extractions, _ = journals(folder)
    urls = [f"http://a.test/a/{rank}" for rank in range(3)]
    extractions.append(made_extraction(TASKS[0], 0, urls[0], page_class="listing", facts=None))
    extractions.close()
    scored = score_curation(folder)
    counted = {one.kind: (one.count, one.total) for one in failures_of(scored)}
    assert (counted["premature termination"], counted["URL hallucination"]) == ((1, 1), (0, 3))
    index, (details,) = gather_curation(scored)
    (row,) = index["tasks"]
    assert (row["outcome"], row["shares"]) == ("not-product, open", [])
    assert details["products"][0]["errors"] == ["irrelevant"]
    (shown,) = read_rows(folder.path).rows
    assert set(shown.scores.values()) == {None}


def test_results_of_the_release_are_product_pages_that_people_can_label(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TASKS[:1], {}, judges=())
    _, extractions, _ = journals(folder)
    facts = ProductFacts(description="A tea.")
    extractions.append(made_extraction(TASKS[0], 0, "http://a.test/a/0", page_class=None, facts=facts))
    failure = Failure(kind="error", message="no browser")
    extractions.append(made_extraction(TASKS[0], 1, "http://a.test/a/1", page_class=None, facts=None, failure=failure))
    extractions.close()
    index, (details,) = gather_curation(score_curation(folder))
    assert index["tasks"][0]["classes"] == ["product", "not fetched", "product"]
    assert [one["class"] for one in details["products"]] == ["product", "not fetched", "product"]


def test_failures_that_hang_on_what_was_not_looked_at_are_not_counted(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TASKS[:1], {}, judges=())
    curations, extractions, _ = journals(folder)
    urls = [f"http://a.test/a/{rank}" for rank in range(3)]
    trace = (TraceStep(action="click", url="http://a.test/"),)
    curations.append(made_curation(TASKS[0], urls, trace=trace))
    curations.close()
    counted = {one.kind: (one.count, one.total) for one in failures_of(score_curation(folder))}
    # Three product pages, which nobody judged; then one that failed.
    assert (counted["premature termination"], counted["insufficient exploration"]) == ((0, 1), (0, 0))
    failure = Failure(kind="error", message="no browser")
    extractions.append(made_extraction(TASKS[0], 0, urls[0], page=None, facts=None, failure=failure))
    extractions.close()
    counted = {one.kind: (one.count, one.total) for one in failures_of(score_curation(folder))}
    assert counted["premature termination"] == (0, 0)


def test_what_failed_is_no_task_without_three_product_pages(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TASKS, HALF)
    curations, _, _ = journals(folder)
    curations.append(made_curation(TASKS[0], [], failure=Failure(kind="error", message="HTTP 503")))
    curations.close()
    _, extractions, _ = journals(folder)
    failure = Failure(kind="missing", message="no page of this product is recorded")
    extractions.append(made_extraction(TASKS[1], 0, "http://a.test/b/0", page=None, facts=None, failure=failure))
    extractions.close()
    score_curation(folder)
    rows = {row.user: row for row in read_rows(folder.path).rows}
    assert {name: (row.result, row.scores["success"]) for name, row in rows.items()} == {
        "a": ("error", None),
        "b": ("missing", None),
        "c": ("hit", 100.0),
    }


def test_queries_of_traces() -> None:
    actions = ("search green tea", "search: green tea", 'search_google {"query": "green tea"}', "Type [1]; green tea")
    for action, queries in (*((action, ("green tea",)) for action in actions), ("click 5", ())):
        assert queries_of(Curation(step_id="t", key="k", trace=(TraceStep(action=action),))) == queries

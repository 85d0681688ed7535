from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from grounding.errors import UserError
from grounding.records import Call, Failure
from grounding.webagents.agenticshop.records import ItemVerdict
from grounding.webagents.agenticshop.scorebook import rescore_curation
from webagents.agenticshop.made import CHECKLIST, made_extraction, made_judgement, made_task
from webagents.agenticshop.runs import write_run

TASKS = (made_task("a"), made_task("b"), made_task("c", "low_involvement"))
ALL = tuple(item.id for item in CHECKLIST)
HALF = {task.id: ALL[:2] for task in TASKS}


def test_a_whole_run_is_scored_from_its_folder(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS, {**HALF, TASKS[2].id: ALL})
    scored = rescore_curation(folder.path)
    assert scored.summary.status == "complete"
    (rules,) = scored.summary.judges
    assert (rules.scenarios["explicit_title"].all.value, rules.scenarios["low_involvement"].all.value) == (0.5, 1.0)
    assert rules.overall.all.value == pytest.approx(2 / 3)
    assert scored.summary.counts.outcomes == {"judged": 9}
    verdicts = [json.loads(line) for line in (folder.path / "verdicts.jsonl").read_text().splitlines()]
    assert len(verdicts) == 9
    summary = (folder.path / "summary.json").read_bytes()
    assert rescore_curation(folder.path).summary == scored.summary
    assert (folder.path / "summary.json").read_bytes() == summary


def test_answers_to_what_was_changed_since_are_none(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS[:1], HALF)
    extractions, judgements = folder.extractions(), folder.judgements()
    # Another look at the page of rank 0 gave other facts: what was judged before was not this.
    extractions.append(made_extraction(TASKS[0], 0, "http://a.test/a/0", facts=None, page_class="product"))
    # The agent's product of rank 1 has another URL than the page that is stored.
    extractions.append(made_extraction(TASKS[0], 1, "http://elsewhere.test"))
    extractions.close()
    judgements.close()
    scored = rescore_curation(folder.path)
    assert [one.outcome for one in scored.verdicts["rules"][0]] == ["open", "open", "judged"]
    assert scored.summary.status == "partial"


def test_of_several_judges_the_majority_counts_and_the_rules_take_no_part(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS[:1], HALF, judges=("rules", "one", "two", "three"))
    stored = {one.step_id: one for one in folder.judgements(read_only=True)}
    judgements = folder.judgements()
    for name in ("one", "two"):
        before = stored[f"{TASKS[0].id}/0/{name}"]
        verdicts = tuple(ItemVerdict(item=item, satisfied=item == ALL[3]) for item in ALL)
        judgements.append(msgspec.structs.replace(before, verdicts=verdicts))
    judgements.close()
    summary = rescore_curation(folder.path).summary
    assert summary.headline == "majority"
    assert [one.judge for one in summary.judges] == ["rules", "one", "two", "three", "majority"]
    assert summary.of("rules").overall.all.value == 0.5
    # Two of three say so; with the rules it would be a tie.
    assert summary.of("majority").overall.all.value == pytest.approx((0.25 + 0.5 + 0.5) / 3)
    with pytest.raises(KeyError):
        summary.of("nobody")


def test_one_judge_besides_the_rules_counts_alone(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS[:1], HALF, judges=("rules", "one"))
    summary = rescore_curation(folder.path).summary
    assert (summary.headline, [one.judge for one in summary.judges]) == ("one", ["rules", "one"])


def test_costs_are_of_everything_that_was_ever_asked(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS[:1], HALF)
    judgements = folder.judgements()
    call = Call(seconds=1.0, cost_usd=0.25, model="m")
    judgements.append(
        made_judgement(TASKS[0], 0, (), key="old", call=call, failure=Failure(kind="error", message="500"))
    )
    last = msgspec.structs.replace(made_judgement(TASKS[0], 0, ()), key="older", call=call)
    judgements.append(last)
    judgements.close()
    summary = rescore_curation(folder.path).summary
    assert (summary.costs.judges.calls, summary.costs.judges.usd) == (2, 0.5)


def test_pages_that_are_no_products_are_attribution_errors(tmp_path: Path):
    folder = write_run(tmp_path / "run", TASKS, HALF, page_class="listing")
    summary = rescore_curation(folder.path).summary
    assert summary.of("rules").overall.all.value == 0.0
    assert (summary.attribution.error.value, summary.attribution.irrelevant.value) == (1.0, 1.0)
    assert summary.attribution_by_scenario["low_involvement"].products == 3


def test_a_folder_of_something_else_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="is not a run folder"):
        rescore_curation(tmp_path)
    (tmp_path / "run.json").write_text('{"benchmark": "agenticshop"}')
    with pytest.raises(UserError, match="not a description of a run that curates products"):
        rescore_curation(tmp_path)

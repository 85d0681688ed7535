from __future__ import annotations

import json
from pathlib import Path

import pytest

from grounding.cli import app
from grounding.webagents.agenticshop.records import ItemVerdict
from grounding.webagents.agenticshop.scorebook import rescore_curation
from webagents.agenticshop.made import CHECKLIST, made_judgement, made_task
from webagents.agenticshop.runs import write_run

TASK = made_task("a")
ALL = tuple(item.id for item in CHECKLIST)


def judged(tmp_path: Path, *judges: str) -> Path:
    """A run in which everybody says that the first two of four items are satisfied; the rules leave the last open."""
    folder = write_run(tmp_path / "run", [TASK], {TASK.id: ALL[:2]}, judges=judges)
    stored = {one.step_id: one for one in folder.judgements(read_only=True)}
    judgements = folder.judgements()
    for rank in range(3 if "rules" in judges else 0):
        key = stored[f"{TASK.id}/{rank}/rules"].key
        said = made_judgement(TASK, rank, ALL[:2], key=key)
        verdicts = (*said.verdicts[:3], ItemVerdict(item=ALL[3], satisfied=False, flags=("undecided",)))
        judgements.append(made_judgement(TASK, rank, (), key=key, verdicts=verdicts))
    if "one" in judges:
        # Of the first product another judge says the opposite in everything.
        key = stored[f"{TASK.id}/0/one"].key
        judgements.append(made_judgement(TASK, 0, ALL[2:], judge="one", key=key))
    judgements.close()
    return folder.path


def test_judges_are_held_against_the_rules_on_what_those_decide(tmp_path: Path) -> None:
    run = judged(tmp_path, "rules", "one", "two")
    summary = rescore_curation(run).summary
    one, two, majority = summary.rule_checks
    assert (one.judge, two.judge, majority.judge) == ("one", "two", "majority")
    assert (one.products, one.total.compared, one.total.undecided) == (3, 9, 3)
    assert (one.total.both_yes, one.total.rules_only, one.total.model_only, one.total.both_no) == (4, 2, 1, 2)
    # Observed 6 of 9, by chance (6 * 5 + 3 * 4) of 81.
    assert one.total.kappa == pytest.approx((6 / 9 - 42 / 81) / (1 - 42 / 81))
    assert (two.total.kappa, two.total.agree_percent) == (1.0, 100.0)
    # The dimension of the item that the rules leave open is there and has nothing to be compared.
    assert [(each.dimension, each.compared) for each in one.dimensions] == [
        ("brand_preferences", 3),
        ("price_sensitivity", 6),
        ("review_sensitivity", 0),
    ]
    lines = [json.loads(line) for line in (run / "differences.jsonl").read_text().splitlines()]
    mine = [each["difference"] for each in lines if each["judge"] == "one"]
    assert [(each["product"], each["item"]) for each in mine] == [(f"{TASK.id}/0", item) for item in ALL[:3]]
    # A tie is not satisfied: with two judges the majority follows the one who says no.
    assert majority.total.rules_only == 2


def test_the_table_is_printed_with_what_to_read_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["score", str(judged(tmp_path, "rules", "one"))]) == 0
    shown = capsys.readouterr().out
    assert "judges against the rules" in shown
    (row,) = [line for line in shown.splitlines() if "agree %" in line]
    assert row.split()[-10:] == ["66.7", "66.7", "66.7", "-", "-", "-", "-", "2", "1", "0"]
    assert "contradict one on 3 of 9" in shown


@pytest.mark.parametrize(("judges", "hint"), [(("rules",), False), (("one",), True)])
def test_without_two_sides_there_is_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], judges: tuple[str, ...], hint: bool
) -> None:
    assert app(["score", str(judged(tmp_path, *judges))]) == 0
    shown = capsys.readouterr().out
    assert "judges against the rules" not in shown
    assert ("--judge rules" in shown) is hint

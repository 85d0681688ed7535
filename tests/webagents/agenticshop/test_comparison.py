from __future__ import annotations

from pathlib import Path

import pytest

from grounding.cli import app
from grounding.errors import UserError
from grounding.webagents.agenticshop.comparison import compare_curations
from grounding.webagents.agenticshop.scorebook import rescore_curation
from webagents.agenticshop.made import CHECKLIST, made_task
from webagents.agenticshop.runs import write_run

TASKS = tuple(made_task(f"u{number}") for number in range(12))
ALL = tuple(item.id for item in CHECKLIST)


def scored_run(path: Path, share: int, **asked: object) -> Path:
    write_run(path, TASKS, {task.id: ALL[:share] for task in TASKS}, **asked)  # type: ignore[arg-type]
    rescore_curation(path)
    return path


def test_two_runs_differ_by_what_their_tasks_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    worse, better = scored_run(tmp_path / "worse", 1), scored_run(tmp_path / "better", 3, agent="replay")
    (compared,) = compare_curations([worse, better], resamples=200).runs
    found = {(one.group, one.measure): one for one in compared.measures}
    assert found["all", "score"].difference == pytest.approx(0.5)
    assert found["explicit_title", "wrong links"].difference == 0.0
    assert compared.right is not None
    assert compared.right.won == compared.right.lost == 0
    assert app(["compare", str(worse), str(better)]) == 0
    assert "three product pages" in capsys.readouterr().out


def test_other_judges_and_other_data_are_refused(tmp_path: Path):
    one, other = scored_run(tmp_path / "one", 1), scored_run(tmp_path / "other", 1, fingerprint="e" * 64)
    with pytest.raises(UserError, match="the data: fingerprint"):
        compare_curations([one, other])
    more = scored_run(tmp_path / "more", 1, judges=("rules", "one"))
    with pytest.raises(UserError, match="the judge that counts: one and rules"):
        compare_curations([one, more])
    assert compare_curations([one, other], force=True, resamples=50).runs[0].differs
    with pytest.raises(UserError, match="at least two runs"):
        compare_curations([one])

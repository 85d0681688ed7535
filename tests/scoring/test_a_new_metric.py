"""A metric is one function: here in a package from outside, which announces it, and then wherever scores are shown."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import shell
from conftest import TinyDataset

import grounding
from grounding.report.html.live import LivePage
from grounding.report.html.written import with_report
from grounding.run.folder import RunFolder
from grounding.run.scorebook import read_run
from grounding.scoring import metrics

PACKAGE = """\
from grounding.scoring import Part, metric


@metric("first_step_accuracy")
def first_step_accuracy(task):
    return Part(numerator=task.steps[0].is_hit, denominator=1)


@metric("click_distance", counted=False, of="clicks", unit="px", per_step=True)
def click_distance(task):
    known = [one.verdict.distance_px for one in task.steps if one.verdict.distance_px is not None]
    return Part(numerator=sum(known), denominator=len(known))
"""
NAMES, LABELS = ("first_step_accuracy", "click_distance"), ("first step accuracy", "click distance")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What ``pip install`` puts down: a module, and what it announces."""
    place = tmp_path / "site"
    about = place / "elsewhere-1.0.dist-info"
    about.mkdir(parents=True)
    (place / "elsewhere_metrics.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[grounding.metrics]\nfirst = elsewhere_metrics\n")
    monkeypatch.syspath_prepend(place)
    monkeypatch.delitem(sys.modules, "elsewhere_metrics", raising=False)
    monkeypatch.setattr(metrics, "_registry", dict(metrics._registry))
    metrics._load_entry_points.cache_clear()
    yield
    metrics._load_entry_points.cache_clear()


@pytest.mark.usefixtures("installed")
def test_it_shows_everywhere(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    data = ("--dataset", "realwebassist", "--data-dir", tiny_dataset(), "--log-dir", tmp_path / "runs")

    def said(*arguments: str | Path) -> str:
        done = shell.call(*arguments, module="grounding")
        assert done.returncode == 0, done.stderr
        return done.stdout

    table = said("eval", *data, "--grounder", "center")
    folders = {"center": shell.run_folder(tmp_path / "runs")}
    swept = said("sweep", *data, "--grounder", "center", "random")
    (folders["random"],) = (tmp_path / "runs").glob("*_random_*")
    (sweep,) = (tmp_path / "runs").glob("sweep_*")
    both = [folders["center"], folders["random"]]
    compared, by = said("compare", *both), said("report", folders["center"], "--by", "participant")
    again = said("report", folders["center"])
    page = (with_report(read_run(both[0])).report or Path()).read_text()
    exported = {form: said("export", *both, "--format", form) for form in ("markdown", "latex", "csv", "json")}
    for label in LABELS:
        places = {"eval": table, "sweep": swept, "compare": compared, "report": again, "report --by": by}
        places |= {"markdown": exported["markdown"], "page": page}
        for place, text in places.items():
            assert label in " ".join(text.replace("│", " ").replace("┃", " ").split()), (
                f"{place} lacks {label}:\n{text}"
            )
        assert label.capitalize() in exported["latex"]
        assert label in [metric.name for metric in LivePage([both[0]]).page().runs[0].metrics]
    for name in NAMES:
        summary = json.loads((both[0] / "summary.json").read_text())
        assert name in summary["scores"]["extra"]
        assert name in summary["groups"]["participant"]["1"]["scores"]["extra"]
        assert name in exported["csv"]
        assert name in exported["json"]
        assert name in next(csv.reader((sweep / "sweep.csv").open()))
        assert name in next(csv.reader(said("export", *both, "--submission").splitlines()))
        assert name in set(grounding.load_run(both[0]).scores)
        report = json.loads(said("report", both[0], "--by", "participant", "--json"))
        assert name in report[0]["breakdowns"][0]["rows"][0]["extra"]
    assert " px" in table
    assert (sweep / "sweep.png").stat().st_size > 0


@pytest.mark.usefixtures("installed")
def test_where_the_package_is_gone_the_stored_scores_are_still_shown(
    tmp_path: Path, tiny_dataset: TinyDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ("--dataset", "realwebassist", "--data-dir", tiny_dataset(), "--log-dir", tmp_path / "runs")
    assert shell.call(*data, "--grounder", "center").returncode == 0
    monkeypatch.setattr(metrics, "_registry", {n: m for n, m in metrics._registry.items() if n not in NAMES})
    folder = shell.run_folder(tmp_path / "runs")
    assert set(RunFolder(folder).read_summary().scores.extra) == set(NAMES)
    done = shell.call("report", folder, module="grounding")
    assert all(label in done.stdout for label in LABELS)
    assert " px" in done.stdout

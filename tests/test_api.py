"""The toolkit from Python, as its README shows it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import TinyDataset

import grounding
from grounding.errors import UserError


def white(image: Any, _instruction: str) -> tuple[float, float]:
    left, top, right, bottom = image.convert("L").point(lambda value: 255 * (value == 255)).getbbox()
    return (left + right) / 2, (top + bottom) / 2


def test_a_function_is_evaluated_and_compared(tiny_dataset: TinyDataset, tmp_path: Path) -> None:
    where = {"data_dir": tiny_dataset(), "log_dir": tmp_path / "runs", "no_report": True}
    run = grounding.evaluate("realwebassist", grounder=white, **where)
    assert (run.scores["step_accuracy"].value, run.scores["step_accuracy"].k) == (100, 6)
    assert run.frame().is_hit.all()
    assert repr(run).startswith("<Run realwebassist, none + white, complete: step accuracy 100.0")
    assert "<td>6/6" not in run._repr_html_()
    assert "(6/6)" in run._repr_html_()
    corner = grounding.evaluate("realwebassist", grounder=lambda _image, _words: (0, 0), **where)
    first = grounding.compare(corner, run, baseline=run).runs[0].metrics[0]
    assert first.difference == -100
    assert repr(grounding.load_run(corner.folder)) == repr(corner)


def test_it_works_where_a_loop_runs_as_in_a_notebook(tiny_dataset: TinyDataset, tmp_path: Path) -> None:
    async def cell() -> grounding.Run:
        data_dir = tiny_dataset(participants=1)
        return grounding.evaluate("realwebassist", grounder="center", data_dir=data_dir, log_dir=tmp_path / "runs")

    assert asyncio.run(cell()).summary.counts.steps == 3


def test_a_data_set_is_short_to_look_at(tiny_dataset: TinyDataset) -> None:
    data = grounding.load_dataset("realwebassist", tiny_dataset())
    assert repr(data) == "<Dataset realwebassist: 2 sessions, 8 steps>"
    assert repr(data.sessions[0]) == "<Session 1: 2 tasks, 4 steps>"
    assert repr(data.steps()[0]) == "<Step 1/1: 'click thing 0', click>"
    assert "<td>1</td><td>2</td><td>4</td>" in data._repr_html_()
    assert data.steps()[0].instruction == "click thing 0"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"grouner": "ocr"}, "no option grouner"),
        ({"dataset": "sample-desktop", "grouner": "ocr"}, "no option grouner"),
        ({"dataset": "sample-desktop", "grounder": max}, "not answered with points"),
        ({"dataset": "sample-desktop", "memory": ("none", "thought")}, "these options are 2 runs"),
        ({"dataset": "sample-shop", "style": "native"}, "--style"),
    ],
)
def test_wrong_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        grounding.evaluate(**options)


def test_runs_of_other_benchmarks(tmp_path: Path) -> None:
    def run(agent: str) -> grounding.Run:
        return grounding.evaluate("sample-desktop", grounder=agent, limit=20, log_dir=tmp_path, display="none")

    oracle, floor = run("oracle"), run("repeat-last")
    assert (oracle.scores["step_accuracy"].value, len(oracle.frame())) == (100.0, 20)
    assert "step accuracy" in repr(grounding.compare(oracle, floor))


def test_importing_loads_nothing_until_it_is_used() -> None:
    code = "import sys, grounding; print(any(name.startswith('grounding.') for name in sys.modules)); grounding.Point"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", [name for name in grounding.__all__ if name != "__version__"])
def test_what_is_public_says_what_it_is_for(name: str) -> None:
    assert getattr(grounding, name).__doc__

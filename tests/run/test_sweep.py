"""Options with several values: which there are, what is run for them, and what is written down."""

from __future__ import annotations

import csv
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import TinyDataset
from fakes.slow_server import slow_server

from grounding.benchmarks.agenticshop.preparation import CurationOptions
from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.benchmarks.personalwab.options import ShopOptions
from grounding.cli.sweep import ONE_FOR_ALL, sweepable, swept_values
from grounding.eval import evaluate_command
from grounding.options import EvalOptions
from grounding.report.plot import x_axis

# --- which options, which combinations ----------------------------------------------------------------------------


def test_every_option_of_eval_can_be_swept_or_is_one_for_all_or_takes_a_list() -> None:
    parameters = set(inspect.signature(evaluate_command).parameters)
    lists = {"participant", "sample_id", "base_url", "planner_base_url", "scenario", "judge"}
    assert set(sweepable()) | ONE_FOR_ALL | lists == parameters
    assert not set(sweepable()) & (ONE_FOR_ALL | lists)
    assert set(BENCHMARK.axes) <= set(sweepable())


def test_every_option_that_is_no_matter_of_showing_reaches_the_run() -> None:
    shown = {"scoring", "baseline", "json", "published"}
    fields = set(EvalOptions.__struct_fields__)
    # Those of web agents have records of their own.
    shown |= {*ShopOptions.__struct_fields__, *CurationOptions.__struct_fields__} - fields
    # --epochs is of several runs, each of which has its number.
    given = set(inspect.signature(evaluate_command).parameters) - shown - {"epochs"}
    assert given == fields - {"command", "epoch"}


def test_values_are_as_eval_has_them() -> None:
    found = swept_values(
        {
            "plans": (Path("none"), Path("a.json")),
            "planner": ("none", "o3"),
            "plan_ahead": ("true", "false"),
            "temperature": (None, 0.5, 0.5),
            "history": (0, 10),
            "history_file": ("none", "x.json"),
        }
    )
    assert found["plans"] == (None, Path("a.json"))
    assert found["planner"] == ("none", "o3")
    assert found["plan_ahead"] == (True, False)
    assert found["temperature"] == (None, 0.5)
    assert found["history"] == (0, 10)
    assert found["history_file"] == (None, "x.json")
    assert found["dataset"] == ("sample-web",)
    assert found["limit"] == (None,)


def test_the_axis_is_the_number_with_the_most_values() -> None:
    assert x_axis({"planner": ("a", "b"), "history": (0, 1, 2), "temperature": (0.0, 1.0)}) == "history"
    assert x_axis({"plan_ahead": (True, False), "plans": (None, "a")}) == ""
    assert x_axis({"temperature": (None, 0.5)}) == ""


# --- whole sweeps -------------------------------------------------------------------------------------------------


@pytest.fixture
def args(tmp_path: Path, tiny_dataset: TinyDataset) -> list[str]:
    data_dir = tiny_dataset(steps=6)
    return f"sweep --dataset realwebassist --data-dir {data_dir} --log-dir {tmp_path / 'results'}".split()


def grounding(*words: str | Path) -> Any:
    return shell.call(*words, module="grounding")


def folder_of(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "results").glob("sweep_*")
    return found


def reply(model: str, question: str) -> str:
    """A planner who answers with a longer plan the more it is told."""
    return f"click {len(question)}" if model == "thinker" else f"({len(question) % 64},20)"


def test_a_sweep_over_history(tmp_path: Path, args: list[str]) -> None:
    planner = shell.planner_card(tmp_path, text="{instruction} | {history}")
    grounder = shell.grounder_card(tmp_path)
    with slow_server(reply) as server:
        models = ["--planner", planner, "--grounder", grounder, "--max-retries", "0"]
        where = ["--base-url", server.url, "--planner-base-url", server.url, "--plan-store", tmp_path / "store"]
        command = [*args, *map(str, models), *map(str, where), "--history", "0", "2", "10"]
        done = grounding(*command)
        assert (done.returncode, done.stderr) == (0, "")
        asked = server.texts.copy()
        # Of three times 10 steps the first two of each person are told the same with --history 2 and 10, and the
        # first of all with --history 0, too.
        plans = sum(times for text, times in asked.items() if text.startswith("thinker"))
        assert plans == 10 + 8 + 6
        again = grounding(*command)
        assert (again.returncode, again.stdout) == (0, done.stdout)
        assert server.texts == asked
    folder = folder_of(tmp_path)
    assert {path.name for path in folder.iterdir()} == {
        *("queue.json", "sweep.json", "sweep.csv", "sweep.png", "sweep.svg"),
    }
    result = json.loads((folder / "sweep.json").read_text())
    assert result["swept"] == {"history": [0, 2, 10]}
    assert [row["values"] for row in result["rows"]] == [{"history": value} for value in (0, 2, 10)]
    with (folder / "sweep.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    for row, line in zip(result["rows"], table, strict=True):
        summary = json.loads((Path(row["folder"]) / "summary.json").read_text())
        assert row["summary"] == summary
        accuracy = summary["scores"]["paper"]["step_accuracy"]
        assert float(line["step_accuracy"]) == pytest.approx(accuracy["value"])
        assert (int(line["step_accuracy_k"]), int(line["step_accuracy_n"])) == (accuracy["k"], accuracy["n"])
        assert float(line["step_accuracy_low"]) <= float(line["step_accuracy"]) <= float(line["step_accuracy_high"])
        assert line["average_progress_k"] == ""
        assert (line["status"], line["steps"], line["run_folder"]) == ("complete", "10", row["folder"])
    assert "difference to history 0 in points" in done.stdout
    assert "in 4 tasks" in done.stdout
    assert (folder / "sweep.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "sweep.svg").read_text().startswith("<?xml")


def test_two_options_and_switches_and_files(tmp_path: Path, args: list[str]) -> None:
    plans = tmp_path / "mine.json"
    plans.write_text(json.dumps({p: {str(image): "click" for image in range(1, 7)} for p in "12"}))
    done = grounding(
        *args, "--plans", "none", plans, "--grounder", "center", "oracle", "--json", "--baseline", "oracle none"
    )
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert [tuple(row["values"].values()) for row in result["rows"]] == [
        ("center", None),
        ("center", "mine"),
        ("oracle", None),
        ("oracle", "mine"),
    ]
    assert [row["planner"] for row in result["rows"]] == ["none", "replay:mine"] * 2
    assert result["baseline"] == 2
    assert [row["difference"] is None for row in result["rows"]] == [False, False, True, False]
    lost = [row["difference"]["lost"] for row in result["rows"] if row["difference"]]
    assert lost[2] == 0
    assert json.loads((folder_of(tmp_path) / "sweep.json").read_text()) == result


def test_who_is_told_of_no_history_is_run_once_without(tmp_path: Path, args: list[str]) -> None:
    planner = shell.planner_card(tmp_path, text="{instruction} | {history}")
    with slow_server(reply) as server:
        where = ["--planner-base-url", server.url, "--no-plan-store", "--grounder", "center", "--history", "2", "5"]
        done = grounding(*args, "--limit", "2", "--planner", "none", planner, *where, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["values"]["history"] for row in rows] == [0, 2, 5]
    signed = [row["summary"]["signature"] for row in rows]
    assert ["history:0|" in signed[0], "history:2/" in signed[1], "history:5/" in signed[2]] == [True] * 3
    assert "none + center: --history 2 is left out: nobody is told of it" in done.stderr


def test_what_fails_in_one_combination_is_in_the_table(tmp_path: Path, args: list[str]) -> None:
    planner = shell.planner_card(tmp_path)
    with slow_server(reply) as server:
        server.status = 500
        where = ["--planner-base-url", server.url, "--plan-store", tmp_path / "store", "--max-retries", "0"]
        command = [*args, "--planner", "none", planner, "--grounder", "center", *where]
        done = grounding(*command)
        assert done.returncode == 1
        assert "thinker (partial)" in done.stdout
        server.status = None
        assert grounding(*command).returncode == 0
    (line,) = [one for one in csv.DictReader((folder_of(tmp_path) / "sweep.csv").open()) if one["planner"] == "thinker"]
    assert (line["status"], line["error"]) == ("complete", "0")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "nothing is swept"),
        (["--history", "5"], "nothing is swept"),
        (["--max-connections", "1", "2"], "1 and 2 (--max-connections): that is the same run twice"),
        (["--history", "0", "-1"], "--history -1: expected 0 or more"),
        (["--grounder", "center", "nobody"], "nobody"),
        (["--limit", "1", "2", "--baseline", "7"], "no run is called so; the runs are 1, 2"),
        (["--history", "0", "2"], "--history 2: neither the planner none nor the grounder center is told"),
        (["--plan-ahead", "yes", "no"], ""),
        (["--history", "many"], ""),
    ],
)
def test_what_cannot_be_swept_is_a_sentence(args: list[str], more: list[str], words: str) -> None:
    done = grounding(*args, *([] if "--grounder" in more else ["--grounder", "center"]), *more)
    assert done.returncode == 2
    assert words in done.stderr
    assert not Path(args[-1]).exists()

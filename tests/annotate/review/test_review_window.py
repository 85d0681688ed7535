"""A review as a person does it: the real window over a real run, keys, and the two files on disk afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shell import call

from grounding.data.layouts.realwebassist import QUESTIONS
from review.runs import make_run

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from annotating.stage import Stage, missing  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() != "", reason=missing())]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


def labels(run: Path) -> list[dict[str, Any]]:
    path = run / "labels.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def entry(data: Path, participant: str, place: int) -> dict[str, Any]:
    items: list[dict[str, Any]] = json.loads((data / participant / QUESTIONS).read_text(encoding="utf-8"))
    return items[place]


def test_a_person_goes_through_the_misses_of_two_participants(stage: Stage, tmp_path: Path, tiny_dataset: Any) -> None:
    data = tiny_dataset(size=(640, 400))
    # The click of 2/1 is beside the gold, on nothing; that of 1/2 is right.
    gold = entry(data, "1", 1)["bounding_box"][0]
    run = make_run(data, tmp_path / "made", {"1/2": {"point": [gold["x"] + 5, gold["y"] + 5]}})
    stage.open("review", run, "--annotator", "ann")
    stage.until(lambda: stage.title().lstrip("● ").startswith("1 · 1/4"), "the first miss")
    stage.keys("1")
    # 1/2 is a hit and 1/3 no click: the review goes on to 1/4.
    stage.until(lambda: " 4/4 " in stage.title(), "the next miss")
    stage.keys("ctrl+n")
    stage.hand("type", "too far left")
    stage.keys("Return")
    stage.keys("2")
    stage.until(lambda: stage.title().lstrip("● ").startswith("2 · 1/4"), "the first miss of the other participant")
    stage.keys("6")
    stage.until(lambda: " 2/4 " in stage.title(), "the miss after it")
    stage.keys("4")
    stage.until(lambda: len(labels(run)) == 4, "four labels")
    # The way back leads to the first participant.
    stage.keys("bracketleft", "bracketleft", "bracketleft")
    stage.until(lambda: stage.title().lstrip("● ").startswith("1 · "), "the first participant again")
    stage.keys("ctrl+q")
    assert stage.wait_for_end() == 0
    assert stage.log() == ""

    said = [(line["step"], line["label"], line.get("note", "")) for line in labels(run)]
    assert said[0] == ("1/1", "reasoning", "")
    assert said[1] == ("1/4", "grounding", "too far left")
    assert said[2][:2] == ("2/1", "other")
    assert said[3] == ("2/2", "annotation-wrong", "")
    blamed = call("blame", run, "--no-reference", "--labels", run / "labels.jsonl", "--json", module="grounding")
    assert blamed.returncode == 0, blamed.stderr
    (split,) = json.loads(blamed.stdout)["splits"]
    assert (split["reasoning"]["k"], split["grounding"]["k"], split["unclear"]) == (1, 1, 2)


def test_a_run_whose_data_are_gone_is_one_sentence(tmp_path: Path, tiny_dataset: Any, stage: Stage) -> None:
    import subprocess

    data = tiny_dataset()
    run = make_run(data, tmp_path / "made")
    data.rename(tmp_path / "elsewhere")
    done = subprocess.run(
        [sys.executable, "-m", "annotate", "review", str(run), "--annotator", "ann"],
        env=stage.environment, capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "participant 1 can't be found" in done.stderr
    assert "Traceback" not in done.stderr

"""``python -m grounding.eval --backend hf`` as a user runs it: real processes, tiny random weights, the sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import shell

from .tiny import random_head, write_actor, write_plain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WEIGHTS: dict[str, Callable[[Path], Path]] = {
    "gta1": write_plain,
    "gui-actor": lambda folder: write_actor(folder, "qwen2_5_vl", random_head(1)),
}  # Of each way to answer one; test_generate.py and test_actor.py have the other families, in one process.


class HfRun:
    """One grounder's tiny weights and a folder for its runs."""

    def __init__(self, folder: Path, grounder: str, limit: int = 3) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.weights = WEIGHTS[grounder](folder / "weights")
        self.args = ["--grounder", grounder, "--backend", "hf", "--model-path", str(self.weights), "--dtype", "float32"]
        self.args += ["--limit", str(limit), "--log-dir", str(self.results)]

    @property
    def predictions(self) -> Path:
        return shell.run_folder(self.results) / "predictions.jsonl"

    @property
    def answered(self) -> int:
        return sum(len(shell.lines(path)) for path in self.results.glob("*/predictions.jsonl"))


@pytest.mark.parametrize("grounder", sorted(WEIGHTS))
def test_a_run_is_asked_scored_and_never_asked_again(grounder: str, tmp_path: Path) -> None:
    count = 1 if grounder == "gui-actor" else 2  # Pictures are made larger for it.
    made = HfRun(tmp_path, grounder, count)
    done = shell.run(*made.args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"grounder {grounder}" in done.stdout
    assert "step accuracy" in done.stdout
    assert f"error 0  (of {count} scored" in done.stdout

    folder = shell.run_folder(tmp_path / "results")
    found = shell.summary(folder)
    assert (found["status"], found["counts"]["steps"], found["counts"]["error"]) == ("complete", count, 0)
    answers = shell.records(made.predictions)
    assert len({answer["step_id"] for answer in answers}) == count
    for answer in answers:
        assert answer["raw"]
        seen = answer["sizes"]["model"]
        assert seen["width"] % 28 == 0
        assert answer["call"]["usage"]["input_tokens"] > seen["width"] // 28 * (seen["height"] // 28)
    if grounder == "gui-actor":
        assert all(answer["point"] for answer in answers)
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert {"torch", "torchvision", "transformers"} <= set(info["versions"])
    assert "not installed" not in {info["versions"][name] for name in ("torch", "torchvision", "transformers")}

    before = made.predictions.read_bytes()
    again = shell.run(*made.args, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert made.predictions.read_bytes() == before


def test_killed_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    made = HfRun(tmp_path, "gta1", limit=4)
    alone = [*made.args, "--batch-size", "1"]
    process = shell.start(*alone, cwd=tmp_path)
    shell.wait_until(lambda: made.answered >= 1, process)
    process.kill()
    process.communicate()
    before = shell.lines(made.predictions)
    assert 1 <= len(before) < 4
    done = shell.run(*alone, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = shell.lines(made.predictions)
    assert after[: len(before)] == before
    assert len({json.loads(line)["step_id"] for line in after}) == len(after) == 4

    undisturbed = tmp_path / "undisturbed"
    whole = shell.run(*alone[:-3], str(undisturbed), *alone[-2:], cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    said = [
        {answer["step_id"]: answer["raw"] for answer in shell.records(path)}
        for path in (made.predictions, shell.run_folder(undisturbed) / "predictions.jsonl")
    ]
    assert said[0] == said[1]
    assert len(set(said[0].values())) > 1, "answers that are all equal prove nothing"


def test_the_probe_asks_the_model_that_the_run_goes_on_with(tmp_path: Path) -> None:
    made = HfRun(tmp_path, "gta1")
    probed = shell.run(*made.args, cwd=tmp_path, env={"GROUNDING_EVAL_NO_PROBE": "false"})
    assert probed.returncode == 2
    # Random weights say nothing that can be read, and that is what the probe is for.
    assert "none of the 12 replies to the probe holds an answer" in probed.stderr
    assert made.answered == 0
    kept = json.loads((shell.run_folder(made.results) / "probe.json").read_text(encoding="utf-8"))
    assert (kept["asked"], kept["replied"], kept["level"]) == (12, 12, "broken")
    assert len(kept["tokens"]) == 6
    assert all(line["agrees"] for line in kept["tokens"])


@pytest.mark.parametrize(
    ("grounder", "more", "told"),
    [
        ("gta1", ["--model-path", "./nothing"], "--model-path ./nothing: neither a folder nor an id"),
        ("gta1", ["--model-path", "."], "--model-path .: no config.json there: not a checkpoint folder"),
        ("qwen3-vl", [], "the checkpoint is a qwen2_5_vl, and card qwen3-vl is for qwen3_vl"),
        ("gta1", ["--device", "cuda:99"], "--device cuda:99: torch"),
    ],
)
def test_what_can_not_be_run_is_one_sentence(tmp_path: Path, grounder: str, more: list[str], told: str) -> None:
    args = ["--grounder", grounder, "--backend", "hf", "--limit", "1", "--log-dir", str(tmp_path / "results"), *more]
    if "--model-path" not in more:
        args += ["--model-path", str(write_plain(tmp_path / "weights"))]
    done = shell.run(*args, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1

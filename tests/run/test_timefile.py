"""What differs each time lies in time.json; equal answers give equal summaries, byte for byte."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import msgspec
import pytest

from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.records import Call, Prediction, Step
from grounding.run.folder import RunFolder
from grounding.run.scorebook import read_run
from grounding.run.session import rescore
from grounding.scoring.summary import TimeTotals

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from bench.big_run import write_run


def shuffled(folder: Path, other: Path, seed: int) -> None:
    """The same answers as another machine would have got them: in another order, time and place."""
    write_run(other, 400, labelled=True)
    generator = random.Random(seed)
    for name in ("plans.jsonl", "predictions.jsonl"):
        decoder = msgspec.json.Decoder(Prediction if name == "predictions.jsonl" else None)
        lines = (folder / name).read_bytes().splitlines()
        ids = {msgspec.json.decode(line)["step_id"] for line in lines}
        rank = {step_id: generator.random() for step_id in sorted(ids)}
        # Answers to one step stay in their order: the last one counts.
        lines.sort(key=lambda line: rank[msgspec.json.decode(line)["step_id"]])
        if name == "predictions.jsonl":
            lines = [msgspec.json.encode(slower(decoder.decode(line), generator)) for line in lines]
        (other / name).write_bytes(b"".join(line + b"\n" for line in lines))
    steps = [msgspec.json.decode(line, type=Step) for line in (other / "steps.jsonl").read_bytes().splitlines()]
    moved = [
        msgspec.structs.replace(step, screenshot=msgspec.structs.replace(step.screenshot, path=f"/mnt{number}.png"))
        for number, step in enumerate(steps)
    ]
    (other / "steps.jsonl").write_bytes(b"".join(msgspec.json.encode(step) + b"\n" for step in moved))
    run = RunFolder(other)
    info = run.read_info()
    asked = msgspec.structs.replace(info.asked, base_url="http://10.0.0.7:9999/v1")
    run.write_info(
        msgspec.structs.replace(
            info, asked=asked, wall_s=7.5, started_at="2031-05-05T05:05:05Z", data_dir="/mnt", command="other"
        )
    )


def slower(prediction: Prediction, generator: random.Random) -> Prediction:
    """The same answer after another time."""
    call = prediction.call or Call(seconds=0)
    return msgspec.structs.replace(
        prediction, call=msgspec.structs.replace(call, seconds=generator.random(), attempts=2)
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equal_answers_give_equal_bytes_whenever_wherever_and_in_whatever_order(tmp_path: Path, seed: int) -> None:
    write_run(tmp_path / "a", 400, labelled=True)
    shuffled(tmp_path / "a", tmp_path / "b" / "elsewhere", seed)
    first, second = rescore(BENCHMARK, tmp_path / "a"), rescore(BENCHMARK, tmp_path / "b" / "elsewhere")
    for name in ("summary.json", "verdicts.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / "elsewhere" / name).read_bytes()
    assert first.time != second.time
    # The costs are fractions whose plain sum hangs on the order, and there are plenty of them.
    assert first.summary.cost.usd is not None
    assert first.summary.groups.keys() == {"participant", "platform"}


def test_a_run_of_an_earlier_version_has_its_time_in_the_summary(tmp_path: Path) -> None:
    write_run(tmp_path, 40)
    scored = rescore(BENCHMARK, tmp_path)
    (tmp_path / "time.json").unlink()
    assert read_run(tmp_path).time == TimeTotals(wall_s=3600.0)
    summary = msgspec.json.decode((tmp_path / "summary.json").read_bytes())
    summary["time"] = {"wall_s": 12.5, "planner_s": 1.0, "grounder_s": 2.0, "retries": 3}
    (tmp_path / "summary.json").write_bytes(msgspec.json.encode(summary))
    found = read_run(tmp_path)
    assert found.time == TimeTotals(wall_s=12.5, planner_s=1.0, grounder_s=2.0, retries=3)
    assert found.summary == scored.summary

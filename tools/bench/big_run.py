"""Writes the folder of a run that never was, of any size, with the files that a real run writes.

    python tools/bench/big_run.py /tmp/big --steps 1000000
    time grounding score /tmp/big

10 participants, tasks of 5 to 15 steps, instructions of 1 to 3 steps, every twentieth step without a click, 200
screenshots (which are named and not made). Answers hit, miss or hold no point; a hundredth of the steps has an earlier
answer that was an error. The same arguments give the same files.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import msgspec

from grounding.records import (
    Box,
    Call,
    Failure,
    GroupLabel,
    ImageSizes,
    Plan,
    Point,
    Prediction,
    Region,
    Screenshot,
    Size,
    Step,
    Usage,
)
from grounding.run.folder import RunInfo, RunSettings

SCREEN = Size(width=1280, height=720)
SHOTS = tuple(
    Screenshot(path=f"/data/images/{number}.png", size=SCREEN, sha256=f"{number:064x}") for number in range(200)
)
PLATFORMS = ("web", "desktop", "mobile")


def write_run(
    folder: Path,
    steps: int,
    *,
    participants: int = 10,
    seed: int = 0,
    labelled: bool = False,
    shots: Sequence[Screenshot] = SHOTS,
) -> None:
    """Write ``run.json``, ``steps.jsonl``, ``plans.jsonl`` and ``predictions.jsonl`` of a run of so many steps.

    Args:
        folder: Where to; made if there is none.
        steps: How many, with those that have no click.
        participants: Whose they are.
        seed: Of everything that varies.
        labelled: Give every step a platform.
        shots: The screenshots, one after the other.
    """
    folder.mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.Encoder().encode
    (folder / "run.json").write_bytes(msgspec.json.format(encode(_info()), indent=2) + b"\n")
    generator = random.Random(seed)
    with (
        (folder / "steps.jsonl").open("wb") as told,
        (folder / "plans.jsonl").open("wb") as plans,
        (folder / "predictions.jsonl").open("wb") as predictions,
    ):
        for step in _steps(steps, participants, generator, labelled=labelled, shots=shots):
            told.write(encode(step) + b"\n")
            if step.region is not None:
                for plan, prediction in _answers(step, generator):
                    plans.write(encode(plan) + b"\n")
                    if prediction is not None:
                        predictions.write(encode(prediction) + b"\n")


def _steps(
    count: int, participants: int, generator: random.Random, *, labelled: bool, shots: Sequence[Screenshot]
) -> Iterator[Step]:
    following = cycle(shots)
    for participant in range(1, participants + 1):
        own = count // participants + (participant <= count % participants)
        number, task = 0, 0
        while number < own:
            task += 1
            instruction, left = 0, 0
            for _ in range(min(generator.randint(5, 15), own - number)):
                number += 1
                if not left:
                    instruction, left = instruction + 1, generator.randint(1, 3)
                left -= 1
                x, y = generator.randint(0, 1180), generator.randint(0, 680)
                yield Step(
                    id=f"{participant}/{number}",
                    participant=f"{participant}",
                    task=f"task {participant}.{task}",
                    instruction_index=instruction - 1,
                    instruction=f"now open the entry number {number} of the list and look at its details",
                    screenshot=next(following),
                    region=None
                    if generator.random() < 0.05
                    else Region(boxes=(Box(left_px=x, top_px=y, right_px=x + 100, bottom_px=y + 40),)),
                    action="click",
                    groups=(GroupLabel(kind="platform", name=PLATFORMS[task % 3]),) if labelled else (),
                )


def _answers(step: Step, generator: random.Random) -> Iterator[tuple[Plan, Prediction | None]]:
    """What a planner and a grounder said, first what a later answer took the place of."""
    words = f"Click on the entry number {step.id} in the list in the middle of the page."
    call = Call(
        seconds=round(generator.uniform(0.2, 2), 6),
        usage=Usage(input_tokens=1200, output_tokens=24),
        cost_usd=round(generator.uniform(0.001, 0.02), 7),
        model="some-model",
    )
    key = f"{generator.getrandbits(128):032x}"
    plan = Plan(step_id=step.id, key=key, text=words, raw=words, call=call)
    box = step.region.boxes[0] if step.region else Box(left_px=0, top_px=0, right_px=1, bottom_px=1)
    if generator.random() < 0.01:
        failure = Failure(kind="error", message="the server answered 503")
        yield plan, Prediction(step_id=step.id, key=key, point=None, failure=failure, call=call)
    kind = generator.random()
    if kind < 0.02:
        yield (
            plan,
            Prediction(
                step_id=step.id,
                key=key,
                point=None,
                raw="I can't see it.",
                failure=Failure(kind="unparsed", message="the reply holds no point"),
                call=call,
            ),
        )
        return
    off = 0 if kind < 0.7 else 150
    point = Point(x_px=box.center.x_px + off, y_px=box.center.y_px + generator.uniform(-10, 10))
    yield (
        plan,
        Prediction(
            step_id=step.id,
            key=key,
            point=point,
            raw=f"({point.x_px:.0f}, {point.y_px:.0f})",
            sizes=ImageSizes(original=SCREEN, sent=SCREEN, model=SCREEN),
            call=call,
        ),
    )


def _info() -> RunInfo:
    asked = RunSettings(
        dataset="made-up",
        fingerprint="0" * 64,
        questions="questions.json",
        history=0,
        history_file="",
        select="all",
        planner="some-planner",
        planner_identity="some-planner",
        planner_base_url="",
        grounder="some-grounder",
        grounder_identity="some-grounder",
        base_url="",
        seed=0,
        version="1",
    )
    return RunInfo(
        run_id="made-up",
        status="complete",
        signature="dataset:made-up|scoring:old|seed:0|version:1",
        asked=asked,
        data_dir="/data",
        command="python tools/bench/big_run.py",
        versions={},
        started_at="2026-01-01T00:00:00Z",
        wall_s=3600.0,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--participants", type=int, default=10)
    parser.add_argument("--labelled", action="store_true")
    given = parser.parse_args()
    write_run(given.folder, given.steps, participants=given.participants, labelled=given.labelled)

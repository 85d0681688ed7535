"""Run folders of made-up outcomes, scored by the package itself."""

from __future__ import annotations

from pathlib import Path

import msgspec
from fakes.make import asked

from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.records import Box, Failure, Plan, Point, Prediction, Region, Screenshot, Session, Size, Step, TaskLabel
from grounding.run.folder import RunFolder, RunInfo, signature
from grounding.run.session import rescore

BUTTON = Region(boxes=(Box(left_px=10, top_px=10, right_px=20, bottom_px=20),))
SHOT = Screenshot(path="images/1.png", size=Size(width=100, height=80), sha256="0" * 64)
POINTS = {"+": Point(x_px=15, y_px=15), "-": Point(x_px=30, y_px=30)}

Lines = dict[str, dict[TaskLabel, str]]


def run_folder(path: Path, lines: Lines, *, region: Region = BUTTON, scored: bool = True, **fields: str) -> Path:
    """A run folder; ``{"1": {"a": "+-u"}}`` is a hit, a miss and an unparsed reply in task a of participant 1.

    Args:
        path: The folder; its parents are made.
        lines: Outcomes.
        region: Where a click is right.
        scored: Whether verdicts and summary are there.
        fields: Of :class:`grounding.run.folder.RunSettings`.
    """
    about = asked(**{"version": "0.1.0", **fields})
    folder = RunFolder(path)
    folder.create()
    sessions = []
    predictions = folder.predictions()
    plans = folder.plans()
    for participant, tasks in lines.items():
        steps: list[Step] = []
        for label, marks in tasks.items():
            for number, mark in enumerate(marks):
                step_id = f"{participant}/{len(steps) + 1}"
                steps.append(
                    Step(
                        id=step_id,
                        participant=participant,
                        task=label,
                        instruction_index=number,
                        instruction=f"say {number}",
                        screenshot=SHOT,
                        region=region,
                    )
                )
                plans.append(Plan(step_id=step_id, key="k", text=f"click {number}"))
                point = POINTS.get(mark)
                failure = None if point else Failure(kind="unparsed", message="no point")
                predictions.append(Prediction(step_id=step_id, key="k", point=point, failure=failure, raw="raw"))
        sessions.append(Session(participant=participant, steps=tuple(steps)))
    predictions.close()
    plans.close()
    folder.write_steps(sessions)
    folder.write_info(
        RunInfo(
            run_id=path.name,
            status="complete",
            signature=signature(about, None, None),
            asked=about,
            data_dir="",
            command="",
            versions={},
            started_at="2026-01-02T03:04:05Z",
        )
    )
    folder.release()
    if scored:
        rescore(BENCHMARK, path)
    return path


def change_summary(path: Path, **changes: object) -> None:
    """Overwrite fields of ``summary.json``."""
    folder = RunFolder(path)
    folder.write_summary(msgspec.structs.replace(folder.read_summary(), **changes))

"""Run folders of made-up outcomes, scored by the package itself."""

from __future__ import annotations

from pathlib import Path

import msgspec
from fakes.make import asked
from scoring.builders import BUTTON, Played

from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.records import Failure, Plan, Point, Prediction, Region, TaskLabel
from grounding.run.folder import RunFolder, RunInfo, signature
from grounding.run.session import rescore

POINTS = {"hit": Point(x_px=15, y_px=15), "miss": Point(x_px=30, y_px=30)}

Lines = dict[str, dict[TaskLabel, str]]


def run_folder(path: Path, lines: Lines, *, region: Region = BUTTON, scored: bool = True, **fields: str) -> Path:
    """A run folder; ``{"1": {"a": "+-u"}}`` is a hit, a miss and an unparsed reply in task a of participant 1.

    Args:
        path: The folder; its parents are made.
        lines: Outcomes, an instruction each.
        region: Where a click is right.
        scored: Whether verdicts and summary are there.
        fields: Of :class:`grounding.run.folder.RunSettings`.
    """
    about = asked(**{"version": "0.1.0", **fields})
    folder = RunFolder(path)
    folder.create()
    played = Played({who: {label: " ".join(marks) for label, marks in own.items()} for who, own in lines.items()})
    predictions, plans = folder.predictions(), folder.plans()
    for verdict in played.verdicts:
        point = POINTS.get(verdict.outcome)
        failure = None if point else Failure(kind="unparsed", message="no point")
        plans.append(Plan(step_id=verdict.step_id, key="k", text=f"click {verdict.step_id}"))
        predictions.append(Prediction(step_id=verdict.step_id, key="k", point=point, failure=failure, raw="raw"))
    predictions.close()
    plans.close()
    folder.write_steps(
        msgspec.structs.replace(
            session, steps=tuple(msgspec.structs.replace(step, region=region) for step in session.steps)
        )
        for session in played.sessions
    )
    info = RunInfo(
        run_id=path.name, status="complete", signature=signature(about, None, None), asked=about, data_dir="",
        command="", versions={}, started_at="2026-01-02T03:04:05Z",
    )  # fmt: skip
    folder.write_info(info)
    folder.release()
    if scored:
        rescore(BENCHMARK, path)
    return path

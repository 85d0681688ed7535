"""Folders of several runs for pages: real files, as a command with several runs leaves them, without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from fakes import make as made
from PIL import Image

from grounding.records import Box, Call, Outcome, Point, Prediction, Region, Screenshot, Session, Size
from grounding.run.display import (
    LatestStep,
    QueuedRun,
    QueueState,
    QueueStateName,
    RunState,
    write_progress,
    write_queue,
)
from grounding.run.folder import RunFolder, RunInfo, RunSettings, signature
from grounding.run.journal import Journal
from grounding.run.scorebook import score_run

from .runs import step_of

SHOT = Screenshot(path="none.png", size=Size(width=320, height=200), sha256="0" * 64)
GOLD = Region(boxes=(Box(left_px=100, top_px=60, right_px=140, bottom_px=80),))
POINTS = {"hit": Point(x_px=120, y_px=70), "miss": Point(x_px=5, y_px=5)}


def asked(planner: str, grounder: str, **changes: Any) -> RunSettings:
    return made.asked(**{"dataset": "made", "planner": planner, "grounder": grounder, **changes})


def begin(folder: Path, what: RunSettings, count: int = 40) -> RunFolder:
    """A run that has begun and has no answer yet; every tenth step is not scored. Nobody holds its lock."""
    folder.mkdir(parents=True, exist_ok=True)
    run = RunFolder(folder)
    info = RunInfo(
        run_id=folder.name, status="started", signature=signature(what, None, None), asked=what, data_dir="",
        command="grounding eval", versions={}, started_at="2026-01-01T00:00:00Z", wall_s=90.0,
    )  # fmt: skip
    run.write_info(info)
    steps = (step_of(number, Path("none.png"), sha=SHOT.sha256) for number in range(count))
    run.write_steps([Session(participant="1", steps=tuple(steps))])
    for name in ("plans.jsonl", "predictions.jsonl"):
        (folder / name).touch()
    return run


def answer(run: RunFolder, count: int, *kinds: str) -> None:
    """Answer the scored ones of the first so many steps, as a run does: hits and misses in turn, a tenth of a cent."""
    journal: Journal[Prediction] = Journal(run.path / "predictions.jsonl", Prediction)
    for number in range(count):
        if number % 10 != 9:
            point = POINTS[kinds[number % len(kinds)]]
            call = Call(seconds=0.5, cost_usd=0.001)
            journal.append(Prediction(step_id=f"1/{number + 1}", key="k", point=point, raw="(1, 2)", call=call))
    journal.close()


def finish(run: RunFolder, stopped: str = "") -> None:
    """Score a run as it is left at its end."""
    scored = score_run(run)
    run.write_info(msgspec.structs.replace(scored.info, status=scored.summary.status, stopped=stopped))


def say(folder: Path, counts: Mapping[Outcome, int], **changes: object) -> None:
    """What a run says of itself while it is at work."""
    shot = msgspec.structs.replace(SHOT, path=str(folder.parent / "shot.png"))
    Image.new("RGB", (SHOT.size.width, SHOT.size.height)).save(shot.path)
    latest = LatestStep(
        id="1/0", instruction="press thing 0", screenshot=shot, region=GOLD, point=POINTS["hit"], outcome="hit"
    )
    state = RunState(done=sum(counts.values()), steps=36, counts=counts, latest=(latest,))
    write_progress(folder, msgspec.structs.replace(state, **changes))


def queued(name: str, run_id: str, state: QueueStateName, **changes: object) -> QueuedRun:
    """One run of a queue, named as "planner + grounder"."""
    planner, _, grounder = name.partition(" + ")
    made = QueuedRun(
        name=name, run_id=run_id, folder=f"results/{run_id}", steps=36, state=state, planner=planner, grounder=grounder
    )
    return msgspec.structs.replace(made, **changes)


def write(folder: Path, runs: Sequence[QueuedRun], *, limit_usd: float | None = None) -> QueueState:
    """A queue in its folder."""
    state = QueueState(
        command="grounding eval --planner a --planner b", started_at="2026-01-01T00:00:00Z", cost_limit_usd=limit_usd,
        runs=tuple(runs),
    )  # fmt: skip
    write_queue(folder, state)
    return state

"""Small run folders for pages: real files, as a run leaves them, without a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fakes.make import asked
from PIL import Image

from grounding.records import (
    Box,
    Failure,
    HistoryEntry,
    Plan,
    Point,
    Polygon,
    Prediction,
    Region,
    Screenshot,
    Session,
    Size,
    Step,
)
from grounding.report.html.page import REPORT, write_page
from grounding.run.folder import RunFolder, RunInfo
from grounding.run.journal import Journal
from grounding.run.scorebook import ScoredClicks, score_run

SIZE = Size(width=320, height=200)


def step_of(
    number: int, shot: Path, *, participant: str = "1", instruction: str = "", per_task: int = 5, sha: str = ""
) -> Step:
    """Step ``number`` from 0: a box of 40 x 20 pixels at (100, 60), every seventh a triangle."""
    region = Region(boxes=(Box(left_px=100, top_px=60, right_px=140, bottom_px=80),))
    if number % 7 == 6:
        corners = ((100, 60), (140, 60), (120, 90))
        region = Region(polygons=(Polygon(points=tuple(Point(x_px=x, y_px=y) for x, y in corners)),))
    return Step(
        id=f"{participant}/{number + 1}",
        participant=participant,
        task=f"task {number // per_task}",
        instruction_index=number % per_task,
        instruction=instruction or f"press thing {number}",
        screenshot=Screenshot(path=str(shot), size=SIZE, sha256=sha or f"{number % 4:064x}"),
        region=None if number % 10 == 9 else region,
        action="click",
        history_entry=HistoryEntry(instruction=f"said {number}", action=f"did {number}"),
    )


def answer(number: int, step: Step) -> Prediction:
    """Two hits, a miss nearby, one far off, and every eleventh reply without a point."""
    if number % 11 == 10:
        return Prediction(
            step_id=step.id, key="k", point=None, raw="I can't", failure=Failure(kind="unparsed", message="no point")
        )
    x, y = ((120, 65), (110, 61), (150, 90), (10, 190))[number % 4]
    return Prediction(step_id=step.id, key="k", point=Point(x_px=x, y_px=y), raw=f"({x}, {y})")


def write_report(scored: ScoredClicks) -> Path:
    """The page in the run's own folder."""
    return write_page([scored], scored.folder / REPORT)


def make_run(
    folder: Path,
    count: int = 40,
    *,
    instruction: Callable[[int], str] = lambda _: "",
    predict: Callable[[int, Step], Prediction | None] = answer,
    grounder: str = "fake",
    status: str = "complete",
    history: int = 3,
    screenshot: str = 'shot\'s "one" & <two>.png',
) -> ScoredClicks:
    """A scored run folder with its screenshot beside it."""
    shot = folder.parent / screenshot
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not shot.exists():
        image = Image.new("RGB", (SIZE.width, SIZE.height), (240, 240, 250))
        image.paste((20, 80, 160), (100, 60, 140, 80))
        image.save(shot)
    run = RunFolder(folder)
    run.create()
    about = asked(dataset="made", history=history, history_file="h", grounder=grounder)
    info = RunInfo(
        run_id=folder.name, status=status, signature="data:made|seed:0", asked=about, data_dir="",
        command="grounding eval --made", versions={}, started_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    run.write_info(info)
    steps = tuple(step_of(number, shot, instruction=instruction(number)) for number in range(count))
    run.write_steps([Session(participant="1", steps=steps)])
    with_plans: Journal[Plan] = run.plans()
    predictions = run.predictions()
    for number, step in enumerate(steps):
        if step.region is None:
            continue
        with_plans.append(Plan(step_id=step.id, key="p", text=f"Click thing {number}"))
        found = predict(number, step)
        if found is not None:
            predictions.append(found)
    with_plans.close()
    predictions.close()
    try:
        return score_run(run)
    finally:
        run.release()

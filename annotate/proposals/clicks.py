"""Where a model clicked: the answers of a run folder, by step."""

from __future__ import annotations

from pathlib import Path

from grounding.records import Point
from grounding.regions import is_finite
from grounding.runfolder import RunFolder


def read_clicks(run: Path) -> dict[str, Point]:
    """The clicks of a run, in pixels of the original screenshots, by step id. Steps without one are left out.

    Raises:
        UserError: the folder holds no run over screenshots, or a file in it is damaged.
    """
    folder = RunFolder(run)
    folder.read_info()
    predictions = folder.predictions(read_only=True)
    try:
        last = {found.step_id: found.point for found in predictions.every()}
    finally:
        predictions.close()
    return {step_id: point for step_id, point in last.items() if point is not None and is_finite(point)}

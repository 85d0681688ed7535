"""grounding: from a screenshot and a spoken instruction to a scored click.

In Python, what the command line does::

    import grounding

    run = grounding.evaluate("sample-web", grounder=lambda image, instruction: (image.width / 2, 40))
    run.scores["step_accuracy"].value
    run.frame()                                     # pandas, one row a step
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grounding.api import compare, evaluate, load_dataset
    from grounding.errors import UserError
    from grounding.grounders.base import Grounder
    from grounding.planners.base import Planner
    from grounding.records import Box, Dataset, Plan, Point, Polygon, Prediction, Region, Session, Step, Verdict
    from grounding.report.frames import Run
    from grounding.report.frames import Run as load_run

__version__ = "0.1.0"

_HOMES = {
    "grounding.api": ("compare", "evaluate", "load_dataset"),
    "grounding.errors": ("UserError",),
    "grounding.report.frames": ("Run",),
    "grounding.grounders.base": ("Grounder",),
    "grounding.planners.base": ("Planner",),
    "grounding.records": (
        *("Box", "Dataset", "Plan", "Point", "Polygon", "Prediction", "Region", "Session", "Step", "Verdict"),
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names} | {"load_run": "grounding.report.frames"}

__all__ = [
    "Box",
    "Dataset",
    "Grounder",
    "Plan",
    "Planner",
    "Point",
    "Polygon",
    "Prediction",
    "Region",
    "Run",
    "Session",
    "Step",
    "UserError",
    "Verdict",
    "__version__",
    "compare",
    "evaluate",
    "load_dataset",
    "load_run",
]


def __getattr__(name: str) -> Any:
    # Imported where they are used: a command's --help reads none of this.
    if name not in _HOME:
        raise AttributeError(f"module 'grounding' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), "Run" if name == "load_run" else name)


def __dir__() -> list[str]:
    return __all__

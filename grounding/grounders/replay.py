"""The grounder ``replay``: answers recorded elsewhere, in pixels of the original screenshots.

The file has one JSON object a line: ``{"step": id, "point": [x, y]}``, ``{"step": id, "box": [x1, y1, x2, y2]}``,
or with ``null`` for a reply that named no place; ``"declined": true`` beside a ``null`` says that it said so.
"""

import math
from collections.abc import Collection
from pathlib import Path

import msgspec

from grounding.data.recorded import read_recorded
from grounding.grounders.base import Offline, ReadReply
from grounding.records import Box, Failure, Point, Prediction, Query

_Pair = tuple[float, float]
_Four = tuple[float, float, float, float]
_EXPECTED = '{"step": id, "point": [x, y]}, "box": [x1, y1, x2, y2], or null'


class _Line(msgspec.Struct, forbid_unknown_fields=False):
    step: str
    point: _Pair | msgspec.UnsetType | None = msgspec.UNSET
    box: _Four | msgspec.UnsetType | None = msgspec.UNSET
    declined: bool = False


class SavedPredictions(Offline):
    """Plays back recorded predictions; a step without a line is ``missing``, a null one ``unparsed``."""

    def __init__(self, path: Path, known_steps: Collection[str]) -> None:
        self._path = path
        read = read_recorded(path, _Line, known_steps, expected=_EXPECTED, value_of=_recorded)
        self._recorded = read.by_step
        self.name = f"replay:{path.stem}"
        self.identity = f"replay {read.sha256}"

    async def ground(self, query: Query) -> Prediction:
        found = self._recorded.get(query.step_id)
        failure = None
        if found is None:
            failure = Failure(kind="missing", message=f"{self._path.name} has no line for {query.step_id}")
        elif found.point is None:
            failure = Failure(kind="unparsed", message=f"{self._path.name} records a reply without a place")
        return Prediction(
            step_id=query.step_id,
            key=query.key,
            point=found.point if found else None,
            box=found.box if found else None,
            failure=failure,
            declined=found is not None and found.declined,
        )


def _recorded(line: _Line) -> ReadReply:
    given = [value for value in (line.point, line.box) if value is not msgspec.UNSET]
    if len(given) != 1:
        raise ValueError('expected exactly one of "point" and "box" (null where there was no answer)')
    numbers = given[0]
    if numbers is None:
        return ReadReply(declined=line.declined)
    if line.declined:
        raise ValueError('"declined" says that there is no such place, and a place stands beside it; keep one')
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"{list(numbers)} is not made of finite numbers")
    if len(numbers) == 2:
        return ReadReply(point=Point(x_px=numbers[0], y_px=numbers[1]))
    x1, y1, x2, y2 = numbers
    box = Box(left_px=min(x1, x2), top_px=min(y1, y2), right_px=max(x1, x2), bottom_px=max(y1, y2))
    center = box.center
    if not (math.isfinite(center.x_px) and math.isfinite(center.y_px)):
        raise ValueError(f"{list(numbers)} is too large to have a middle")
    return ReadReply(point=center, box=box)

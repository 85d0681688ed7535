"""What every grounder takes and returns: an explicit instruction over a screenshot in, a prediction out.

Beside it the grounders that ask no model: fixed points, and the play-back of recorded predictions.
"""

import math
import random
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from grounding.cards import AnswerRule
from grounding.data.recorded import read_recorded
from grounding.geometry import ModelBox, ModelPoint, Space, box_to_original, is_hit, point_to_original
from grounding.records import Box, Failure, ImageSizes, Point, Prediction, Query, Record, Region, Session


class Answerer(Protocol):
    """What answers queries.

    ``identity`` is canonical text of everything that can change an answer (model, prompt, image rule, options): its
    hash keys stored answers, so two with one identity must answer alike.
    ``max_concurrency`` is how many queries it can usefully work on at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str: ...

    @property
    def max_concurrency(self) -> int: ...

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""

    async def aclose(self) -> None:
        """Let go of connections and workers."""


class Grounder(Answerer, Protocol):
    """Turns an instruction into a point on the screenshot."""

    async def ground(self, query: Query) -> Prediction: ...


@runtime_checkable
class KeepsFiles(Protocol):
    """A grounder that leaves something to look at in the run folder."""

    def keep_in(self, folder: Path) -> None:
        """Write below this folder from now on."""


MAX_REPLY_CHARS = 20_000

# No screen is that large in any space: a number beyond it (or one that overflows to infinity) names no place.
MAX_COORDINATE = 1e9
_NUMBER = r"([-+]?(?:\d+(?:\.\d*)?|\.\d+))"
_POINT = rf"[(\[]\s*{_NUMBER}\s*,\s*{_NUMBER}\s*[)\]]"
_BOX = rf"[(\[]\s*{_NUMBER}\s*,\s*{_NUMBER}\s*(?:[)\]]\s*,\s*[(\[]|,)\s*{_NUMBER}\s*,\s*{_NUMBER}\s*[)\]]"

# A reply that is nothing but the numbers: several models' own parsers, which evaluate it, need no brackets.
_BARE = r"\A[\s`]*{}[\s`.]*(?:<\|im_end\|>)?\Z"
_BARE_POINT = _BARE.format(rf"{_NUMBER}\s*,\s*{_NUMBER}")
_BARE_BOX = _BARE.format(rf"{_NUMBER}\s*,\s*{_NUMBER}\s*,\s*{_NUMBER}\s*,\s*{_NUMBER}")


@lru_cache(maxsize=64)
def _patterns(rule: AnswerRule) -> tuple[re.Pattern[str], ...]:
    if rule.patterns:
        return tuple(re.compile(pattern) for pattern in rule.patterns)
    points, boxes = (_POINT, _BARE_POINT), (_BOX, _BARE_BOX)
    by_form = {"point": points, "box": boxes, "point_or_box": (*boxes, *points)}
    return tuple(re.compile(pattern) for pattern in by_form[rule.form])


def read_answer(reply: str, rule: AnswerRule) -> ModelPoint | ModelBox | None:
    """The place that a reply names, or None where it names none or declines.

    The refusal is looked for before any number is read. Of several matches the card's first or last counts; where
    both points and boxes are allowed, a box wins over the points that it is written with. Only the first 20,000
    characters are read, or the last where the last match counts.
    """
    answer = _section(reply, rule)
    if answer is None or declines(reply, rule):
        return None
    for pattern in _patterns(rule):
        matches = list(pattern.finditer(answer))
        if matches:
            match = matches[0 if rule.match == "first" else -1]
            numbers = _numbers(match)
            space = _space(numbers, rule)
            if len(numbers) == 2:
                return ModelPoint(space=space, x=numbers[0], y=numbers[1])
            if len(numbers) == 4:
                return ModelBox(space=space, x1=numbers[0], y1=numbers[1], x2=numbers[2], y2=numbers[3])
    return None


def declines(reply: str, rule: AnswerRule) -> bool:
    """Whether a reply says, in the form that the card knows, that there is no such place."""
    answer = _section(reply, rule)
    return rule.refusal is not None and answer is not None and re.search(rule.refusal, answer) is not None


def _section(reply: str, rule: AnswerRule) -> str | None:
    reply = reply[:MAX_REPLY_CHARS] if rule.match == "first" else reply[-MAX_REPLY_CHARS:]
    if rule.within is None:
        return reply
    found = re.search(rule.within, reply)
    return found[1] if found else None


def _space(numbers: tuple[float, ...], rule: AnswerRule) -> Space:
    on_grid = all(number.is_integer() for number in numbers) and any(number > 1 for number in numbers)
    return rule.whole_numbers if rule.whole_numbers is not None and on_grid else rule.space


def _numbers(match: re.Match[str]) -> tuple[float, ...]:
    """The groups that took part, as numbers; none at all where one of them can't be part of a place."""
    try:
        numbers = tuple(float(group) for group in match.groups() if group is not None)
    except ValueError:  # A card's own pattern may let words through.
        return ()
    return numbers if all(math.isfinite(number) and abs(number) <= MAX_COORDINATE for number in numbers) else ()


class Offline:
    """What those have in common that need nothing and never fail."""

    max_concurrency = 64

    async def check(self) -> None:
        """Nothing can be missing."""

    async def aclose(self) -> None:
        """Nothing is held."""


class Center(Offline):
    name = "center"
    identity = "center"

    async def ground(self, query: Query) -> Prediction:
        size = query.screenshot.size
        return Prediction(step_id=query.step_id, key=query.key, point=Point(x_px=size.width / 2, y_px=size.height / 2))


class Random(Offline):
    name = "random"

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.identity = f"random seed={seed}"

    async def ground(self, query: Query) -> Prediction:
        draw = random.Random(f"{self._seed}/{query.step_id}")
        size = query.screenshot.size
        point = Point(x_px=draw.uniform(0, size.width), y_px=draw.uniform(0, size.height))
        return Prediction(step_id=query.step_id, key=query.key, point=point)


class Oracle(Offline):
    name = "oracle"
    identity = "oracle"

    def __init__(self, sessions: Iterable[Session]) -> None:
        self._regions = {
            step.id: step.region for session in sessions for step in session.steps if step.region is not None
        }
        self._absent = {step.id for session in sessions for step in session.steps if step.target_absent}

    async def ground(self, query: Query) -> Prediction:
        if query.step_id in self._absent:
            none = Failure(kind="unparsed", message="there is no such place")
            return Prediction(step_id=query.step_id, key=query.key, point=None, failure=none, declined=True)
        region = self._regions.get(query.step_id)
        point = _inside(region) if region is not None else None
        failure = None if point else Failure(kind="missing", message=f"no gold region to click in {query.step_id}")
        return Prediction(step_id=query.step_id, key=query.key, point=point, failure=failure)


def _inside(region: Region) -> Point | None:
    if region.boxes:
        return region.boxes[0].center
    if not region.polygons:
        return None
    import shapely

    outline = shapely.Polygon([(point.x_px, point.y_px) for point in region.polygons[0].points])
    inside = outline.representative_point()
    point = Point(x_px=inside.x, y_px=inside.y)
    # In a sliver the rounded point may fall beside the outline; its corners never do.
    return point if is_hit(region, point) else region.polygons[0].points[0]


class ReadReply(Record, frozen=True, kw_only=True):
    """Where a reply points, in pixels of the original screenshot, or why it points nowhere. ``point`` is a box's centre
    where ``box`` is what the reply names. ``declined`` marks a reply which says that there is no such place.
    """

    point: Point | None = None
    box: Box | None = None
    failure: Failure | None = None
    declined: bool = False


def read_reply(
    whole: str, rule: AnswerRule, sizes: ImageSizes, *, refused: bool = False, finish_reason: str = ""
) -> ReadReply:
    """Read a whole reply, the card's prefill before it, by its card's rule and through its coordinate space.

    ``sizes`` are those of the picture that the model was shown. ``refused`` is what the vendor says; ``finish_reason``,
    why the reply ends, is part of the failure's message.
    """
    if refused:
        return ReadReply(failure=Failure(kind="unparsed", message="the model refused"))
    if declines(whole, rule):
        failure = Failure(kind="unparsed", message="the model says that there is no such place")
        return ReadReply(failure=failure, declined=True)
    place = read_answer(whole, rule)
    if place is None:
        form = rule.form.replace("_", " ")
        ending = f" (finish reason: {finish_reason})" if finish_reason not in ("", "stop") else ""
        return ReadReply(failure=Failure(kind="unparsed", message=f"no {form} in the reply{ending}"))
    if isinstance(place, ModelBox):
        box = box_to_original(place, sizes)
        return ReadReply(point=box.center, box=box)
    return ReadReply(point=point_to_original(place, sizes))


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

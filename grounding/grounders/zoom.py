"""Looking again: a grounder is shown a crop around its answer, whose answer there counts, in the original's pixels.

Every look is kept in ``passes.jsonl`` the moment it is paid for, under the step's id and its number (``3/42#2``), so
that a process that dies between two looks asks for the second alone. An answer that can't be read ends the looking:
that before it counts, or it does, as the recipe says. A server's error never falls back on an earlier answer: the step
is an error, and the same command asks again.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from grounding.cards.places import models_dir
from grounding.cards.schema import ChatCard, GrounderCard, ZoomRule
from grounding.data.images import opened, png
from grounding.errors import UserError
from grounding.grounders.base import Grounder, KeepsFiles
from grounding.llm.budget import together
from grounding.records import Box, Failure, Point, Prediction, Query, Record, Screenshot, Size

OFF, CARDS, DEFAULT = "none", "card", "half"
"""No zoom; what the grounder's card says; and what that is where it says nothing."""
ZOOMED = "\nzoom "  # Stands in an identity between the grounder's own and the recipe.
CROPS = "crops"  # The folder in a run's where crops lie while they are asked about.
_SIZE = re.compile(r"(?:(?P<share>0?\.\d+)|(?P<width>[1-9]\d*)(?:x(?P<height>[1-9]\d*))?)")


class Zoom(Record, frozen=True, kw_only=True):
    """A recipe and the name by which signatures show it."""

    name: str
    rule: ZoomRule


def find_zoom(text: str, card: ChatCard | None) -> Zoom | None:
    """What ``--zoom`` means: a recipe's name, a share (0.25), a size in pixels (1024, 1280x720), a file; None for none.

    ``card`` says what the word ``card`` means. Raises UserError: nothing is called so, or a field of the recipe is
    wrong.
    """
    if text == OFF:
        return None
    if text == CARDS:
        own = card.zoom if isinstance(card, GrounderCard) else None
        if isinstance(own, ZoomRule) and card is not None:
            return Zoom(name=card.name, rule=_checked(own, f"{card.name}: field zoom"))
        text = own if isinstance(own, str) else DEFAULT
    if text.endswith((".yaml", ".yml")):
        return Zoom(name=Path(text).stem, rule=_checked(_read(Path(text), ZoomRule), text))
    if found := _SIZE.fullmatch(text):
        if found["share"]:
            return Zoom(name=text, rule=ZoomRule(share=float(found["share"])))
        width = int(found["width"])
        return Zoom(name=text, rule=ZoomRule(size=(width, int(found["height"] or width))))
    known = _read(models_dir() / "zoom.yaml", dict[str, ZoomRule])
    if text not in known:
        raise UserError(
            f"--zoom {text}: expected {', '.join(known)}, a share of the screenshot such as 0.25, a size in pixels "
            "such as 1024 or 1280x720, or the path of a recipe (.yaml)"
        )
    return Zoom(name=text, rule=known[text])


ReadT = TypeVar("ReadT")


def _read(path: Path, kind: type[ReadT]) -> ReadT:
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UserError(f"{path}: the recipe can't be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        fields = ", ".join(ZoomRule.__struct_fields__)
        raise UserError(f"{path}: {error}; a recipe for --zoom has {fields}") from error


def _checked(rule: ZoomRule, where: str) -> ZoomRule:
    if (rule.share is None) == (rule.size is None):
        raise UserError(f"{where}: expected either share or size, exactly one of them")
    return rule


# --- where to look --------------------------------------------------------------------------------------------------


class Look(Record, frozen=True, kw_only=True):
    """A part of a screenshot: ``view`` places answers, in pixels of the original; ``cut`` are the pixels shown."""

    view: Box
    cut: tuple[int, int, int, int]

    @property
    def size(self) -> Size:
        return Size(width=self.cut[2] - self.cut[0], height=self.cut[3] - self.cut[1])


def whole(size: Size) -> Look:
    return Look(
        view=Box(left_px=0, top_px=0, right_px=size.width, bottom_px=size.height), cut=(0, 0, size.width, size.height)
    )


def patches(rule: ZoomRule, size: Size) -> list[Look]:
    """The parts of a screenshot that are shown beside all of it at first, row by row."""
    count = rule.patches or 0
    corners = [
        (column * size.width / count, row * size.height / count, size.width / count, size.height / count)
        for row in range(count)
        for column in range(count)
    ]
    return [
        Look(view=_box(left, top, left + w, top + h), cut=(int(left), int(top), int(left + w), int(top + h)))
        for left, top, w, h in corners
    ]


def crop_around(rule: ZoomRule, seen: Look, point: Point) -> Look | None:
    """The part of what was looked at that is looked at next; None where that is no larger than a crop."""
    view, size = seen.view, seen.size
    across, down = view.right_px - view.left_px, view.bottom_px - view.top_px
    width, height = (
        _side(rule, length, side)
        for length, side in zip((size.width, size.height), rule.size or (None, None), strict=True)
    )
    if (width, height) == (size.width, size.height):
        return None
    x1, x2 = _span(rule, (point.x_px - view.left_px) * size.width / across, size.width, width)
    y1, y2 = _span(rule, (point.y_px - view.top_px) * size.height / down, size.height, height)
    fit = round if rule.pixels == "round" else int
    left, top = seen.cut[:2]
    return Look(
        view=_box(
            view.left_px + x1 * across / size.width,
            view.top_px + y1 * down / size.height,
            view.left_px + x2 * across / size.width,
            view.top_px + y2 * down / size.height,
        ),
        cut=(left + fit(x1), top + fit(y1), left + fit(x2), top + fit(y2)),
    )


def _side(rule: ZoomRule, length: int, side: int | None) -> float:
    wanted = length * (rule.share or 1.0) if side is None else side
    wanted = min(max(wanted, rule.least, 1), length)
    return round(wanted) if rule.pixels == "whole" else wanted


def _span(rule: ZoomRule, middle: float, length: int, wanted: float) -> tuple[float, float]:
    middle = min(max(middle, 0.0), float(length))
    if rule.pixels == "whole":
        low: float = round(round(middle) - wanted / 2)
        high = low + wanted
    else:
        low, high = middle - wanted / 2, middle + wanted / 2
    if rule.edge == "clip":
        return max(0, low), min(length, high)
    if low < 0:
        low, high = 0, high - low
    if high > length:
        low, high = low - (high - length), length
    return max(0, low), high


def _box(left: float, top: float, right: float, bottom: float) -> Box:
    return Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)


def to_original(point: Point, look: Look, shown: Size) -> Point:
    """A point on a crop, in pixels of the picture of it that was shown, to pixels of the original."""
    view = look.view
    return Point(
        x_px=view.left_px + _scaled(point.x_px, shown.width, view.right_px - view.left_px),
        y_px=view.top_px + _scaled(point.y_px, shown.height, view.bottom_px - view.top_px),
    )


def _scaled(value: float, length: float, new: float) -> float:
    return value if length == new else value / length * new


def rounded(point: Point, rule: ZoomRule, size: Size) -> Point:
    """The final point as the recipe hands it in."""
    if rule.rounds is None:
        return point

    def one(value: float, length: int) -> float:
        steps = length if rule.rounds == "pixel" else 1000
        return _scaled(round(_scaled(min(max(value, 0.0), float(length)), length, steps)), steps, length)

    return Point(x_px=one(point.x_px, size.width), y_px=one(point.y_px, size.height))


# --- the grounder ---------------------------------------------------------------------------------------------------


class Passes(Protocol):
    def settled(self, step_id: str, key: str) -> Prediction | None: ...

    def last(self, step_id: str) -> Prediction | None: ...

    def append(self, record: Prediction) -> None: ...


class ZoomGrounder:
    """Another grounder, asked again about crops. ``passes`` is where looks are kept, None before a run has begun."""

    def __init__(self, inner: Grounder, zoom: Zoom) -> None:
        self.inner, self.zoom = inner, zoom
        self.name = f"{inner.name}+zoom-{zoom.name}"
        self.identity = f"{inner.identity}{ZOOMED}{_asked_of(zoom.rule)}"
        self.reads: frozenset[Any] = getattr(inner, "reads", frozenset())
        self.check = inner.check
        self.passes: Passes | None = None
        self._folder: Path | None = None

    def over(self, inner: Grounder) -> ZoomGrounder:
        other = ZoomGrounder(inner, self.zoom)
        other.passes, other._folder = self.passes, self._folder
        return other

    def keep_in(self, folder: Path) -> None:
        self._folder = folder / CROPS
        shutil.rmtree(self._folder, ignore_errors=True)  # Those of a process that died.
        if isinstance(self.inner, KeepsFiles):
            self.inner.keep_in(folder)

    async def aclose(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        await self.inner.aclose()

    @property
    def max_concurrency(self) -> int:
        """As many steps as the grounder has room for; of workers that is known only once they are there."""
        return self.inner.max_concurrency

    @property
    def looks(self) -> int:
        """The most requests that a step takes."""
        return self.zoom.rule.passes + (self.zoom.rule.patches or 0) ** 2

    async def ground(self, query: Query) -> Prediction:
        """Look as often as the recipe says. Raises As the grounder does; looks that were answered are kept."""
        rule, size = self.zoom.rule, query.screenshot.size
        looks = [whole(size), *patches(rule, size)]
        begun = await asyncio.gather(
            *(self._look(query, number, look) for number, look in enumerate(looks, 1)), return_exceptions=True
        )
        made: list[Prediction] = []
        for one in begun:
            if isinstance(one, BaseException):
                raise one
            made.append(one)
        if any(_is_error(one) for one in made):
            return _ended(query, made, next(filter(_is_error, made)))
        best, at = _chosen(rule, looks, made)
        look = looks[0]
        for number in range(len(looks) + 1, len(looks) + rule.passes):
            crop = None if at is None else crop_around(rule, look, at)
            if crop is None:
                break
            one = await self._look(query, number, crop)
            made.append(one)
            if one.point is None:
                if _is_error(one) or rule.unparsed == "counts":
                    best, at = one, None
                break
            best, at, look = one, one.point, crop
        return _ended(query, made, best, None if at is None else rounded(at, rule, size))

    def left_to_ask(self, query: Query, passes: Passes) -> Iterator[Query]:
        """The questions that are left about a step, at most; those about crops with nothing but their size."""
        size = query.screenshot.size
        looks = [whole(size), *patches(self.zoom.rule, size)]
        last = looks[0]
        for _ in range(1, self.zoom.rule.passes):
            crop = crop_around(self.zoom.rule, last, last.view.center)
            if crop is None:
                break
            looks.append(crop)
            last = crop
        for number, look in enumerate(looks, 1):
            name = f"{query.step_id}#{number}"
            kept = passes.last(name)
            if kept is None or not kept.key.startswith(query.key) or _is_error(kept):
                shot = query.screenshot
                if number > 1:
                    shot = Screenshot(path="", size=self._shown(look), sha256="")
                yield msgspec.structs.replace(query, step_id=name if number > 1 else query.step_id, screenshot=shot)

    def _shown(self, look: Look) -> Size:
        resize = self.zoom.rule.resize
        return look.size if resize is None else Size(width=resize[0], height=resize[1])

    async def _look(self, query: Query, number: int, look: Look) -> Prediction:
        name, key = f"{query.step_id}#{number}", f"{query.key}#{number}@{','.join(map(str, look.cut))}"
        kept = None if self.passes is None else self.passes.settled(name, key)
        if kept is not None:
            return kept
        found = await self._ask(query, name, look, all_of_it=number == 1)
        found = msgspec.structs.replace(found, step_id=name, key=key, crop=None if number == 1 else look.view)
        if self.passes is not None:
            self.passes.append(found)
        return found

    async def _ask(self, query: Query, name: str, look: Look, *, all_of_it: bool) -> Prediction:
        if all_of_it:
            return await self.inner.ground(query)
        shown = self._shown(look)
        try:
            content = await asyncio.to_thread(_cut, query.screenshot, look, shown)
        except (OSError, ValueError) as error:
            failure = Failure(kind="error", message=f"{query.screenshot.path}: {error}")
            return Prediction(step_id=name, key="", point=None, failure=failure)
        sha256 = hashlib.sha256(content).hexdigest()
        if self._folder is None:
            raise UserError(f"{self.name}: crops are cut in the folder of a run, and there is none")
        self._folder.mkdir(exist_ok=True)
        file = self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.png"
        file.write_bytes(content)
        try:
            shot = Screenshot(path=str(file), size=shown, sha256=sha256)
            found = await self.inner.ground(msgspec.structs.replace(query, step_id=name, screenshot=shot))
        finally:
            file.unlink(missing_ok=True)
        if found.point is None:
            return found
        box = found.box
        if box is not None:
            one = to_original(Point(x_px=box.left_px, y_px=box.top_px), look, shown)
            two = to_original(Point(x_px=box.right_px, y_px=box.bottom_px), look, shown)
            box = _box(one.x_px, one.y_px, two.x_px, two.y_px)
        return msgspec.structs.replace(found, point=to_original(found.point, look, shown), box=box)


def _asked_of(rule: ZoomRule) -> str:
    return msgspec.json.encode(msgspec.structs.replace(rule, source=""), order="sorted").decode()


def _is_error(one: Prediction) -> bool:
    return one.failure is not None and one.failure.kind == "error"


def _chosen(rule: ZoomRule, looks: Sequence[Look], made: Sequence[Prediction]) -> tuple[Prediction, Point | None]:
    first = made[0]
    others = [(one, one.point or look.view.center) for one, look in zip(made[1:], looks[1:], strict=True)]
    if not others:
        return first, first.point
    if first.point is None:
        return others[0]
    at = first.point
    off = [math.hypot(point.x_px - at.x_px, point.y_px - at.y_px) for _, point in others]
    return others[off.index(min(off))] if min(off) < rule.near_px else (first, at)


def _cut(screenshot: Screenshot, look: Look, shown: Size) -> bytes:
    from PIL import Image

    picture = opened(Path(screenshot.path).read_bytes(), screenshot.size).crop(look.cut)
    if picture.size != (shown.width, shown.height):
        picture = picture.resize((shown.width, shown.height), Image.Resampling.LANCZOS)
    return png(picture)


def _ended(query: Query, made: Sequence[Prediction], best: Prediction, point: Point | None = None) -> Prediction:
    calls = [one.call for one in made if one.call is not None]
    call = together(calls)
    if call is not None:  # Another look is no other try.
        call = msgspec.structs.replace(call, attempts=call.attempts - len(calls) + 1)
    return msgspec.structs.replace(
        best,
        step_id=query.step_id,
        key=query.key,
        point=point,
        box=best.box if point is not None else None,
        failure=best.failure if point is None else None,
        declined=best.declined and point is None,
        call=call,
        crop=None,
        passes=tuple(made),
    )

"""The split in the run folder and on the terminal, and a screenshot with its gold places framed, to be looked at.

The frame lies around a box, not on it, in black, magenta and white, so that one of them stands out on any background.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.analysis.labels import (
    CLASSES,
    Agreement,
    ErrorSplit,
    ErrorSplitLine,
    Kind,
    Opinion,
    Share,
    SourceSplit,
    WrongStep,
)
from grounding.atomic import atomic_write
from grounding.console import say
from grounding.errors import UserError
from grounding.grounders.som.grounder import file_stem
from grounding.records import Box, Region, Size

if TYPE_CHECKING:
    from PIL import ImageDraw

VERSION = 1  # Goes up with every change of how the frame looks: a judge may answer differently.
OUTSIDE, MIDDLE, INSIDE = (0, 0, 0), (255, 0, 255), (255, 255, 255)
MIN_LINE_PX = 2
LINE_SHARE = 0.002
"""Width of the thinnest line, as a share of the picture's shorter side: a large screenshot is scaled down later."""


def frame_px(size: Size) -> int:
    """Width of the whole frame in pixels: black once, magenta twice, white once the thinnest line."""
    return 4 * max(MIN_LINE_PX, round(min(size.width, size.height) * LINE_SHARE))


def framed_picture(path: Path, region: Region) -> bytes:
    """A screenshot with every shape of a region framed, as PNG in its own size. Raises OSError: the file can't be read
    or is not a picture.
    """
    from PIL import Image, ImageDraw, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except UnidentifiedImageError as error:
        raise OSError("not a picture that can be read") from error
    except (SyntaxError, Image.DecompressionBombError) as error:  # Pillow's words for a broken PNG and a huge picture.
        raise OSError(f"the picture can't be read: {error}") from error
    size = Size(width=image.width, height=image.height)
    pen = ImageDraw.Draw(image)
    for box in region.boxes:
        _frame_box(pen, box, size)
    for polygon in region.polygons:
        _frame_outline(pen, [(corner.x_px, corner.y_px) for corner in polygon.points], size)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _frame_box(pen: ImageDraw.ImageDraw, box: Box, size: Size) -> None:
    frame = frame_px(size)
    line = frame // 4
    left, right = _room(box.left_px, box.right_px, size.width, frame)
    top, bottom = _room(box.top_px, box.bottom_px, size.height, frame)
    for colour, out, wide in ((OUTSIDE, frame, line), (MIDDLE, 3 * line, 2 * line), (INSIDE, line, line)):
        pen.rectangle((left - out, top - out, right + out - 1, bottom + out - 1), outline=colour, width=wide)


def _room(low: float, high: float, side: int, frame: int) -> tuple[int, int]:
    """Both edges in whole pixels with room for the frame around: at the picture's edge it moves onto the box."""
    first = min(max(int(low), frame), max(side - frame - 1, 0))
    last = max(min(int(-(-high // 1)), side - frame), first + 1)
    return first, last


def _frame_outline(pen: ImageDraw.ImageDraw, corners: list[tuple[float, float]], size: Size) -> None:
    line = frame_px(size) // 4
    closed = [*corners, *corners[:2]]
    for colour, wide in ((OUTSIDE, 4 * line), (INSIDE, 3 * line), (MIDDLE, 2 * line)):
        pen.line(closed, fill=colour, width=wide, joint="curve")


def keep_pictures(folder: Path, wrongs: Sequence[WrongStep]) -> list[str]:
    """Write ``<participant>_<image>.png`` for each step; returns what could not be framed, in words. Raises OSError:
    the folder can't be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    for wrong in wrongs:
        if wrong.step.region is None:
            continue
        try:
            png = framed_picture(Path(wrong.step.screenshot.path), wrong.step.region)
        except OSError as error:
            problems.append(f"{wrong.step.screenshot.path}: {error}")
            continue
        atomic_write(folder / f"{file_stem(wrong.step.id)}.png", png)
    return problems


SUMMARY, STEPS = "error_split.json", "error_split.jsonl"

KIND_WORDS: dict[Kind, str] = {
    "wrong_place": "clicked a wrong place",
    "no_place": "the grounder named no place",
    "no_plan": "no plan (empty, refused or none saved): the planner's, nobody is asked",
    "no_gold": "the data have no right place, nobody is asked",
    "unanswered": "no answer (an error, or not asked yet), nobody is asked",
}


def step_lines(wrongs: Sequence[WrongStep], opinions: Mapping[str, Sequence[Opinion]]) -> tuple[ErrorSplitLine, ...]:
    said: dict[str, list[Opinion]] = {}
    for given in opinions.values():
        for opinion in given:
            said.setdefault(opinion.step_id, []).append(opinion)
    return tuple(
        ErrorSplitLine(
            step_id=wrong.step.id,
            task=wrong.step.task,
            kind=wrong.kind,
            instruction=wrong.step.instruction,
            plan=wrong.plan,
            point=wrong.point,
            distance_px=wrong.distance_px,
            reason=wrong.reason,
            opinions=tuple(said.get(wrong.step.id, ())),
        )
        for wrong in wrongs
    )


def write_split(folder: Path, split: ErrorSplit, lines: Sequence[ErrorSplitLine]) -> None:
    """Replace ``error_split.json`` and ``error_split.jsonl`` of a run. Raises UserError: they can't be written."""
    encoder = msgspec.json.Encoder()
    contents = {
        STEPS: encoder.encode_lines(lines),
        SUMMARY: msgspec.json.format(encoder.encode(split), indent=2) + b"\n",
    }
    for name, content in contents.items():
        try:
            atomic_write(folder / name, content)
        except OSError as error:
            raise UserError(f"{folder / name}: can't be written: {error.strerror}") from error


def print_split(console: Console, split: ErrorSplit, folder: Path, *, per_participant: bool) -> None:
    line = partial(say, console)
    wrong = split.scored - split.hits
    line(f"{split.run_id}: {wrong} of {split.scored} scored steps are wrong", "bold")
    for kind, words in KIND_WORDS.items():
        if count := split.wrong[kind]:
            line(f"  {count:>4}  {words}")
    wide = max((len(each.source) for each in split.splits), default=0)
    for each in split.splits:
        line(f"{each.source:<{wide}}  {split_words(each)}")
    if per_participant and split.participants:
        table = _table("by participant", ("participant", "source"), ("reasoning", "grounding"))
        for each in split.participants:
            cells = (each.participant, each.source, share_words(each.reasoning), share_words(each.grounding))
            table.add_row(*map(Text, cells))
        console.print(table)
    if split.agreement:
        title = "agreement (R reasoning, G grounding; first source, second source)"
        table = _table(title, ("sources",), ("steps", "R,R", "R,G", "G,R", "G,G", "agree", "Cohen's kappa"))
        for two in split.agreement:
            agree = "-" if two.agree_percent is None else f"{two.agree_percent:.1f} %"
            counts = (getattr(two, f"{one}_{other}") for one in CLASSES for other in CLASSES)
            row = (f"{two.first} · {two.second}", *map(str, (two.n, *counts)), agree, kappa_words(two))
            table.add_row(*map(Text, row))
        console.print(table)
    for note in split.notes:
        line(f"note       {note}")
    if split.judge is not None:
        spent = "not known" if split.judge.cost_usd is None else f"${split.judge.cost_usd:.4f}"
        asked = f"{split.judge.asked_now} asked now"
        line(f"judge      {split.judge.card}, prompt {split.judge.prompt}: {asked} · cost {spent}")
        if split.judge.stopped:
            line(f"warning    the judge stopped before the end: {split.judge.stopped}", "yellow")
    if split.status == "partial":
        line("warning    partial: answers are still to come; the same command again asks only for those", "yellow")
    if split.splits:
        line("intervals  Wilson, 95 %; kappa: large samples, 95 %; both take steps as independent of each other")
    line(f"files      {folder / SUMMARY}, {folder / STEPS}")


def split_words(split: SourceSplit) -> str:
    """``reasoning 56.7 % (34/60) [44.1, 68.4] · grounding 43.3 % (26/60) [31.6, 55.9]``, and what is not counted."""
    words = f"reasoning {share_words(split.reasoning)} · grounding {share_words(split.grounding)}"
    rest = [
        f"{name} {count}" for name in ("unclear", "unparsed", "error", "missing") if (count := getattr(split, name))
    ]
    return words + (f" · not counted: {', '.join(rest)}" if rest else "")


def share_words(share: Share) -> str:
    """A share with its counts and its interval; a dash where there is nothing to take a share of."""
    if share.percent is None or share.interval is None:
        return f"- ({share.k}/{share.n})"
    return f"{share.percent:.1f} % ({share.k}/{share.n}) [{share.interval.low:.1f}, {share.interval.high:.1f}]"


def _table(title: str, names: Sequence[str], figures: Sequence[str]) -> Table:
    table = Table(title=title, title_style="bold", title_justify="left")
    for name in (*names, *figures):
        table.add_column(name, justify="right" if name in figures else "left", overflow="fold")
    return table


def kappa_words(agreement: Agreement) -> str:
    if agreement.kappa is None:
        return f"undefined: {agreement.undefined_because}"
    if agreement.interval is None:
        return f"{agreement.kappa:.2f}"
    return f"{agreement.kappa:.2f} [{agreement.interval.low:.2f}, {agreement.interval.high:.2f}]"

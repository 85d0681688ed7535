"""The probe at the start of a run: twelve drawn windows with one labelled button, asked about before the data set.

It is asked once and kept beside the answers; what doesn't fit the card is a warning. Before it, blank pictures tell
whether a server makes the card's sizes by itself: a request's tokens are those of its text, the same each time, and
those of its picture. Where each count is the card's for that picture and one and the same number more, the server's
processor has the card's factor and limits, for all sizes between the smallest and the largest that were asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
from PIL import Image, ImageDraw, ImageFont

from grounding.cards import ChatCard, GrounderCard
from grounding.data.images import picture_sizes
from grounding.errors import UserError
from grounding.geometry import ModelBox, ModelPoint, Space
from grounding.grounders import BuiltGrounder
from grounding.grounders.base import Grounder, read_answer
from grounding.grounders.chat import ChatGrounder
from grounding.llm.budget import Budget, BudgetReached
from grounding.llm.chat import ChatOptions, open_chat
from grounding.llm.client import ServerGone
from grounding.llm.tokens import OUTPUT_LIMITS
from grounding.records import Box, Prediction, Query, Record, Region, Screenshot, Size
from grounding.run.display import Progress
from grounding.run.probe.replies import (
    ProbedReply,
    ProbeFinding,
    ProbeReport,
    judge_replies,
    read_probe,
    text_chars,
    token_findings,
    token_lines,
    worst,
    write_probe,
)

WORD = "Save"
INSTRUCTION = f"Click the '{WORD}' button"
BUTTON_COLOUR = (30, 110, 220)
_WINDOW, _TITLE_BAR, _LINE, _WHITE = (245, 245, 245), (210, 214, 220), (160, 165, 172), (255, 255, 255)
_BUTTON = Size(width=96, height=40)
_MARGIN, _TITLE_HEIGHT = 12, 32
_LAYOUT = (
    *((320, 240, "centre", 0.5, 0.5), (1000, 1000, "lower right", 1.0, 1.0)),
    *((1280, 720, "centre", 0.5, 0.5), (1280, 720, "lower edge", 0.65, 1.0)),
    *((1920, 1080, "right edge", 1.0, 0.4), (1920, 1080, "lower edge", 0.65, 1.0)),
    *((1920, 1080, "upper right", 1.0, 0.0), (2560, 1440, "lower right", 1.0, 1.0)),
    *((2560, 1440, "inside", 0.75, 0.7), (2560, 1440, "left edge", 0.0, 0.7)),
    *((1080, 1920, "centre", 0.5, 0.5), (1080, 1920, "lower edge", 0.65, 1.0)),
)  # Width, height, and where the button is: in words, and in fractions of the room that there is for it.
SIZES = tuple(dict.fromkeys(Size(width=width, height=height) for width, height, *_ in _LAYOUT))
TOKEN_TOLERANCE = 8
"""Sizes in a prompt are written digit by digit, so that a larger screenshot can take a few tokens more of text."""
MOST_SIZES = 4
MOST_DIGITS = 4  # A prompt that names the picture's size takes up to so many tokens more for a larger one.
Reader = Callable[[Prediction], ModelPoint | ModelBox | None]  # The numbers of a reply that is no failure.


class ProbeTarget(Record, frozen=True, kw_only=True):
    """One picture on disk and where its button is."""

    id: str
    screenshot: Screenshot
    button: Box

    @property
    def region(self) -> Region:
        return Region(boxes=(self.button,))

    def query(self, *, untouched: bool = False) -> Query:
        return Query(
            step_id=self.id, key="probe", screenshot=self.screenshot, instruction=INSTRUCTION, untouched=untouched
        )


def draw_targets(folder: Path) -> tuple[ProbeTarget, ...]:
    """Draw all pictures into a folder, the same on every machine."""
    return tuple(_draw(folder, *each) for each in _LAYOUT)


def _draw(folder: Path, width: int, height: int, place: str, across: float, down: float) -> ProbeTarget:
    size = Size(width=width, height=height)
    left = round(_MARGIN + across * (size.width - 2 * _MARGIN - _BUTTON.width))
    top = round(_TITLE_HEIGHT + _MARGIN + down * (size.height - _TITLE_HEIGHT - 2 * _MARGIN - _BUTTON.height))
    box = Box(left_px=left, top_px=top, right_px=left + _BUTTON.width - 1, bottom_px=top + _BUTTON.height - 1)
    image = Image.new("RGB", (size.width, size.height), _WINDOW)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, size.width - 1, _TITLE_HEIGHT - 1), fill=_TITLE_BAR)
    pen.line((0, _TITLE_HEIGHT, size.width - 1, _TITLE_HEIGHT), fill=_LINE)
    pen.text((_MARGIN, _TITLE_HEIGHT / 2), "Document", fill=(60, 60, 60), font=ImageFont.load_default(16), anchor="lm")
    pen.rectangle((box.left_px, box.top_px, box.right_px, box.bottom_px), fill=BUTTON_COLOUR)
    middle = (box.center.x_px, box.center.y_px)
    pen.text(middle, WORD, fill=_WHITE, font=ImageFont.load_default(20), anchor="mm")
    name = f"{size.width}x{size.height} {place}"
    path = folder / f"{name.replace(' ', '-')}.png"
    image.save(path, "PNG", compress_level=1)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return ProbeTarget(id=name, screenshot=Screenshot(path=str(path), size=size, sha256=digest), button=box)


# --- asking about them ------------------------------------------------------------------------------------------------


def open_for_probe(
    card: GrounderCard, options: ChatOptions, *, budget: Budget, on_retry: Callable[[], None]
) -> ChatGrounder:
    """The grounder of a card for the probe's own pictures, which no server finds on its disk: they go out as base64."""
    card = msgspec.structs.replace(card, image=msgspec.structs.replace(card.image, send="base64"))
    return ChatGrounder(card, open_chat(card, options, flag="--base-url", budget=budget, on_retry=on_retry).model)


async def ask_all(
    grounder: Grounder,
    card: ChatCard,
    *,
    space: Space | None = None,
    read: Reader | None = None,
    untouched: bool = False,
    earlier: Sequence[Prediction] = (),
) -> ProbeReport:
    """Ask about every picture, sent as a run would; where the cost limit leaves no room for one it is left out.
    ``read`` gives numbers in ``space``, by default both are a grounder's card's.
    """
    if space is None or read is None:
        assert isinstance(card, GrounderCard)
        rule = card.answer
        space, read = rule.space, lambda reply: read_answer((card.prefill or "") + (reply.raw or ""), rule)

    async def ask(target: ProbeTarget) -> Prediction | None:
        try:
            return await grounder.ground(target.query(untouched=untouched))
        except BudgetReached:
            return None

    with tempfile.TemporaryDirectory(prefix="grounding-probe-") as folder:
        targets = await asyncio.to_thread(draw_targets, Path(folder))
        replies = await asyncio.gather(*map(ask, targets))
    pairs = [(target, reply) for target, reply in zip(targets, replies, strict=True) if reply is not None]
    chars = text_chars((card.system, *(part.text for part in card.user), card.prefill), INSTRUCTION)
    observed = [
        ProbedReply(
            place=None if reply.failure else read(reply),
            sizes=reply.sizes,
            region=target.region,
            input_tokens=reply.call.usage.input_tokens if reply.call and reply.call.usage else None,
            text_chars=chars,
        )
        for target, reply in pairs
        if reply.raw is not None and reply.sizes is not None
    ]
    fits, findings = judge_replies(observed, declared=space)
    # A card that resizes nothing says nothing of what its server does; what the server saw is told all the same.
    lines = token_lines(observed, card.family, tolerance=TOKEN_TOLERANCE, declared=card.image.resize != "none")
    failed = [(target.id, reply.failure) for target, reply in pairs if reply.failure and reply.failure.kind == "error"]
    if failed:
        name, failure = failed[0]
        text = f"{len(failed)} of {len(pairs)} requests failed, the first at {name}: {failure.message}"
        findings = (ProbeFinding(kind="errors", level="warning", text=text), *findings)
    findings = (*findings, *token_findings(lines))
    own = next(fit for fit in fits if fit.name == space)
    offsets = [
        math.hypot(reply.point.x_px - middle.x_px, reply.point.y_px - middle.y_px)
        for target, reply in pairs
        if reply.point is not None and (middle := target.button.center)
    ]
    return ProbeReport(
        card=card.name,
        model=card.model,
        declared=space,
        level=worst(findings),
        findings=findings,
        asked=len(targets),
        replied=len(observed),
        parsed=own.parsed,
        hits=own.hits,
        median_offset_px=round(statistics.median(offsets), 1) if offsets else None,
        fits=fits,
        tokens=lines,
        replies=tuple(reply for _, reply in pairs),
        earlier=tuple(earlier),
    )


# --- whose sizes a server makes ---------------------------------------------------------------------------------------


def short_card(card: GrounderCard) -> GrounderCard:
    """The card for these questions alone, whose replies nobody reads: one token will do."""
    kept = {name: value for name, value in card.parameters.items() if name not in OUTPUT_LIMITS}
    return msgspec.structs.replace(card, parameters={**kept, "max_tokens": 1})


def leaves_sizes(card: ChatCard) -> bool:
    """Whether its servers are to be asked if they make its sizes; nobody is for money."""
    return card.image.resize == "auto" and card.price is None


async def make_the_sizes(
    card: GrounderCard, options: ChatOptions, shown: Iterable[Size], *, budget: Budget, on_retry: Callable[[], None]
) -> bool:
    """Whether all servers make a card's sizes of pictures like these by themselves."""
    sizes = _sizes_to_ask(card, shown)
    if not sizes or not leaves_sizes(card):
        return False
    addresses = [msgspec.structs.replace(options, base_url=url or None) for url in (options.base_url or "").split(" ")]
    grounders = [open_for_probe(short_card(card), each, budget=budget, on_retry=on_retry) for each in addresses]
    try:
        with tempfile.TemporaryDirectory(prefix="grounding-sizes-") as folder:
            shots = [await asyncio.to_thread(_blank_picture, Path(folder), size) for size in sizes]
            return all(await asyncio.gather(*(_fits(card, each, shots) for each in grounders)))
    finally:
        await asyncio.gather(*(grounder.aclose() for grounder in grounders))


async def _fits(card: GrounderCard, grounder: Grounder, shots: Sequence[Screenshot]) -> bool:
    queries = [
        Query(step_id=Path(shot.path).stem, key="sizes", screenshot=shot, instruction=INSTRUCTION, untouched=True)
        for shot in shots
    ]
    try:
        replies = await asyncio.gather(*(grounder.ground(query) for query in queries))
    except (BudgetReached, UserError):  # What is wrong is said of the questions that count.
        return False
    counts = [reply.call.usage.input_tokens if reply.call and reply.call.usage else 0 for reply in replies]
    expected = [_tokens(card, shot.size) for shot in shots]
    text = [count - picture for count, picture in zip(counts, expected, strict=True)]
    words = " ".join([card.system or "", *(part.text or "" for part in card.user)])
    apart = MOST_DIGITS if "{width}" in words or "{height}" in words else 0
    return all(counts) and len(set(expected)) > 1 and min(text) > 0 and max(text) - min(text) <= apart


def _tokens(card: GrounderCard, size: Size) -> int:
    try:
        seen = picture_sizes(size, card.image).model
    except ValueError:
        return 0
    return seen.width * seen.height // (card.image.factor or 1) ** 2


def _sizes_to_ask(card: GrounderCard, shown: Iterable[Size]) -> tuple[Size, ...]:
    """The smallest, the largest and what lies between; one picture alone would not tell its tokens from the text's."""
    known = sorted({size for size in shown if _tokens(card, size)}, key=lambda size: size.width * size.height)
    if not known:
        return ()
    last = len(known) - 1
    sizes = [known[place] for place in sorted({last * part // (MOST_SIZES - 1) for part in range(MOST_SIZES)})]
    if len({_tokens(card, size) for size in sizes}) == 1:
        sizes.append(Size(width=max(1, known[-1].width // 2), height=max(1, known[-1].height // 2)))
    return tuple(sizes)


def _blank_picture(folder: Path, size: Size) -> Screenshot:
    path = folder / f"{size.width}x{size.height}.png"
    Image.new("L", (size.width, size.height), 255).save(path, compress_level=1)
    return Screenshot(path=str(path), size=size, sha256="")


# --- before a run -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvalProbe:
    """What a run does before its first question. ``lent``: the grounder is the run's own, which goes on. ``sizes`` asks
    the servers as :func:`make_the_sizes`; ``space`` and ``read`` are as in :func:`ask_all`.
    """

    card: ChatCard
    grounder: Grounder
    lent: bool = False
    sizes: Callable[[], Awaitable[bool]] | None = None
    space: Space | None = None
    read: Reader | None = None

    def on_workers(self, grounder: Grounder) -> EvalProbe | None:
        """The same, asked of workers elsewhere; None where their servers see no pictures but those of the data set."""
        return None if self.card.image.send == "file" else replace(self, grounder=grounder, lent=True)

    @contextmanager
    def _asking(self, progress: Progress) -> Iterator[None]:
        """A probe without a server is no run that stopped early: nothing of the data set was asked."""
        try:
            with progress.phase("probing the grounder"):
                yield
        except ServerGone as gone:
            raise UserError(f"the probe of {self.card.name} was not answered: {gone}") from gone

    async def servers_make_the_sizes(self, progress: Progress) -> bool:
        """Whether pictures may go out as they are; asked at every start, as another server may answer now."""
        if self.sizes is None:
            return False
        with self._asking(progress):
            passed = await self.sizes()
        if not passed:
            limits = f'{{"min_pixels":{self.card.image.min_pixels},"max_pixels":{self.card.image.max_pixels}}}'
            text = (
                "pictures are resized here, which takes longer than sending them: the server's counts of tokens don't "
                f"show that it makes the card's sizes itself; vLLM does with --mm-processor-kwargs '{limits}'"
            )
            print(f"grounding: {self.card.name}: {text}", file=sys.stderr, flush=True)
        return passed

    async def run(self, folder: Path, progress: Progress, *, untouched: bool = False) -> None:
        """Ask about the pictures, unless that was done; say what doesn't fit. ``untouched`` is how the run's own
        pictures go out.
        """
        before = read_probe(folder)
        if before is not None and before.settled:
            return
        earlier = () if before is None else (*before.earlier, *before.replies)
        try:
            with self._asking(progress):
                report = await ask_all(
                    self.grounder, self.card, space=self.space, read=self.read, untouched=untouched, earlier=earlier
                )
        finally:
            if not self.lent:
                await self.grounder.aclose()
        write_probe(folder, report)
        if report.unreachable or report.level == "broken":
            said = next((reply.raw for reply in report.replies if reply.raw is not None), "")
            what = (
                f"none of the {len(report.replies)} requests of the probe was answered; the first: {report.unreachable}"
                if report.unreachable
                else f"none of the {report.replied} replies to the probe holds an answer in the form that the card "
                f"reads; the first is {said[:200]!r}"
            )
            raise UserError(
                f"{self.card.name}: {what}. Nothing of the data set was asked yet. Put the card or the server "
                "right, or go on with --no-probe."
            )
        for finding in report.findings:
            if finding.level != "ok":
                print(f"grounding: probe: {finding.text}", file=sys.stderr, flush=True)


def eval_probe(
    built: BuiltGrounder,
    options: ChatOptions,
    *,
    wanted: bool,
    budget: Budget,
    on_retry: Callable[[], None],
    shown: Collection[Size] = (),
) -> EvalProbe | None:
    """The probe of a run over screenshots of these sizes; None where it is not wanted or no chat model stands behind
    the grounder.
    """
    card = built.card
    if not wanted or not isinstance(card, GrounderCard) or not isinstance(built.grounder, ChatGrounder):
        return None
    if not built.base_url:  # The weights are in this process: loaded once, and any picture on this disk can be shown.
        return EvalProbe(card, built.grounder, lent=True)
    options = msgspec.structs.replace(options, base_url=built.base_url)
    sizes = partial(make_the_sizes, card, options, shown, budget=budget, on_retry=on_retry)
    grounder = open_for_probe(card, options, budget=budget, on_retry=on_retry)
    return EvalProbe(card, grounder, sizes=sizes if leaves_sizes(card) else None)

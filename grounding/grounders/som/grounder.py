"""The grounder ``som``: marks on a screenshot, a chat model that names a number, the place that the number means."""

import asyncio
import hashlib
import io
import re
from pathlib import Path
from urllib.parse import quote

import msgspec
import numpy as np
import pybase64

from grounding.atomic import atomic_write
from grounding.data.images import Picture
from grounding.errors import UserError
from grounding.grounders import marks as drawing
from grounding.grounders.base import MAX_REPLY_CHARS
from grounding.grounders.marks import Mark, Pixels, draw_marks
from grounding.grounders.som.boxes import Proposer, WidgetProposer, by_area, marked_size, marks_on_original
from grounding.grounders.som.card import MarksRule, SomCard
from grounding.llm.chat import ChatModel, ChatRequest, render_messages, too_long
from grounding.llm.tokens import RequestTokens
from grounding.llm.wire import Message
from grounding.records import Failure, ImageSizes, Prediction, Query, Record, Screenshot, Size


class MarkedPicture(Record, frozen=True, kw_only=True):
    """A picture as the model is shown it, as PNG, and the marks on it in the order of their numbers."""

    png: bytes
    sizes: ImageSizes
    marks: tuple[Mark, ...]

    def to_send(self) -> Picture:
        url = b"".join((b'"data:image/png;base64,', pybase64.b64encode(self.png), b'"'))
        return Picture(url_json=msgspec.Raw(url), sizes=self.sizes)


def marked_picture(screenshot: Screenshot, proposer: Proposer, rule: MarksRule) -> MarkedPicture:
    """Scale a screenshot, find its regions and draw their numbers. Raises OSError: the file can't be read or is not a
    picture.
    """
    image, original = _scaled(Path(screenshot.path), rule.short_side)
    regions = by_area(proposer.propose(image))[: rule.most]
    looked_at = Size(width=image.shape[1], height=image.shape[0])
    drawn = draw_marks(image, regions, alpha=rule.alpha, outline=rule.outline)
    return MarkedPicture(
        png=_png(drawn),
        sizes=ImageSizes(original=original, sent=looked_at, model=looked_at),
        marks=marks_on_original(regions, looked_at, original),
    )


def _scaled(path: Path, short_side: int) -> tuple[Pixels, Size]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            original = Size(width=opened.width, height=opened.height)
            size = marked_size(original, short_side)
            scaled = opened.convert("RGB").resize((size.width, size.height), Image.Resampling.BICUBIC)
    except UnidentifiedImageError as error:
        raise OSError("not a picture that can be read") from error
    except (SyntaxError, Image.DecompressionBombError) as error:  # Pillow's words for a broken PNG and a huge picture.
        raise OSError(f"the picture can't be read: {error}") from error
    return np.asarray(scaled, dtype=np.uint8), original


def _png(image: Pixels) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


_WORD = re.compile(r"[-+−]?[^\W_]*[0-9](?:[.,]?[^\W_])*")  # noqa: RUF001 - models write the true minus sign, too.
_NUMBER = re.compile(r"[0-9]{1,9}")


def read_number(reply: str, count: int) -> int | None:
    """The mark that a reply names, or None.

    None where it names no number, a number that is no mark (0, negative, more than ``count``), one that is no integer,
    or several different ones. Words with digits in them (``2nd``, ``x1``) are words. A number may be said twice.
    """
    if len(reply) > MAX_REPLY_CHARS:
        return None
    words = {word for word in _WORD.findall(reply) if not any(character.isalpha() for character in word)}
    if not words or not all(_NUMBER.fullmatch(word) for word in words):
        return None
    numbers = {int(word) for word in words}
    if len(numbers) != 1:
        return None
    (number,) = numbers
    return number if 1 <= number <= count else None


FOLDER = "marks"
MAX_NAME = 150


class KeptMarks(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The list beside a picture: which number means which box and which point, in pixels of the original."""

    step_id: str
    screenshot_sha256: str
    original: Size
    marked: Size
    proposer: str
    marks: tuple[Mark, ...]


def file_stem(step_id: str) -> str:
    """``<participant>_<image>`` for a step's id, safe in any file system and different for different steps. The first
    ``_`` is the one between the two: in a participant's name it is written %5F.
    """
    participant, _, image = step_id.partition("/")
    name = f"{quote(participant, safe='').replace('_', '%5F')}_{quote(image, safe='#')}"
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 17]}~{hashlib.sha256(step_id.encode()).hexdigest()[:16]}"


class SomGrounder:
    """Set-of-Mark over one chat model."""

    def __init__(self, card: SomCard, model: ChatModel, proposer: Proposer | None = None) -> None:
        self.card = card
        self.name = card.name
        self._model = model
        self._proposer = proposer or _proposer_for(card)
        self._run_folder: Path | None = None
        self.max_concurrency, self.aclose = model.max_concurrency, model.aclose

    @property
    def identity(self) -> str:
        parts = {"model": self._model.identity, "proposer": self._proposer.identity, "drawing": drawing.VERSION}
        return f"som {msgspec.json.encode(parts, order='sorted').decode()}"

    def keep_in(self, folder: Path) -> None:
        self._run_folder = folder

    async def ground(self, query: Query) -> Prediction:
        """Ask once; a reply that names no mark is ``unparsed``, kept in full. Raises UserError: the marked picture
        can't be kept, or the endpoint refuses every request. Raises BudgetReached: the cost limit leaves no room;
        nothing was sent.
        """
        long = too_long(self.card, query.instruction)
        if long is not None:
            return Prediction(step_id=query.step_id, key=query.key, point=None, failure=long)
        marks: list[Mark] = []

        def render() -> tuple[Message, ...]:
            picture = self._marked(query)
            if self._run_folder is not None:
                self._keep(self._run_folder, query, picture)
            marks.extend(picture.marks)
            return render_messages(self.card, query, picture.to_send())

        sizes = self._sizes(query)
        asked = await self._model.send(render, sizes)
        made = Prediction(
            step_id=query.step_id, key=query.key, point=None, sizes=asked.sizes, failure=asked.failure, call=asked.call
        )
        said = asked.completion
        if said is None:
            return made
        made = msgspec.structs.replace(made, raw=said.text, sizes=sizes)
        number = None if said.refused else read_number(said.text, len(marks))
        if number is not None:
            return msgspec.structs.replace(made, point=marks[number - 1].point, box=marks[number - 1].box)
        ending = f" (finish reason: {said.finish_reason})" if said.finish_reason not in ("", "stop") else ""
        message = "the model refused" if said.refused else f"no mark from 1 to {len(marks)} in the reply{ending}"
        return msgspec.structs.replace(made, failure=Failure(kind="unparsed", message=message))

    def request_for(self, query: Query) -> ChatRequest:
        """The request about a step with its marked picture, as it would be sent; nothing is, and nothing is kept.
        Raises OSError, ValueError: the picture can't be read.
        """
        return self._model.request(
            lambda: render_messages(self.card, query, self._marked(query).to_send()), self._sizes(query)
        )

    def count(self, query: Query) -> RequestTokens:
        """Its tokens, without reading the picture: marks are drawn on it and change no size."""
        return self._model.count(query, self._sizes(query))

    async def check(self) -> None:
        await self._model.check()
        await asyncio.to_thread(self._proposer.check)

    def _sizes(self, query: Query) -> ImageSizes:
        marked = marked_size(query.screenshot.size, self.card.marks.short_side)
        return ImageSizes(original=query.screenshot.size, sent=marked, model=marked)

    def _marked(self, query: Query) -> MarkedPicture:
        try:
            return marked_picture(query.screenshot, self._proposer, self.card.marks)
        except (OSError, ValueError) as error:
            raise ValueError(f"{query.screenshot.path}: {error}") from error

    def _keep(self, run_folder: Path, query: Query, picture: MarkedPicture) -> None:
        kept = KeptMarks(
            step_id=query.step_id,
            screenshot_sha256=query.screenshot.sha256,
            original=picture.sizes.original,
            marked=picture.sizes.sent,
            proposer=self._proposer.identity,
            marks=picture.marks,
        )
        folder, stem = run_folder / FOLDER, file_stem(query.step_id)
        try:
            folder.mkdir(exist_ok=True)
            atomic_write(folder / f"{stem}.png", picture.png, flush=False)
            atomic_write(folder / f"{stem}.json", msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
        except OSError as error:
            raise UserError(f"{folder}: a marked picture can't be kept: {error.strerror}") from error


def _proposer_for(card: SomCard) -> Proposer:
    if card.marks.sam is None:
        return WidgetProposer()
    from grounding.grounders.som.sam import SamProposer

    return SamProposer(card.marks.sam)

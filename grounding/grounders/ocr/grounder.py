"""The built-in offline grounder: reads the screen, takes the instruction apart, clicks the text that fits."""

import time
from typing import Any

import msgspec

from grounding.data.images import core_count
from grounding.errors import UserError
from grounding.grounders.ocr.engine import EngineError
from grounding.grounders.ocr.instruction import Parsed, parse
from grounding.grounders.ocr.match import TextChoice, choose
from grounding.grounders.ocr.reader import READ_AHEAD, OcrReader, UnreadableImageError, reader_identity
from grounding.grounders.ocr.screen import Screen
from grounding.records import Box, Call, Failure, ImageSizes, Prediction, Query, Record

MATCHER_VERSION = "1"  # Goes up whenever the same reading may be answered differently.


class Explanation(Record, frozen=True, kw_only=True):
    """Why a text was chosen, for people: written to ``Prediction.raw``. ``score`` is the fit of the text, 0 to 1."""

    text: str
    score: float
    rule: str
    query: Parsed
    runner_up: str = ""
    runner_up_score: float = 0.0


class OcrGrounder:
    """Grounds instructions by the text on the screen, without a network, a graphics card or a key.

    It sees the screenshot's file and the instruction, nothing else. Screens that were read stay in the user's cache
    folder; set GROUNDING_NO_CACHE=1 to do without.
    """

    name = "ocr"

    def __init__(self, reader: OcrReader | None = None) -> None:
        self._reader = reader or OcrReader()
        # Little more than one query per core: more would only wait for each other.
        self.max_concurrency = core_count() + READ_AHEAD

    @property
    def identity(self) -> str:
        try:
            reader = reader_identity()
        except EngineError as error:
            reader = f"no reader: {error}"
        return f"ocr matcher {MATCHER_VERSION}, {reader}"

    async def ground(self, query: Query) -> Prediction:
        """Click the text that the instruction means. A screenshot that cannot be read is a failure of kind ``error``,
        one without any text of kind ``unparsed``; in all other cases there is an answer, if only the best guess.
        """
        started = time.perf_counter()

        def answer(**fields: Any) -> Prediction:
            call = Call(seconds=time.perf_counter() - started)
            return Prediction(step_id=query.step_id, key=query.key, call=call, **({"point": None} | fields))

        try:
            screen = await self._reader.read(query.screenshot)
        except (UnreadableImageError, EngineError) as error:
            return answer(failure=Failure(kind="error", message=str(error)))
        # The detector's input is what was sent and what the model saw: nothing is resized behind it.
        sizes = ImageSizes(original=screen.size, sent=screen.model_size, model=screen.model_size)
        wanted = parse(query.instruction)
        choice = await self._reader.run(lambda: choose(wanted, screen))
        if choice is None:
            message = f"no text was read on {query.screenshot.path}"
            return answer(failure=Failure(kind="unparsed", message=message), sizes=sizes)
        box = _inside(choice.chosen.box, screen)
        return answer(point=box.center, box=box, raw=_explained(choice, wanted), sizes=sizes)

    async def check(self) -> None:
        try:
            reader_identity()
        except EngineError as error:
            raise UserError(f"the grounder ocr cannot read: {error}") from error

    async def aclose(self) -> None:
        self._reader.close()


def _explained(choice: TextChoice, query: Parsed) -> str:
    other = choice.runner_up
    explanation = Explanation(
        text=choice.chosen.text,
        score=round(choice.chosen.score, 3),
        rule=choice.rule,
        runner_up=other.text if other is not None else "",
        runner_up_score=round(other.score, 3) if other is not None else 0.0,
        query=query,
    )
    return msgspec.json.encode(explanation).decode()


def _inside(box: Box, screen: Screen) -> Box:
    right, bottom = float(screen.size.width), float(screen.size.height)
    return Box(
        left_px=min(max(box.left_px, 0.0), right),
        top_px=min(max(box.top_px, 0.0), bottom),
        right_px=min(max(box.right_px, 0.0), right),
        bottom_px=min(max(box.bottom_px, 0.0), bottom),
    )

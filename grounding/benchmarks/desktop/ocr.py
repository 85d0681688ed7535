"""The built-in offline agent: does what the memory's words say, on the text of the screen.

The rules of English in ``ocr_words.toml`` are tried in the order of :func:`intend`. Icons are not known.
"""

import re
import time
import tomllib
from collections.abc import Sequence
from itertools import product, takewhile
from pathlib import Path

import msgspec

from grounding.actions.kinds import Action, key_name, pressing, print_action
from grounding.benchmarks.desktop.agents import ActQuery
from grounding.data.desktop_records import DesktopPrediction
from grounding.data.images import core_count
from grounding.errors import UserError
from grounding.geometry import ModelPoint
from grounding.grounders.ocr import lexicon
from grounding.grounders.ocr.engine import EngineError
from grounding.grounders.ocr.instruction import parse
from grounding.grounders.ocr.match import choose
from grounding.grounders.ocr.reader import OcrReader, UnreadableImageError, reader_identity
from grounding.grounders.ocr.screen import Screen, TextLine, TextWord
from grounding.records import Box, Call, ImageSizes, Record


class Intent(Record, frozen=True, kw_only=True):
    """``kind`` is ``any`` where words only name something; ``action`` is there where no screen is needed."""

    kind: str
    words: str = ""
    end_words: str = ""
    quoted: tuple[str, ...] = ()
    action: Action | None = None


_SAID: dict[str, str] = tomllib.loads(Path(__file__).with_name("ocr_words.toml").read_text(encoding="utf-8"))
for _name in _SAID:
    _SAID[_name] = re.sub(r"<(\w+)>", lambda found: _SAID[found[1]], _SAID[_name])
_SAYS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _SAID.items()}


def intend(words: str) -> Intent:
    """Work out what words ask for.

    >>> print_action(intend("Robin saves with Ctrl and S.").action)
    'hotkey (ctrl, s)'
    """
    words = " ".join(words.split())
    quoted = tuple(next(filter(None, match.groups())) for match in _SAYS["quoted"].finditer(words))
    bare = _SAYS["quoted"].sub(" ", words)
    kind, action = "any", None
    if _SAYS["drag"].search(bare):
        return _drag(words, quoted)
    typing, keys, colon = _SAYS["type"].search(bare), _keys(bare), _SAYS["behind_colon"].search(words)
    if _SAYS["scroll"].search(bare):
        action = Action(kind="scroll", direction="up" if _SAYS["up"].search(bare) else "down")
    elif keys and not (typing and quoted):
        action = pressing(keys)
    elif typing and (text := quoted[0] if quoted else colon[1].removesuffix(".").strip() if colon else ""):
        action = Action(kind="type text", text=text)
    else:
        kinds = ("right click", "double click", *(() if quoted else ("fail", "wait", "finish")), "click")
        kind = next((one for one in kinds if _SAYS[one.replace(" ", "_")].search(bare)), "any")
        action = Action(kind=kind) if kind in ("fail", "wait", "finish") else None
    return Intent(kind=action.kind if action else kind, words=words, quoted=quoted, action=action)


def _drag(words: str, quoted: tuple[str, ...]) -> Intent:
    if len(quoted) >= 2:
        return Intent(kind="drag", words=quoted[0], end_words=quoted[1], quoted=quoted)
    before, behind = _SAYS["drag"].split(words, maxsplit=1)
    start, *end = _SAYS["onto"].split(behind, maxsplit=1)
    start = start.strip().removeprefix("from ")
    # "moves an invoice by dragging it onto Archive": what is dragged was named before.
    named = before if start.lower() in ("", "it", "them", "this", "that") else start
    return Intent(kind="drag", words=named if end else words, end_words=end[-1] if end else behind, quoted=quoted)


def _keys(words: str) -> list[str]:
    """The first combination that is named, else the first single key that can be nothing else."""
    if chord := _SAYS["chord"].search(words):
        names = [key_name(_SAYS["join"].sub("", one, count=1)) or "" for one in filter(None, chord.groups())]
        if all(names):
            return names
    named = (match for match in _SAYS["named_key"].finditer(words) if not _is_part_of_name(words[: match.start()]))
    for match in (_SAYS["pressed"].search(words), _SAYS["the_key"].search(words), *named):
        if match is not None and (name := key_name(match[1])) is not None:
            return [name]
    return ["enter"] if _SAYS["enter"].search(words) else []


def _is_part_of_name(before: str) -> bool:
    """Whether the word before has a capital inside a sentence: New Tab is no key."""
    earlier = before.split()
    return len(earlier) > 1 and earlier[-1][:1].isupper() and not earlier[-2].endswith((".", "!", "?"))


_WORD = re.compile(r"[^\W_][\w.\-/]*[^\W_]|[^\W_]")
_QUOTED_WEIGHT, _NAME_WEIGHT, _WORD_WEIGHT, _PLAIN_WEIGHT, _LEAST_SCORE = 6.0, 3.0, 1.0, 0.2, 1.0
_DULL = lexicon.FILLERS | lexicon.STOPS | lexicon.ACTIONS | lexicon.KINDS


def mentioned(words: str, quoted: Sequence[str], screen: Screen) -> tuple[str, Box] | None:
    """The text on the screen that the words mention most surely, and its place; None where they mention none.

    Quoted words weigh most, then names. A line that is nothing but the run beats one that contains it, a longer run a
    shorter one, a later mention an earlier one by very little, and the topmost of equals wins.
    """
    in_quotes, spoken = {word for one in quoted for word in _folded(one)}, []
    for match in _WORD.finditer(words):
        text, word = match[0], match[0].casefold()
        begins = match.start() == 0 or words[: match.start()].rstrip().endswith((".", "!", "?", ":"))
        is_name = (not begins and text[:1].isupper() and word != "i") or "." in text or any(map(str.isdigit, text))
        weight = _NAME_WEIGHT if is_name else _PLAIN_WEIGHT if word in _DULL else _WORD_WEIGHT
        spoken.append((word, _QUOTED_WEIGHT if word in in_quotes else weight))
    found = [_in_line(line, spoken) for line in screen.lines]
    best = max(found, key=lambda one: (round(one[0], 3), -one[2].top_px, -one[2].left_px), default=None)
    return None if best is None or best[0] < _LEAST_SCORE else best[1:]


def _folded(text: str) -> list[str]:
    return [match[0].casefold() for match in _WORD.finditer(text)]


def _stem(word: str) -> str:
    return word.rstrip("s") if len(word) > 3 else word


def _in_line(line: TextLine, spoken: Sequence[tuple[str, float]]) -> tuple[float, str, Box]:
    """The heaviest run of the line's words that is spoken in the same order: how heavy, and where it is."""
    shown = [(word, folded) for word in line.words for folded in _folded(word.text)[:1]]
    score, part = 0.0, list[TextWord]()
    for start, at in product(range(len(shown)), range(len(spoken))):
        pairs = zip(shown[start:], spoken[at:], strict=False)
        run = list(takewhile(lambda pair: _stem(pair[0][1]) == _stem(pair[1][0]), pairs))
        heavy = sum(weight for _, (_, weight) in run) * (0.4 + 0.6 * (len(run) / len(shown))) + 0.01 * at / len(spoken)
        if run and heavy > score:
            score, part = heavy, [word for (word, _), _ in run]
    left, right = min((word.left_px for word in part), default=0), max((word.right_px for word in part), default=0)
    box = line.box if right <= left else msgspec.structs.replace(line.box, left_px=left, right_px=right)
    return score, " ".join(word.text for word in part), box


RULES_VERSION = "1"  # Goes up whenever the same reading and the same words may be answered differently.


class OcrAgent:
    name = "ocr-agent"

    def __init__(self) -> None:
        self._reader = OcrReader()
        self.max_concurrency = core_count()  # More would only wait for each other.
        try:
            reader = reader_identity()
        except EngineError as error:
            reader = f"no reader: {error}"
        self.identity = f"ocr-agent rules {RULES_VERSION}, {reader}"

    async def act(self, query: ActQuery) -> DesktopPrediction:
        started, intent = time.perf_counter(), intend(query.memory or query.instruction)
        action, on_screen, sizes = intent.action, "", None
        if action is None:
            try:
                screen = await self._reader.read(query.screenshot)
            except (UnreadableImageError, EngineError) as error:
                return query.failed("error", str(error))
            sizes = ImageSizes(original=screen.size, sent=screen.model_size, model=screen.model_size)
            found = await self._reader.run(lambda: on_the_screen(intent, screen))
            if found is None:
                return query.failed("unparsed", f"no text was read on {query.screenshot.path}")
            action, on_screen = found
        written = print_action(action)
        raw = msgspec.json.encode({"action": written, "intent": intent, "on_screen": on_screen}).decode()
        return query.answer(action, written, raw=raw, sizes=sizes, call=Call(seconds=time.perf_counter() - started))

    async def check(self) -> None:
        try:
            reader_identity()
        except EngineError as error:
            raise UserError(f"the agent ocr-agent cannot read: {error}") from error

    async def aclose(self) -> None:
        self._reader.close()


def on_the_screen(intent: Intent, screen: Screen) -> tuple[Action, str] | None:
    """The action on what the words name, and the text that it is on; None where nothing was read on the screen."""
    kind, lines = intent.kind, [f" {' '.join(_folded(line.text))} " for line in screen.lines]
    shown = (f" {' '.join(_folded(one))} " in line for one in intent.quoted for line in lines)
    if kind == "any" and intent.quoted and not any(shown):
        return Action(kind="type text", text=intent.quoted[0]), ""
    start = _place(intent.words, intent.quoted, screen)
    if start is None:
        return None
    text, at = start
    if kind == "drag":
        end = _place(intent.end_words, intent.quoted[1:], screen)
        return Action(kind="drag", start=at, end=at if end is None else end[1]), text
    if kind not in ("right click", "double click"):
        is_file = _SAYS["opens"].search(intent.words) and re.search(r"\w\.[A-Za-z]\w{1,3}$", text)
        kind = "double click" if is_file else "click"
    return Action(kind=kind, at=at), text


def _place(words: str, quoted: tuple[str, ...], screen: Screen) -> tuple[str, ModelPoint] | None:
    found = mentioned(words, quoted, screen)
    if found is None and (choice := choose(parse(words), screen)) is not None:
        found = choice.chosen.text, choice.chosen.box
    if found is None:
        return None
    middle = found[1].center
    return found[0], ModelPoint(space="original_px", x=round(middle.x_px, 1), y=round(middle.y_px, 1))

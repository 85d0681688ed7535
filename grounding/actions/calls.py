"""What models write for programs: objects, UI-TARS's calls, OS-Atlas-Pro's capitals. Nothing is evaluated."""

import ast
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from grounding.actions.kinds import (
    NAMES,
    NUMBER,
    Action,
    NotAnAction,
    Passage,
    dialect,
    make_point,
    read_said,
    split_keys,
)
from grounding.geometry import ModelPoint, Space

Value = str | float | bool | None | list["Value"] | dict[str, "Value"]

_ENUM = re.compile(r"\benum\[('[^']{0,40}'|\"[^\"]{0,40}\")\]")


def _value(text: str) -> Value:
    """The object or list that a text begins with, as JSON or as Python writes it, last brackets missing or not."""
    decoder = json.JSONDecoder(strict=False, parse_int=float)
    whole = text[: max(text.rfind("}"), text.rfind("]")) + 1]
    missing = "".join(close * (text.count(opened) - text.count(close)) for opened, close in ("{}", "[]"))
    for tried in (whole, text + missing) if 0 < len(missing) < 4 else (whole,):
        try:
            return decoder.raw_decode(tried)[0]  # type: ignore[no-any-return]
        except (ValueError, RecursionError):
            pass
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Of numbers that run into words, for one.
                found = ast.literal_eval(_ENUM.sub(r"\1", tried))
            return decoder.decode(json.dumps(found))  # type: ignore[no-any-return]
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    raise NotAnAction("is an object that cannot be read")


def _plain(name: str) -> str:
    """``leftClick``, ``left_click`` and ``LEFT-CLICK`` are ``left click``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip()).casefold().replace("_", " ").replace("-", " ")


_HERE = ("coordinate", "point", "position", "coordinates", "point_2d", "location", "bbox_2d", "box")
_STARTS = ("start_coordinate", "start_point", "startCoordinate", "start_box", "start", "from", "start_position")
_ENDS = (
    *("end_coordinate", "end_point", "endCoordinate", "end_box", "end", "to", "end_position"),
    *("coordinate2", "point2"),
)
_TEXTS = ("text", "input_text", "content", "value", "text_content", "message")
_NO_TEXT = "no input text"  # What GUI-R1 writes where there is nothing to type.

_ANY_NUMBER = re.compile(NUMBER, re.ASCII)
_MOST_NUMBERS = 5


@dataclass(frozen=True)
class Arguments:
    """What a call or an object says beside the action's name ``word``, in small letters with blanks."""

    word: str
    space: Space
    named: Mapping[str, Value]

    def action(self) -> Action:
        kind, button, clicks = NAMES.get(self.word), self.get("button"), self.get("clicks")
        if kind is None:
            raise NotAnAction(f"is {self.word[:24]!r}, which is none of the twelve actions")
        if kind == "click" and button in ("right", "secondary"):
            kind = "right click"
        elif kind == "click":
            if button not in (None, "left", "primary", 1.0) or clicks not in (None, 1.0, 2.0):
                raise NotAnAction("is a click that is none of the twelve actions")
            kind = "double click" if clicks == 2 else "click"
        if kind == "finish" and str(self.get("status")).casefold().startswith(("fail", "infeas")):
            kind = "fail"
        return read_said(kind, self)

    def get(self, *names: str) -> Value:
        return next((self.named[name] for name in names if self.named.get(name) is not None), None)

    def place(self, *names: str) -> ModelPoint | None:
        """The point in an argument, or in ``x`` and ``y``. Of a box its centre."""
        value = self.get(*names)
        if value is None and {"x", "y"} <= self.named.keys():
            value = [self.named["x"], self.named["y"]]
        numbers = _numbers(value)
        if len(numbers) == 4:
            numbers = [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
        return make_point(numbers[0], numbers[1], self.space) if len(numbers) == 2 else None

    def point(self) -> ModelPoint:
        point = self.place(*_HERE[:5], "start_box", *_HERE[5:], "start_point", "start")
        if point is None:
            raise NotAnAction(f"is a {self.word} without a point (x, y)")
        return point

    def ends(self) -> tuple[ModelPoint, ModelPoint]:
        here, start, end = self.place(*_HERE), self.place(*_STARTS), self.place(*_ENDS)
        start, end = start or here, end or (here if start else None)
        if start is None or end is None:
            raise NotAnAction("is a drag without two points (x, y)")
        return start, end

    def turn(self) -> tuple[str, float | None]:
        direction = self.get("direction", "scroll_direction")
        amount = self.get("amount", "scroll_amount", "pixels", "clicks", "dy")
        if not isinstance(amount, float) and direction is None:
            direction, amount = self.get(*_TEXTS), self.get("value")
        if not isinstance(amount, float) and not isinstance(direction, str):
            raise NotAnAction("is a scroll without an amount or a direction")
        return direction if isinstance(direction, str) else "", amount if isinstance(amount, float) else None

    def keys(self, least: int = 1) -> list[str]:  # noqa: ARG002
        if self.word in ("press enter", "enter"):
            return ["enter"]
        value = self.get("keys", "key", "hotkey", "press", *_TEXTS)
        if isinstance(value, float):
            return [f"{value:g}"]
        names = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        return split_keys(names[0]) if len(names) == 1 else names

    def typed(self) -> str:
        value = self.get(*_TEXTS)
        if isinstance(value, list):  # A list is of keys: letters make a text.
            value = "".join(one for one in value if isinstance(one, str) and len(one) == 1)
        if isinstance(value, float):
            value = f"{value:g}"
        if not isinstance(value, str) or value in ("", _NO_TEXT):
            raise NotAnAction("types no text")
        # JSON may hold halves of characters.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _numbers(value: Value) -> list[float]:
    """Those in ``[x, y]``, ``{"x": …, "y": …}``, ``[[x, y], [x, y]]``, ``"(x, y)"`` or ``"<point>x y</point>"``."""
    if isinstance(value, str):
        return [float(one[0]) for one in islice(_ANY_NUMBER.finditer(value), _MOST_NUMBERS)]
    if isinstance(value, dict):
        value = [value.get("x"), value.get("y")]
    if not isinstance(value, list):
        return []
    if len(value) == 1:
        return _numbers(value[0])
    if len(value) == 2 and all(isinstance(one, list) for one in value):
        return [*_numbers(value[0]), *_numbers(value[1])]
    numbers = [one for one in value if isinstance(one, float)]
    return numbers[:_MOST_NUMBERS] if len(numbers) == len(value) else []


_ACTION_FIELDS = frozenset({"action", "action_type", "arguments", "type", "name", "position"})


def object_in(text: str) -> dict[str, Value] | None:
    """The object that a text begins with, alone or as the first of a list; None without one that names an action."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value = _value(text)
    except NotAnAction:
        return None
    value = value[0] if isinstance(value, list) and value else value
    return value if isinstance(value, dict) and _ACTION_FIELDS & value.keys() else None


@dialect
def read_object(passage: Passage) -> Action | None:
    """Its arguments stand in an object, as JSON in a string, or beside the name."""
    values = object_in(passage.text)
    if values is None:
        return None
    space, names = passage.space, ("action", "action_type", "type", "name")
    name = next((values[key] for key in names if key in values), None)
    if "position" in values and not {"point", "coordinate"} & values.keys():  # ShowUI's; without a name it is a click.
        space, name = "rel_1", values.get("action", "CLICK")
    else:
        arguments = values.get("arguments", values.get("parameters", values.get("input")))
        arguments = _value(arguments) if isinstance(arguments, str) else arguments
        if isinstance(arguments, dict):
            name = arguments.get("action", arguments.get("type", values.get("name")))
            values = arguments
    name = name[0] if isinstance(name, list) and len(name) == 1 else name
    if not isinstance(name, str):
        raise NotAnAction("is an object that names no action")
    return Arguments(_plain(name), space, values).action()


_TYPED_CONTENT = re.compile(r"type\(\s{0,8}content\s{0,8}=\s{0,8}(['\"])")
_HEAD = re.compile(r"([A-Za-z_]\w{0,31})\(", re.ASCII)
_ARGUMENT = re.compile(
    r"""(?s)\s{0,8}(\w{1,32})\s{0,8}=\s{0,8}(?:'((?:[^'\\]++|\\.)*+)'+|"((?:[^"\\]++|\\.)*+)\""""
    r"""|([\[(][^\[\]()]*+[\])]|[^\s,()]++))\s{0,8}(?:,|\)|$)"""
)
_UNNAMED = re.compile(r"[^=()\[\]]{1,80},(?=\s{0,8}\w{1,32}\s{0,8}=)")


@dialect
def read_calls(passage: Passage) -> Action | None:
    """One whose arguments have no names is left to PERCU's words."""
    text, head = passage.text, _HEAD.match(passage.line)
    if head is None:
        return None
    if typed := _TYPED_CONTENT.match(text):
        return Action(kind="type text", text=_content(text, typed))
    word, at = _plain(head[1]), head.end()
    named: dict[str, Value] = {}
    if _UNNAMED.match(text, at):
        raise NotAnAction("is a call that does not name all that it says")
    while found := _ARGUMENT.match(text, at):
        name, quoted, double, bare = found.groups()
        named[name] = quoted or double or (float(bare) if _ANY_NUMBER.fullmatch(bare or "") else bare)
        at = found.end()
    if named or (word in NAMES and text[at:].lstrip()[:1] in (")", "")):
        return Arguments(word, passage.space, named).action()
    if word == "type":
        raise NotAnAction("is a call whose arguments cannot be read")
    return None


def _content(text: str, typed: re.Match[str]) -> str:
    """The text up to the quote before the call's bracket: UI-TARS escapes neither the quotes nor the lines in it."""
    line_end = text.find("\n", typed.end())
    line_end = len(text) if line_end < 0 else line_end
    end = text.rfind(typed[1] + ")", typed.end(), line_end)
    end = text.find(typed[1] + ")", typed.end()) if end < 0 else end
    written = text[typed.end() : line_end if end < 0 else end]
    return written.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')


_CAPITALS = re.compile(r"([A-Z][A-Z_]{1,30})(?![A-Za-z0-9])", re.ASCII)
_KEYS = {"ENTER": "enter", "PRESS_ENTER": "enter", "TAB": "tab", "ESC": "esc", "BACKSPACE": "backspace"}
_PHONES = ("PRESS_BACK", "PRESS_HOME", "PRESS_RECENT")


@dialect
def read_capitals(passage: Passage) -> Action | None:
    word = _CAPITALS.match(passage.line)
    if word is not None and word[1] in _PHONES:
        raise NotAnAction(f"is {word[1]}, which is none of the twelve actions")
    return Action(kind="press key", key=_KEYS[word[1]]) if word is not None and word[1] in _KEYS else None

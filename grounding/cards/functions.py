"""A plain Python function as a grounder or a planner: in a notebook, or as ``--grounder ./mine.py:middle``.

The function is called as ``function(image, instruction)`` with the screenshot as a Pillow image in RGB, and by name
with ``history`` and ``goal`` where its signature has them. It may be a coroutine function; plain ones are called one at
a time in a thread of their own. A grounder returns ``(x, y)`` in pixels of that image, a box ``(left, top, right,
bottom)`` whose centre counts, or None where it sees no such place. A planner returns the grounder's instruction.
"""

import hashlib
import importlib.util
import inspect
import math
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from grounding.cards.schema import CONTEXT
from grounding.console import stuck
from grounding.errors import UserError
from grounding.records import Box, Call, Failure, Plan, Point, Prediction, Query

COROUTINES_AT_ONCE = 16
LONGEST_RAW = 2000
_SPEC = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")
_FROM_PYTHON = "python:"
_offered: dict[str, Callable[..., Any]] = {}


def offer(function: Callable[..., Any]) -> str:
    """Make a function known to this process; returns the name that it goes by as a grounder or planner."""
    name = f"{_FROM_PYTHON}{getattr(function, '__name__', type(function).__name__).strip('<>')}"
    _offered[name] = function
    return name


def is_function(name: str) -> bool:
    """Whether a grounder's or planner's name stands for a function: ``FILE.py:NAME``, or one that was offered."""
    return name.startswith(_FROM_PYTHON) or _SPEC.fullmatch(name) is not None


class UserFunction:
    """The function behind a name. ``identity`` has the hash of its file, or of its own text where it was offered. What
    that text does not show, such as weights that the function loads, is no part of the identity. ``context`` are the
    fields of a query that it may have as parameters.
    """

    context: ClassVar[tuple[str, ...]] = CONTEXT

    def __init__(self, name: str) -> None:
        if name in _offered:
            self._function = _offered[name]
            source = _source(self._function)
        else:
            self._function, source = loaded_function(name)
        self.name = name.rpartition(":")[2]
        self.identity = f"function {self.name} {hashlib.sha256(source).hexdigest()}"
        self._is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
            getattr(self._function, "__call__", None)  # noqa: B004
        )
        self.max_concurrency = COROUTINES_AT_ONCE if self._is_async else 1
        self._is_in_thread = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=self.name)
        parameters = inspect.signature(self._function).parameters
        self.reads: frozenset[Any] = frozenset(each for each in self.context if each in parameters)

    async def check(self) -> None: ...

    async def aclose(self) -> None:
        """Let go of the thread; the end of a command waits for no call that is still in it."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._is_in_thread:
            stuck.append(self.name)

    async def _call(self, query: Any) -> tuple[Any, Failure | None, Call]:
        import asyncio  # Not at the top: a command's --help reads this module, too.

        loop = asyncio.get_running_loop()
        more = {name: getattr(query, name) for name in self.reads}
        began = time.perf_counter()
        try:
            image = await loop.run_in_executor(None, _opened, query.screenshot.path)
            began = time.perf_counter()
            if self._is_async:
                found = await self._function(image, query.instruction, **more)
            else:
                found = await loop.run_in_executor(self._thread, self._in_thread, image, query.instruction, more)
        except Exception as error:  # noqa: BLE001 - whatever the user's own code raises is that step's failure
            message = f"{self.name}: {type(error).__name__}: {error}"
            return None, Failure(kind="error", message=message), Call(seconds=time.perf_counter() - began)
        return found, None, Call(seconds=time.perf_counter() - began)

    def _in_thread(self, image: Any, instruction: str, more: dict[str, Any]) -> Any:
        self._is_in_thread = True
        try:
            return self._function(image, instruction, **more)
        finally:
            self._is_in_thread = False


class FunctionGrounder(UserFunction):
    async def ground(self, query: Query) -> Prediction:
        found, failure, call = await self._call(query)
        point, box = None, None
        if failure is None and found is None:
            failure = Failure(kind="unparsed", message=f"{self.name} names no place")
        elif failure is None:
            point, box = _place(found)
            if point is None:
                expected = "(x, y), (left, top, right, bottom) or None, in pixels of the image"
                failure = Failure(kind="unparsed", message=f"{self.name} returned {_shown(found)}; expected {expected}")
        return Prediction(
            step_id=query.step_id,
            key=query.key,
            point=point,
            box=box,
            raw=None if found is None else _shown(found),
            failure=failure,
            call=call,
            declined=failure is not None and failure.kind == "unparsed" and found is None,
        )


class FunctionPlanner(UserFunction):
    async def plan(self, query: Query) -> Plan:
        found, failure, call = await self._call(query)
        if failure is None and not (isinstance(found, str) and found.strip()):
            failure = Failure(kind="unparsed", message=f"{self.name} returned {_shown(found)}; expected an instruction")
        text = None if failure is not None else found
        return Plan(step_id=query.step_id, key=query.key, text=text, failure=failure, call=call)


def loaded_function(spec: str) -> tuple[Callable[..., Any], bytes]:
    """The function that ``FILE.py:NAME`` names, and the bytes of its file."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise UserError(f"{spec}: a function that was given from Python; here name its file, FILE.py:NAME")
    path = Path(match["path"])
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(f"{spec}: the file can't be read: {error.strerror}") from error
    described = importlib.util.spec_from_file_location(f"grounding_user_{path.stem}", path)
    if described is None or described.loader is None:
        raise UserError(f"{spec}: expected a Python file")
    module = importlib.util.module_from_spec(described)
    try:
        described.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"{spec}: {path} can't be run: {type(error).__name__}: {error}") from error
    function = getattr(module, match["name"], None)
    if not callable(function):
        there = ", ".join(sorted(name for name, value in vars(module).items() if inspect.isroutine(value))) or "none"
        raise UserError(f"{spec}: {path} has no function {match['name']}; it has: {there}")
    return function, source


def _source(function: Callable[..., Any]) -> bytes:
    """The function's own text, or its code where no text is to be had, as at a prompt."""
    while hasattr(function, "func"):
        function = function.func
    try:
        return inspect.getsource(function if inspect.isroutine(function) else type(function)).encode()
    except (OSError, TypeError):
        code = getattr(function, "__code__", None) or type(function).__call__.__code__
        constants = [each for each in code.co_consts if not inspect.iscode(each)]
        return bytes(code.co_code) + repr((constants, code.co_names)).encode()


def _opened(path: str) -> Any:
    from PIL import Image

    with Image.open(path) as image:
        if not image.has_transparency_data:
            return image.convert("RGB")
        on_white = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
        return on_white.convert("RGB")


def _place(found: object) -> tuple[Point | None, Box | None]:
    if isinstance(found, Point):
        return found, None
    if isinstance(found, Box):
        return found.center, found
    try:
        numbers = [float(each) for each in found]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return None, None
    if not all(map(math.isfinite, numbers)):
        return None, None
    if len(numbers) == 2:
        return Point(x_px=numbers[0], y_px=numbers[1]), None
    if len(numbers) == 4:
        box = Box(left_px=numbers[0], top_px=numbers[1], right_px=numbers[2], bottom_px=numbers[3])
        return box.center, box
    return None, None


def _shown(found: object) -> str:
    return repr(found)[:LONGEST_RAW]

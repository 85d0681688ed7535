"""Files of answers recorded elsewhere: JSON lines in, one typed line for each step out."""

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from grounding.errors import UserError


class StepLine(Protocol):
    step: str


LineT = TypeVar("LineT", bound=StepLine)
ValueT = TypeVar("ValueT")

MOST_FAULTS = 10  # How many lines that can't be used are spelled out.


class RecordedLines(msgspec.Struct, Generic[ValueT], frozen=True):
    """What a file says of each step, and the hash of its bytes."""

    by_step: dict[str, ValueT]
    sha256: str


def read_recorded(
    path: Path,
    line_type: type[LineT],
    known_steps: Collection[str],
    *,
    expected: str,
    value_of: Callable[[LineT], ValueT],
) -> RecordedLines[ValueT]:
    """Read ``--predictions``: one JSON object a line, at most one for each step of the data set; blank lines are none.

    ``expected`` is the form of a line, for messages; ``value_of`` gives what a line says of its step, or raises a
    ValueError with the reason why it can't be used. Raises UserError: the file can't be read, or lines are broken,
    repeated or of unknown steps; lists them.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"--predictions {path}: can't be read: {error.strerror}") from error
    known, decoder = frozenset(known_steps), msgspec.json.Decoder(line_type)
    by_step: dict[str, ValueT] = {}
    seen, faults = set[str](), list[str]()
    for number, text in enumerate(content.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            line = decoder.decode(text)
            if line.step in seen:
                raise ValueError(f"step {line.step} has a line already; keep one")
            if line.step not in known:
                first = min(known, default="1/1")
                raise ValueError(f"the data set has no step {line.step!r} (its ids look like {first})")
            seen.add(line.step)
            by_step[line.step] = value_of(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            faults.append(f"line {number}: {error}; expected {expected}")
        except ValueError as error:
            faults.append(f"line {number}: {error}")
    if len(faults) == 1:
        raise UserError(f"--predictions {path}, {faults[0]}")
    if faults:
        more = len(faults) - MOST_FAULTS
        listed = [*faults[:MOST_FAULTS], *([f"and {more:,} more"] if more > 0 else [])]
        raise UserError(f"--predictions {path}: {len(faults):,} lines can't be used:\n  " + "\n  ".join(listed))
    return RecordedLines(by_step=by_step, sha256=hashlib.sha256(content).hexdigest())

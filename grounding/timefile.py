"""What differs each time that the same answers are asked for: seconds and tries, in ``time.json`` beside the scores.

``summary.json`` holds what the answers amount to and nothing of when, where or in which order they came, so that two
runs with equal answers have equal files.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.records import Record
from grounding.scoring.costs import TimeTotals

TIME_FILE = "time.json"


class _Older(msgspec.Struct):
    """The part of a ``summary.json`` of earlier versions that held the same."""

    time: TimeTotals | None = None


def write_time(folder: LockedFolder, time: Record) -> None:
    """Replace ``time.json`` by these figures of a benchmark.

    Raises:
        UserError: it can't be written.
    """
    folder.replace(TIME_FILE, msgspec.json.format(msgspec.json.encode(time), indent=2))


def read_time(path: Path, *, wall_s: float = 0.0) -> TimeTotals:
    """What a scored run took; of a run of an earlier version, from its ``summary.json``.

    Args:
        path: The run's folder.
        wall_s: What ``run.json`` says of the clock, for a folder that has nothing more.

    Raises:
        UserError: the file is damaged.
    """
    kept = path / TIME_FILE
    try:
        return msgspec.json.decode(kept.read_bytes(), type=TimeTotals)
    except FileNotFoundError:
        pass
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{kept}: can't be read ({error}); `grounding score {path}` makes it again") from error
    try:
        older = msgspec.json.decode((path / "summary.json").read_bytes(), type=_Older).time
    except FileNotFoundError:
        older = None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path / 'summary.json'}: can't be read ({error}); `grounding score {path}` makes it again"
        ) from error
    return older or TimeTotals(wall_s=wall_s)

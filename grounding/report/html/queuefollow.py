"""Follows one run's answers by what was added to its files since the last look. Reads only, and nothing twice."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from grounding.errors import UserError
from grounding.records import Failure, Outcome, Plan, Point, Prediction, Record
from grounding.report.html.queuesteps import StepIndex
from grounding.runfolder import Asked
from grounding.scoring.verdicts import judge

OUTCOMES: tuple[Outcome, ...] = ("hit", "miss", "unparsed", "error", "missing")
_CODES = {name: code for code, name in enumerate(OUTCOMES, start=1)}
_PIECE = 1 << 18
_RATE_OVER_S = 60.0
_RATE_FROM_S = 2.0


class _Paid(Record, frozen=True, kw_only=True):
    """What is read of a call."""

    cost_usd: float | None = None
    unreported_usd: float = 0.0


class _Answer(Record, frozen=True, kw_only=True):
    """What is read of a plan or a prediction: not the reply, which may be long."""

    step_id: str
    point: Point | None = None
    failure: Failure | None = None
    declined: bool = False
    reused: bool = False
    call: _Paid | None = None


class _Probe(Record, frozen=True, kw_only=True):
    """What is read of the probe before a run: it was paid for, too."""

    replies: tuple[_Answer, ...] = ()
    earlier: tuple[_Answer, ...] = ()


class Followed(Record, frozen=True, kw_only=True):
    """A run as far as its answers were read. ``steps`` are those that are scored, 0 while nobody knows how many.

    ``spent_usd`` is what servers reported, None where none told a price, ``unreported_usd`` the most that may have been
    charged besides. ``left_to_read`` is the share of the answers' bytes that the next look has to read.
    """

    steps: int = 0
    counts: dict[Outcome, int]
    spent_usd: float | None = None
    unreported_usd: float = 0.0
    rate_per_s: float | None = None
    left_to_read: float = 0.0

    @property
    def done(self) -> int:
        """Steps that have an answer, or a reason why there is none."""
        return sum(self.counts.values())


class Shelf:
    """The indexes of steps, one for all runs over the same data."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[object, ...], StepIndex] = {}

    def index(self, path: Path, asked: Asked) -> StepIndex:
        """The index of a run's steps, perhaps that of another run over the same.

        Raises:
            UserError: the file can't be opened.
        """
        try:
            size = path.stat().st_size
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from error
        key = (size, asked.dataset, asked.fingerprint, asked.questions, asked.select, asked.transcript)
        if key not in self._indexes:
            self._indexes[key] = StepIndex(path)
        return self._indexes[key]

    def close(self) -> None:
        """Close all files."""
        for index in self._indexes.values():
            index.close()
        self._indexes.clear()


class Tail:
    """The lines that are added to a file, each once and whole.

    Args:
        path: The file, which may not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inode = 0
        self._at = 0
        self.size = 0

    @property
    def left(self) -> int:
        """Bytes that the next look has to read, a line that isn't whole yet included."""
        return self.size - self._at

    def look(self) -> bool:
        """See how far the file goes now; False where it is another one than before, which has to be read anew."""
        try:
            found = self.path.stat()
        except OSError:
            same, self.size = self._at == 0, 0
            self._inode = self._at = 0
            return same
        same = self._at == 0 or (found.st_ino == self._inode and found.st_size >= self._at)
        if not same:
            self._at = 0
        self._inode, self.size = found.st_ino, found.st_size
        return same

    def restart(self) -> None:
        """Read from the beginning again."""
        self._at = 0

    def pieces(self, until: float) -> Iterator[list[bytes]]:
        """The next lines in pieces, up to the size that was seen, until a time of ``time.monotonic``."""
        with contextlib.suppress(FileNotFoundError), self.path.open("rb", buffering=0) as file:
            rest = b""
            while self._at + len(rest) < self.size:
                # A line may be longer than a piece.
                piece = os.pread(file.fileno(), _PIECE, self._at + len(rest))
                if not piece:
                    return
                rest += piece
                end = rest.rfind(b"\n") + 1
                if end:
                    lines, rest = rest[:end].splitlines(), rest[end:]
                    self._at += end
                    yield lines
                if time.monotonic() > until:
                    return


class RunFollower:
    """One run's answers, counted as they come.

    Args:
        folder: The run's folder.
        shelf: Where indexes of steps are shared.
    """

    def __init__(self, folder: Path, shelf: Shelf) -> None:
        self._folder, self._shelf = folder, shelf
        self._tails = {name: Tail(folder / f"{name}.jsonl") for name in ("plans", "ahead", "predictions")}
        self._decoder = msgspec.json.Decoder(_Answer)
        self._samples: deque[tuple[float, int]] = deque()
        self._index: StepIndex | None = None
        self._probe_seen: tuple[int, int] | None = None
        self._probe: list[_Answer] = []
        self._clear()

    def _clear(self) -> None:
        self._by_plan: npt.NDArray[np.uint8] | None = None
        self._by_prediction: npt.NDArray[np.uint8] | None = None
        self._usd: dict[str, float | None] = dict.fromkeys(self._tails)
        self._unreported: dict[str, float] = dict.fromkeys(self._tails, 0.0)
        self._samples.clear()
        for tail in self._tails.values():
            tail.restart()

    def look(self, asked: Asked, until: float) -> Followed:
        """Read what is new, but not longer than until that time of ``time.monotonic``.

        Args:
            asked: What the run was asked, by ``run.json``.
            until: When to stop, even in the middle; the next look goes on there.

        Raises:
            UserError: a file of the run is damaged.
        """
        if not all([tail.look() for tail in self._tails.values()]):
            self._clear()
            self._index = None
            for tail in self._tails.values():
                tail.look()
        if self._index is None:
            self._index = self._shelf.index(self._folder / "steps.jsonl", asked)
        index = self._index
        if index.read_on(until):
            if self._by_plan is None or self._by_prediction is None:
                self._by_plan = np.zeros(len(index), dtype=np.uint8)
                self._by_prediction = np.zeros(len(index), dtype=np.uint8)
            self._read("predictions", index, self._by_prediction, until)
            self._read("plans", index, self._by_plan, until)
            self._read("ahead", index, None, until)
        return self._followed(index)

    def _read(self, name: str, index: StepIndex, codes: npt.NDArray[np.uint8] | None, until: float) -> None:
        tail = self._tails[name]
        for lines in tail.pieces(until):
            answers = []
            for line in lines:
                try:
                    answers.append(self._decoder.decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    raise UserError(f"{tail.path}: a line is not a record of this run: {error}") from error
            for answer in answers:
                if answer.call is not None and not answer.reused:
                    if answer.call.cost_usd is not None:
                        self._usd[name] = (self._usd[name] or 0.0) + answer.call.cost_usd
                    self._unreported[name] += answer.call.unreported_usd
            if codes is None:
                continue
            places = index.places([answer.step_id for answer in answers])
            for answer, place in zip(answers, places.tolist(), strict=True):
                if place >= 0:
                    codes[place] = self._code(name, answer, index, place)

    def _code(self, name: str, answer: _Answer, index: StepIndex, place: int) -> int:
        """What an answer makes of its step: the code of an outcome, 0 for a plan that the grounder is to follow."""
        if name == "plans" and answer.failure is None:
            return 0
        step = index.step(place)
        if step.id != answer.step_id:  # Two ids of one hash: the step that was asked is not this one.
            return 0
        if name == "plans":
            plan = Plan(step_id=answer.step_id, key="", text=None, failure=answer.failure)
            return _CODES[judge(step, plan, None).outcome]
        prediction = Prediction(
            step_id=answer.step_id, key="", point=answer.point, failure=answer.failure, declined=answer.declined
        )
        return _CODES[judge(step, None, prediction).outcome]

    def _followed(self, index: StepIndex) -> Followed:
        counts = dict.fromkeys(OUTCOMES, 0)
        if self._by_plan is not None and self._by_prediction is not None:
            found = np.bincount(
                np.where(self._by_prediction > 0, self._by_prediction, self._by_plan), minlength=len(OUTCOMES) + 1
            )
            counts = {name: int(found[code]) for name, code in _CODES.items()}
        self._read_probe()
        # With --plan-ahead what plans cost stands in ahead.jsonl.
        planned = "ahead" if self._tails["ahead"].path.exists() else "plans"
        known = [self._usd[name] for name in (planned, "predictions")]
        known += [one.call.cost_usd for one in self._probe if one.call is not None]
        unreported = self._unreported[planned] + self._unreported["predictions"]
        unreported += sum(one.call.unreported_usd for one in self._probe if one.call is not None)
        prices = [usd for usd in known if usd is not None]
        size = sum(tail.size for tail in self._tails.values())
        left = sum(tail.left for tail in self._tails.values()) if index.is_ready else size
        # The last line may be in the middle of being written.
        behind = left / size if size and left > _PIECE else 0.0
        return Followed(
            steps=len(index) if index.is_ready else 0,
            counts=counts,
            spent_usd=sum(prices) if prices else None,
            unreported_usd=unreported,
            rate_per_s=None if behind or not index.is_ready else self._rate(sum(counts.values())),
            left_to_read=behind or (0.0 if index.is_ready else 1.0),
        )

    def _rate(self, done: int) -> float | None:
        """Steps a second over the last minute, by what was seen; None where too little was seen."""
        now = time.monotonic()
        self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[0][0] > _RATE_OVER_S:
            self._samples.popleft()
        since, before = self._samples[0]
        return max(0, done - before) / (now - since) if now - since >= _RATE_FROM_S else None

    def _read_probe(self) -> None:
        path = self._folder / "probe.json"
        try:
            found = path.stat()
            seen = (found.st_mtime_ns, found.st_size)
            if seen != self._probe_seen:
                probe = msgspec.json.decode(path.read_bytes(), type=_Probe)
                self._probe, self._probe_seen = [*probe.replies, *probe.earlier], seen
        except OSError:
            self._probe, self._probe_seen = [], None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(f"{path}: not the replies to a probe: {error}") from error

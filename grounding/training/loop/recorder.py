"""The record of a stage: ``metrics.jsonl``, ``samples.jsonl`` and the same curves for TensorBoard.

On resuming, all three are cut back to where the checkpoint was made, so that in the end they are what a run without
a break would have written (but for the seconds).
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.loop.checkpoints import CheckpointMark
from grounding.training.records import MetricsLine, SampleLine

METRICS = "metrics.jsonl"
SAMPLES = "samples.jsonl"
TENSORBOARD = "tensorboard"

LineT = TypeVar("LineT", bound=Record)

_CURVES = tuple(
    name for name in MetricsLine.__struct_fields__ if name not in ("step", "epoch", "kind", "seconds", "values")
)


class StageRecorder:
    """Writes the record of one stage; one process has it.

    Args:
        folder: The stage's folder.
        mark: The checkpoint that training goes on from; None begins anew.

    Raises:
        UserError: a file can't be written, or is shorter than the checkpoint says.
    """

    def __init__(self, folder: Path, mark: CheckpointMark | None) -> None:
        self.folder = folder
        self._encoder = msgspec.json.Encoder()
        self._metrics = _AppendFile(folder / METRICS, mark.metrics_bytes if mark else 0)
        self._samples = _AppendFile(folder / SAMPLES, mark.samples_bytes if mark else 0)
        self._before_s = mark.wall_s if mark else 0.0
        self._started = time.monotonic()
        self._board = self._new_board()

    @property
    def seconds(self) -> float:
        """Seconds of training so far, over all attempts that count."""
        return self._before_s + time.monotonic() - self._started

    @property
    def metrics_bytes(self) -> int:
        """How long ``metrics.jsonl`` is."""
        return self._metrics.end

    @property
    def samples_bytes(self) -> int:
        """How long ``samples.jsonl`` is."""
        return self._samples.end

    def metrics(self, line: MetricsLine) -> None:
        """Add a line of figures.

        Raises:
            UserError: the disk is full or failing; the half-written line is taken back.
        """
        self._metrics.append(self._encoder.encode(line) + b"\n")
        self._show(line)

    def sample(self, line: SampleLine) -> None:
        """Add a generation.

        Raises:
            UserError: the disk is full or failing; the half-written line is taken back.
        """
        self._samples.append(self._encoder.encode(line) + b"\n")

    def sync(self) -> None:
        """Make sure that everything written is on the disk.

        Raises:
            OSError: it can't be written.
        """
        self._metrics.sync()
        self._samples.sync()
        self._board.flush()

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()
        self._samples.close()
        self._board.close()

    def _new_board(self) -> Any:
        """TensorBoard's files can't be cut: they are written again from ``metrics.jsonl``."""
        from torch.utils.tensorboard import SummaryWriter

        board = self.folder / TENSORBOARD
        try:
            shutil.rmtree(board, ignore_errors=False)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise UserError(f"{board}: can't be written again: {error.strerror}") from error
        self._board = SummaryWriter(log_dir=str(board))
        for line in read_metrics(self.folder):
            self._show(line)
        return self._board

    def _show(self, line: MetricsLine) -> None:
        at = time.time() - self.seconds + (line.seconds or 0.0)
        named = {name: getattr(line, name) for name in _CURVES}
        for name, value in {**named, **line.values}.items():
            if value is not None:
                self._board.add_scalar(f"{line.kind}/{name}", value, line.step, walltime=at)


def read_metrics(folder: Path) -> tuple[MetricsLine, ...]:
    """The lines of a stage's ``metrics.jsonl``; none where it is not there. A torn last line is passed over.

    Raises:
        UserError: the file is damaged.
    """
    return _read_lines(folder / METRICS, MetricsLine)


def read_samples(folder: Path) -> tuple[SampleLine, ...]:
    """The lines of a stage's ``samples.jsonl``; none where it is not there. A torn last line is passed over.

    Raises:
        UserError: the file is damaged.
    """
    return _read_lines(folder / SAMPLES, SampleLine)


def _read_lines(path: Path, line_type: type[LineT]) -> tuple[LineT, ...]:
    if not path.exists():
        return ()
    decoder, found = msgspec.json.Decoder(line_type), []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            found.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{path}, line {number}: not a line of a training's record: {error}") from error
    return tuple(found)


class _AppendFile:
    """A file that is cut to a length and then only appended to."""

    def __init__(self, path: Path, keep: int) -> None:
        self.path, self.end = path, keep
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            length = os.fstat(self._file).st_size
            if length < keep:
                os.close(self._file)
                raise UserError(
                    f"{path}: is {length} bytes long, but was {keep} when the last checkpoint was made: the folder is "
                    "damaged; begin again with --fresh"
                )
            os.ftruncate(self._file, keep)
        except OSError as error:
            raise UserError(f"{path}: can't be written: {error.strerror}") from error

    def append(self, line: bytes) -> None:
        try:
            written = 0
            while written < len(line):
                written += os.pwrite(self._file, line[written:], self.end + written)
        except OSError as error:
            os.ftruncate(self._file, self.end)
            raise UserError(
                f"{self.path}: writing failed: {error.strerror}. The checkpoints are kept; make room and run the same "
                "command again."
            ) from error
        self.end += len(line)

    def sync(self) -> None:
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)

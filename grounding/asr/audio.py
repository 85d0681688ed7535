"""A file of speech in; 16 kHz mono samples out, with what is odd about the file in words.

libsndfile is asked first, ffmpeg for what that can't read. A file is read in blocks, mixed to one channel and resampled
once, so that a long recording of many channels takes no more memory than its samples at 16 kHz.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding.asr.records import ClipFailureKind
from grounding.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]
else:
    Samples = Any

SAMPLE_RATE_HZ = 16_000
READER = "audio-1"
"""Name and version of what is done here to a file; part of every key, since it can change what is heard."""

LONGEST_S = 3 * 3600.0
"""A longer recording is refused: its samples alone would take 700 MB."""

SILENT_DBFS = -70.0
"""Quieter than this over the whole clip counts as silence; a quiet room in a good microphone is near -60."""

_BLOCK_FRAMES = 1 << 17
_CLIPPED_RUN = 3
_FULL_SCALE = 0.999
_CANCELLED = 0.01


class UnreadableAudio(Exception):
    """The file gives no samples; the message says why, in one line. ``kind`` tells too long ones from broken ones."""

    def __init__(self, message: str, kind: ClipFailureKind = "unreadable") -> None:
        super().__init__(message)
        self.kind = kind


class Audio(Record, frozen=True, kw_only=True, eq=False):
    """One clip as a recogniser gets it.

    ``samples`` are float32, mono, at 16 kHz, full scale 1.0, shape (n,); ``sha256`` is of the file's bytes ("" for
    samples that come from no file); ``notes`` say what is odd: silence, clipping, several channels.
    """

    samples: Samples
    sha256: str = ""
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / SAMPLE_RATE_HZ


def file_sha256(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal.

    Raises:
        UnreadableAudio: the file can't be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableAudio(f"the file can't be read: {error.strerror}") from error


def read_audio(path: Path) -> Audio:
    """Read any file that libsndfile or ffmpeg can read.

    Several channels are averaged; where that cancels the sound (one channel is the other's opposite), the loudest one
    is taken. Samples that are no numbers become silence. A file louder than full scale is scaled down to it.

    Raises:
        UnreadableAudio: there is no audio in it, it breaks off, or it is longer than three hours.
    """
    path = Path(path)
    sha256 = file_sha256(path)
    found = _Reading(None)
    samples = _read(path, found)
    if found.cancelled:
        loudest = int(found.channel_energy.argmax())
        found = _Reading(loudest)
        samples = _read(path, found)
    return Audio(samples=samples, sha256=sha256, notes=found.notes(samples))


def from_samples(samples: Samples) -> Audio:
    """A clip that comes from no file, such as a recording in progress; ``samples`` as in :class:`Audio`."""
    import numpy as np

    clean = np.ascontiguousarray(samples, dtype=np.float32).reshape(-1)
    return Audio(samples=np.nan_to_num(clean, nan=0.0, posinf=0.0, neginf=0.0))


class _Reading:
    """What is learned about a file while its blocks go by."""

    def __init__(self, channel: int | None) -> None:
        self._channel = channel
        self._channels = 1
        self._frames = 0
        self._strange = 0
        self._clipped = 0
        self._peak = 0.0
        self._mixed_energy = 0.0
        self.channel_energy: Any = None

    @property
    def frames(self) -> int:
        return self._frames

    @property
    def cancelled(self) -> bool:
        """Whether the average of the channels is next to nothing while the channels are not."""
        if self._channel is not None or self._channels == 1 or self.channel_energy is None:
            return False
        return bool(self._mixed_energy < _CANCELLED * self.channel_energy.mean())

    def mixed(self, block: Any) -> Samples:
        """One block of shape (frames, channels), as it comes from the file, made mono."""
        import numpy as np

        self._channels = block.shape[1]
        self._frames += len(block)
        strange = ~np.isfinite(block)
        if strange.any():
            self._strange += int(strange.any(axis=1).sum())
            block = np.where(strange, np.float32(0), block)
        if not block.size:
            return np.zeros(0, np.float32)
        self._peak = max(self._peak, float(np.abs(block).max()))
        self._clipped += _clipped_frames(block)
        energy = np.square(block, dtype=np.float64).sum(axis=0)
        self.channel_energy = energy if self.channel_energy is None else self.channel_energy + energy
        mono = block.mean(axis=1) if self._channel is None else block[:, self._channel]
        self._mixed_energy += float(np.square(mono, dtype=np.float64).sum())
        return np.ascontiguousarray(mono, dtype=np.float32)

    @property
    def scale(self) -> float:
        """What the samples are multiplied by, so that none is beyond full scale."""
        return 1.0 / self._peak if self._peak > 1.0 else 1.0

    def notes(self, samples: Samples) -> tuple[str, ...]:
        """What is odd, in words."""
        import numpy as np

        said = []
        if self._channels > 1:
            how = "averaged" if self._channel is None else f"they cancel each other: channel {self._channel + 1} taken"
            said.append(f"{self._channels} channels, {how}")
        if self._strange:
            said.append(f"{self._strange} frames with samples that are no numbers, taken as silence")
        if self.scale < 1.0:
            said.append(f"{20 * np.log10(self._peak):.1f} dB beyond full scale, scaled down")
        elif self._clipped:
            said.append(f"clipped: {self._clipped} frames ({self._clipped / self._frames:.2%}) at full scale")
        if not len(samples):
            said.append("no samples")
        elif float(np.dot(samples, samples)) / len(samples) < 10 ** (SILENT_DBFS / 10):
            said.append("silence")
        return tuple(said)


def _clipped_frames(block: Any) -> int:
    """How many frames lie in runs of three or more at full scale, in any channel: a lone peak is no clipping."""
    import numpy as np

    full = (np.abs(block) >= _FULL_SCALE).any(axis=1)
    if not full.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate(([0], full.view(np.int8), [0]))))
    runs = edges[1::2] - edges[::2]
    return int(runs[runs >= _CLIPPED_RUN].sum())


def _read(path: Path, found: _Reading) -> Samples:
    import numpy as np

    with _opened(path) as (rate_hz, blocks):
        samples = _resampled((found.mixed(block) for block in _bounded(blocks, rate_hz)), rate_hz)
    return samples * np.float32(found.scale) if found.scale < 1.0 else samples


def _bounded(blocks: Iterator[Any], rate_hz: int) -> Iterator[Any]:
    frames = 0
    for block in blocks:
        frames += len(block)
        if frames > LONGEST_S * rate_hz:
            raise UnreadableAudio(f"longer than {LONGEST_S / 3600:g} hours: cut it into parts", "too-long")
        yield block


def _resampled(blocks: Iterator[Samples], rate_hz: int) -> Samples:
    import numpy as np
    import soxr

    if rate_hz == SAMPLE_RATE_HZ:
        parts = list(blocks)
    else:
        stream = soxr.ResampleStream(rate_hz, SAMPLE_RATE_HZ, 1, dtype="float32", quality="HQ")
        parts = [stream.resample_chunk(block) for block in blocks]
        parts.append(stream.resample_chunk(np.zeros(0, np.float32), last=True))
    return np.concatenate([np.zeros(0, np.float32), *parts])


@contextmanager
def _opened(path: Path) -> Iterator[tuple[int, Iterator[Any]]]:
    """Sample rate and blocks of shape (frames, channels) of a file."""
    import soundfile

    from grounding.asr.ffmpeg import decoded

    if path.stat().st_size == 0:
        raise UnreadableAudio("the file is empty")
    try:
        file = soundfile.SoundFile(path)
    except (soundfile.SoundFileError, OSError, ValueError, TypeError) as error:
        with decoded(path, _BLOCK_FRAMES, because=_one_line(error)) as opened:
            yield opened
        return
    with file:
        yield file.samplerate, _sound_blocks(file)


def _sound_blocks(file: Any) -> Iterator[Any]:
    import soundfile

    done = 0
    promised = file.frames
    while True:
        try:
            block = file.read(_BLOCK_FRAMES, dtype="float32", always_2d=True)
        except (soundfile.SoundFileError, OSError, ValueError) as error:
            raise UnreadableAudio(f"broken after {done / file.samplerate:.1f} s: {_one_line(error)}") from error
        if not len(block):
            break
        done += len(block)
        yield block
    # An MP3's length is an estimate; the others state it.
    if done < promised and file.format != "MP3":
        rate_hz = file.samplerate
        raise UnreadableAudio(f"breaks off after {done / rate_hz:.1f} of {promised / rate_hz:.1f} s")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__

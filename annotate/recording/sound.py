"""A recording's sound on the recording's own clock, in mono: for finding speech, for drawing it and for clips."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.recording.video import load_av, only, open_container
from grounding.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPEECH_RATE_HZ = 16_000
JUMP_S = 0.05
"""Time stamps that are this far from the sound before them leave a gap, which becomes silence, or an overlap."""


class Sound(Record, frozen=True, kw_only=True, eq=False):
    """Mono sound from the recording's start: ``samples`` is int16, so that 40 minutes at 16 kHz take 77 MB."""

    rate_hz: int
    samples: NDArray[np.int16]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / self.rate_hz

    def between(self, start_s: float, end_s: float) -> Sound:
        """The part from one time to another, as far as there is sound."""
        first = max(0, round(start_s * self.rate_hz))
        return Sound(rate_hz=self.rate_hz, samples=self.samples[first : max(first, round(end_s * self.rate_hz))])


def read_sound(
    path: Path, *, rate_hz: int | None = SPEECH_RATE_HZ, start_s: float = 0.0, end_s: float | None = None
) -> Sound | None:
    """The first sound track of a recording, or a part of it, as mono; None where there is none.

    Pauses in the track's time stamps become silence, so that a time in the sound is the time in the pictures. A track
    that breaks off ends there.

    Args:
        path: The video file.
        rate_hz: Samples a second; None for the track's own.
        start_s: From when, on the recording's clock; the result starts there.
        end_s: Until when; None for the end.

    Raises:
        UserError: The file cannot be read.
    """
    import numpy as np

    av = load_av()
    with open_container(path, av) as container:
        if not container.streams.audio:
            return None
        track = only(container, container.streams.audio[0], av)
        origin_s = 0.0 if container.start_time is None else container.start_time / 1_000_000
        rate = rate_hz or track.codec_context.sample_rate
        if start_s > 0:
            with contextlib.suppress(av.FFmpegError):
                container.seek(int((start_s + origin_s) * 1_000_000), backward=True)
        parts: list[NDArray[np.int16]] = []
        length = 0
        for time_s, samples in _pieces(container, track, rate, av):
            at_s = time_s - origin_s - start_s
            if end_s is not None and at_s > end_s - start_s:
                break
            drift = round(at_s * rate) - length
            if drift > JUMP_S * rate:
                parts.append(np.zeros(drift, np.int16))
                length += drift
            elif drift < -JUMP_S * rate:
                samples = samples[-drift:]
            parts.append(samples)
            length += len(samples)
    whole = np.concatenate(parts) if parts else np.zeros(0, np.int16)
    return Sound(rate_hz=rate, samples=whole if end_s is None else whole[: round((end_s - start_s) * rate)])


def last_sound_s(path: Path) -> float:
    """The time stamp at which the first sound track ends, by its packets; 0 without one. Nothing is decoded."""
    av = load_av()
    last_s = 0.0
    with open_container(path, av) as container:
        if not container.streams.audio:
            return last_s
        track = only(container, container.streams.audio[0], av)
        with contextlib.suppress(av.FFmpegError):
            for packet in container.demux(track):
                if packet.pts is not None:
                    last_s = max(last_s, float((packet.pts + (packet.duration or 0)) * track.time_base))
    return last_s


def peaks(sound: Sound, columns: int) -> list[float]:
    """The loudest sample of each of so many equal parts, 0 to 1: what a waveform of that width shows."""
    import numpy as np

    if columns <= 0 or not len(sound.samples):
        return [0.0] * max(0, columns)
    edges = np.minimum(np.linspace(0, len(sound.samples), columns + 1).astype(int), len(sound.samples) - 1)[:-1]
    high = np.maximum.reduceat(sound.samples, edges).astype(int)
    low = np.minimum.reduceat(sound.samples, edges).astype(int)
    return [float(value) / 32768 for value in np.maximum(high, -low)]


def _pieces(container: Any, track: Any, rate_hz: int, av: Any) -> Iterator[tuple[float, NDArray[np.int16]]]:
    """Decoded sound, resampled to mono, with the time stamp of each piece in seconds of the file."""
    import numpy as np

    resampler = av.AudioResampler(format="s16", layout="mono", rate=rate_hz)
    packets = container.demux(track)
    while True:
        try:
            packet = next(packets)
            frames = packet.decode()
        except StopIteration:
            break
        except av.InvalidDataError:
            continue
        except av.FFmpegError:
            break
        for frame in frames:
            time_s = frame.time
            if time_s is None:
                continue
            for piece in resampler.resample(frame):
                yield (
                    piece.time if piece.time is not None else time_s,
                    np.ascontiguousarray(piece.to_ndarray().reshape(-1)),
                )

"""A recording's pictures and sound, on the file's own clock. Pixels are those of the recorded picture.

(OpenCV gives neither the sound nor a reason why a file ended, and its seeking counts frames.)
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding.errors import UserError, install

from ..core.sound import SPEECH_RATE_HZ, Sound

try:
    import av
except ImportError:
    raise UserError(f"reading a screen recording needs the package av: {install('video')}") from None

ANALYSED_WIDTH_PX = 480
JUMP_S = 0.05  # Time stamps that are this far from the sound before them leave a gap, or an overlap.


class Recording:
    """A recording whose pictures are read one at a time. Raises UserError: there is none that can be read.

    ``duration_s`` is what the file states, None where it was never closed. After ``small_frames``, ``seen_s`` is the
    time of the last picture and ``damaged`` how many pieces could not be decoded.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen_s, self.damaged = 0.0, 0
        with _opened(path) as container:
            video = container.streams.video[0]
            self.duration_s = None if container.duration is None else container.duration / 1_000_000
            self.width_px, self.height_px = int(video.codec_context.width), int(video.codec_context.height)
            self.frame_s = 1 / float(video.average_rate) if video.average_rate else 1 / 30
            self.has_audio = bool(container.streams.audio)
        width = min(ANALYSED_WIDTH_PX, self.width_px)
        self.small_size = width, max(1, round(self.height_px * width / self.width_px))

    def small_frames(self) -> Iterator[tuple[float, NDArray[np.uint8]]]:
        """All pictures in order with their times, small and grey (height x width, uint8)."""
        width, height = self.small_size
        self.seen_s, self.damaged = 0.0, 0
        with _opened(self.path) as container:
            for time_s, frame in _frames(container, container.streams.video[0]):
                if frame is None:
                    self.damaged += 1
                    continue
                self.seen_s = max(self.seen_s, time_s)
                yield time_s, frame.to_ndarray(format="gray", width=width, height=height, interpolation="AREA")

    def picture_at(self, time_s: float) -> NDArray[np.uint8]:
        """The picture on the screen at a time, RGB: the last frame whose time stamp is not later."""
        held = None
        with _opened(self.path) as container:
            with contextlib.suppress(av.FFmpegError):
                container.seek(int((max(0.0, time_s) + _origin_s(container)) * 1_000_000), backward=True)
            for frame_s, frame in _frames(container, container.streams.video[0]):
                # A time that came out of this file is met again, whatever the last bit of the sum says.
                if held is not None and frame_s > time_s + 1e-6:
                    break
                held = held if frame is None else frame
            if held is None:
                raise UserError(f"{self.path} has no readable picture at {time_s:.2f} s")
            return np.asarray(held.to_ndarray(format="rgb24"), np.uint8)

    def sound(self, rate_hz: int | None = SPEECH_RATE_HZ) -> Sound | None:
        """The first sound track, as mono; None where there is none. Without ``rate_hz`` it has the track's own rate."""
        parts: list[tuple[int, NDArray[Any]]] = []
        end = 0
        with _opened(self.path) as container:
            if not container.streams.audio:
                return None
            track = container.streams.audio[0]
            rate = rate_hz or track.codec_context.sample_rate
            resampler = av.AudioResampler(format="s16", layout="mono", rate=rate)
            for time_s, frame in _frames(container, track):
                for piece in resampler.resample(frame) if frame is not None else ():
                    samples = piece.to_ndarray().reshape(-1)
                    stated = round((time_s if piece.time is None else piece.time - _origin_s(container)) * rate)
                    first = end if abs(stated - end) <= JUMP_S * rate else max(0, stated)
                    parts.append((first, samples))
                    end = first + len(samples)
        whole = np.zeros(max((first + len(samples) for first, samples in parts), default=0), np.int16)
        for first, samples in parts:
            whole[first : first + len(samples)] = samples
        return Sound(rate_hz=rate, samples=whole)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise UserError(f"there is no file {path}: give a screen recording, such as session.mp4")
    unreadable = UserError(
        f"{path} is no video that can be read: give an MP4, MKV, MOV or WebM file. (An MP4 that was cut off has lost "
        "the index at its end; an MKV can be read up to the break)"
    )
    try:
        container = av.open(str(path))
    except av.FFmpegError:
        raise unreadable from None
    with container:
        # FFmpeg takes a single picture for a film of one frame.
        is_picture = container.format.name.endswith("_pipe") or container.format.name == "image2"
        if not container.streams.video or is_picture or not container.streams.video[0].width:
            raise unreadable
        container.streams.video[0].thread_type = "AUTO"
        yield container


def _origin_s(container: Any) -> float:
    return float(container.start_time or 0) / 1_000_000


def _frames(container: Any, wanted: Any) -> Iterator[tuple[float, Any]]:
    """The frames of one stream with their times, as far as the file goes; None for each piece that is damaged."""
    # Others are skipped: one that is cut off would otherwise end the wanted one, too.
    for stream in container.streams:
        if stream.index != wanted.index:
            stream.discard = av.stream.Discard.all
    packets = container.demux(wanted)
    while True:
        try:
            frames = next(packets).decode()
        except StopIteration:
            return
        except av.FFmpegError:
            yield 0.0, None
            continue
        yield from ((float(frame.time) - _origin_s(container), frame) for frame in frames if frame.time is not None)
